"""Goal sampling for one turn: draws one or two calls that work now, and the lookups they need."""

import re
from dataclasses import replace

from provegym.conversation.draft import Draft
from provegym.conversation.links import links
from provegym.conversation.plan import Goal
from provegym.kernel import Session
from provegym.language.phrasing import Said
from provegym.language.things import noun_of
from provegym.language.values import leaves
from provegym.trace import Json

TWO_GOALS = 0.25
# Tools that set a value: nobody sets the same one twice in a conversation.
SETS = re.compile(r"(?:update|set|adjust|correct|change|rename|rate)_")
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
    """Plan a turn in at most `tries` tries; return whether it worked, and the draft.

    A failed try leaves no trace, except that its tools of the chain are not tried again.
    """
    for _ in range(tries):
        planned = look_up(draw_goals(draft))
        if planned.goals:
            return True, planned
        draft = replace(draft, wanted=planned.wanted)
    return False, draft


def draw_goals(draft: Draft) -> Draft:
    """Draw one or two goals: from the chain first, then tools that depend on earlier calls."""
    scratch = draft.session.fork()
    count = _how_many(draft)
    for _ in range(count):
        goal, draft = _draw_goal(draft, scratch)
        if goal is None:
            break
        draft = replace(draft, goals=(*draft.goals, goal))
        draft = draft.learn(goal.tool, goal.arguments, scratch)
        draft = draft.speak_as(draft.voice.mention(goal.arguments)).refer_to(goal)
    is_alone = len(draft.goals) == 1 and draft.level != "missing"
    if is_alone and draft.chance.random() < AGAIN:
        again = _same_again(draft, scratch)
        if again is not None:
            draft = replace(draft, goals=(*draft.goals, again))
    return draft


def _how_many(draft: Draft) -> int:
    """The number of goals: two by chance, or if the chain is longer than the turns left."""
    if draft.level == "missing":
        return 1
    two = draft.chance.random() < TWO_GOALS
    left = draft.cast.turns[1] - len(draft.turns)
    return 2 if two or len(draft.wanted) > left else 1


def look_up(draft: Draft) -> Draft:
    """The draft with the lookups that its goals need; without goals if a lookup is impossible."""
    if not draft.goals:
        return draft
    tools = draft.chain.tools
    road = draft.planner.lookups(draft.session, draft.goals, draft.toolbox, tools)
    if road is None or draft.avoid in {read.tool for read in road}:
        return replace(draft, goals=())
    return replace(draft, road=road)


def _draw_goal(draft: Draft, session: Session) -> tuple[Goal | None, Draft]:
    """A goal that is new in this conversation, or None, and the draft after the search."""
    taken = {goal.tool for goal in draft.goals}
    tools, draft = draft.candidates()
    for tool in tools:
        if tool.name in taken or (draft.level == "missing" and not tool.writes):
            continue
        shows = [edge.pointer for edge in draft.chain.edges if edge.source == tool.name]
        for fixed in links(tool, draft.chain, draft.scene.edges, draft.results, draft.voice):
            goal = draft.planner.draw(session, tool, draft.level, fixed, shows)
            if goal is not None and not (_was_asked(draft, goal) or _corrects(draft, goal)):
                return goal, draft
    return None, draft


def _was_asked(draft: Draft, goal: Goal) -> bool:
    """Whether the conversation already has the same call."""
    return any(s.tool == goal.tool and s.arguments == goal.arguments for s in draft.steps)


def _corrects(draft: Draft, goal: Goal) -> bool:
    """Whether a goal gives a record another value than the user gave it before.

    Either this turn makes the record, or an earlier call of the same tool set its value.
    """
    said = [(name, value) for earlier in draft.goals for name, value in earlier.arguments.items()]
    is_made = not draft.voice.made.isdisjoint(map(str, leaves(goal.arguments)))
    if is_made and any(goal.arguments.get(name, value) != value for name, value in said):
        return True
    if not SETS.match(goal.tool):
        return False
    parts = draft.server.tools[goal.tool].input_schema["properties"]
    kept = [n for n, v in goal.arguments.items() if "enum" in parts[n] or draft.voice.thing(str(v))]
    before = [each.arguments for each in draft.goals if each.tool == goal.tool]
    before += [step.arguments for step in draft.steps if step.tool == goal.tool]
    return any(all(old.get(n) == goal.arguments[n] for n in kept) for old in before)


def _same_again(draft: Draft, session: Session) -> Goal | None:
    """The first goal once more, for another entity of the same kind."""
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
