"""Ways of asking, and sentences about what was done, from nouns and the labels of fields.

The last way of each tool is kept for held-out worlds. A question ends with the fields it asks for.
"""

from collections.abc import Sequence

from provegym.worlds import lexicon
from provegym.worlds.nouns import article, label, plural, spaced
from provegym.worlds.shaping import EntityDraft
from provegym.worlds.spec import Argument, Field

PLACES = ("city", "country", "region", "state", "town", "office", "store", "warehouse", "room")
ABSTRACT = ("text", "code", "number", "money", "date", "time", "enum", "copy", "name")
Ways = tuple[str, ...]


def slot(name: str) -> str:
    """A slot of a template."""
    return f"{{{name}}}"


def argument_label(argument: Argument, draft: EntityDraft) -> str:
    """The words for an argument."""
    return label(argument.name, draft.noun)


def first_reference(arguments: Sequence[Argument], draft: EntityDraft) -> str:
    """The argument that a new record is for: the first one that is called as its kind is."""
    for each in arguments:
        if not each.of or each.optional or lexicon.is_fixed(each.of):
            continue
        if argument_label(each, draft) == spaced(each.of):
            return each.name
    return ""


def detail(argument: Argument, draft: EntityDraft) -> str:
    """An argument in words: its label and its value; a text is quoted."""
    words, value = argument_label(argument, draft), slot(argument.name)
    if argument.of:
        return f"with {value} as the {words}"
    return f'{words} "{value}"' if argument.kind in ("text", "name") else f"{words} {value}"


def details(arguments: Sequence[Argument], draft: EntityDraft) -> str:
    """What a new record is for, the required arguments in a row, then the others in brackets."""
    first = first_reference(arguments, draft)
    whom = f" for {slot(first)}" if first else ""
    rest = [each for each in arguments if each.name != first]
    required = [f", {detail(each, draft)}" for each in rest if not each.optional]
    others = [f"[, {detail(each, draft)}]" for each in rest if each.optional]
    return whom + "".join(required) + "".join(others)


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
        ways.append(f"(Which|What) {many} do we have (on file|in the system)? => {tell}")
    last = (
        f"Give me an overview of all the {many}. => {tell}",
        f"I'd like to go through the {many} we have. => {tell}",
    )
    return _with_held_out(ways, arguments, draft, last[at % 2])


def _with_held_out(
    ways: list[str], arguments: Sequence[Argument], draft: EntityDraft, general: str
) -> Ways:
    """The last way has as many slots in brackets as there are, each alone."""
    other = next((a for a in arguments if a.of), None)
    tell = told_fields(draft)
    if other is not None:
        return (*ways, f"Give me an overview of the {draft.many}[ of {slot(other.name)}]. => {tell}")
    return (*ways, general)


def about_one(draft: EntityDraft, argument: str) -> list[str]:
    """Questions about the fields of one record that is named by an argument."""
    ways = []
    it = slot(argument)
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
    holder = draft.fields[each.to.partition(".")[0]]
    words = label(holder.name, draft.noun)
    if holder.to == draft.noun or lexicon.is_person(holder.to):
        return f"Who is (the|down as the) {words} (of|for) {it}?"
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
            ]
            last = last or f"I'd like to know how many {many} {it} has. => {name}"
    return (*ways, last or f"Give me the figures of {it}. => {figures[0][0]}")


def create_ways(draft: EntityDraft, arguments: Sequence[Argument]) -> Ways:
    """Ways to ask for a new record."""
    head, rest = _head(draft, arguments)
    facts = details(rest, draft)
    one = article(f"new {draft.words}")
    return (
        f"(Add|Enter|Record) {one}{head}{facts}.",
        f"We have {one}{head}{facts}. (Put it in|Enter it), please.",
        f"Please (create|set up) {article(draft.words)}{head}{facts}.",
        f"I (need|want) {one}{head}{facts}.",
        f"(Could|Can) you add {article(draft.words)}{head}{facts}?",
        f"There is {one} to enter{head}{facts}.",
    )


def _head(draft: EntityDraft, arguments: Sequence[Argument]) -> tuple[str, list[Argument]]:
    """How the name stands in the sentence, and the other arguments."""
    named = next((a for a in arguments if draft.name and a.name == draft.name), None)
    rest = [a for a in arguments if a is not named]
    if named is None:
        return "", rest
    if draft.fields[draft.name].kind == "code":
        return f" with the {label(named.name, draft.noun)} {slot(named.name)}", rest
    if draft.person:
        return f", {slot(named.name)}", rest
    return f' called "{slot(named.name)}"', rest


