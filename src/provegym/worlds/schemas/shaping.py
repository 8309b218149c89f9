"""Entities from the subjects of a sketch: fields, how they are drawn, and how records are named.

People speak of records by a name, a code, or by what they belong to. A subject with none of them
is left out. Notes say what was left out and why.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from provegym.worlds.schemas import lexicon, nouns
from provegym.worlds.schemas.drawing import NEVER_EMPTY, field_of, is_known_text
from provegym.worlds.schemas.lexicon import Manner
from provegym.worlds.schemas.ordering import ordered
from provegym.worlds.schemas.sketch import NOW, Property, Subject
from provegym.worlds.schemas.trimming import note_lost_rules, settled, without_bare_ids
from provegym.worlds.spec import Entity, Field

NAMED = ("name", "title", "full_name", "display_name", "company_name", "label", "subject")
NAMED_LATE = ("username", "user_name", "login", "slug", "description", "email")
CODES = ("number", "code", "sku", "isbn", "reference", "serial_number", "plate", "barcode")
FIRST = ("first_name", "firstname", "given_name", "fname")
LAST = ("last_name", "lastname", "family_name", "surname", "lname")
KEY_ENDS = re.compile(r"_(id|code|number|no|key|ref|uuid|slug)$")
BOSSES = ("reports_to", "report_to", "managed_by", "supervised_by", "led_by")
PREPOSITIONS = ("to", "via", "by", "from", "of", "in", "at", "with", "for")
NO_CODE = re.compile(r"postal|zip|phone|fax|country|currency|language|area|color|colour|account")
# A page has ten records, and a result at most 4,096 bytes.
RECORD_BYTES = 370
VALUE_BYTES = {"name": 20, "text": 26, "code": 9, "number": 5, "money": 8, "date": 13, "time": 23}
VALUE_BYTES |= {"flag": 6, "reference": 11, "enum": 13, "copy": 20}
MOST_REQUIRED = 5
NUMBERED = ("status", "type", "state", "flag", "code", "mode", "position")


@dataclass
class EntityDraft:
    """An entity in the making: its fields, and what tools and words need to know of it."""

    subject: Subject
    fields: dict[str, Field] = field(default_factory=dict)
    manners: dict[str, Manner | None] = field(default_factory=dict)
    # The field of each property that was kept.
    kept: dict[str, str] = field(default_factory=dict)
    name: str = ""
    marks: list[str] = field(default_factory=list)
    now: set[str] = field(default_factory=set)
    counted: set[str] = field(default_factory=set)
    # Users say the bare name, since sentences have the noun already.
    bare: bool = False
    lived: bool = False
    count: int = 0

    @property
    def noun(self) -> str:
        """The name of the entity."""
        return self.subject.name

    @property
    def words(self) -> str:
        """The noun in words."""
        return nouns.spaced(self.noun)

    @property
    def many(self) -> str:
        """The plural in words."""
        return nouns.plural(self.words)

    @property
    def person(self) -> bool:
        """Whether the records are people."""
        manner = self.manners.get(self.name)
        return manner is not None and manner.words == ("{person}",)

    @property
    def name_argument(self) -> str:
        """The argument that gives a name: that of the source, or else the noun with it: pet_name.

        With the noun it is not taken for the name of another kind of record.
        """
        given = [p for p, held in self.kept.items() if held == self.name and self.name]
        is_known = len(given) == 1 and given[0] in self.subject.arguments
        if is_known and given[0] == nouns.plain(given[0], self.noun) != self.noun:
            return given[0]
        own = self.name.startswith(self.noun) or not self.name
        return self.name if own else f"{self.noun}_{self.name}"[: nouns.LONGEST]

    @property
    def references(self) -> list[Field]:
        """The references that were kept."""
        return [each for each in self.fields.values() if each.kind == "reference"]

    def of_kind(self, *kinds: str) -> list[Field]:
        """The fields of some kinds."""
        return [each for each in self.fields.values() if each.kind in kinds]

    @property
    def status(self) -> Field | None:
        """The enum field that says how far a record is."""
        known = lexicon.status_words("columns")
        enums = self.of_kind("enum")
        named = [each for each in enums if each.name.removeprefix(f"{self.noun}_") in known]
        ends = [each for each in enums if each.name.endswith(("_status", "_state"))]
        return next(iter(named + ends), None)


def shape(subjects: Iterable[Subject], notes: list[str]) -> list[EntityDraft]:
    """The drafts of the subjects in an order in which a seed can draw them."""
    drafts: dict[str, EntityDraft] = {}
    for subject in ordered(settled(subjects, notes), notes):
        draft = _draft(subject, drafts, notes)
        if not draft.name and not draft.marks:
            notes.append(
                f"left out: {subject.name}, since its records have no name, no code and nothing"
                " named that they belong to"
            )
            continue
        note_lost_rules(subject, draft.kept, notes)
        drafts[subject.name] = draft
    return list(drafts.values())


def _draft(subject: Subject, drafts: Mapping[str, EntityDraft], notes: list[str]) -> EntityDraft:
    draft = EntityDraft(subject)
    properties = without_bare_ids(_merged_names(draft, notes), subject, notes)
    if not draft.name:
        _name_field(draft, properties)
    if not draft.name:
        properties = _tied(draft, properties, drafts, notes)
    references = [each for each in properties if each.kind == "reference"]
    others = [each for each in properties if each.kind != "reference"]
    ranked = [each for each in _by_importance(draft, others) if each.name not in draft.kept]
    # Enums come before the names of other records, which are copies and could be looked up.
    first = [each for each in ranked if each.kind == "enum"]
    kept_free = sum(len(each.name) + 4 + VALUE_BYTES["reference"] for each in references)
    for each in first:
        _plain(draft, each, notes, kept_free)
    enums = {name: draft.fields.pop(name) for name in list(draft.fields) if name != draft.name}
    for each in references:
        _reference(draft, each, drafts, notes, enums)
    draft.fields |= enums
    for each in ranked:
        if each not in first:
            _plain(draft, each, notes)
    at = {draft.kept.get(each.name, ""): number for number, each in enumerate(ranked)}
    draft.fields = dict(sorted(draft.fields.items(), key=lambda item: at.get(item[0], -1)))
    _mark(draft)
    return draft


def _tied(
    draft: EntityDraft,
    properties: list[Property],
    drafts: Mapping[str, EntityDraft],
    notes: list[str],
) -> list[Property]:
    """What has no name is named by what it belongs to, so it must belong to something."""
    known = [p for p in properties if p.kind == "reference" and p.to in drafts]
    if not known or any(not p.empty for p in known):
        return properties
    first = known[0]
    notes.append(
        f"changed: {draft.noun}.{first.name} cannot be empty, since it tells which one is meant"
    )
    tied = msgspec.structs.replace(first, empty=False)
    return [tied if p is first else p for p in properties]


def _merged_names(draft: EntityDraft, notes: list[str]) -> list[Property]:
    """First and last name become one field, `name`, since people say both together."""
    subject = draft.subject
    texts = {_stripped(each, subject): each for each in subject.properties if each.kind == "text"}
    first = next((texts[name] for name in FIRST if name in texts), None)
    last = next((texts[name] for name in LAST if name in texts), None)
    if first is None or last is None or "name" in texts:
        return list(subject.properties)
    _add_name(draft, "name", ("{person}",), person=True)
    draft.kept |= {first.name: "name", last.name: "name"}
    notes.append(f"changed: {first.name} and {last.name} of {subject.name} are one field, name")
    return [each for each in subject.properties if each not in (first, last)]


def _stripped(each: Property, subject: Subject) -> str:
    return each.name.removeprefix(f"{subject.name}_")


def _name_field(draft: EntityDraft, properties: list[Property]) -> None:
    """Find the property by which people name a record."""
    subject = draft.subject
    texts = {_stripped(p, subject): p for p in reversed(properties) if p.kind == "text"}
    last = subject.name.rpartition("_")[2]
    texts |= {p.name.removeprefix(f"{last}_"): p for p in texts.values()}
    is_staff = lexicon.is_person(subject.name)
    named = [n for n in NAMED if n in texts and not (is_staff and n in ("title", "subject"))]
    ends = tuple(f"_{code}" for code in CODES[:3])
    codes = [n for n in texts if (n in CODES or n.endswith(ends)) and not NO_CODE.search(n)]
    late = [n for n in NAMED_LATE if n in texts]
    itself = [n for n in (subject.name, last) if n in texts]
    keys = [
        n
        for n, p in texts.items()
        if subject.key == (p.name,) and not KEY_ENDS.search(p.name) and p.name != "id"
    ]
    unique = [n for n, p in texts.items() if p.unique]
    for found in (named, itself, codes, keys, late, unique):
        if found:
            each = texts[found[0]]
            is_code = found[0] in codes
            known = is_code or found is late or found[0] == "company_name"
            known |= found is itself and not lexicon.is_named(subject.name)
            manner = lexicon.of_field(each.name, subject.name) if known else None
            words = (
                manner.words
                if manner and found[0] != "description"
                else lexicon.of_name(subject.name).words
            )
            name = "name" if found[0] == subject.name else nouns.plain(found[0], subject.name)
            _add_name(draft, name, words, code=is_code, person=False)
            draft.kept[each.name] = name
            return


def _add_name(
    draft: EntityDraft, name: str, words: tuple[str, ...], *, code: bool = False, person: bool
) -> None:
    draft.name = name
    draft.manners[name] = Manner(words=words, code=code, person=person)
    draft.fields[name] = Field(
        name=name, kind="code" if code else "name", words=lexicon.drawn_words(words)
    )


def _reference(
    draft: EntityDraft,
    each: Property,
    drafts: Mapping[str, EntityDraft],
    notes: list[str],
    enums: Mapping[str, Field],
) -> None:
    """A reference, and copies of what the other record is called, if they leave room for enums."""
    subject = draft.subject
    is_own = each.to == subject.name
    target = draft if is_own else drafts.get(each.to)
    if target is None:
        notes.append(f"left out: {subject.name}.{each.name}, since {each.to} is not in this world")
        return
    base = KEY_ENDS.sub("", each.name) or each.to
    if base.rpartition("_")[2] in PREPOSITIONS and not is_own:
        base = each.to
    elif base in BOSSES and lexicon.is_person(each.to):
        base = "manager"
    elif base.rpartition("_")[2] in PREPOSITIONS and lexicon.is_person(each.to):
        notes.append(f"left out: {subject.name}.{each.name}, since it does not name a role")
        return
    name = nouns.plain(f"{base}_id", subject.name)
    if name in draft.fields:
        name = nouns.plain(f"{base}_{each.to}_id", subject.name)
    share = 0 if is_own else NEVER_EMPTY
    own = Field(name=name, kind="reference", to=each.to, empty=each.empty, share=share)
    if name in draft.fields or _bytes([*draft.fields.values(), own]) > RECORD_BYTES:
        notes.append(f"left out: {subject.name}.{each.name}, since a record would be too long")
        return
    draft.kept[each.name] = name
    draft.fields[name] = own
    marks = [target.name] if target.name else target.marks[:2]
    for mark in marks:
        copy = f"{base}_name" if mark == target.name else f"{base}_{mark}"
        copy = nouns.plain(copy, subject.name)
        made = Field(name=copy, kind="copy", to=f"{name}.{mark}")
        size = _bytes([*draft.fields.values(), *enums.values(), made])
        fits = not (draft.name and enums) or size <= RECORD_BYTES
        is_free = copy not in draft.fields and copy not in enums
        if fits and is_free and not (is_own and not target.name):
            draft.fields[copy] = made


def _by_importance(draft: EntityDraft, properties: list[Property]) -> list[Property]:
    """Properties that rules speak of first, then required and known ones, in their order."""
    subject = draft.subject
    ruled = {n for c in subject.comparisons for n in (c.left, c.right)}
    ruled |= {str(e.amount) for e in subject.effects} | {
        n for group in subject.unique for n in group
    }
    ruled |= {move.property for move in subject.moves}
    ruled |= {each.property for move in subject.moves for each in move.sets}

    def rank(at_each: tuple[int, Property]) -> tuple[int, int]:
        at, each = at_each
        manner = lexicon.of_field(each.name, subject.name)
        points = 0 if each.name in ruled else 1 if each.kind == "enum" else 2
        if points == 2:
            useful = each.kind in ("money", "number", "date", "time") or manner is not None
            points += (0 if not each.empty else 1) + (0 if useful else 2)
        return points, at

    return [each for _, each in sorted(enumerate(properties), key=rank)]


def _bytes(fields: Iterable[Field]) -> int:
    return 20 + sum(len(each.name) + 4 + VALUE_BYTES[each.kind] for each in fields)


def _plain(draft: EntityDraft, each: Property, notes: list[str], kept_free: int = 0) -> None:
    """A field that is neither a name nor a reference; some bytes of a record are kept free."""
    subject = draft.subject
    where = f"left out: {subject.name}.{each.name}"
    manner = lexicon.of_field(each.name, subject.name)
    if each.name == "id" or subject.key == (each.name,):
        return
    if each.kind == "unknown":
        notes.append(f"{where}, since a world has no values of its type")
        return
    has_range = manner is not None and manner.low is not None
    if each.kind == "number" and each.name.endswith(NUMBERED) and not has_range:
        notes.append(f"{where}, since nothing says what its numbers mean")
        return
    if manner is not None and manner.skip and each.kind != "enum":
        notes.append(f"{where}, since people do not ask for it")
        return
    if each.kind == "text" and not each.unique and not is_known_text(each, manner, subject):
        notes.append(f"{where}, since its name does not say what such a text looks like")
        return
    name = nouns.plain(each.name, subject.name)
    if name == subject.name:
        # An effect that adds a record gives it the name of its kind, so no argument has it.
        name = nouns.plain(f"{name}_{'text' if each.kind == 'text' else 'given'}", "")
    made = field_of(name, each, manner, draft.noun)
    size = _bytes([*draft.fields.values(), made]) + kept_free
    if name in draft.fields or size > RECORD_BYTES:
        notes.append(f"{where}, since a record would be too long to list")
        return
    draft.fields[name] = made
    draft.manners[name] = manner
    draft.kept[each.name] = name
    is_now = each.default == NOW or (manner is not None and manner.now)
    if made.kind in ("date", "time") and is_now:
        draft.now.add(name)


def _mark(draft: EntityDraft) -> None:
    """The fields by which people describe a record that has no name."""
    if draft.name:
        return
    first: dict[str, str] = {}
    for each in draft.of_kind("copy"):
        first.setdefault(each.to.partition(".")[0], each.name)
    if not first:
        return
    draft.marks = [*first.values()][:2]
    days = [each.name for each in draft.of_kind("date", "time") if not each.empty]
    draft.marks += days[:1]


def refer(draft: EntityDraft) -> tuple[str, ...]:
    """The names that users give a record."""
    noun = draft.words
    if draft.name:
        slot = f"{{{draft.name}}}"
        if draft.fields[draft.name].kind == "code":
            return (f"{noun} {slot}", f"the {noun} {slot}")
        if draft.person:
            return (slot, f"our {noun} {slot}")
        return (slot,) if draft.bare else (slot, f"the {noun} {slot}")
    first, *rest = draft.marks
    base = f"the {noun} of {{{first}}}"
    days = [mark for mark in rest if draft.fields[mark].kind in ("date", "time")]
    others = [mark for mark in rest if mark not in days] if not days else []
    ways = [f"{base} from {{{mark}:date}}" for mark in days]
    ways += [f"{base} for {{{mark}}}" for mark in others]
    amounts = [each.name for each in draft.of_kind("money") if not each.empty]
    ways += [f"{base} over {{{amounts[0]}}}"] if amounts else []
    if draft.subject.is_link and len(draft.marks) > 1:
        one, two = draft.marks[:2]
        return (f"{{{two}}} in {{{one}}}", f"the entry of {{{two}}} in {{{one}}}")
    return (*ways, base)


def entity(draft: EntityDraft, drafts: Mapping[str, EntityDraft], taken: set[str]) -> Entity:
    """The finished entity; fields that a record may lack stand last."""
    fields = sorted(draft.fields.values(), key=lambda each: _is_optional(draft, each, drafts))
    return Entity(
        name=draft.noun,
        prefix=nouns.prefix(draft.noun, taken),
        fields=tuple(fields),
        count=draft.count,
        refer=refer(draft),
        call="entry" if draft.subject.is_link else draft.words,
    )


def _is_optional(draft: EntityDraft, each: Field, drafts: Mapping[str, EntityDraft]) -> bool:
    """Whether a record may lack a field, or has a default for it."""
    if each.kind == "copy":
        source, _, rest = each.to.partition(".")
        holder = draft.fields[source]
        target = drafts[holder.to]
        return holder.empty or _is_optional(target, target.fields[rest], drafts)
    return each.empty or each.kind == "flag" or each.start is not None
