"""Replay of an example's reference calls on its world, with the state before each call."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from provegym.kernel import Change, Outcome, Session
from provegym.language.values import Knowledge, with_dates
from provegym.rewards.align import resolve
from provegym.search import Road
from provegym.toolbox import Toolbox
from provegym.trace import RAN, Call, Example, Json, Path, Step


@dataclass(frozen=True, eq=False)
class Played:
    """One executed step: its outcome, its changes, and the world and knowledge before it."""

    at: int
    step: Step
    arguments: Json
    outcome: Outcome
    changes: list[Change]
    before: Session
    known: Knowledge


Variant = tuple[frozenset[int], tuple[int, ...] | None]


@dataclass(frozen=True, eq=False)
class Memo:
    """A cache of results about a path's calls.

    `variants` are replays with some steps left out or in another order. `roads` are, by turn, other
    sequences of reads that yield the same needed values. `calls` are the calls of each of them.
    """

    variants: dict[Variant, "Replay"] = field(default_factory=dict)
    roads: dict[int, list[Road]] = field(default_factory=dict)
    calls: dict[tuple[int, int, int], list[Call]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Replay:
    """A path played to its end on the world of its example.

    `worlds` holds the world at the start of each user turn: the calls of earlier turns were made
    and the time before the turn has passed. `outcome` holds all changes that the calls made.
    """

    example: Example
    path: Path
    played: tuple[Played, ...]
    worlds: tuple[Session, ...]
    outcome: tuple[Change, ...]
    memo: Memo = field(default_factory=Memo)

    @property
    def ok(self) -> bool:
        """Whether every step ran."""
        return all(each.outcome.ok for each in self.played)

    @property
    def calls(self) -> list[Call]:
        """The steps that ran, as calls, each alone in its message."""
        ran = [each for each in self.played if each.outcome.ok]
        return [made(e.step.tool, e.arguments, n, e.step, e.outcome) for n, e in enumerate(ran)]

    def other(
        self, leave_out: Collection[int] = (), order: Sequence[int] | None = None
    ) -> "Replay":
        """The same path with some steps left out or in another order, from the cache if known."""
        variant = frozenset(leave_out), None if order is None else tuple(order)
        if variant not in self.memo.variants:
            played = replay(self.example, self.path, leave_out, order)
            self.memo.variants[variant] = played
        return self.memo.variants[variant]

    def annotated(self, example: Example, path: Path) -> "Replay":
        """The same replay with annotated steps: edges, references, alternatives.

        The calls are the same, so nothing is played again and the cache stays valid.
        """
        played = tuple(replace(each, step=path.steps[each.at]) for each in self.played)
        return replace(self, example=example, path=path, played=played)


def replay(
    example: Example,
    path: Path,
    leave_out: Collection[int] = (),
    order: Sequence[int] | None = None,
) -> Replay:
    """Play a path turn by turn on a fresh world, some steps left out or in another order."""
    session, known = Toolbox.of(example).session(example.seed), Knowledge()
    played: list[Played] = []
    worlds: list[Session] = []
    calls: list[Call] = []
    served: list[int | None] = [None] * len(path.steps)
    for number, turn in enumerate(example.turns):
        session.advance(turn.minutes)
        worlds.append(session.fork())
        known.hear(with_dates(turn.text, session.now))
        for at in order or range(len(path.steps)):
            step = path.steps[at]
            if step.turn != number or at in leave_out:
                continue
            arguments = {n: resolve(v, calls, served)[1] for n, v in step.arguments.items()}
            before, heard = session.fork(), known.copy()
            outcome = session.call(step.tool, arguments)
            changes = session.changes(step.tool) if outcome.ok else []
            played.append(Played(at, step, arguments, outcome, changes, before, heard))
            if outcome.ok:
                known.learn(outcome.text)
                served[at] = len(calls)
                calls.append(made(step.tool, arguments, len(calls), step, outcome))
    return Replay(example, path, tuple(played), tuple(worlds), tuple(session.diff()))


def made(tool: str, arguments: Json, position: int, step: Step, outcome: Outcome | None) -> Call:
    """The record of a successful call, alone in its message."""
    text = outcome.text if outcome else ""
    return Call(
        turn=step.turn,
        message=position,
        tool=tool,
        arguments=arguments,
        writes=step.writes,
        checks=RAN,
        result=text,
    )
