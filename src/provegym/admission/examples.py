"""Examples for the admission of a world: every tool is used, and rules are seen to refuse."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import count
from random import Random

from provegym.conversation.draft import Cast, Draft
from provegym.conversation.ground import scene
from provegym.conversation.kinds import Shape
from provegym.conversation.machine import converse
from provegym.conversation.recover import Suits
from provegym.corpus.candidates import NO_GOAL, judge
from provegym.graph.chains import Chain
from provegym.kernel import AnyServer
from provegym.trace import Example
from provegym.verify.complete import complete_and_replay
from provegym.verify.contract import problems

# Worlds of a spec that admission looks at.
WORLDS = 5
# Tries for each tool that no example uses yet.
TRIES = 10
# A conversation was found, but no turn of it asked for the tool.
LEFT_OUT = "no turn asked for it"
LEVELS = ("complete", "minimal", "complete", "missing")


class Maker:
    """Makes verified examples on the worlds of one server."""

    def __init__(self, server: AnyServer, worlds: int = WORLDS) -> None:
        self.server = server
        self.worlds = worlds
        self.tried = 0
        self.numbers = count()
        # By tool, why candidates that asked for it were dropped.
        self.dropped: dict[str, Counter[str]] = defaultdict(Counter)

    def make(
        self,
        tools: Iterable[str],
        level: str,
        *,
        refuses: str = "",
        slips: str = "",
        suits: Suits | None = None,
    ) -> Example | None:
        """An example in which the user asks for these tools, or None if it is not verified.

        With `refuses`, a rule refuses the first request, with arguments that suit. With `slips`, a
        rule refuses the first call of that tool, with one wrong value that suits.
        """
        number, tools = next(self.numbers), tuple(tools)
        self.tried += 1
        turns = (1, 2) if refuses else (2, 3)
        cast = Cast(level=level, turns=turns, refuses=refuses, slips=slips, suits=suits)
        key = f"{self.server.name}-admission-{number}"
        draft = converse(
            Draft.begin(scene(self.server.name, number % self.worlds), key, Chain(tools, ()), cast)
        )
        if draft is None or not draft.steps:
            self.note(tools, NO_GOAL)
            return None
        if slips and not draft.example.provenance.attempts:
            return None
        made = judge(Shape("multi_turn", (), level), draft.example)
        if made.example is None:
            self.note(tools, _why(made.reason, draft.example))
        return made.example

    def note(self, tools: Iterable[str], reason: str) -> None:
        """Count a reason why there is no example of these tools."""
        for tool in tools:
            self.dropped[tool][reason] += 1


def _why(reason: str, example: Example) -> str:
    """The reason of synthesis, with the first problem if the example breaks the contract."""
    broken = next(problems(*complete_and_replay(example)), None)
    return reason if broken is None else f"{reason}: {broken}"


def cover(maker: Maker, most_tries: int = TRIES) -> list[Example]:
    """Examples that together use every tool, as far as that was possible."""
    chance = Random(f"cover {maker.server.name}")
    missing = list(maker.server.tools)
    chance.shuffle(missing)
    tries: dict[str, int] = dict.fromkeys(missing, 0)
    made: list[Example] = []
    while missing:
        pair = sorted(missing, key=lambda tool: tries[tool])[:2]
        if tries[pair[0]] >= most_tries:
            break
        for tool in pair:
            tries[tool] += 1
        # Two tools at once are quicker; a tool that failed twice is tried alone.
        tools = pair[:1] if tries[pair[0]] > 2 else pair
        example = maker.make(tools, LEVELS[tries[pair[0]] % len(LEVELS)])
        if example is not None:
            made.append(example)
            used = used_tools([example])
            maker.note(set(tools) - used, LEFT_OUT)
            missing = [tool for tool in missing if tool not in used]
    return made


def used_tools(examples: Iterable[Example]) -> set[str]:
    """The tools of the reference calls of some examples."""
    return {step.tool for example in examples for step in example.paths[0].steps}
