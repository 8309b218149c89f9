"""Servers of one's own: found in folders and installed packages, written by `new-server`."""

import json
import shutil
from pathlib import Path
from shutil import copytree

import pytest

import provegym
from command import run
from provegym import packages, servers
from provegym.packages import BrokenServer
from provegym.view import worlds
from servers.own import alone, written  # noqa: F401

pytestmark = pytest.mark.usefixtures("alone")


def declare(site: Path, name: str, target: str) -> None:
    """Write what pip writes for an installed package with an entry point."""
    info = site / f"provegym_{name}-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: provegym-{name}\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(f"[provegym.servers]\n{name} = {target}\n")


def test_everything_works_on_a_server_in_a_folder(tmp_path: Path) -> None:
    written(tmp_path, "garage")
    found = ("--servers-from", tmp_path / "garage")
    corpus, rollouts = tmp_path / "corpus", tmp_path / "rollouts.jsonl"
    assert "lend_garage_item" in run("servers", "garage", *found).stdout
    assert json.loads(run("call", "garage", "find_garage_items", *found).stdout)["total"] == 70
    assert "what changed in the world" in run("demo", "garage", *found).stdout
    assert "← lend_garage_item" in run("graph", "garage", *found).stdout
    size = ("--size", 6, "--workers", 2, "--out", corpus)
    assert run("synth", "--servers", "garage", *size, *found).stdout.startswith("train: 6 examples")
    assert "6 examples checked, every one keeps all rules" in run("verify", corpus, *found).stdout
    played = run("rollout", "--data", corpus, "--out", rollouts, "--policy", "oracle", *found)
    assert "success 100.0%" in played.stdout
    assert "success 100.0%" in run("score", rollouts, *found).stdout
    export = ("export", corpus, "--format", "trl", "--out", tmp_path / "trl.jsonl")
    assert run(*export, *found).returncode == 0
    scores = run(
        "eval", "heldout", "--servers", "garage", "--count", 4, "--model", "oracle", *found
    )
    assert scores.stdout.split()[:2] == ["unseen", "worlds"]
    assert "(4)" in scores.stdout
    assert "--servers garage" in (corpus / "README.md").read_text()


def test_the_page_shows_it(tmp_path: Path) -> None:
    written(tmp_path, "garage")
    provegym.servers_from(tmp_path)
    assert "garage" in [each["name"] for each in worlds.list_servers()]
    shown = worlds.show_server(worlds.load("garage"))
    assert "An item is lent if and only if" in shown["rules"]


def test_an_installed_server_is_found_by_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copytree(written(tmp_path, "depot"), tmp_path / "site" / "depot")
    declare(tmp_path / "site", "depot", "depot:server")
    assert not servers.is_known("depot")
    packages.installed.cache_clear()
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert "depot" in provegym.names()
    assert "depot" not in servers.names()
    assert run("call", "depot", "list_depot_members").returncode == 0
    assert servers.words("depot")["towns"]
    assert "lend_depot_item" in servers.asks("depot")["asks"]


def test_a_server_with_the_name_of_one_of_ours_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copytree(written(tmp_path, "depot"), tmp_path / "theirs" / "banking")
    refused = run("servers", "--servers-from", tmp_path / "theirs")
    assert refused.returncode == 2
    assert "banking is the name of one of ProveGym's servers; rename" in refused.stderr
    declare(tmp_path / "site", "banking", "depot")
    packages.installed.cache_clear()
    monkeypatch.syspath_prepend(tmp_path / "site")
    listed = run("servers")
    assert listed.returncode == 0
    assert "banking is the name of one of ProveGym's servers" in listed.stderr
    assert "transfer_funds" in servers.load("banking").tools


def test_a_package_that_fails_to_import_does_not_break_the_others(tmp_path: Path) -> None:
    broken = written(tmp_path, "ruin")
    (broken / "__init__.py").write_text("raise RuntimeError('the roof is gone')\n")
    written(tmp_path, "garage")
    found = ("--servers-from", tmp_path)
    listed = run("servers", *found)
    assert "garage" in listed.stdout
    sentence = f"{broken} cannot be imported: RuntimeError: the roof is gone"
    assert sentence in listed.stderr
    called = run("call", "ruin", "find_ruin_items", *found)
    assert (called.returncode, called.stderr) == (2, f"provegym: {sentence}\n")
    assert run("call", "garage", "find_garage_items", *found).returncode == 0


@pytest.mark.parametrize(
    ("init", "why"),
    [
        ("", "has no 'server'"),
        ("server = 5", "is a int, not a Server"),
        ("from .state import server", "its server is called garage; give both the same name"),
    ],
)
def test_a_package_without_its_server_says_so(tmp_path: Path, init: str, why: str) -> None:
    copytree(written(tmp_path, "garage"), tmp_path / "lot")
    (tmp_path / "lot" / "__init__.py").write_text(init)
    servers.look_in_packages(tmp_path / "lot")
    with pytest.raises(BrokenServer, match=why):
        servers.load("lot")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Garage", "lower-case letters"),
        ("class", "class is a word of the Python language"),
        ("banking", "there is a server banking already"),
        ("json", "Python has a module json already"),
    ],
)
def test_a_name_that_cannot_be_is_refused(tmp_path: Path, name: str, why: str) -> None:
    refused = run("new-server", name, "--out", tmp_path / "new")
    assert refused.returncode == 2
    assert why in refused.stderr
    assert not (tmp_path / "new").exists()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    assert run("new-server", "garage", "--out", tmp_path / "new").returncode == 0
    again = run("new-server", "garage", "--out", tmp_path / "new")
    assert again.returncode == 2
    assert "is there already; name an empty folder" in again.stderr


def test_a_project_that_was_half_written_is_finished(tmp_path: Path) -> None:
    whole, half = tmp_path / "whole", tmp_path / "half"
    for folder in (whole, half):
        assert run("new-server", "garage", "--out", folder).returncode == 0
    shutil.rmtree(half / "tests")
    (half / "src" / "garage" / "tools.py").rename(half / "src" / "garage" / "tools.py.1f.part")
    assert run("new-server", "garage", "--out", half).returncode == 0
    (half / "src" / "garage" / "tools.py.1f.part").unlink()
    texts = [
        {path.relative_to(each): path.read_bytes() for path in each.rglob("*.*") if path.is_file()}
        for each in (whole, half)
    ]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("name", ["notes.txt", "README.md", "src/other.py"])
def test_a_folder_with_something_else_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    done = run("new-server", "garage", "--out", tmp_path)
    assert "is there already; name an empty folder" in done.stderr
    assert [path.read_text() for path in tmp_path.rglob("*") if path.is_file()] == ["mine"]


def test_a_folder_without_servers_is_refused(tmp_path: Path) -> None:
    refused = run("servers", "--servers-from", tmp_path)
    assert "holds no server" in refused.stderr
    assert "new-server" in refused.stderr
    assert "is not a folder" in run("servers", f"--servers-from={tmp_path / 'no'}").stderr


def test_its_graph_is_proven_anew_after_a_change(tmp_path: Path) -> None:
    package = written(tmp_path, "garage")
    servers.look_in_packages(package)
    before = servers.source_of("garage")
    (package / "tools.py").write_text((package / "tools.py").read_text() + "\n# changed\n")
    assert servers.source_of("garage") != before
    assert servers.source_of("banking") == ""