def create_short(draft: EntityDraft, arguments: Sequence[Argument]) -> dict[str, Ways]:
    """Ways that leave out one required argument."""
    short: dict[str, Ways] = {}
    required = [a for a in arguments if not a.optional]
    for missing in required:
        rest = [a for a in arguments if a is not missing]
        head, others = _head(draft, rest)
        facts = details(others, draft)
        one = article(f"new {draft.words}")
        short[missing.name] = (
            f"Add {one}{head}{facts}.",
            f"I need {one}{head}{facts}.",
            f"There is {one} to enter{head}{facts}.",
        )
    return short


def create_did(draft: EntityDraft, arguments: Sequence[Argument]) -> str:
    """What a reply says of a new record."""
    head, rest = _head(draft, arguments)
    facts = details(rest, draft)
    if head.startswith(", "):
        head = f" {head[2:]}"
    return f"added the {draft.words}{head}{facts}"


def change_ways(draft: EntityDraft, key: str, changed: Argument) -> Ways:
    """Ways to ask for another value of a field."""
    it, words = slot(key), argument_label(changed, draft)
    value = slot(changed.name)
    if changed.kind in ("text", "name"):
        value = f'"{value}"'
    return (
        f"(Change|Set) the {words} of {it} to {value}.",
        f"{it} has a new {words}: {value}. (Update it|Please change that).",
        f"The {words} of {it} should be {value}.",
        f"(Could|Can) you (change|set) the {words} of {it} to {value}?",
        f"Correct the {words} of {it}, it is {value} now.",
        f"From now on the {words} of {it} is {value}, so note that.",
    )


def change_short(draft: EntityDraft, key: str, changed: Argument) -> dict[str, Ways]:
    """Ways that leave out the record or the new value."""
    words, it, value = argument_label(changed, draft), slot(key), slot(changed.name)
    if changed.kind in ("text", "name"):
        value = f'"{value}"'
    return {
        key: (f"Set the {words} of {article(draft.words)} to {value}.", f"One of our {draft.many} has a new {words}: {value}."),
        changed.name: (f"Change the {words} of {it}.", f"The {words} of {it} is wrong, correct it."),
    }


def status_ways(draft: EntityDraft, key: str, status: Argument) -> Ways:
    """Ways to ask for another status."""
    it, value = slot(key), slot(status.name)
    words = argument_label(status, draft)
    return (
        f"(Set|Change) {it} to {value}.",
        f"(Mark|Put down) {it} as {value}.",
        f"{it} is {value} now, (note that|update it).",
        f"The {words} of {it} should be {value}.",
        f"(Could|Can) you mark {it} as {value}?",
        f"Switch the {words} of {it} over to {value}.",
    )


def status_short(draft: EntityDraft, key: str, status: Argument) -> dict[str, Ways]:
    """Ways that leave out the record or the status."""
    it, value, words = slot(key), slot(status.name), argument_label(status, draft)
    return {
        key: (f"Mark {article(draft.words)} as {value}.", f"One of our {draft.many} is {value} now."),
        status.name: (f"Change the {words} of {it}.", f"Update the {words} of {it}."),
    }


def verb_ways(draft: EntityDraft, key: str, verb: str) -> Ways:
    """Ways to ask for what a verb does to a record."""
    it, verb = slot(key), spaced(verb)
    return (
        f"{verb.capitalize()} {it}.",
        f"(Could|Can) you {verb} {it}?",
        f"(Please|Just) {verb} {it}.",
        f"I (want|need) you to {verb} {it}.",
        f"It is time to {verb} {it}.",
        f"We have decided to {verb} {it}, so go ahead.",
    )


def verb_short(draft: EntityDraft, key: str, verb: str) -> dict[str, Ways]:
    """Ways that leave out the record."""
    verb = spaced(verb)
    return {key: (f"{verb.capitalize()} {article(draft.words)} for me.", f"I want to {verb} one of our {draft.many}.")}


