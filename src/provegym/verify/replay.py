"""An example's right calls played on its world: what each came to, and what was known before."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from provegym.kernel import Change, Outcome, Session
from provegym.language.values import Knowledge, with_dates
from provegym.rewards.align import resolve
from provegym.search import Road
from provegym.toolbox import Toolbox
from provegym.trace import Call, Checks, Example, Json, Path, Step

RAN = Checks(shown=True, fits=True, ran=True)


@dataclass
class Played:
    """One step as it went: what it came to, and the world and knowledge before it."""

    at: int
    step: Step
    arguments: Json
    outcome: Outcome
    changes: list[Change]
    before: Session
    known: Knowledge


@dataclass
class Replay:
    """A path played to its end, with what else was found out by playing it.

    What is proven of a path is asked for more than once: other orders and omissions are played once
    each, and the roads of a turn are sought once.
    """

    example: Example
    path: Path
    played: list[Played] = field(default_factory=list)
    outcome: list[Change] = field(default_factory=list)
    roads: dict[int, list[Road]] = field(default_factory=dict)
    _others: dict[tuple[frozenset[int], tuple[int, ...] | None], "Replay"] = field(
        default_factory=dict
    )

    @property
    def ok(self) -> bool:
        """Whether every step ran."""
        return all(each.outcome.ok for each in self.played)

    def other(
        self, leave_out: Collection[int] = (), order: Sequence[int] | None = None
    ) -> "Replay":
        """The same path with some steps left out or in another order."""
        key = frozenset(leave_out), None if order is None else tuple(order)
        if key not in self._others:
            self._others[key] = replay(self.example, self.path, leave_out, order)
        return self._others[key]

    def tie(self, example: Example, path: Path) -> "Replay":
        """The replay as that of the same calls, of which more is known by now."""
        for other in (self, *self._others.values()):
            for each in other.played:
                each.step = path.steps[each.at]
            other.example, other.path = example, path
        return self


def replay(
    example: Example,
    path: Path,
    leave_out: Collection[int] = (),
    order: Sequence[int] | None = None,
) -> Replay:
    """Play a path turn by turn on a fresh world, some steps left out or in another order."""
    session, known = Toolbox.of(example).session(example.seed), Knowledge()
    done = Replay(example, path)
    calls: list[Call] = []
    served: list[int | None] = [None] * len(path.steps)
    for number, turn in enumerate(example.turns):
        session.advance(turn.minutes)
        known.hear(with_dates(turn.text, session.now))
        for at in order or range(len(path.steps)):
            step = path.steps[at]
            if step.turn != number or at in leave_out:
                continue
            arguments = {n: resolve(v, calls, served)[1] for n, v in step.arguments.items()}
            before, heard = session.fork(), known.copy()
            outcome = session.call(step.tool, arguments)
            changes = session.changes(step.tool) if outcome.ok else []
            done.played.append(Played(at, step, arguments, outcome, changes, before, heard))
            if outcome.ok:
                known.learn(outcome.text)
                served[at] = len(calls)
                calls.append(made(step.tool, arguments, len(calls), step, outcome))
    done.outcome = session.diff()
    return done


def made(tool: str, arguments: Json, position: int, step: Step, outcome: Outcome | None) -> Call:
    """A call that went well, in a message of its own."""
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
