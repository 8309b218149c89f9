"""Ways of asking for what reads show, from nouns and the labels of fields.

A question ends with the fields it asks for. The last way is kept for held-out worlds.
"""

from collections.abc import Sequence
from typing import Any

from provegym.worlds.schemas import lexicon
from provegym.worlds.schemas.nouns import article, label, plural, spaced
from provegym.worlds.schemas.shaping import EntityDraft
from provegym.worlds.spec import Argument, Field

PLACES = ("city", "country", "region", "state", "town", "office", "store", "warehouse", "room")
Ways = tuple[str, ...]


def slot(name: str) -> str:
    """A slot of a template."""
    return f"{{{name}}}"


def told_fields(draft: EntityDraft) -> str:
    """The fields that name the records of a list."""
    if draft.name:
        return draft.name
    amounts = [each.name for each in draft.of_kind("money") if not each.empty]
    return ", ".join([*draft.marks[:2], *amounts[:1]])


def list_ways(draft: EntityDraft, arguments: Sequence[Argument], at: int) -> Ways:
    """Ways to ask for a list: about one record, those of another record, or those of a status."""
    many, tell = draft.many, told_fields(draft)
    named = next((a.name for a in arguments if a.filter == draft.name and draft.name), "")
    ways = [*about_one(draft, named)] if named else []
    for each in arguments:
        if each.of:
            ways += _of_other(draft, each, arguments)
        elif each.filter != draft.name:
            ways += _of_value(draft, each)
    ways.append(f"How many {many} are there in total? => count")
    if draft.name:
        ways += [
            f"(Which|What) {many} do we have (on file|in the system)? => {tell}",
            f"(Name|List) the {many} (we have|on file). => {tell}",
            f"I (need|want) (to see|a list of) all {many}. => {tell}",
        ]
    else:
        ways.append(f"(Count|Tell me the number of) the {many} (we have|on file). => count")
    last = (
        f"Give me an overview of all the {many}. => {tell}",
        f"I'd like to go through the {many} we have. => {tell}",
    )
    return _with_held_out(ways, arguments, draft, last[at % 2])


def list_told(draft: EntityDraft) -> dict[str, Any]:
    """What a reply says of each record of a list; without a name, the plain words do."""
    told: dict[str, Any] = {"each": draft.words}
    if not draft.name:
        return told
    it = slot(draft.name)
    figures = [each for each in draft.of_kind("money", "number") if not each.empty]
    others = [each for each in draft.of_kind("copy") if not _holder(draft, each).empty]
    if draft.status is not None:
        clause = f"{it} is {slot(draft.status.name)}"
    elif figures:
        clause = f"{it} has the {label(figures[0].name, draft.noun)} {slot(figures[0].name)}"
    elif others:
        clause = f"{it} goes with {slot(others[0].name)}"
    else:
        clause = it if len(draft.fields) == 1 else f"{it} is on file"
    return {**told, "says": [clause]}


def _holder(draft: EntityDraft, each: Field) -> Field:
    """The reference that a copy comes from."""
    return draft.fields[each.to.partition(".")[0]]


def _with_held_out(
    ways: list[str], arguments: Sequence[Argument], draft: EntityDraft, general: str
) -> Ways:
    """The last way has as many slots in brackets as there are, each alone."""
    other = next((a for a in arguments if a.of), None)
    tell = told_fields(draft)
    if other is not None:
        return (
            *ways,
            f"Give me an overview of the {draft.many}[ of {slot(other.name)}]. => {tell}",
        )
    return (*ways, general)


def about_one(draft: EntityDraft, argument: str) -> list[str]:
    """Questions about the fields of one record that is named by an argument."""
    ways = []
    # The argument is a text, never "that site", so the noun can stand before it.
    it = slot(argument) if draft.person else f"the {draft.words} {slot(argument)}"
    for each in draft.fields.values():
        if each.name != draft.name and each.kind not in ("flag", "reference"):
            ways.append(f"{question(draft, each, it)} => {each.name}")
    if draft.status is not None:
        status = draft.status.name
        ways.append(f"How do things stand with {it}, what is the status? => {status}")
    return ways[:9]


def question(draft: EntityDraft, each: Field, it: str) -> str:
    """A question about a field of a record."""
    words = label(each.name, draft.noun)
    last = words.rpartition(" ")[2]
    if each.kind == "copy":
        return _about_other(draft, each, it)
    if each.kind == "number" and words.split()[0].endswith("s") and words != "status":
        return f"How many {words} (does {it} have|are there for {it})?"
    if each.kind in ("date", "time") and words.endswith(" date"):
        return f"(What is|Tell me) the {words} of {it}{{?}}".replace("{?}", "?")
    if each.kind in ("date", "time"):
        return f"What (date|day) is down as the {words} of {it}?"
    if each.kind == "text" and last in PLACES:
        return f"(Which|What) {words} (is|goes with) {it} in?".replace("(is|goes with)", "is")
    if each.kind == "money":
        return f"(How much is|What is) the {words} (of|for) {it}?"
    return f"What is the {words} (of|for) {it}?"


