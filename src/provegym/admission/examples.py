"""Examples for the admission of a world: every tool is used, and rules are seen to refuse."""

from collections.abc import Iterable
from itertools import count
from random import Random

from provegym.conversation.draft import Cast, Draft
from provegym.conversation.ground import scene
from provegym.conversation.kinds import Shape
from provegym.conversation.machine import converse
from provegym.conversation.recover import Suits
from provegym.corpus.candidates import judge
from provegym.graph.chains import Chain
from provegym.kernel import AnyServer
from provegym.trace import Example

# Worlds of a spec that admission looks at.
WORLDS = 5
# Tries for each tool that no example uses yet.
TRIES = 10
LEVELS = ("complete", "minimal", "complete", "missing")


class Maker:
    """Makes verified examples on the worlds of one server."""

    def __init__(self, server: AnyServer) -> None:
        self.server = server
        self.tried = 0
        self.numbers = count()

    def make(
        self, tools: Iterable[str], level: str, refuses: str = "", suits: Suits | None = None
    ) -> Example | None:
        """An example in which the user asks for these tools, or None if it is not verified.

        With `refuses`, a rule refuses the first request, with arguments that suit.
        """
        number = next(self.numbers)
        self.tried += 1
        turns = (1, 2) if refuses else (2, 3)
        cast = Cast(level=level, turns=turns, refuses=refuses, suits=suits)
        key = f"{self.server.name}-admission-{number}"
        draft = converse(
            Draft.begin(
                scene(self.server.name, number % WORLDS), key, Chain(tuple(tools), ()), cast
            )
        )
        if draft is None or not draft.steps:
            return None
        return judge(Shape("multi_turn", (), level), draft.example).example


def cover(maker: Maker) -> list[Example]:
    """Examples that together use every tool, as far as that was possible."""
    chance = Random(f"cover {maker.server.name}")
    missing = list(maker.server.tools)
    chance.shuffle(missing)
    tries: dict[str, int] = dict.fromkeys(missing, 0)
    made: list[Example] = []
    while missing:
        pair = sorted(missing, key=lambda tool: tries[tool])[:2]
        if tries[pair[0]] >= TRIES:
            break
        for tool in pair:
            tries[tool] += 1
        # Two tools at once are quicker; a tool that failed twice is tried alone.
        tools = pair[:1] if tries[pair[0]] > 2 else pair
        example = maker.make(tools, LEVELS[tries[pair[0]] % len(LEVELS)])
        if example is not None:
            made.append(example)
            used = {step.tool for step in example.paths[0].steps}
            missing = [tool for tool in missing if tool not in used]
    return made
