"""The contract of servers finds what is broken, and finds nothing in our own."""

from decimal import Decimal
from itertools import count
from typing import Any

import pytest

from provegym import servers
from provegym.kernel import AnyServer, Outcome, Record, Rejected, Seed, Server, State, Table, table
from provegym.verify import server_contract
from provegym.verify.server_contract import call_faults, faults, result_faults


class Jar(Record, frozen=True):
    """A jar."""

    id: str
    name: str
    spoons: int = 3
    price: Decimal = Decimal("1.00")


class Shelf(State):
    """Jars."""

    jars: Table[Jar] = table(Jar, "jar", look_up="list_jars")

    def check(self) -> None:
        """No jar is less than empty."""
        assert all(jar.spoons >= 0 for jar in self.jars), "a jar has less than nothing"


def larder() -> AnyServer:
    """A server that keeps the rules."""
    server: AnyServer = Server("larder", Shelf, category="test", about="Jars on a shelf.")

    @server.seed
    def draw(seed: Seed) -> Shelf:
        shelf = Shelf(seed)
        for name in ("Honey", "Jam", "Salt"):
            shelf.jars.add(name=name)
        return shelf

    @server.read
    def list_jars(shelf: Shelf, /) -> list[Jar]:
        """List the jars on the shelf."""
        return list(shelf.jars)

    @server.write
    def take_spoon(shelf: Shelf, /, jar_id: str) -> Jar:
        """Take one spoon out of a jar.

        Args:
            jar_id: The jar, e.g. "jar_12".
        """
        jar = shelf.jars[jar_id]
        if not jar.spoons:
            raise Rejected(f"the {jar.name} is empty; take another jar")
        return shelf.jars.update(jar_id, spoons=jar.spoons - 1)

    return server


def with_tool(function: Any) -> AnyServer:
    """The same server with one more tool, which breaks a rule."""
    server = larder()
    server.write(function)
    return server


def takes_too_much(shelf: Shelf, /, jar_id: str) -> Jar:
    """Take ten spoons out of a jar.

    Args:
        jar_id: The jar, e.g. "jar_12".
    """
    return shelf.jars.update(jar_id, spoons=shelf.jars[jar_id].spoons - 10)


def crashes(shelf: Shelf, /) -> Jar:
    """Divide by the number of jars that are not there."""
    return shelf.jars.add(name=str(1 // 0))


NUMBERS = count()


def counts(shelf: Shelf, /) -> Jar:
    """Add a jar with a name that no session has had."""
    return shelf.jars.add(name=f"jar {next(NUMBERS)}")


def mixes(shelf: Shelf, /) -> Jar:
    """Add a jar with half a spoon, which its type does not allow."""
    return shelf.jars.add(name="Mix", spoons=900.5)


def stays_short(shelf: Shelf, /, name: str) -> Jar:
    """Say no.

    Args:
        name: It.
    """
    raise Rejected("no")


def test_a_server_that_keeps_the_rules_has_no_faults() -> None:
    assert faults(larder(), calls=100) == []


@pytest.mark.parametrize("name", servers.names())
def test_our_servers_keep_the_rules(name: str) -> None:
    assert faults(servers.load(name), calls=60) == []


@pytest.mark.parametrize(
    ("tool", "says"),
    [
        (takes_too_much, "less than nothing"),
        (crashes, "ZeroDivisionError"),
        (counts, "answers differently in a replay"),
        (mixes, "is not the same after JSON"),
        (stays_short, "the argument 'name' has no description or no bound"),
    ],
)
def test_what_is_broken_is_said_in_a_sentence(tool: Any, says: str) -> None:
    found = faults(with_tool(tool), calls=100)
    assert any(says in sentence for sentence in found), found


def test_a_world_must_follow_from_its_seed() -> None:
    server, numbers = larder(), count()

    @server.seed
    def draw(seed: Seed) -> Shelf:
        shelf = Shelf(seed)
        shelf.jars.add(name=f"Jar {next(numbers)}")
        return shelf

    assert any("another world" in sentence for sentence in faults(server, calls=20))


def test_results_and_errors_have_limits() -> None:
    tool = larder().tools["list_jars"]
    output = server_contract.jsonschema_rs.validator_for(tool.output_schema)
    short = Outcome('{"error":"rejected","message":"no"}', "rejected")
    assert [*result_faults(short, output)] == ["says too little"]
    assert [*result_faults(Outcome('{"items":"none"}'), output)] == ["off the output schema"]
    assert [*call_faults(tool, short, changed=True)] == ["failure left a trace"]
    assert [*call_faults(tool, Outcome("{}"), changed=True)] == ["read changed the world"]
    assert [*call_faults(tool, Outcome("{}"), changed=False)] == []
