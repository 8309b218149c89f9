"""A world from a sketch: entities, operations, the past that a seed lives through, and words."""

from collections.abc import Iterable, Sequence
from typing import Any

from provegym import servers
from provegym.worlds.build import build
from provegym.worlds.check import MOST
from provegym.worlds.schemas import lexicon, nouns
from provegym.worlds.schemas.cores import core
from provegym.worlds.schemas.moving import Mover
from provegym.worlds.schemas.shaping import EntityDraft, entity, shape
from provegym.worlds.schemas.sketch import Sketch
from provegym.worlds.schemas.tooling import literal
from provegym.worlds.spec import Field, Invariant, Operation, Past, SpecError, WorldSpec

FEW, SOME, MANY = 9, 14, 26
MOST_DRAWN, MOST_LIVED = 380, 380
# Which operations are kept if there are too many, the first ones first.
IMPORTANCE = (
    *("search", "create", "link", "transition", "cancel", "transfer", "assign", "update"),
    *("remove", "report", "get"),
)
Children = dict[str, list[tuple[EntityDraft, Field]]]


def draft(sketch: Sketch, notes: list[str]) -> WorldSpec:
    """The spec of a sketch; what is left out is added to the notes."""
    if not sketch.subjects:
        raise SpecError(f"{sketch.source} describes no records{_why(notes)}")
    drafts = shape(core(sketch.subjects, notes), notes)
    if not drafts:
        raise SpecError(f"{sketch.source} has no records that people could name{_why(notes)}")
    drafts = _live(drafts, notes)
    _count(drafts)
    _mark_bare(drafts)
    children = _children(drafts)
    operations = _within_budget(_operations(drafts, children), notes)
    past = tuple(_past(drafts, operations))
    by_noun = {each.noun: each for each in drafts}
    taken: set[str] = set()
    spec = WorldSpec(
        name=sketch.name,
        about=sketch.about,
        source=sketch.source,
        kin=_kin(drafts),
        entities=tuple(entity(each, by_noun, taken) for each in drafts),
        operations=tuple(operations),
        invariants=tuple(_invariants(drafts)),
        past=past,
        lists=_lists(drafts),
        words=_words(drafts, operations),
    )
    build(spec)
    return spec


def _why(notes: Sequence[str]) -> str:
    """The last thing that was left out, for the sentence that nothing remains."""
    left = [note for note in notes if note.startswith("left out: ") and ", since " in note]
    if not left:
        return ""
    what, _, why = left[-1].removeprefix("left out: ").partition(", since ")
    return f": {what} was left out, since {why}"


def _live(drafts: list[EntityDraft], notes: list[str]) -> list[EntityDraft]:
    """Mark the entities whose records come from the past, since they must obey rules.

    Those that need one of them come from the past too. What nobody can create is left out then.
    """
    by_noun = {each.noun: each for each in drafts}
    kept = []
    for each in drafts:
        subject = each.subject
        needs = [f for f in each.references if not f.empty and f.to != each.noun]
        if any(f.to not in by_noun for f in needs):
            notes.append(f"left out: {each.noun}, since what it belongs to was left out")
            del by_noun[each.noun]
            continue
        single = [p for p in subject.properties if p.unique and p.kind == "reference"]
        ruled = subject.comparisons or subject.effects or subject.unique or single
        composite = len(subject.key) > 1
        each.lived = bool(ruled or composite) or any(by_noun[f.to].lived for f in needs)
        if each.lived and "create" not in subject.deeds:
            if any(by_noun[f.to].lived for f in needs):
                notes.append(f"left out: {each.noun}, since no operation creates one")
                del by_noun[each.noun]
                continue
            each.lived = False
        for other in subject.effects:
            target = each.fields.get(each.kept.get(other.by, ""))
            if target is not None and isinstance(other.amount, int):
                holder = by_noun[target.to]
                name = holder.kept.get(other.property)
                if name is not None and other.sign == "+" and other.on == "create":
                    holder.counted.add(name)
                    holder.fields[name] = _zero(holder.fields[name])
        kept.append(each)
    return kept


def _zero(field: Field) -> Field:
    """A counter starts at zero."""
    return Field(name=field.name, kind=field.kind, low=0, high=0, start=0)


