"""The two commands as a user types them: a page at once, and a line for each mistake."""

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import httpx2
import pytest

from provegym.servers import names
from provegym.trace import line, write
from view.samples import add_step, folder, played, some


def run(*arguments: object, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """Run the command line as a user does."""
    command = [sys.executable, "-m", "provegym", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, cwd=cwd
    )


def is_one_line(done: "subprocess.CompletedProcess[str]", says: str) -> None:
    """A mistake told in a line, and nothing else."""
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.parametrize("command", ["view", "report"])
def test_mistakes_are_one_line(command: str, tmp_path: Path) -> None:
    is_one_line(run(command, tmp_path / "nowhere"), "no such file or folder")
    is_one_line(run(command, tmp_path), "nothing to show in")


def test_a_port_in_use_is_one_line(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", some(1))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("view", "--no-open", "--port", taken.getsockname()[1], tmp_path)
    is_one_line(done, "cannot listen on")


def test_a_report_is_written_once(tmp_path: Path) -> None:
    from provegym.view.page import STATIC

    path, out = folder(tmp_path / "all"), tmp_path / "report.html"
    done = run("report", path, "-o", out)
    if not (STATIC / "index.html").exists():
        is_one_line(done, "not built")
        return
    assert (done.returncode, done.stderr) == (0, f"next: provegym view {path}\n")
    told = r"report\.html: \d+\.\d MB, 28 examples and rollouts of 6 files or runs; open it"
    assert re.search(told, done.stdout)
    assert 'id="report"' in out.read_text("utf-8")
    is_one_line(run("report", path, "-o", out), "--force")
    assert run("report", path, "-o", out, "--force", "--items", 2).returncode == 0
    is_one_line(
        run("report", path, "-o", tmp_path / "no" / "report.html"), "that its folder exists"
    )


def test_a_report_of_nothing_but_problems_says_which(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a,b\n", "utf-8")
    is_one_line(run("report", tmp_path, "-o", tmp_path / "r.html"), "is not JSON lines")


@pytest.fixture(scope="module")
def viewed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    path = folder(tmp_path_factory.mktemp("cli") / "all")
    command = [sys.executable, "-m", "provegym", "view", "--no-open", str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.match(r"(http://127\.0\.0\.1:\d+)/", process.stdout.readline())
    assert found
    try:
        yield found[1], path
    finally:
        process.terminate()
        _, told = process.communicate(timeout=30)
        assert told == ""


def wait_for(url: str, test: Any) -> Any:
    """Ask until an answer is as expected."""
    until = monotonic() + 30
    while monotonic() < until:
        told = httpx2.get(url).json()
        if test(told):
            return told
        sleep(0.05)
    raise AssertionError(f"{url} never came to what was expected: {told}")


def test_the_page_is_served(viewed: tuple[str, Path]) -> None:
    url, _ = viewed
    told = httpx2.get(f"{url}/")
    assert told.status_code == 200
    assert told.headers["content-type"].startswith("text/html")
    assert "__TOKEN__" not in told.text


def test_a_live_run_and_a_live_file_are_followed(viewed: tuple[str, Path]) -> None:
    url, path = viewed
    sources = httpx2.get(f"{url}/api/sources").json()["sources"]
    number = {source["name"].removeprefix("all/"): source["id"] for source in sources}
    wait_for(f"{url}/api/run?source={number['run']}", lambda told: told["total"] == 3)
    add_step(path / "run", 4)
    told = wait_for(f"{url}/api/run?source={number['run']}&after=3", lambda run: run["steps"])
    assert [step["step"] for step in told["steps"]] == [4]
    text = line(played("oracle", 77))
    with (path / "left.jsonl").open("ab") as out:
        out.write(text[:100])
    rows = f"{url}/api/columns?source={number['left.jsonl']}"
    wait_for(f"{url}/api/sources", lambda told: "cut off" in str(told))
    assert httpx2.get(rows).json()["total"] == 10
    with (path / "left.jsonl").open("ab") as out:
        out.write(text[100:])
    told = wait_for(rows, lambda told: told["total"] == 11)
    assert told["columns"]["id"]["values"][-1] == "pay-77"
    write(path / "new.jsonl", some(2))
    wait_for(
        f"{url}/api/sources",
        lambda told: ("all/new.jsonl", 2) in [(s["name"], s["count"]) for s in told["sources"]],
    )


def test_without_a_folder_the_worlds_are_there(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "provegym", "view", "--no-open"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert process.stdout is not None
    try:
        url = process.stdout.readline().split()[0]
        assert httpx2.get(f"{url}api/sources", timeout=120).json()["sources"] == []
        served = httpx2.get(f"{url}api/servers", timeout=120).json()
        assert {server["name"] for server in served} == set(names())
    finally:
        process.terminate()
        process.communicate(timeout=30)
