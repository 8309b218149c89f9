"""The state machine of a conversation (§3.2, step 3), run on a live world.

query → turn → execution → response → continuation. A state is one function from a draft to the name
of the next state and the next draft. Its return type lists the next states; the picture in the docs
is drawn from it.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from provegym.conversation.draft import MOST_LENGTH, Draft
from provegym.conversation.goals import plan_turn
from provegym.conversation.recover import attempts, draw_refused, slip
from provegym.language.personas import draw as draw_aside
from provegym.trace import Claim, Turn
from provegym.verify.serving import serving

MINUTES = (0, 0, 0, 5, 15, 60)
GOES_ON, GOES_ON_WITH_FEW, FEW = 0.4, 0.75, 14
RECOVERS = 0.09
REFUSED = 0.04
MOST_PLAN = 5
TRIES = 3
ASIDES = ("smalltalk", "knowledge", "beyond")

State = Callable[[Draft], tuple[str, Draft]]
STATES: dict[str, State] = {}


def state(function: State) -> State:
    """Register a function as a state of the machine."""
    STATES[function.__name__] = function
    return function


@state
def query(draft: Draft) -> tuple[Literal["turn", "aside", "unserved", "refusal", "dropped"], Draft]:
    """Time passes. A goal is drawn that works now, or one that a rule refuses."""
    draft = draft.open_turn(draft.chance.choice(MINUTES) if draft.turns else 0)
    if draft.is_due("aside"):
        return "aside", draft.without_due("aside")
    if draft.is_due("unserved"):
        return "unserved", draft.without_due("unserved")
    if draft.is_due("refusal"):
        tool = draft.server.tools[draft.cast.refuses]
        suits = draft.cast.suits
        refused = draw_refused(draft.planner, draft.session, tool, draft.toolbox, suits)
        draft = replace(draft.without_due("refusal"), refused=refused)
        return ("dropped" if refused is None else "refusal"), draft
    if draft.chance.random() < REFUSED and (draft.has_asked or draft.level == "minimal"):
        tool = draft.chance.choice(draft.tools(writes=True))
        refused = draw_refused(draft.planner, draft.session, tool, draft.toolbox)
        if refused is not None:
            return "refusal", replace(draft, refused=refused)
    found, draft = plan_turn(draft, TRIES)
    return ("turn" if found else "dropped"), draft


@state
def turn(draft: Draft) -> tuple[Literal["asking", "execution", "dropped"], Draft]:
    """The calls are planned: as few lookups as possible, then the goals themselves."""
    calls = len(draft.road) + len(draft.goals)
    asks = draft.goals[0].said.missing is not None
    length = len(draft.steps) + calls + len(draft.turns) + 1 + asks
    if calls > MOST_PLAN or length > MOST_LENGTH:
        return "dropped", draft
    if asks:
        return "asking", draft
    return "execution", draft.say([goal.said for goal in draft.goals])


@state
def asking(draft: Draft) -> tuple[Literal["execution"], Draft]:
    """The user leaves a value out. The assistant must ask for it, and the user answers."""
    goal = draft.goals[0]
    asked = draft.say([goal.said], asks=goal.said.missing)
    return "execution", asked.answer(goal)


@state
def execution(draft: Draft) -> tuple[Literal["recovery", "response"], Draft]:
    """The calls are made. Sometimes another call is tried first, and fails."""
    first = len(draft.steps)
    for read in draft.road:
        draft = draft.call(read.tool, read.arguments)
    is_by_chance = not draft.cast.slips and draft.chance.random() < RECOVERS
    if is_by_chance and len(draft.goals) == 1:
        found = attempts(draft.planner, draft.session, draft.goals[0], first, len(draft.steps))
        draft = replace(draft, tried=tuple(found))
    for goal in draft.goals:
        at = len(draft.steps)
        is_first = not draft.tried and not draft.example.provenance.attempts
        if goal.tool == draft.cast.slips and draft.cast.suits and is_first:
            found = slip(draft.planner, draft.session, goal, at, draft.cast.suits)
            draft = replace(draft, tried=tuple(found))
        draft = draft.call(goal.tool, goal.arguments, goal.answers)
        words = {f"{at}.{name}": said for name, said in goal.said.derived.items()}
        draft = draft.note(derived={**draft.example.provenance.derived, **words})
    return ("recovery" if draft.tried else "response"), draft


@state
def recovery(draft: Draft) -> tuple[Literal["response"], Draft]:
    """A failed attempt goes into the transcript, and not into the reference calls."""
    tried = draft.chance.choice(draft.tried)
    noted = draft.note(attempts=(*draft.example.provenance.attempts, tried))
    return "response", replace(noted, tried=())


@state
def refusal(draft: Draft) -> tuple[Literal["response", "dropped"], Draft]:
    """A rule refuses the goal. A lookup shows why, and the assistant gives up and explains."""
    refused = draft.refused
    assert refused is not None
    if len(draft.steps) + len(refused.road) + len(draft.turns) + 2 > MOST_LENGTH:
        return "dropped", draft
    goal = refused.goal
    draft = replace(draft, level="minimal", refused=None).say([goal.said])
    for number, read in enumerate(refused.road):
        answers = refused.answers if number == refused.shows else ()
        draft = draft.call(read.tool, read.arguments, answers)
    claim = Claim(turn=len(draft.turns) - 1, tool=goal.tool, arguments=goal.arguments)
    return "response", draft.note(infeasible=claim)


@state
def aside(draft: Draft) -> tuple[Literal["response"], Draft]:
    """The user says something that needs no tool."""
    text = draw_aside(draft.chance.choice(ASIDES), draft.chance)
    return "response", draft.add_turn(Turn(text=text, minutes=draft.minutes), "aside")


@state
def unserved(draft: Draft) -> tuple[Literal["response", "dropped"], Draft]:
    """The user asks for something that only hidden tools can do. The assistant says so."""
    tool = draft.server.tools[draft.cast.hidden[0]]
    goal = draft.planner.draw(draft.session, tool, "complete", {})
    if goal is None:
        return "dropped", draft
    also = serving(draft.session, draft.toolbox, goal.tool, goal.arguments)
    if also & {step.tool for step in draft.steps}:
        return "dropped", draft
    draft = replace(draft.hide(tuple(sorted(also))), level="complete").say([goal.said])
    claim = Claim(turn=len(draft.turns) - 1, tool=goal.tool, arguments=goal.arguments)
    return "response", draft.note(unserved=claim)


@state
def response(draft: Draft) -> tuple[Literal["continuation"], Draft]:
    """The assistant answers. From now on the user knows the results of its calls."""
    return "continuation", draft.remember()


@state
def continuation(draft: Draft) -> tuple[Literal["query", "end"], Draft]:
    """The user is done, or goes on by chance, up to a limit of turns."""
    least, most = draft.cast.turns
    count = len(draft.turns)
    if draft.due or count < least:
        return "query", draft
    goes_on = GOES_ON_WITH_FEW if len(draft.server.tools) < FEW else GOES_ON
    if count < most and draft.chance.random() < goes_on:
        return "query", draft
    return "end", draft


def converse(draft: Draft) -> Draft | None:
    """Run the machine to its end; None if the conversation was dropped."""
    at = "query"
    while at not in ("end", "dropped"):
        at, draft = STATES[at](draft)
    return draft if at == "end" else None
