"""Ways of asking for writes, and sentences about what was done, from nouns and labels of fields.

The last way of each tool is kept for held-out worlds.
"""

from collections.abc import Sequence

from provegym.inflection import past
from provegym.worlds.schemas import lexicon
from provegym.worlds.schemas.asking import Ways, slot
from provegym.worlds.schemas.nouns import article, label, plural, spaced
from provegym.worlds.schemas.shaping import EntityDraft
from provegym.worlds.spec import Argument


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


def details(arguments: Sequence[Argument], draft: EntityDraft, *, whom: bool = True) -> str:
    """What a new record is for, the required arguments in a row, then the others in brackets."""
    first = first_reference(arguments, draft) if whom else ""
    head = f" for {slot(first)}" if first else ""
    rest = [each for each in arguments if each.name != first]
    required = [f", {detail(each, draft)}" for each in rest if not each.optional]
    others = [f"[, {detail(each, draft)}]" for each in rest if each.optional]
    return head + "".join(required) + "".join(others)


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
    named = next((a for a in arguments if draft.name and a.name == draft.name_argument), None)
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
        key: (
            f"Set the {words} of {article(draft.words)} to {value}.",
            f"One of our {draft.many} has a new {words}: {value}.",
        ),
        changed.name: (
            f"Change the {words} of {it}.",
            f"The {words} of {it} is wrong, correct it.",
        ),
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
        key: (
            f"Mark {article(draft.words)} as {value}.",
            f"One of our {draft.many} is {value} now.",
        ),
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
    return {
        key: (
            f"{verb.capitalize()} {article(draft.words)} for me.",
            f"I want to {verb} one of our {draft.many}.",
        )
    }


def _acted(verb: str, it: str) -> tuple[str, str]:
    """A verb with a record as people say it, and in the past: "set power for X", "sent X"."""
    first, *rest = verb.split("_")
    if not rest:
        return f"{first} {it}", f"{past(first)} {it}"
    tail = f"{' '.join(rest)} for {it}"
    return f"{first} {tail}", f"{past(first)} {tail}"


def action_ways(draft: EntityDraft, key: str, verb: str, given: Sequence[Argument]) -> Ways:
    """Ways to ask for what a verb does to a record with what it is given."""
    said, _ = _acted(verb, slot(key))
    facts = details(given, draft, whom=False)
    return (
        f"{said[:1].upper()}{said[1:]}{facts}.",
        f"(Could|Can) you {said}{facts}?",
        f"(Please|Just) {said}{facts}.",
        f"I (want|need) you to {said}{facts}.",
        f"It is time to {said}{facts}.",
        f"We have decided to {said}{facts}, so go ahead.",
    )


def action_short(
    draft: EntityDraft, key: str, verb: str, given: Sequence[Argument]
) -> dict[str, Ways]:
    """Ways that leave out the record or one of the values."""
    one, _ = _acted(verb, article(draft.words))
    some, _ = _acted(verb, f"one of our {draft.many}")
    facts = details(given, draft, whom=False)
    short: dict[str, Ways] = {
        key: (f"{one[:1].upper()}{one[1:]}{facts}.", f"I want to {some}{facts}.")
    }
    said, _ = _acted(verb, slot(key))
    for each in given:
        facts = details([other for other in given if other is not each], draft, whom=False)
        first = f"{said[:1].upper()}{said[1:]}{facts}."
        short[each.name] = (first, f"I want you to {said}{facts}.")
    return short


def action_did(draft: EntityDraft, key: str, verb: str, given: Sequence[Argument]) -> str:
    """What a reply says of a verb that was done."""
    _, done = _acted(verb, slot(key))
    return f"{done}{details(given, draft, whom=False)}"


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
        key: (
            f"Make {value} the {words} of {article(draft.words)}.",
            f"One of our {draft.many} gets {value} as the {words}.",
        ),
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
        first.name: (
            f"Add {slot(second.name)} to {article(nouns[0])}.",
            f"{slot(second.name)} belongs to one of our {plural(nouns[0])}, record it.",
        ),
        second.name: (
            f"Add {article(nouns[1])} to {slot(first.name)}.",
            f"{slot(first.name)} should have another {nouns[1]}.",
        ),
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
        amount: (
            f"Move some of the {words} from {one} to {two}.",
            f"{two} gets part of the {words} of {one}.",
        ),
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
