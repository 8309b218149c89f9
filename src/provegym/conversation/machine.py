"""The state machine of a conversation (§3.2, step 3), as it is played on a live world.

query → turn → execution → response → continuation. A state is one function; what it may lead to is
its return type, from which the picture in the docs is drawn.
"""

from collections.abc import Callable
from typing import Literal

from msgspec.structs import replace as put

from provegym.conversation.draft import MOST_LENGTH, Talk
from provegym.conversation.recover import attempts, draw_refused
from provegym.language.personas import draw as draw_aside
from provegym.trace import Attempt, Claim, Turn
from provegym.verify.serving import serving

MINUTES = (0, 0, 0, 5, 15, 60)
GOES_ON, GOES_ON_WITH_FEW, FEW = 0.4, 0.75, 14
RECOVERS = 0.09
REFUSED = 0.04
MOST_PLAN = 5
TRIES = 3
ASIDES = ("smalltalk", "knowledge", "beyond")

State = Callable[[Talk], str]
STATES: dict[str, State] = {}


def state(function: State) -> State:
    """Make a function a state of the machine."""
    STATES[function.__name__] = function
    return function


@state
def query(talk: Talk) -> Literal["turn", "aside", "unserved", "refusal", "dropped"]:
    """Some time passes; the user has something in mind that works, or cannot work, now."""
    talk.open_turn(talk.chance.choice(MINUTES) if talk.turns else 0)
    if talk.is_due("aside"):
        return "aside"
    if talk.is_due("unserved"):
        return "unserved"
    if talk.chance.random() < REFUSED and (talk.is_follow_up or talk.level == "minimal"):
        tool = talk.chance.choice(talk.tools(writes=True))
        talk.refused = draw_refused(talk.planner, talk.session, tool, talk.toolbox)
        if talk.refused is not None:
            return "refusal"
    for _ in range(TRIES):
        if talk.draw_goals() and talk.look_up():
            return "turn"
    return "dropped"


@state
def turn(talk: Talk) -> Literal["asking", "execution", "dropped"]:
    """The calls that serve the goals are known: the fewest lookups, then the goals themselves."""
    calls = len(talk.road) + len(talk.goals)
    asks = talk.goals[0].said.missing is not None
    if calls > MOST_PLAN or len(talk.steps) + calls + len(talk.turns) + 1 + asks > MOST_LENGTH:
        return "dropped"
    if asks:
        return "asking"
    talk.say([goal.said for goal in talk.goals])
    return "execution"


@state
def asking(talk: Talk) -> Literal["execution"]:
    """The user left something out; the assistant must ask, and the user answers."""
    said = talk.goals[0].said
    talk.say([said], asks=said.missing)
    talk.answer(talk.goals[0])
    return "execution"


@state
def execution(talk: Talk) -> Literal["recovery", "response"]:
    """The calls are made; now and then something else is tried first, and fails."""
    talk.start = len(talk.steps)
    for read in talk.road:
        talk.call(read.tool, read.arguments)
    recovers = talk.chance.random() < RECOVERS
    if recovers and len(talk.goals) == 1:
        talk.tried = list(attempts(talk.planner, talk.session, talk.goals[0]))
    for goal in talk.goals:
        talk.call(goal.tool, goal.arguments, goal.answers)
        talk.note_derived(goal)
    return "recovery" if talk.tried else "response"


@state
def recovery(talk: Talk) -> Literal["response"]:
    """What was tried and refused is kept for the transcript: the gold has only what worked."""
    tried = talk.chance.choice(talk.tried)
    before = talk.start if tried.early else len(talk.steps) - 1
    talk.attempts.append(
        Attempt(before=before, tool=tried.tool, arguments=tried.arguments, error=tried.error)
    )
    talk.tried = []
    return "response"


@state
def refusal(talk: Talk) -> Literal["response", "dropped"]:
    """The goal cannot be reached; a lookup shows why, and the assistant gives up and explains."""
    refused = talk.refused
    assert refused is not None
    if len(talk.steps) + len(refused.road) + len(talk.turns) + 1 > MOST_LENGTH:
        return "dropped"
    talk.level = "minimal"
    talk.say([refused.goal.said])
    for number, read in enumerate(refused.road):
        talk.call(read.tool, read.arguments, refused.answers if number == refused.shows else ())
    goal = refused.goal
    claim = Claim(turn=len(talk.turns) - 1, tool=goal.tool, arguments=goal.arguments)
    talk.provenance = put(talk.provenance, infeasible=claim)
    talk.refused = None
    return "response"


@state
def aside(talk: Talk) -> Literal["response"]:
    """The user says something that no tool is for."""
    talk.turns.append(
        Turn(text=draw_aside(talk.chance.choice(ASIDES), talk.chance), minutes=talk.minutes)
    )
    talk.slots.append([])
    talk.names.append([])
    talk.levels.append("aside")
    return "response"


@state
def unserved(talk: Talk) -> Literal["response", "dropped"]:
    """The user asks for what only hidden tools could do; the assistant has to say so."""
    tool = talk.server.tools[talk.hidden[0]]
    goal = talk.planner.draw(talk.session, tool, "complete", {})
    if goal is None:
        return "dropped"
    also = serving(talk.session, talk.toolbox, goal.tool, goal.arguments)
    if also & {step.tool for step in talk.steps}:
        return "dropped"
    talk.hide(tuple(sorted(also)))
    talk.level = "complete"
    talk.say([goal.said])
    claim = Claim(turn=len(talk.turns) - 1, tool=goal.tool, arguments=goal.arguments)
    talk.provenance = put(talk.provenance, unserved=claim)
    return "response"


@state
def response(talk: Talk) -> Literal["continuation"]:
    """The assistant answers; what its calls returned is known, and can be spoken of."""
    talk.remember()
    return "continuation"


@state
def continuation(talk: Talk) -> Literal["query", "end"]:
    """The user goes on, less and less likely, or is done."""
    count = len(talk.turns)
    few = len(talk.server.tools) < FEW
    if talk.due or count < talk.least:
        return "query"
    if count < talk.most and talk.chance.random() < (GOES_ON_WITH_FEW if few else GOES_ON):
        return "query"
    return "end"


def converse(talk: Talk) -> bool:
    """Play a conversation to its end; whether it came to one."""
    at = "query"
    while at not in ("end", "dropped"):
        at = STATES[at](talk)
    return at == "end"
