"""A server that comes at run time works with `servers.add` alone; nothing else has to know it."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from examples import SEED, pay_example
from provegym import servers
from provegym.cli import app
from provegym.conversation.perturb import strangers
from provegym.corpus.transcript import transcript
from provegym.kernel import Record, Seed, Server, Session, State, Table, table
from provegym.trace import Path, Step, Turn


class Plant(Record, frozen=True):
    """Something green."""

    id: str
    name: str
    leaves: int = 3


class Windowsill(State):
    """Plants."""

    plants: Table[Plant] = table(Plant, "plant", look_up="list_plants")


plants = Server("plants", Windowsill, category="test", about="Plants on a windowsill.")


@plants.seed
def draw(seed: Seed) -> Windowsill:
    """One plant."""
    state = Windowsill(seed)
    state.plants.add(name="Fern")
    return state


@plants.read
def list_plants(windowsill: Windowsill, /) -> list[Plant]:
    """List the plants."""
    return list(windowsill.plants)


@plants.write
def water_plant(windowsill: Windowsill, /, name: str) -> Plant:
    """Water a plant, which grows a leaf.

    Args:
        name: Which plant.
    """
    (plant,) = [plant for plant in windowsill.plants if plant.name == name]
    return windowsill.plants.update(plant.id, leaves=plant.leaves + 1)


ASKS = {
    "kin": ["shopping"],
    "did": {"water_plant": "given it some water"},
    "slots": {"name": "plant called"},
    "fields": {"leaves": "number of green leaves"},
}


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget after each test what was added."""
    monkeypatch.setattr(servers, "_added", {})
    monkeypatch.setattr(servers, "_asked", {})


def reply(step: Step) -> str:
    """What the assistant says after one step."""
    turns = (Turn(text="Water the Fern, or tell me how many leaves it has."),)
    world = Session([plants], SEED).digest()
    path = Path(steps=(step,))
    example = pay_example(server="plants", digest=world, turns=turns, paths=(path,))
    return str(transcript(example).messages[-1]["content"])


WATER = Step(turn=0, tool="water_plant", arguments={"name": "Fern"}, writes=True)
COUNT = Step(turn=0, tool="list_plants", answers=("/items/0/leaves",))


@pytest.mark.parametrize(
    ("asks", "watered", "counted"),
    [
        (ASKS, "I've given it some water", "for Fern, the number of green leaves is 3"),
        (None, "watered the plant with the name Fern", "for Fern, the number of leaves is 3"),
    ],
)
def test_it_is_spoken_of_in_its_own_words_or_by_its_names(
    asks: dict[str, Any] | None, watered: str, counted: str
) -> None:
    servers.add(plants, asks)
    assert watered in reply(WATER)
    assert counted in reply(COUNT)


def test_its_strangers_are_all_that_are_not_its_kin() -> None:
    servers.add(plants)
    assert strangers("plants", servers.known()) == [*servers.names()]
    assert strangers("shopping", servers.known())[-1] == "plants"
    servers.add(plants, ASKS)
    assert {*servers.names()} - {*strangers("plants", servers.known())} == {"shopping"}
    assert "plants" not in strangers("shopping", servers.known())


def test_it_is_listed_beside_the_others() -> None:
    servers.add(plants)
    listed = json.loads(CliRunner().invoke(app, ["servers", "--json"]).stdout)["servers"]
    assert [each["name"] for each in listed] == [*servers.names(), "plants"]
    assert "water_plant" in CliRunner().invoke(app, ["servers", "plants"]).stdout
