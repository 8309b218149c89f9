"""Examples for the admission of a world: every tool is used, and rules are seen to refuse."""

from collections.abc import Iterable, Iterator
from itertools import count
from random import Random

from provegym.conversation.draft import Cast, Draft
from provegym.conversation.ground import scene
from provegym.conversation.kinds import Shape
from provegym.conversation.machine import converse
from provegym.corpus.candidates import judge
from provegym.graph.chains import Chain
from provegym.kernel import AnyServer
from provegym.trace import Example

# Worlds of a spec that admission looks at.
WORLDS = 4
# Tries for each tool that no example uses yet.
TRIES = 6
REFUSAL_TRIES = 2
LEVELS = ("complete", "minimal", "complete", "missing")


class Maker:
    """Makes verified examples on the worlds of one server."""

    def __init__(self, server: AnyServer) -> None:
        self.server = server
        self.tried = 0
        self.numbers = count()

    def make(self, tools: Iterable[str], level: str, refuses: str = "") -> Example | None:
        """An example in which the user asks for these tools, or None if it is not verified."""
        number = next(self.numbers)
        self.tried += 1
        cast = Cast(level=level, turns=(1, 2) if refuses else (2, 3), refuses=refuses)
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


def refusals(maker: Maker) -> Iterator[Example]:
    """Examples in which a rule refuses what the user asks for, for each tool that writes."""
    for tool in maker.server.tools.values():
        for _ in range(REFUSAL_TRIES if tool.writes else 0):
            example = maker.make([tool.name], "minimal", refuses=tool.name)
            if example is not None:
                yield example
                break
