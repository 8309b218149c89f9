"""ProveGym beside other frameworks in one environment: all but what an older SDK cannot do."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["nemo_gym", "openenv", "verifiers"])
def test_commands_work_and_those_that_need_a_newer_sdk_say_so(name: str) -> None:
    command = ROOT / ".envs" / name / "bin" / "provegym"
    if not command.exists():
        pytest.skip(f"make adapters builds .envs/{name}")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([command, *words], capture_output=True, text=True, timeout=120)

    found = run("call", "banking", "list_accounts", "--seed", "7")
    assert (found.returncode, found.stdout[:10]) == (0, '{"items":[')
    for words in (("serve", "banking"), ("view", "--no-open"), ("graph", "--mcp", "true")):
        refused = run(*words)
        assert refused.returncode == 2
        assert refused.stderr.startswith("provegym: this needs mcp 2.3 or newer, and ")
        assert refused.stderr.count("\n") == 1
