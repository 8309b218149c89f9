"""Benchmark of worlds that are data: a server built from its spec, compared with one by hand.

Both play the same calls on the same worlds, in turn, so that the ratios hold on a busy machine.
"""

from collections.abc import Callable
from functools import cache, partial
from importlib.resources import files
from statistics import median
from time import perf_counter

import msgspec

from provegym.fuzz import find_calls
from provegym.kernel import AnyServer, Seed, Session, State
from provegym.servers import load, people
from provegym.worlds import build, parse

NAME = "retail_chain"
EXAMPLE = files("provegym.worlds") / "examples" / f"{NAME}.toml"
ROUNDS, FORKS = 60, 5
DAY = 24 * 60


@cache
def by_spec() -> AnyServer:
    """The server that is built from the example spec, with worlds of its own."""
    return build(parse(EXAMPLE.read_bytes(), EXAMPLE.name))


@cache
def twin() -> AnyServer:
    """The server that is built from the example spec, on the worlds of the server by hand."""
    server = build(parse(EXAMPLE.read_bytes(), EXAMPLE.name))
    server.seed(lambda seed: _copied(server, seed))
    return server


def _copied(server: AnyServer, seed: Seed) -> State:
    """The seeded world of the server by hand, in the tables of the spec."""
    world, state = load(NAME).world(seed.number), server.state(seed)
    state.now, state.me = world.now, people.acting_user(seed).name
    for name, declared in state.tables.items():
        rows, table = getattr(world, name), getattr(state, name)
        for row in rows:
            table.put(declared.record(**msgspec.structs.asdict(row)))
        table._next = rows.tail()[0]
    return state  # type: ignore[no-any-return]


def measure_specs() -> dict[str, float | int]:
    """How much longer calls, forks, resets and waiting take on a spec than by hand."""
    hand = load(NAME)
    sessions = Session([hand], 3), Session([twin()], 3)
    for session in sessions:
        session.digest()
    calls = [
        _ratio(*sessions, partial(_call, tool, msgspec.json.encode(arguments)))
        for tool, arguments in find_calls(hand.tools.values(), sessions[0])
    ]
    return {
        "spec_over_hand_call": median(calls),
        "spec_over_hand_call_most": max(calls),
        "spec_over_hand_fork": _ratio(*sessions, Session.fork),
        "spec_over_hand_reset": _ratio(*sessions, _reset),
        "spec_over_hand_advance": _ratio(*sessions, _advance),
    }


def _ratio(hand: Session, spec: Session, act: Callable[[Session], object]) -> float:
    """The time of something on the spec, divided by its time on the server by hand.

    It is done on forks of the sessions, which are made before the clock starts.
    """
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for session, found in zip((hand, spec), times, strict=True):
            forks = [session.fork() for _ in range(FORKS)]
            start = perf_counter()
            for fork in forks:
                act(fork)
            found.append(perf_counter() - start)
    return median(times[1]) / median(times[0])


def _call(tool: str, arguments: bytes, session: Session) -> None:
    session.call(tool, arguments)


def _reset(session: Session) -> None:
    session.reset()
    session.state(session.servers[0])


def _advance(session: Session) -> None:
    session.advance(DAY)
