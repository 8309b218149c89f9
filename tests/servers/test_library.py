"""All servers together: unique names and id prefixes, the same words, chains, fixed worlds."""

import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from difflib import SequenceMatcher
from itertools import combinations
from pathlib import Path

import pytest

from graph.graphs import graph
from provegym.demo import load as load_story
from provegym.demo import play
from provegym.kernel import AnyServer, Session
from provegym.servers import load, load_all, names
from servers import golden


def test_the_command_lists_every_server_and_tool() -> None:
    command = [sys.executable, "-m", "provegym", "servers", "--json"]
    listed = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["servers"]
    tools = [tool for server in listed for tool in server["tools"]]
    assert tuple(server["name"] for server in listed) == names()
    assert {tool["name"] for tool in tools} == {name for s in load_all() for name in s.tools}
    for tool in tools:
        assert tool["description"]
        assert isinstance(tool["writes"], bool)
        assert all(part["description"] for part in tool["input_schema"]["properties"].values())


def test_id_prefixes_tell_servers_apart() -> None:
    owners = defaultdict(set)
    for server in load_all():
        for spec in server.state.tables.values():
            if spec.prefix:
                owners[spec.prefix].add(server.name)
    shared = {prefix: sorted(held) for prefix, held in owners.items() if len(held) > 1}
    assert shared == {}


def test_no_two_tools_could_be_confused() -> None:
    tools = [tool for server in load_all() for tool in server.tools.values()]
    alike = [
        (one.name, two.name)
        for one, two in combinations(tools, 2)
        if one.server != two.server
        and SequenceMatcher(None, one.description, two.description).quick_ratio() > 0.9
        and SequenceMatcher(None, one.description, two.description).ratio() > 0.8
    ]
    assert alike == []


def test_the_same_things_are_called_the_same() -> None:
    verbs = Counter(name.split("_")[0] for s in load_all() for name in s.tools)
    assert not {"fetch", "retrieve", "remove_all", "edit", "modify", "new"} & verbs.keys()
    for server in load_all():
        for tool in server.tools.values():
            for argument in tool.arguments.names:
                assert re.fullmatch(r"[a-z][a-z0-9_]*", argument)
                assert argument not in {"id", "ids", "query", "q", "input", "data", "value"}


def test_most_tools_take_what_others_yield() -> None:
    fed = total = 0
    for server in load_all():
        targets = {edge.target for edge in graph(server.name).edges if edge.kind == "explicit"}
        fed += len(targets)
        total += len(server.tools)
    print(f"{fed} of {total} tools take an argument that another tool yields")
    assert fed / total >= 0.6


@pytest.mark.parametrize("server", load_all(), ids=lambda server: server.name)
def test_every_server_has_a_chain_of_five(server: AnyServer) -> None:
    pairs = graph(server.name).pairs()
    following = defaultdict(set)
    for source, target in pairs:
        following[source].add(target)

    def longest(path: tuple[str, ...]) -> int:
        if len(path) == 5:
            return 5
        ahead = [t for t in sorted(following[path[-1]]) if t not in path]
        return max((longest((*path, tool)) for tool in ahead), default=len(path))

    assert max(longest((tool,)) for tool in server.tools) == 5


@pytest.mark.parametrize("name", names())
def test_every_story_goes_as_it_is_told(name: str) -> None:
    told = play(load_story(name), Session([load(name)], 7))
    assert len(told) >= 4
    for step, _, outcome in told:
        assert outcome is None or outcome.error == step.fails, (step, outcome)
    assert any(step.fails for step, _, _ in told)


@pytest.mark.parametrize("server", load_all(), ids=lambda server: server.name)
def test_worlds_change_only_with_the_servers_version(server: AnyServer) -> None:
    recorded = json.loads(golden.FILE.read_text())
    assert recorded[server.name] == golden.digests(server), "raise the version, then golden.py"


@pytest.mark.parametrize("server", load_all(), ids=lambda server: server.name)
def test_every_server_has_eight_rules_that_can_refuse(server: AnyServer) -> None:
    folder = Path(sys.modules[f"provegym.servers.{server.name}"].__file__ or "").parent
    code = "\n".join(path.read_text("utf-8") for path in folder.glob("*.py"))
    rules = re.findall(r"raise (?:Rejected|Denied)\(|\bforbid\(|^ +\(.+, f?\"", code, re.MULTILINE)
    assert len(rules) >= 8
