"""The wheel, alone in a new environment: every command of the README that needs no extra works.

For each version of Python that is found here. The package registry must be reachable.
"""

import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VERSIONS = ("3.11", "3.12", "3.13")
PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")
SECONDS = 600
# Commands of the README that need an extra, a benchmark, an endpoint or a file of somebody else's;
# those that serve until they are stopped have a test of their own, and bench takes a minute.
NEED_MORE = ("serve", "import", "train", "eval", "decontaminate", "view", "bench")
SMALLER = {"--size 300": "--size 12", "--count 50": "--count 2", "--count 40": "--count 1"}
POLICY = """
from provegym import Reply

class Polite:
    async def reply(self, messages, tools):
        return Reply(text="I cannot do that.")
"""
# After the commands of the README, which make `small`.
MORE = (
    "provegym rollout --policy own:Polite --data small --out own.jsonl",
    "provegym compare own.jsonl right.jsonl",
    "provegym eval heldout --model noop --servers maps --count 2",
    "provegym worlds admit worlds",
    "provegym new-server kiosk",
    "provegym --servers-from kiosk call kiosk find_kiosk_items",
    "provegym check-server kiosk",
    "provegym --servers-from kiosk synth --servers kiosk --size 4 --out of_kiosk",
    "provegym report small -o report.html",
    "provegym recipes tiny",
)

pytestmark = pytest.mark.long


def interpreter(version: str) -> str | None:
    """A Python of this version: on the path, or one of pyenv's."""
    kept = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"))
    for each in (sys.executable, shutil.which(f"python{version}"), *map(str, kept)):
        asked = [each or "", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        if each and subprocess.run(asked, capture_output=True, text=True).stdout.strip() == version:
            return each
    return None


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this source."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, *PIP, "wheel", "--no-deps", "-w", folder, ROOT]
    subprocess.run(command, check=True, timeout=SECONDS)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module", params=VERSIONS)
def place(
    request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """An empty folder beside an environment of a version of Python that has the wheel alone."""
    found = interpreter(request.param)
    if found is None:
        pytest.skip(f"there is no Python {request.param} here")
    folder = tmp_path_factory.mktemp(f"python{request.param}")
    subprocess.run([found, "-m", "venv", folder / "env"], check=True, timeout=SECONDS)
    install = [folder / "env" / "bin" / "python", *PIP, "install"]
    install += ["--constraint", ROOT / "constraints.txt", wheel]
    subprocess.run(install, check=True, timeout=SECONDS)
    work = folder / "work"
    work.mkdir()
    (work / "own.py").write_text(POLICY)
    return work


def readme() -> Iterator[str]:
    """The commands of the README that need nothing else, made small."""
    text = (ROOT / "README.md").read_text("utf-8")
    for line in re.findall(r"^(provegym \w.*?)(?:\s+#.*)?$", text, re.MULTILINE):
        if line.split()[1] not in NEED_MORE and "13517" not in line:
            for large, small in SMALLER.items():
                line = line.replace(large, small)
            yield line


def start(place: Path, line: str) -> "subprocess.Popen[str]":
    """Start a command of the installed package, without the variables of this environment."""
    script = shlex.quote(str(place.parent / "env" / "bin" / "provegym"))
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(place), "COLUMNS": "80", "LC_ALL": "C.UTF-8"}
    return subprocess.Popen(
        line.replace("provegym", f"exec {script}", 1),
        shell=True,
        cwd=place,
        env=clean,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_commands_of_the_readme_work_in_an_empty_folder(place: Path) -> None:
    lines = [*readme(), *MORE]
    assert len(lines) > 20
    for line in lines:
        with start(place, line) as process:
            out, err = process.communicate(timeout=SECONDS)
        assert process.returncode == 0, f"{line}\n{out[-2000:]}\n{err[-2000:]}"
        assert "Traceback" not in err, line
        assert "Warning" not in err, f"{line}\n{err[-2000:]}"


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("provegym view small --no-open", ""),
        ("provegym serve banking --http 127.0.0.1:0", "/health"),
    ],
    ids=["view", "serve"],
)
def test_what_serves_answers_and_ends(place: Path, line: str, path: str) -> None:
    with start(place, line) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        told = (process.stderr if "serve" in line else process.stdout).readline()
        found = re.search(r"http://[\d.:]+", told)
        assert found, told
        with urllib.request.urlopen(found[0] + path, timeout=60) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(60) in (0, 130)
        assert "Traceback" not in process.stderr.read()


def test_the_python_of_the_readme_runs(place: Path) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    (snippet,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    command = [place.parent / "env" / "bin" / "python", "-W", "error", "-c", snippet]
    subprocess.run(command, cwd=place, check=True, timeout=SECONDS)