def assign_ways(draft: EntityDraft, key: str, other: Argument) -> Ways:
    """Ways to ask for another reference."""
    it, value, words = slot(key), slot(other.name), argument_label(other, draft)
    if words == spaced(other.of) and not lexicon.is_person(other.of):
        return (
            f"Put {it} under {value}.",
            f"{it} belongs to {value} (from now on|as of today), (change that|update it).",
            f"(Move|File) {it} under {value}.",
            f"(Could|Can) you put {it} under {value}?",
            f"{it} should belong to {value}.",
            f"File {it} with {value} from today.",
        )
    return (
        f"Make {value} the {words} of {it}.",
        f"{value} (is|becomes) the {words} of {it} (from now on|as of today).",
        f"(Set|Change) the {words} of {it} to {value}.",
        f"(Could|Can) you make {value} the {words} of {it}?",
        f"The {words} of {it} should be {value}.",
        f"Put {value} down as the {words} of {it}.",
    )


def assign_short(draft: EntityDraft, key: str, other: Argument) -> dict[str, Ways]:
    """Ways that leave out one of the two records."""
    it, value, words = slot(key), slot(other.name), argument_label(other, draft)
    return {
        key: (f"Make {value} the {words} of {article(draft.words)}.", f"One of our {draft.many} gets {value} as the {words}."),
        other.name: (f"{it} needs another {words}.", f"Change the {words} of {it}."),
    }


def link_ways(first: Argument, second: Argument) -> Ways:
    """Ways to ask that a record be put together with another."""
    one, two = slot(first.name), slot(second.name)
    return (
        f"Add {two} to {one}.",
        f"(Put|Include) {two} (in|into) {one}.".replace("(Put|Include) ", "Put "),
        f"{two} belongs to {one}, (note that|record it).",
        f"{one} should have {two} too.",
        f"(Could|Can) you add {two} to {one}?",
        f"Let {two} be part of {one}.",
    )


def link_short(first: Argument, second: Argument, nouns: tuple[str, str]) -> dict[str, Ways]:
    """Ways that leave out one of the two records."""
    return {
        first.name: (f"Add {slot(second.name)} to {article(nouns[0])}.", f"{slot(second.name)} belongs to one of our {plural(nouns[0])}, record it."),
        second.name: (f"Add {article(nouns[1])} to {slot(first.name)}.", f"{slot(first.name)} should have another {nouns[1]}."),
    }


def transfer_ways(amount: str, source: str, target: str, words: str) -> Ways:
    """Ways to ask for a transfer."""
    what, one, two = f"{slot(amount)} of the {words}", slot(source), slot(target)
    return (
        f"Move {what} from {one} to {two}.",
        f"(Transfer|Shift) {what} from {one} (to|over to) {two}.",
        f"{two} gets {what} from {one}.",
        f"Take {what} from {one} and give it to {two}.",
        f"(Could|Can) you move {what} from {one} to {two}?",
        f"Let {slot(amount)} of the {words} go from {one} to {two}.",
    )


def transfer_short(amount: str, source: str, target: str, words: str) -> dict[str, Ways]:
    """Ways that leave out the amount or a side."""
    one, two, much = slot(source), slot(target), slot(amount)
    return {
        amount: (f"Move some of the {words} from {one} to {two}.", f"{two} gets part of the {words} of {one}."),
        source: (f"Move {much} of the {words} to {two}.",),
        target: (f"Move {much} of the {words} of {one} elsewhere.",),
    }


def remove_ways(draft: EntityDraft, key: str) -> Ways:
    """Ways to ask that a record be removed."""
    it, many = slot(key), draft.many
    if draft.subject.is_link:
        return (
            f"(Remove|Delete) {it}.",
            f"(Could|Can) you (remove|delete) {it}?",
            f"{it} was a mistake, (remove it|delete it).",
            f"I no longer want {it}, take it off.",
            f"Please strike {it} from the list.",
        )
    return (
        f"(Remove|Delete) {it} from our {many}.",
        f"(Could|Can) you (remove|delete) {it} from the {many}?",
        f"We no longer need {it} among our {many}, (remove it|delete it).",
        f"I want {it} (removed|deleted) from the {many}.",
        f"Please strike {it} from our {many}.",
    )


def remove_short(draft: EntityDraft, key: str) -> dict[str, Ways]:
    """Ways that leave out the record."""
    word = "entry" if draft.subject.is_link else draft.words
    many = "entries" if draft.subject.is_link else draft.many
    return {key: (f"Remove {article(word)} for me.", f"I want to remove one of our {many}.")}
