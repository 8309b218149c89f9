"""The door: quick to open, help in groups, `-h` everywhere, completion, nothing cut."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from command import run
from provegym import recipes, servers
from provegym.cli import app
from provegym.cli.help import GROUPS, OTHERS, grouped

# What opens quickly imports none of these. Seconds depend on the machine, modules do not.
HEAVY = {
    *("asyncio", "httpx2", "jinja2", "mcp", "rich.progress", "multiprocessing", "torch", "uvicorn"),
    *("provegym.rewards", "provegym.rollout", "provegym.corpus", "provegym.verify", "provegym.api"),
    *("provegym.config", "provegym.workers", "provegym.train", "provegym.servers.banking"),
}
MOST_MODULES = 420


def modules(code: str) -> set[str]:
    """The modules that are imported after some code has run in a new interpreter."""
    told = f"import sys\n{code}\nprint(*sys.modules)"
    command = [sys.executable, "-c", told]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def start(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run the command line in a process of its own, 80 columns wide."""
    command = [sys.executable, "-m", "provegym", *arguments]
    known = {**os.environ, "COLUMNS": "80", **variables}
    return subprocess.run(command, capture_output=True, text=True, env=known, check=False)


def commands() -> list[list[str]]:
    """Every command and subcommand."""
    import typer

    group = typer.main.get_command(app)
    found: list[list[str]] = []
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        found += [[name], *([name, each] for each in vars(command).get("commands", ()))]
    return found


def test_help_imports_few_modules() -> None:
    ask = "sys.argv = ['provegym', '--help']\nfrom provegym.cli import main\n"
    found = modules(f"{ask}try: main()\nexcept SystemExit: pass")
    assert found & HEAVY == set()
    assert len(found) < MOST_MODULES


def test_importing_the_package_imports_nothing_else_of_it() -> None:
    ours = {name for name in modules("import provegym") if name.startswith("provegym")}
    assert ours == {"provegym"}


def test_help_is_in_groups_with_quickstart_first() -> None:
    told = start("--help").stdout
    titles = [line[:-1] for line in told.splitlines() if line.endswith(":") and line[0] != " "]
    assert titles == ["Options", *GROUPS]
    assert told.index("  quickstart ") < min(told.index(f"  {n} ") for n in ("demo", "synth"))


def test_every_command_is_in_a_group() -> None:
    assert OTHERS not in grouped([path[0] for path in commands()])
    assert grouped(["bfcl", "tau2"]) == {"Commands": ["bfcl", "tau2"]}
    assert grouped(["quickstart", "dance"])[OTHERS] == ["dance"]


def test_no_summary_is_cut_at_80_columns() -> None:
    for arguments in ([], ["eval"], ["worlds"]):
        told = start(*arguments, "--help").stdout
        assert "..." not in told.replace("[ARGS]...", "")
        assert max(map(len, told.splitlines())) <= 80


@pytest.mark.parametrize("path", commands(), ids=" ".join)
def test_every_command_has_a_short_help_option(path: list[str]) -> None:
    done = run(*path, "-h")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage" in done.stdout
    assert "-h, --help" in done.stdout


def test_the_list_of_servers_is_not_cut_at_80_columns() -> None:
    told = start("servers").stdout
    assert "…" not in told
    assert "food_delivery" in told
    words = set(told.split())
    assert all(set(servers.load(name).about.split()) <= words for name in servers.names())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_complete(shell: str) -> None:
    done = start("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert done.returncode == 0
    assert "_COMPLETE" in done.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("provegym quick", ["quickstart"]),
        ("provegym eval b", ["bfcl"]),
        ("provegym servers bank", ["banking"]),
        ("provegym demo vid", ["video_meeting"]),
        ("provegym train tin", ["tiny", "tinyllama-sft"]),
        ("provegym danc", []),
    ],
)
def test_completion_knows_commands_servers_and_recipes(typed: str, offered: list[str]) -> None:
    code = "import sys\nsys.argv = ['provegym']\nfrom provegym.cli import main\nmain()"
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split(" ")) - 1)}
    known = {**os.environ, **words, "_PROVEGYM_COMPLETE": "complete_bash"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=known, check=False)
    assert done.stderr == ""
    assert done.stdout.split() == offered


def test_recipes_are_listed_with_a_line_each() -> None:
    done = run("recipes")
    assert all(f" {name} " in done.stdout for name in recipes.names())
    assert "A few steps on a laptop's CPU" in " ".join(done.stdout.split())
    assert all(recipes.about(name) for name in recipes.names())


def test_a_recipe_is_found_by_name_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("recipes", "tiny").stdout == recipes.find("tiny").read_text("utf-8")
    assert "did you mean 'tiny'?" in run("train", "tinny").stderr
    old = run("train", "recipes/tiny.toml")
    assert "to take the package's recipe, say tiny" in old.stderr
    (tmp_path / "mine.toml").write_text('extends = "tiny"\n[grpo]\nsteps = 7\n')
    told = run("train", "mine.toml", "--backend", "verl", "--print")
    assert told.returncode == 0
    assert "total_training_steps=7" in told.stdout
