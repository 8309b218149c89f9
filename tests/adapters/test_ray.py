"""The same bytes from a Ray cluster, whatever becomes of its nodes; a line where there is none."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from time import monotonic, sleep

import pytest

from provegym import __version__
from provegym.trace import Example, Json, read

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".envs" / "ray" / "bin" / "python"
DRIVE = Path(__file__).with_name("drive_ray.py")
SERVERS, SIZE = "banking,budget,email,maps,payments,calendar", 80
SOME = ROOT / "tests" / "data" / "banking.jsonl"

needs_ray = pytest.mark.skipif(not PYTHON.exists(), reason="make adapters builds .envs/ray")


def run(*arguments: object, python: Path = PYTHON) -> "subprocess.CompletedProcess[str]":
    """Run the command line."""
    command = [python, "-m", "provegym", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def here(*arguments: object) -> "subprocess.CompletedProcess[str]":
    """Run the command line without a cluster."""
    return run(*arguments, python=Path(sys.executable))


class Nodes:
    """A cluster of three nodes of one core each."""

    def __init__(self, folder: str) -> None:
        self.process = subprocess.Popen(
            [PYTHON, DRIVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "RAY_TMPDIR": folder},
        )
        self.address = self.hear()

    def hear(self) -> str:
        """The next line it prints."""
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def kill_one(self) -> None:
        """End a node at once."""
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert self.hear() == "killed"


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    """The cluster of all tests; its files have a short path, since sockets are among them."""
    folder = mkdtemp(prefix="ray")
    started = Nodes(folder)
    yield started
    started.process.communicate()
    rmtree(folder)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus that this machine made alone."""
    out = tmp_path_factory.mktemp("local") / "corpus"
    done = here(*synth(out))
    assert done.returncode == 0, done.stderr
    return out


def synth(out: Path) -> list[object]:
    """The command that makes a corpus."""
    return ["synth", "--size", SIZE, "--seed", 5, "--servers", SERVERS, "--out", out]


