"""The command line: one clear line for every mistake, one JSON document where a machine reads."""

import json
import socket
import subprocess
import sys

import pytest

from command import Done, run

SECONDS = 300


def start(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the command line as a user does, in a process of its own."""
    command = [sys.executable, "-m", "provegym", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)


def is_one_line(done: "Done | subprocess.CompletedProcess[str]", says: str) -> None:
    """Assert that a command failed with one line on stderr, and said nothing else."""
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["servrs"], "no command 'servrs'; did you mean 'servers'?"),
        (["foo"], "no command 'foo'; `"),
        (["eval", "foo"], "eval --help` lists them"),
        (["eval", "bfcl2"], "did you mean 'bfcl'?"),
        (["servers", "nothing"], "no server 'nothing'; `provegym servers` lists them"),
        (["servers", "bankin"], "did you mean 'banking'?"),
        (["call"], "name a server; `provegym servers` lists them"),
        (["call", "banking"], "name a tool of banking; `provegym servers banking` lists them"),
        (["demo"], "name a server; `provegym servers` lists them"),
        (["call", "bank", "list_accounts"], "no server 'bank'"),
        (["call", "banking", "list_accounts", "--seed", "x"], "--seed"),
        (["serve", "nothing"], "no server 'nothing'"),
        (["serve", "--http", "here"], "no HOST:PORT"),
        (["serve", "--http", "127.0.0.1:99999"], "no HOST:PORT"),
        (["serve", "--http", "0.0.0.0:0"], "PROVEGYM_TOKEN"),
        (["serve", "--http", "256.1.1.1:80"], "PROVEGYM_TOKEN"),
        (["serve", "--http", "127.0.0.1:-1"], "no HOST:PORT"),
    ],
)
def test_a_mistake_is_one_line_and_a_non_zero_exit(arguments: list[str], says: str) -> None:
    is_one_line(run(*arguments), says)


def test_a_mistake_is_told_with_the_command_that_was_typed() -> None:
    lists = "no command 'foo'; `python -m provegym --help` lists them"
    is_one_line(start("foo"), lists)
    lists = "no command 'foo'; `python -m provegym eval --help` lists them"
    is_one_line(start("eval", "foo"), lists)


def test_a_port_in_use_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = run("serve", "--http", f"127.0.0.1:{taken.getsockname()[1]}")
    is_one_line(done, "provegym: cannot listen on")


def test_servers_as_json_is_one_document() -> None:
    done = start("servers", "--json")
    listed = json.loads(done.stdout)["servers"]
    assert {"banking", "filesystem", "food_delivery"} <= {server["name"] for server in listed}
    assert all(tool["description"] for server in listed for tool in server["tools"])
    assert done.stderr == ""


def test_one_server_shows_its_tools() -> None:
    done = run("servers", "banking")
    assert "transfer_funds" in done.stdout
    assert "write" in done.stdout


def test_a_call_prints_its_result() -> None:
    done = start("call", "banking", "list_accounts", '{"limit": 1}', "--seed", "3")
    assert done.returncode == 0
    assert json.loads(done.stdout)["total"] == 8


@pytest.mark.parametrize("arguments", ['{"acount_id": "x"}', "{", "[]", "null", '"x"', "\x00"])
def test_a_refused_call_exits_with_one(arguments: str) -> None:
    if "\x00" in arguments:
        arguments = arguments.replace("\x00", "\\u0000")
    done = run("call", "banking", "get_account", arguments)
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"] == "invalid_argument"
    assert done.stderr == "next: provegym servers banking\n"


def test_help_and_version() -> None:
    assert "Usage" in run().stdout
    assert run("--version").stdout.strip()
