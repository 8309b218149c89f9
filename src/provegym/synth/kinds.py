"""The kinds of examples and how each is made; a candidate is a pure function of seed and number."""

import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from random import Random

from msgspec.structs import replace as put

from provegym import servers
from provegym.kernel import AnyServer
from provegym.synth.machine import Conversation
from provegym.synth.perturb import strangers
from provegym.trace import Example, Path, Turn
from provegym.verify.complete import complete

WORLDS = 900
SHARES = {"multi_turn": 10_895, "clarification": 1_500, "abstention": 806, "irrelevance": 316}

Make = Callable[[AnyServer, int, str], Example | None]


def multi_turn(server: AnyServer, number: int, key: str) -> Example | None:
    """Two or three turns, each with a goal that works on the world the turns before left."""
    chance = Random(f"shape {key}")
    talk = Conversation(server, chance.randrange(WORLDS), key)
    writes = [tool for tool in server.tools.values() if tool.writes]
    done = talk.play(writes[number % len(writes)], 2 if chance.random() < 0.6 else 3)
    return talk.finish() if done else None


def clarification(server: AnyServer, number: int, key: str) -> Example | None:
    """A request that would be right, if the tools that serve it were shown."""
    talk = Conversation(server, Random(f"shape {key}").randrange(WORLDS), key)
    writes = [tool for tool in server.tools.values() if tool.writes]
    goal = writes[number % len(writes)]
    if not talk.play(goal, 1):
        return None
    hidden = put(talk.example.toolbox, hidden=(goal.name,))
    stripped = tuple(mark for mark in hidden.stripped if not mark.startswith(f"{goal.name}."))
    return complete(
        put(
            talk.example,
            kind="clarification",
            turns=tuple(talk.turns),
            paths=(Path(),),
            toolbox=put(hidden, stripped=stripped),
            provenance={"made": "offline", "would_serve": [goal.name]},
        )
    )


def abstention(server: AnyServer, number: int, key: str) -> Example | None:
    """A request that belongs to another kind of server altogether."""
    chance = Random(f"shape {key}")
    other = servers.load(chance.choice(strangers(server.name)))
    writes = [tool for tool in other.tools.values() if tool.writes]
    talk = Conversation(other, chance.randrange(WORLDS), f"{key} elsewhere")
    if not talk.play(chance.choice(writes), 1):
        return None
    return _nothing_fits(server, key, talk.turns[0].text, "abstention")


def irrelevance(server: AnyServer, number: int, key: str) -> Example | None:
    """Small talk."""
    chance = Random(f"shape {key}")
    words = smalltalk()
    text = chance.choice(words["frames"]).format(topic=chance.choice(words["topics"]))
    return _nothing_fits(server, key, text, "irrelevance")


def _nothing_fits(server: AnyServer, key: str, text: str, kind: str) -> Example:
    talk = Conversation(server, Random(f"world {key}").randrange(WORLDS), key)
    spec = put(talk.example.toolbox, distractors=())
    knobs = tuple(knob for knob in talk.example.knobs if knob != "distractors")
    plain = put(talk.example, turns=(Turn(text=text),), paths=(Path(),), toolbox=spec, knobs=knobs)
    return complete(put(plain, kind=kind))


@cache
def smalltalk() -> dict[str, list[str]]:
    """Frames and topics of small talk."""
    text = files("provegym.synth").joinpath("smalltalk.toml").read_text("utf-8")
    return tomllib.loads(text)


KINDS: dict[str, Make] = {
    make.__name__: make for make in (multi_turn, clarification, abstention, irrelevance)
}


def candidate(seed: int, number: int, names: Sequence[str]) -> Example | None:
    """The example of a number, completed and not yet verified."""
    chance = Random(f"kind {seed}:{number}")
    kind = chance.choices(list(SHARES), list(SHARES.values()))[0]
    server = servers.load(names[number % len(names)])
    return KINDS[kind](server, number // len(names), f"{server.name}-{seed}-{number}")