def _about_other(draft: EntityDraft, each: Field, it: str) -> str:
    """A question about the record that a reference points to."""
    holder = _holder(draft, each)
    words = label(holder.name, draft.noun)
    if lexicon.is_person(holder.to):
        return f"Who is (the|down as the) {words} (of|for) {it}?"
    if holder.to == draft.noun:
        return f"(Which|What) {draft.words} is the {words} of {it}?"
    return f"(Which|What) {words} does {it} (belong to|go with)?"


def _of_other(draft: EntityDraft, each: Argument, arguments: Sequence[Argument]) -> list[str]:
    many, tell, it = draft.many, told_fields(draft), slot(each.name)
    words = label(each.filter, draft.noun)
    plain = words == spaced(each.of)
    with_role = f"with {it} as the {words}"
    ways = [
        f"(Which|What) {many} (does|did) {it} have? => {tell}".replace("(does|did)", "does")
        if plain
        else f"(Which|What) {many} do we have {with_role}? => {tell}",
        f"(Show|List) me the {many} of {it}. => {tell}".replace("(Show|List)", "Show")
        if plain
        else f"Show me the {many} {with_role}. => {tell}",
        f"How many {many} does {it} have? => count"
        if plain
        else f"How many {many} are there {with_role}? => count",
    ]
    amounts = [f for f in draft.of_kind("money", "number") if not f.empty]
    if amounts and plain:
        words = label(amounts[0].name, draft.noun)
        ways.append(f"What {words} do the {many} of {it} have? => {amounts[0].name}")
    status = draft.status
    asked = next((a for a in arguments if status is not None and a.filter == status.name), None)
    if asked is not None and plain:
        ways.append(f"Which of the {many} of {it} are {slot(asked.name)}? => {tell}")
    return ways


def _of_value(draft: EntityDraft, each: Argument) -> list[str]:
    many, tell, it = draft.many, told_fields(draft), slot(each.name)
    words = label(each.filter, draft.noun)
    if draft.status is not None and each.filter == draft.status.name:
        return [
            f"(Which|What) {many} are {it} (right now|at the moment|now)? => {tell}",
            f"How many {many} are {it}? => count",
        ]
    if each.test:
        side = "at least" if each.test == "least" else "at most"
        return [
            f"(Which|What) {many} have {article(words)} of {side} {it}? => {tell}",
            f"How many {many} have {article(words)} of {side} {it}? => count",
        ]
    return [
        f"(Which|What) {many} have the {words} {it}? => {tell}",
        f"How many {many} have the {words} {it}? => count",
    ]


def get_ways(draft: EntityDraft, argument: str, joined: str, inner: str) -> Ways:
    """Ways to ask for one record with the list of its parts."""
    it = slot(argument)
    parts = spaced(joined)
    ways = [
        f"(Which|What) {parts} (belong to|go with) {it}? => {joined}/{inner}",
        f"Look at {it} for me: which {parts} are in it? => {joined}/{inner}",
        f"I need the {parts} (that belong to|listed for) {it}. => {joined}/{inner}",
        f"Tell me which {parts} we have for {it}. => {joined}/{inner}",
        f"Go into {it} and name the {parts}. => {joined}/{inner}",
    ]
    return tuple(ways)


def plain_get_ways(draft: EntityDraft, argument: str) -> Ways:
    """Ways to ask for the fields of one record, given by its id; none if it has none of its own."""
    it = slot(argument)
    asked = [
        each
        for each in draft.fields.values()
        if each.name != draft.name and each.kind not in ("flag", "reference", "copy")
    ]
    if not asked:
        return ()
    ways = [f"{question(draft, each, it)} => {each.name}" for each in asked[:5]]
    words, name = label(asked[0].name, draft.noun), asked[0].name
    ways += [
        f"Look up {it} and tell me the {words}. => {name}",
        f"I need the {words} (of|for) {it}. => {name}",
        f"Go into {it}: what {words} is down there? => {name}",
        f"Tell me what we have as the {words} of {it}. => {name}",
    ]
    return tuple(ways)


def report_told(draft: EntityDraft, figures: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    """What a reply says of figures: counts first, then sums."""
    it = slot(f"{draft.noun}_name")
    says = []
    for name, counted, summed in figures:
        many = plural(spaced(counted))
        words = label(summed, counted)
        way = f"the {words} of the {many} of {it} is {slot(name)} together"
        says.append(way if summed else f"{it} has {slot(name)} {many}")
    return {"says": says}


def report_ways(draft: EntityDraft, argument: str, figures: Sequence[tuple[str, str, str]]) -> Ways:
    """Ways to ask for figures: (name, what is counted, the field that is summed up)."""
    it = slot(argument)
    ways, last = [], ""
    for name, counted, summed in figures:
        many = plural(spaced(counted))
        if summed:
            words = label(summed, counted)
            ways += [
                f"What do the {many} of {it} (add up|come) to in {words}? => {name}",
                f"What is the {words} of all {many} of {it} together? => {name}",
                f"Sum up the {words} of the {many} of {it}. => {name}",
            ]
        else:
            ways += [
                f"How many {many} does {it} have (in all|altogether|by now)? => {name}",
                f"What is the number of {many} of {it}? => {name}",
                f"Count the {many} of {it}. => {name}",
                f"(Tell me|I need) the number of {many} (of|for) {it}. => {name}",
            ]
            last = last or f"I'd like to know how many {many} {it} has. => {name}"
    return (*ways, last or f"Give me the figures of {it}. => {figures[0][0]}")
