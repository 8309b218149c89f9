"""What the teacher is asked to write: a user turn of a plan, and the calls that the user wants."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from provegym import servers
from provegym.kernel import Session
from provegym.language.things import Survey, survey
from provegym.language.values import fold, is_said, leaves
from provegym.trace import Alternative, Claim, Example, Json, Step, literals


class Ask(NamedTuple):
    """A request for the text of a user turn.

    `said` and `replies` are the texts of the user and of the assistant in the turns before. `world`
    is the live world when the turn begins; by default it is the world of the example's seed.
    """

    example: Example
    turn: int
    said: tuple[str, ...] = ()
    rephrase: bool = False
    replies: tuple[str, ...] = ()
    world: Session | None = None

    @property
    def plain(self) -> str:
        """The planned text of the turn."""
        return self.example.turns[self.turn].text

    @property
    def asks(self) -> str | None:
        """The argument that the turn leaves out."""
        return self.example.turns[self.turn].asks

    @property
    def is_answer(self) -> bool:
        """Whether the turn answers a question: the turn before left something out."""
        return self.turn > 0 and self.example.turns[self.turn - 1].asks is not None

    @property
    def level(self) -> str:
        """How much the turn says: "complete", "missing", "minimal", "answer" or "aside"."""
        levels = self.example.provenance.levels
        if self.turn < len(levels):
            return levels[self.turn]
        return "missing" if self.asks else "complete"

    @property
    def survey(self) -> Survey:
        """The things that users can name in this world."""
        server = servers.load(self.example.server)
        return survey(self.world or Session([server], self.example.seed), self.example.server)

    def other_names(self, phrase: str) -> tuple[str, ...]:
        """Other names for the thing that a phrase names; no other thing of its kind has them.

        A name that lacks a value which the reference calls take from the phrase is left out.
        """
        named = self.example.provenance.names
        pairs = named[self.turn] if self.turn < len(named) else ()
        key = next((key for called, key in pairs if fold(called) == fold(phrase)), None)
        thing = self.survey.things.get(key) if key is not None else None
        if thing is None:
            return ()
        steps = self.example.paths[0].steps
        used = [v for step in steps for v in leaves(literals(step.arguments)) if is_said(v, phrase)]
        others = [name for name in thing.names if fold(name) != fold(phrase)]
        return tuple(name for name in others if all(is_said(value, name) for value in used))


@dataclass(frozen=True)
class Wish:
    """A call that the user of a turn wants: one of some tools, and its arguments.

    `arguments` is None if a plan does not record them. `missing` is the argument that the user
    leaves out. `derived` are the user's words for a value, `alternatives` calls that do as well.
    """

    tools: tuple[str, ...]
    arguments: Json | None = None
    writes: bool = False
    missing: str = ""
    derived: Mapping[str, str] = field(default_factory=dict)
    alternatives: tuple[Alternative, ...] = ()


def wishes(ask: Ask, path: int = 0) -> list[Wish]:
    """The calls that a turn asks for, by one path of the plan. Lookups are not among them."""
    made = ask.example.provenance
    claims = [c for c in (made.infeasible, made.unserved) if c is not None and c.turn == ask.turn]
    if claims:
        return [_claimed(claim, ask) for claim in claims]
    turn = ask.turn + 1 if ask.asks else ask.turn
    wanted = [
        _of_step(at, step, ask)
        for at, step in enumerate(ask.example.paths[path].steps)
        if step.turn == turn and (step.writes or step.answers)
    ]
    if ask.asks:
        wanted = [wish for wish in wanted if wish.missing] or [_incomplete(ask, ask.asks)]
    if not wanted and made.unserved is None and made.would_serve and ask.level != "aside":
        return [Wish(made.would_serve)]
    return wanted


def _claimed(claim: Claim, ask: Ask) -> Wish:
    tool = servers.load(ask.example.server).tools[claim.tool]
    return Wish((claim.tool,), claim.arguments, tool.writes)


def _of_step(at: int, step: Step, ask: Ask) -> Wish:
    arguments = literals(step.arguments)
    missing = ask.asks if ask.asks in arguments else None
    if missing is not None:
        del arguments[missing]
    derived = ask.example.provenance.derived
    words = {name: derived[key] for name in arguments if (key := f"{at}.{name}") in derived}
    return Wish((step.tool,), arguments, step.writes, missing or "", words, step.alternatives)


def _incomplete(ask: Ask, missing: str) -> Wish:
    """The wish of a turn that leaves something out and is never answered: its tool is unknown."""
    tools = servers.load(ask.example.server).tools.values()
    takers = tuple(t.name for t in tools if missing in t.input_schema["properties"])
    return Wish(takers, missing=missing)
