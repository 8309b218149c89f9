"""The perfect assistant: makes the reference calls and says what a good assistant would say.

It plays on a world of its own beside the rollout's. Both are drawn from the same seed, so it knows
what its calls return, and why a rule refuses a request. It thinks in plain names, and speaks in
those of the example's view.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property

import msgspec

from provegym.kernel import Outcome, Session
from provegym.language.replies import Done, TurnEnd, words
from provegym.players.plan import Plan, tool_call
from provegym.rewards.align import resolve
from provegym.rollout import Caps
from provegym.toolbox import Toolbox, plain
from provegym.trace import RAN, BadFile, Call, Example, Json, Reply, ToolCall

# A transcript may have failed attempts, and so more messages than a rollout.
CAPS = Caps(assistant_turns=64)
# Numbers such as 6000.00 keep their digits, so that a reply says them as the tool does.
EXACT = msgspec.json.Decoder(float_hook=Decimal)
# The time of an example without a world; no reply speaks of it.
NEVER = datetime(2000, 1, 1, tzinfo=UTC)


class Unplayable(BadFile):
    """The reference calls of an example do not run as it says."""


class Gold:
    """A policy that makes the calls of a plan and ends each turn with a true answer."""

    def __init__(self, example: Example, plan: Plan) -> None:
        self.shown = example
        self.plan = [list(turn) for turn in plan]
        self.turn = -1
        self.calls: list[Call] = []
        self.served: list[int | None] = [None] * len(example.paths[0].steps)
        self.done: list[Done] = []
        self.results: list[object] = []

    @cached_property
    def example(self) -> Example:
        """The example in plain words; found on first use, because its server may be missing."""
        return plain(self.shown)

    @cached_property
    def toolbox(self) -> Toolbox:
        """The toolbox of the example, with the view that it is played in."""
        return Toolbox.of(self.shown)

    @cached_property
    def session(self) -> Session:
        """This side's own world."""
        return self.toolbox.session(self.example.seed)

    async def reply(self, messages: Sequence[Json], tools: list[Json]) -> Reply:
        """The next calls, or the answer that ends the turn."""
        turn = sum(message["role"] == "user" for message in messages) - 1
        while self.turn < turn:
            self.turn += 1
            self.done = []
            self.session.advance(self.example.turns[self.turn].minutes)
        if self.plan[turn]:
            said = Reply(calls=tuple(self._call(item) for item in self.plan[turn].pop(0)))
        else:
            said = Reply(text=words(self._end(), self.toolbox))
        return self.toolbox.view.show_reply(said)

    def _call(self, item: int | ToolCall) -> ToolCall:
        """The call of a step, or a failing attempt; it is made on this side's world too."""
        if isinstance(item, ToolCall):
            outcome = self.session.call(item.name, msgspec.json.decode(item.arguments))
            if outcome.ok:
                raise Unplayable(self._problem(f"{item.name} works, but must fail"))
            self.calls.append(Call(turn=self.turn, message=0, tool=item.name, arguments={}))
            return item
        step = self.example.paths[0].steps[item]
        given = {n: resolve(v, self.calls, self.served)[1] for n, v in step.arguments.items()}
        outcome = self.session.call(step.tool, given)
        if not outcome.ok:
            raise Unplayable(self._problem(f"{step.tool} fails: {outcome.text}"))
        self._remember(item, given, outcome)
        return tool_call(step.tool, given)

    def _remember(self, at: int, given: Json, outcome: Outcome) -> None:
        step = self.example.paths[0].steps[at]
        self.served[at] = len(self.calls)
        self.calls.append(
            Call(
                turn=self.turn,
                message=0,
                tool=step.tool,
                arguments=given,
                checks=RAN,
                result=outcome.text,
            )
        )
        self.results.append(outcome.value)
        exact = EXACT.decode(outcome.text)
        self.done.append(Done(step, self._tellable(step.tool, given), exact))

    def _tellable(self, tool: str, given: Json) -> Json:
        """A call's arguments without secrets such as codes. Arguments that are ids are kept."""
        secret = self.session.tools[tool][0].arguments.sensitive
        return {n: v for n, v in given.items() if n not in secret or n.endswith("_id")}

    def _end(self) -> TurnEnd:
        return TurnEnd(
            example=self.example,
            turn=self.turn,
            now=self.session.now if self.session.servers else NEVER,
            done=list(self.done),
            results=list(self.results),
            refusal=self._refusal(),
        )

    def _refusal(self) -> str:
        """The error message of an infeasible request, from a trial call on a fork of the world."""
        wanted = self.example.provenance.infeasible
        if wanted is None or wanted.turn != self.turn:
            return ""
        outcome = self.session.fork().call(wanted.tool, wanted.arguments)
        if outcome.ok:
            raise Unplayable(self._problem(f"{wanted.tool} works, but must fail"))
        return str(outcome.value["message"])

    def _problem(self, what: str) -> str:
        return f"{self.example.id}: {what}; see `provegym verify`"
