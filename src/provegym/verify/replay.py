"""An example's right calls played on its world: what each came to, and what was known before."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from provegym.kernel import Change, Outcome, Session
from provegym.policies.knowledge import Knowledge
from provegym.rewards.align import resolve
from provegym.toolbox import Toolbox
from provegym.trace import Call, Checks, Example, Json, Path, Step

RAN = Checks(shown=True, fits=True, ran=True)


@dataclass
class Played:
    """One step as it went: what it came to, and the world and knowledge before it."""

    step: Step
    arguments: Json
    outcome: Outcome
    changes: list[Change]
    before: Session
    known: Knowledge


@dataclass
class Replay:
    """A path played to its end, or to the step that failed."""

    played: list[Played] = field(default_factory=list)
    outcome: list[Change] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether every step ran."""
        return all(each.outcome.ok for each in self.played)


def replay(
    example: Example,
    path: Path,
    leave_out: Collection[int] = (),
    order: Sequence[int] | None = None,
) -> Replay:
    """Play a path turn by turn on a fresh world, some steps left out or in another order."""
    session, known, done = Toolbox.of(example).session(example.seed), Knowledge(), Replay()
    calls: list[Call] = []
    served: list[int | None] = [None] * len(path.steps)
    for number, turn in enumerate(example.turns):
        session.advance(turn.minutes)
        known.hear(turn.text)
        for at in order or range(len(path.steps)):
            step = path.steps[at]
            if step.turn != number or at in leave_out:
                continue
            arguments = {n: resolve(v, calls, served)[1] for n, v in step.arguments.items()}
            before, heard = session.fork(), known.copy()
            outcome = session.call(step.tool, arguments)
            changes = session.changes(step.tool) if outcome.ok else []
            done.played.append(Played(step, arguments, outcome, changes, before, heard))
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