def _count(drafts: Sequence[EntityDraft]) -> None:
    """How many records of each entity there are."""
    pointed = {f.to for each in drafts for f in each.references if not f.empty}
    for each in drafts:
        needs = [f for f in each.references if not f.empty]
        wanted = MANY if needs else SOME
        if not needs and each.noun in pointed and len(each.fields) <= 3:
            wanted = FEW
        if each.name:
            words = each.fields[each.name].words
            variety = lexicon.variety(words)
            fixed = not any("{" in text or "#" in text for text in words)
            wanted = min(wanted, max(2, len(words) - 1) if fixed else max(4, variety // 3))
        each.count = wanted
    most = {True: MOST_LIVED, False: MOST_DRAWN}
    for lived in (True, False):
        some = [each for each in drafts if each.lived == lived]
        total = sum(each.count for each in some)
        for each in some:
            each.count = min(each.count, max(3, each.count * most[lived] // max(total, 1)))


def _mark_bare(drafts: Sequence[EntityDraft]) -> None:
    """Mark what users call by its bare name: what others name after "as the genre"."""
    by_noun = {each.noun: each for each in drafts}
    for each in drafts:
        same = [f for f in each.references if nouns.label(f.name, each.noun) == nouns.spaced(f.to)]
        first = next((f for f in same if not f.empty), None)
        for field in same:
            if field is not first:
                by_noun[field.to].bare = True
    for each in drafts:
        words = each.fields[each.name].words if each.name else ()
        each.bare |= not any("{" in text for text in words)


def _children(drafts: Iterable[EntityDraft]) -> Children:
    """By noun, the entities that point to it, and by which field."""
    found: Children = {each.noun: [] for each in drafts}
    for each in drafts:
        for field in each.references:
            found[field.to].append((each, field))
    return found


def _operations(drafts: Sequence[EntityDraft], children: Children) -> list[Operation]:
    by_noun = {each.noun: each for each in drafts}
    made: list[Operation] = []
    for at, each in enumerate(drafts):
        maker, deeds = Mover(each, by_noun), each.subject.deeds
        own = [pair for pair in children[each.noun] if pair[0] is not each]
        required = [pair for pair in own if not pair[1].empty]
        found: list[Operation | None] = [maker.search(at)]
        if "create" in deeds:
            found.append(maker.link() or maker.create())
        found += maker.statuses()
        if "update" in deeds:
            found += [*maker.assigns(), maker.transfer()]
            found += [] if each.subject.is_link else maker.changes()
        if "get" in deeds:
            found += [maker.get(required), maker.report(required)]
        if "remove" in deeds:
            found.append(maker.remove(children[each.noun]))
        names = {operation.tool for operation in made}
        made += [each for each in found if each is not None and each.tool not in names]
    return made


def _within_budget(operations: list[Operation], notes: list[str]) -> list[Operation]:
    """At most as many operations as a spec may have, by importance."""
    ranked = sorted(operations, key=lambda each: IMPORTANCE.index(each.kind))
    kept = {each.tool for each in ranked[: MOST["operations"]]}
    if gone := [each.tool for each in operations if each.tool not in kept]:
        notes.append(
            f"left out: {len(gone)} tools, since a world has at most {MOST['operations']}:"
            f" {', '.join(gone)}"
        )
    return [each for each in operations if each.tool in kept]


def _invariants(drafts: Iterable[EntityDraft]) -> Iterable[Invariant]:
    """What CHECKs say of every record."""
    for each in drafts:
        for prop in each.subject.properties:
            name = each.kept.get(prop.name, "")
            if prop.kind not in ("number", "money") or name not in each.fields:
                continue
            if prop.low is not None and not each.fields[name].empty and abs(prop.low) < 1e6:
                yield Invariant(entity=each.noun, of=f"$row.{name}", least=literal(prop.low))
        for check in each.subject.comparisons:
            left, right = each.kept.get(check.left, ""), each.kept.get(check.right, "")
            if not each.lived or left not in each.fields or right not in each.fields:
                continue
            if not (each.fields[left].empty or each.fields[right].empty):
                tests: Any = {check.test: f"$row.{right}"}
                yield Invariant(entity=each.noun, of=f"$row.{left}", **tests)


def _past(drafts: Sequence[EntityDraft], operations: Sequence[Operation]) -> Iterable[Past]:
    """Operations of the past: they create what obeys rules, and move some of it on."""
    for each in drafts:
        own = [operation for operation in operations if operation.entity == each.noun]
        for operation in own:
            if operation.kind in ("create", "link") and each.lived:
                times, each.count = each.count, 0
                yield Past(tool=operation.tool, times=times)
            elif operation.kind == "transition" and each.lived and len(operation.arguments) == 2:
                yield Past(tool=operation.tool, times=9)
            elif operation.kind == "assign" and operation.arguments[1].of == each.noun:
                yield Past(tool=operation.tool, times=8)


def _lists(drafts: Iterable[EntityDraft]) -> dict[str, tuple[str, ...]]:
    used: set[str] = set()
    for each in drafts:
        for field in each.fields.values():
            used |= lexicon.used_lists(field.words)
    return {name: words for name, words in lexicon.lists().items() if name in used}


def _kin(drafts: Iterable[EntityDraft]) -> tuple[str, ...]:
    """Our servers whose tools speak of the same nouns: they could serve the same requests."""
    own = {part for each in drafts for part in (each.noun, nouns.plural(each.noun))}
    own |= {part for noun in own for part in noun.split("_")}
    found = []
    for name in servers.names():
        words = {word for tool in servers.load(name).tools for word in tool.split("_")[1:]}
        if words & own:
            found.append(name)
    return tuple(found)


def _words(drafts: Sequence[EntityDraft], operations: Sequence[Operation]) -> dict[str, Any]:
    """Labels of arguments and fields, questions for what is missing, and what replies offer."""
    slots: dict[str, str] = {}
    question: dict[str, list[str]] = {}
    for operation in operations:
        for argument in operation.arguments:
            words = nouns.label(argument.name, operation.entity)
            slots.setdefault(argument.name, words)
            if argument.of:
                ways = [f"Which {words} do you mean?", f"Which {words} is it?"]
            else:
                ways = [f"What {words} should it have?", f"Which {words} should I put down?"]
            question.setdefault(argument.name, ways)
    helps = ", ".join(each.many for each in drafts[:5])
    fields = {
        name: nouns.label(name, each.noun) for each in drafts for name in each.fields if "_" in name
    }
    return {"slots": slots, "fields": fields, "question": question, "reply": {"helps": helps}}
