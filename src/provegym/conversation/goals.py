"""The goals of a turn: one or two that work now, and the lookups they need."""

from dataclasses import replace

from provegym.conversation.draft import Draft
from provegym.conversation.links import links
from provegym.conversation.plan import Goal
from provegym.kernel import Session
from provegym.language.phrasing import Said
from provegym.language.things import noun_of
from provegym.trace import Json

TWO_GOALS = 0.25
AGAIN = 0.12
SAME = (
    "Same for {}.",
    "And {} as well.",
    "Do the same with {}.",
    "{} too, please.",
    "Then do exactly that for {}.",
    "And the same again for {}.",
)


def plan_turn(draft: Draft, tries: int) -> tuple[bool, Draft]:
    """A draft whose goals can be reached, drawn in so many tries, or the old one.

    A try that fails is forgotten, but for the tools of the chain that were tried in vain.
    """
    for _ in range(tries):
        planned = look_up(draw_goals(draft))
        if planned.goals:
            return True, planned
        draft = replace(draft, wanted=planned.wanted)
    return False, draft


def draw_goals(draft: Draft) -> Draft:
    """One goal or two for this turn: along the chain, then on from what was done."""
    scratch = draft.session.fork()
    count = _how_many(draft)
    for _ in range(count):
        goal, draft = _draw_goal(draft, scratch)
        if goal is None:
            break
        draft = replace(draft, goals=(*draft.goals, goal))
        draft = draft.learn(goal.tool, goal.arguments, scratch)
    is_alone = len(draft.goals) == 1 and draft.level != "missing"
    if is_alone and draft.chance.random() < AGAIN:
        again = _same_again(draft, scratch)
        if again is not None:
            draft = replace(draft, goals=(*draft.goals, again))
    return draft


def _how_many(draft: Draft) -> int:
    """One goal, or two: now and then, and where the chain has more than there are turns left."""
    if draft.level == "missing":
        return 1
    two = draft.chance.random() < TWO_GOALS
    left = draft.cast.turns[1] - len(draft.turns)
    return 2 if two or len(draft.wanted) > left else 1


def look_up(draft: Draft) -> Draft:
    """The draft with the lookups that its goals need, or without goals if some cannot be found."""
    if not draft.goals:
        return draft
    tools = draft.chain.tools
    road = draft.planner.lookups(draft.session, draft.goals, draft.toolbox, tools)
    if road is None or draft.avoid in {read.tool for read in road}:
        return replace(draft, goals=())
    return replace(draft, road=road)


def _draw_goal(draft: Draft, session: Session) -> tuple[Goal | None, Draft]:
    """A goal that the conversation has not had, and the draft after looking for one."""
    taken = {goal.tool for goal in draft.goals}
    tools, draft = draft.candidates()
    for tool in tools:
        if tool.name in taken or (draft.level == "missing" and not tool.writes):
            continue
        shows = [edge.pointer for edge in draft.chain.edges if edge.source == tool.name]
        for fixed in links(tool, draft.chain, draft.scene.edges, draft.results, draft.voice):
            goal = draft.planner.draw(session, tool, draft.level, fixed, shows)
            if goal is not None and not _was_asked(draft, goal):
                return goal, draft
    return None, draft


def _was_asked(draft: Draft, goal: Goal) -> bool:
    """Whether the same question stands earlier in the conversation."""
    return any(s.tool == goal.tool and s.arguments == goal.arguments for s in draft.steps)


def _same_again(draft: Draft, session: Session) -> Goal | None:
    """The first goal again, about another thing of the same kind."""
    goal = draft.goals[0]
    if not draft.server.tools[goal.tool].writes:
        return None
    for name, value in goal.arguments.items():
        noun = noun_of(draft.server, value)
        keys = [k for k in draft.voice.survey.named.get(noun or "", ()) if k != value]
        if not keys:
            continue
        key = draft.chance.choice(keys)
        thing = draft.voice.things.get(key)
        arguments = {**goal.arguments, name: key}
        if thing is None or not thing.names or not _changes(session, goal.tool, arguments):
            continue
        spoken = draft.chance.choice(thing.names)
        text = draft.chance.choice(SAME).format(spoken)
        derived = {n: words for n, words in goal.said.derived.items() if n != name}
        again = Said(text, (spoken,), derived, ((spoken, key),), again=True)
        unknown = draft.planner.unknown(arguments)
        return None if unknown is None else Goal(goal.tool, arguments, again, unknown)
    return None


def _changes(session: Session, tool: str, arguments: Json) -> bool:
    """Whether a call works and changes the world."""
    twin = session.fork()
    return twin.call(tool, arguments).ok and bool(twin.changes(tool))
