"""The state machine of a conversation (§3.2, step 3), as the offline teacher plays it.

query → turn → execution → response → continuation: a goal is drawn on the live world and voiced,
its lookups are planned, the calls are made, and the world they leave is where the next turn starts.
"""

from random import Random

from provegym.kernel import AnyServer, Seed, Session, Tool
from provegym.policies.knowledge import leaves
from provegym.policies.seeker import Read
from provegym.servers import people
from provegym.synth.ground import noun_of
from provegym.synth.perturb import perturb
from provegym.synth.plan import Goal, Planner
from provegym.toolbox import Toolbox
from provegym.trace import Example, Path, Step, Turn
from provegym.verify.complete import complete

MINUTES = (0, 0, 0, 5, 15, 60)
MOST_LENGTH = 10
LINKED = 0.6
GOALS = 12


class Conversation:
    """One conversation while it is made: its live session, its turns and its right calls."""

    def __init__(self, server: AnyServer, seed: int, key: str) -> None:
        self.server = server
        self.chance = Random(key)
        self.session = Session([server], seed)
        self.turns: list[Turn] = []
        self.steps: list[Step] = []
        self.known: set[str] = set()
        self.made: dict[str, str] = {}
        spec, knobs = perturb(server, self.chance)
        self.example = Example(
            id=key,
            kind="multi_turn",
            server=server.name,
            server_version=server.version,
            seed=seed,
            digest="",
            system=self._system(seed),
            turns=(Turn(text=""),),
            toolbox=spec,
            knobs=knobs,
            provenance={"made": "offline"},
        )
        self.toolbox = Toolbox.of(self.example)

    def _system(self, seed: int) -> str:
        user = people.acting_user(Seed(seed))
        return (
            f"You act for {user.name}, with the tools given. "
            f"It is {self.session.now:%A, %Y-%m-%d %H:%M} UTC."
        )

    def play(self, first: Tool, turns: int) -> bool:
        """So many turns, the first with a given goal; whether every one found a goal."""
        for number in range(turns):
            minutes = self.chance.choice(MINUTES) if number else 0
            self.session.advance(minutes)
            planned = self._query(first if number == 0 else None)
            if planned is None:
                return False
            goal, road = planned
            if len(self.steps) + len(road) + 1 + turns > MOST_LENGTH:
                return False
            self.turns.append(Turn(text=goal.text, minutes=minutes))
            self._execute(goal, road, number)
        return True

    def _query(self, wanted: Tool | None) -> tuple[Goal, tuple[Read, ...]] | None:
        """A goal that can be voiced and looked up; a later turn likes to go on from an earlier."""
        planner = Planner(self.server, self.session, self.chance)
        planner.know(self.known, self.made)
        tools = [wanted] * 2 if wanted else self._follow_ups()
        for tool in tools:
            goal = planner.draw_goal(tool)
            road = planner.lookups(goal, self.toolbox) if goal else None
            if goal is not None and road is not None:
                return goal, road
        return None

    def _follow_ups(self) -> list[Tool]:
        """Goals for a later turn: those that take what an earlier one made come first."""
        tools = [tool for tool in self.server.tools.values() if tool.writes]
        self.chance.shuffle(tools)
        nouns = {f"{noun}_id" for noun in self.made.values()}
        linked = [tool for tool in tools if nouns & set(tool.input_schema["required"])]
        if linked and self.chance.random() < LINKED:
            tools = linked + tools
        return tools[:GOALS]

    def _execute(self, goal: Goal, road: tuple[Read, ...], turn: int) -> None:
        """Make the calls; what they return is known, and what they make can be spoken of."""
        calls = [(read.tool, read.arguments, ()) for read in road]
        for tool, arguments, answers in [*calls, (goal.tool, goal.arguments, goal.answers)]:
            outcome = self.session.call(tool, arguments)
            self.steps.append(Step(turn=turn, tool=tool, arguments=arguments, answers=answers))
            self.known.update(str(leaf) for leaf in leaves(outcome.value))
        for change in self.session.changes(goal.tool):
            noun = noun_of(self.server, change.key)
            if change.before is None and noun and change.key in self.known:
                self.made[change.key] = noun

    def finish(self) -> Example:
        """The example, with everything filled in that its calls and its world imply."""
        fields = {name: getattr(self.example, name) for name in self.example.__struct_fields__}
        fields |= {"turns": tuple(self.turns), "paths": (Path(steps=tuple(self.steps)),)}
        return complete(Example(**fields))