def files(folder: Path) -> dict[str, bytes]:
    """Every file of a corpus: its examples, its card and its notes."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def begin(out: Path, address: str) -> "subprocess.Popen[str]":
    """A corpus in the making, some rounds of it written down."""
    command = [PYTHON, "-m", "provegym", *map(str, synth(out)), "--ray", address]
    process = subprocess.Popen(command, stdout=-1, stderr=-1, text=True)
    until = monotonic() + 120
    while kept(out) < SIZE // 4:
        assert process.poll() is None
        assert monotonic() < until
        sleep(0.02)
    return process


def kept(out: Path) -> int:
    """How many examples a corpus has noted."""
    note = out / "progress.json"
    return int(json.loads(note.read_bytes())["kept"]) if note.exists() else 0


@needs_ray
def test_three_nodes_make_the_same_bytes(nodes: Nodes, local: Path, tmp_path: Path) -> None:
    done = run(*synth(tmp_path / "out"), "--ray", nodes.address)
    assert (done.returncode, done.stderr.strip()) == (0, "")
    assert files(tmp_path / "out") == files(local)


@needs_ray
def test_examples_are_verified_and_played_as_here(
    nodes: Nodes, local: Path, tmp_path: Path
) -> None:
    data = local / "train-00000.jsonl"
    assert run("verify", data, "--json", "--ray", nodes.address).stdout == (
        here("verify", data, "--json").stdout
    )
    for name, command, file in (
        ("rollout", ["rollout", "--policy", "guesser"], ""),
        ("eval", ["eval", "heldout", "--model", "spammer", "--count", 50], "rollouts.jsonl"),
    ):
        ray, alone = tmp_path / f"{name}-ray.jsonl", tmp_path / f"{name}.jsonl"
        done = run(*command, "--data", data, "--out", ray, "--ray", nodes.address)
        told = here(*command, "--data", data, "--out", alone)
        assert (done.returncode, done.stderr.strip()) == (0, "")
        assert (ray / file).read_bytes() == (alone / file).read_bytes() != b""
        assert done.stdout.replace(ray.name, alone.name) == told.stdout
    begun = tmp_path / "begun"
    begun.mkdir()
    (begun / "settings.json").write_bytes((alone / "settings.json").read_bytes())
    whole = (alone / file).read_bytes()
    (begun / file).write_bytes(whole[: len(whole) // 2])
    done = run(*command, "--data", data, "--out", begun, "--ray", nodes.address)
    assert done.stdout == told.stdout
    assert files(begun) == files(alone)


@needs_ray
def test_a_driver_that_is_killed_goes_on_to_the_same_bytes(
    nodes: Nodes, local: Path, tmp_path: Path
) -> None:
    process = begin(tmp_path / "out", nodes.address)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert kept(tmp_path / "out") < SIZE
    done = run(*synth(tmp_path / "out"), "--ray", nodes.address)
    assert done.returncode == 0, done.stderr
    assert files(tmp_path / "out") == files(local)


def happens(event: str, nodes: Nodes, folder: Path) -> Json:
    """What comes of work in which something happens."""
    command = [PYTHON, DRIVE, nodes.address, event, folder]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr.strip()) == (0, "")
    found: Json = json.loads(done.stdout)
    assert found["results"] == list(range(len(found["results"])))
    assert "\n" not in found["said"]
    return found


@needs_ray
def test_it_is_known_who_works(nodes: Nodes, tmp_path: Path) -> None:
    found = happens("calm", nodes, tmp_path)
    assert (len(found["results"]), found["where"]) == (60, " (cores: 3, nodes: 3)")


@needs_ray
def test_the_batch_of_a_lost_process_runs_again(nodes: Nodes, tmp_path: Path) -> None:
    found = happens("unlucky", nodes, tmp_path)
    assert (len(found["results"]), found["said"]) == (60, "")
    assert {path.name for path in tmp_path.iterdir()} == {"0", "20", "40"}


@needs_ray
def test_work_that_ends_every_process_is_given_up(nodes: Nodes, tmp_path: Path) -> None:
    assert happens("deadly", nodes, tmp_path)["said"] == (
        "a batch was lost 3 times: The worker died unexpectedly while executing this task"
    )


@needs_ray
def test_a_full_disk_is_named_with_its_node(nodes: Nodes, tmp_path: Path) -> None:
    host = nodes.address.partition(":")[0]
    assert happens("full", nodes, tmp_path)["said"] == (
        f"node {host}: [Errno 28] No space left on device: 'graph.json';"
        " fix this and start again: the results written so far are kept"
    )


@needs_ray
@pytest.mark.parametrize(
    ("package", "says"),
    [
        (
            f"__version__ = '0.0.1'; __path__ = [{str(ROOT / 'src' / 'provegym')!r}]",
            rf"node [\d.]+ has provegym 0.0.1, but this machine has {__version__};"
            " install the same version on every node",
        ),
        (
            "raise ModuleNotFoundError('none', name='provegym')",
            f"a node of the Ray cluster cannot import provegym {__version__};"
            " install the same version on every node",
        ),
        ("", "the Ray cluster has no cores; start a node that has some"),
    ],
)
def test_a_cluster_that_cannot_work_is_one_line(tmp_path: Path, package: str, says: str) -> None:
    if package:
        (tmp_path / "provegym").mkdir()
        (tmp_path / "provegym" / "__init__.py").write_text(package, "utf-8")
    folder = mkdtemp(prefix="ray")
    done = subprocess.run(
        [PYTHON, DRIVE, tmp_path if package else ""],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "RAY_TMPDIR": folder},
        check=False,
    )
    rmtree(folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(says, done.stdout.strip())


@needs_ray
def test_a_cluster_of_this_machine_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a word it would be, too, but where somebody runs one already."""
    folder = mkdtemp(prefix="ray")
    monkeypatch.setenv("RAY_TMPDIR", folder)
    done = run("verify", SOME, "--ray", "local")
    rmtree(folder)
    assert (done.returncode, done.stderr.strip()) == (0, "")
    assert done.stdout == "6 examples checked, every one keeps all rules\n"


@needs_ray
def test_a_node_that_is_killed_costs_nothing_but_time(
    nodes: Nodes, local: Path, tmp_path: Path
) -> None:
    process = begin(tmp_path / "out", nodes.address)
    nodes.kill_one()
    assert kept(tmp_path / "out") < SIZE
    assert process.communicate()[1].strip() == ""
    assert files(tmp_path / "out") == files(local)
    assert len({each.id for each in read(tmp_path / "out", Example)}) == SIZE


@pytest.mark.parametrize(
    ("package", "address", "says"),
    [
        ("raise ModuleNotFoundError('no ray', name='ray')", [], "ray is missing: in a clone of"),
        ("__version__ = '2.59.1'", [], "ray 2.59.1 is too old: in a clone of ProveGym"),
        ("__version__ = '2.60.0'", ["127.0.0.1:9"], "no Ray cluster at 127.0.0.1:9: "),
        ("__version__ = '2.60.0'", ["127.0.0.1:x"], "no Ray cluster at 127.0.0.1:x: "),
    ],
)
def test_no_cluster_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, address: list[str], says: str
) -> None:
    (tmp_path / "ray.py").write_text(package, "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for before, after in ((["verify", SOME], []), (["verify"], [SOME])):
        done = here(*before, "--ray", *address, *after)
        assert done.returncode == 2
        assert done.stderr.startswith(f"provegym: {says}")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["verify", SOME, "--mcp", "x", "--ray"], "connected to this machine alone"),
        (["synth", "--size", 1, "--out", "x", "--ray", "--mcp", "x"], "to this machine alone"),
        (["eval", "heldout", "--ray", "auto", "--model", "embedded"], "serve the model"),
        (["verify", SOME, "--ray", "nonsense"], "unexpected extra argument(s) (nonsense)"),
    ],
)
def test_what_no_cluster_can_do_is_said(arguments: list[object], says: str) -> None:
    done = here(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
