"""Operations for the entities of a sketch: reads, and the writes that its constraints allow."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from provegym.worlds.schemas import lexicon, wording
from provegym.worlds.schemas.lookups import Finder
from provegym.worlds.schemas.nouns import article, label
from provegym.worlds.schemas.shaping import EntityDraft
from provegym.worlds.schemas.sketch import Comparison
from provegym.worlds.spec import (
    Argument,
    Effect,
    Field,
    Operation,
    OperationGuard,
    Scalar,
    Test,
    Value,
    Where,
)

MOST_BOUND = 1_000_000
MOST_OPTIONAL = 2
MOST_UPDATES = 2
# Days of birth, hire and release do not change.
LONG_AGO = -19
HELD = ("balance", "points", "credits", "funds", "credit", "miles")
STOCKED = ("quantity", "stock", "on_hand", "qty", "units")
STORES = ("store", "warehouse", "location", "depot", "room", "bin", "shelf", "branch", "site")
OPPOSITE = {"least": "at least", "most": "at most", "over": "more than", "under": "less than"}


def bound(value: float | None) -> float | None:
    """A bound that a spec accepts; a whole one without a point."""
    if value is None or abs(value) > MOST_BOUND:
        return None
    return int(value) if value == int(value) else value


class Toolmaker(Finder):
    """Makes the writes of one entity that add records and change fields."""

    def create(self) -> Operation:
        """A new record."""
        draft = self.draft
        arguments, values = self._given()
        guards = [
            *self._unique(values),
            *self._compared(values, ""),
            *self._stocked("create", values),
        ]
        effects = [Effect(add=draft.noun, set=values), *self._triggered("create", values)]
        return self.operation(
            f"add_{draft.noun}",
            "create",
            f"Add {article(f'new {draft.words}')} to the {draft.many} on file.",
            arguments=tuple(arguments),
            guards=tuple(guards),
            effects=tuple(effects),
            asks=wording.create_ways(draft, arguments),
            short=wording.create_short(draft, arguments),
            did=wording.create_did(draft, arguments),
        )

    def _given(self) -> tuple[list[Argument], dict[str, Value]]:
        """The arguments of a new record, and the values of its fields."""
        draft = self.draft
        required: list[Argument] = []
        others: list[Argument] = []
        values: dict[str, Value] = {}
        compared = {n for c in self.subject.comparisons for n in (c.left, c.right)}
        for each in draft.fields.values():
            if each.kind in ("copy", "flag"):
                continue
            if each.name in draft.counted:
                values[each.name] = 0
            elif each.name in draft.now:
                values[each.name] = "$now" if each.kind == "time" else "=date($now)"
            elif each.start is not None and not each.empty:
                continue
            elif not each.empty:
                name = draft.name_argument if each.name == draft.name else each.name
                required.append(self.argument(each, optional=False, name=name))
                values[each.name] = f"${name}"
            elif self._is_offered(each, compared) and len(others) < MOST_OPTIONAL:
                others.append(self.argument(each, optional=True))
                values[each.name] = f"${each.name}"
        required.sort(key=lambda argument: argument.name != draft.name_argument)
        return [*required, *others], values

    def _is_offered(self, each: Field, compared: set[str]) -> bool:
        """Whether an empty field can be given to a new record."""
        manner = self.draft.manners.get(each.name)
        is_later = manner is not None and manner.later
        prop = self.properties.get(each.name)
        own = each.kind == "reference" and each.to == self.draft.noun
        return not (is_later or own or (prop is not None and prop.name in compared))

    def argument(self, each: Field, *, optional: bool, name: str = "") -> Argument:
        """An argument that gives the value of a field."""
        words = label(each.name, self.draft.noun)
        about = f"The {words}."
        name = name or each.name
        if each.kind == "reference":
            return Argument(name=name, about=about, of=each.to, optional=optional)
        if each.kind == "enum":
            return Argument(
                name=name, about=about, kind="enum", values=each.values, optional=optional
            )
        base: dict[str, Any] = {"name": name, "about": about, "optional": optional}
        if each.kind in ("date", "time"):
            is_past = each.high is not None and each.high < -300
            days = (int(each.low or 1), int(each.high or 14)) if is_past else (1, 20)
            kind: Any = each.kind
            return Argument(kind=kind, make={"days": days}, **base)
        if each.kind in ("number", "money"):
            prop = self.properties[each.name]
            low, high = bound(prop.low), bound(prop.high)
            made = self.numbers(each)
            if high is None and each.kind == "number" and max(made) > 50_000:
                high = MOST_BOUND
            return Argument(kind=each.kind, low=low, high=high, make=made, **base)
        manner = self.draft.manners.get(each.name)
        words_of = manner.words if manner is not None and manner.words else lexicon.PLAIN_TEXT
        is_code = each.kind == "code"
        if is_code and not (manner is not None and manner.words):
            words_of = each.words
        make = lexicon.examples(words_of, f"{self.draft.noun}.{each.name}", code=is_code)
        is_name = each.kind in ("name", "code") or len(max(make, key=len)) < 60
        return Argument(kind="name" if is_name else "text", make=make, **base)

    def _unique(self, values: Mapping[str, Value], key: str = "") -> Iterator[OperationGuard]:
        """Guards of UNIQUE, for the groups whose values are all given.

        With a key, one of them is given and changes; the record has the others.
        """
        draft = self.draft
        single = [(each.name,) for each in self.subject.properties if each.unique]
        key_group = self.subject.key if len(self.subject.key) > 1 else ()
        for group in dict.fromkeys((*single, *self.subject.unique, key_group)):
            names = [draft.kept[name] for name in group if name in draft.kept]
            if not group or len(names) < len(group):
                continue
            known = set(names) & values.keys()
            if not known or (not key and known < set(names)):
                continue
            given: Where = {n: values.get(n, f"${key}.{n}") for n in names}
            # Records without a value do not collide, as in SQL.
            may_lack = [given[n] for n in names if draft.fields[n].empty]
            when = tuple(
                Test(of=value, is_not="$nothing")
                for value in may_lack
                if not isinstance(value, tuple)
            )
            held = " and ".join(label(n, draft.noun) for n in dict.fromkeys(names))
            says = f"there is already {article(draft.words)} with this {held}"
            yield OperationGuard(
                rule="unique", count=draft.noun, where=given, is_=0, says=says, when=when
            )

    def _compared(self, values: Mapping[str, Value], key: str) -> Iterator[OperationGuard]:
        """Guards of CHECKs that compare two columns; with a key, for a change of one of them."""
        draft = self.draft
        for each in self.subject.comparisons:
            left, right = draft.kept.get(each.left, ""), draft.kept.get(each.right, "")
            if not left or not right or (key and not {left, right} & values.keys()):
                continue
            one, two = self._known(left, values, key), self._known(right, values, key)
            if one is None or two is None:
                continue
            if not isinstance(one, str) and not isinstance(two, str):
                continue  # Two starting values never change.
            says = (
                f"the {label(left, draft.noun)} must be {_in_words(each, draft.fields[left])}"
                f" the {label(right, draft.noun)}"
            )
            tests: Any = {each.test: two}
            yield OperationGuard(rule="window", of=one, says=says, **tests)

    def _known(self, name: str, values: Mapping[str, Value], key: str) -> Value | None:
        """A field's value in a guard: as given, as it starts, or as the record has it."""
        each = self.draft.fields[name]
        if name in values:
            return values[name]
        if key:
            return None if each.empty else f"${key}.{name}"
        return each.start if not each.empty else None

    def _triggered(self, on: str, values: Mapping[str, Value], key: str = "") -> Iterator[Effect]:
        """Effects of triggers on the record that a reference points to."""
        for path, target, amount, sign in self._follow_ups(on, values, key):
            yield Effect(change=path, set={target: f"={path}.{target} {sign} {amount}"})

    def _stocked(
        self, on: str, values: Mapping[str, Value], key: str = ""
    ) -> Iterator[OperationGuard]:
        """What a trigger takes away must be there, if a CHECK says so."""
        for path, target, amount, sign in self._follow_ups(on, values, key):
            other = self._target(path, key)
            prop = other.subject.get(_property_of(other, target))
            if sign == "-" and prop is not None and prop.low is not None and prop.low >= 0:
                name = other.name or other.marks[0]
                holder, words = path[1:], label(target, other.noun)
                says = f"{{{holder}.{name}}} has only {{{holder}.{target}}} {words}"
                least = f"={amount} + {bound(prop.low)}" if prop.low else amount
                yield OperationGuard(
                    rule="balance", of=f"{path}.{target}", least=_number(least), says=says
                )
            yield from _still_compared(other, path, target, f"{sign} {amount}")

    def _target(self, path: str, key: str) -> EntityDraft:
        return self.drafts[self.draft.fields[path.rpartition(".")[2].removeprefix("$")].to]

    def _follow_ups(
        self, on: str, values: Mapping[str, Value], key: str
    ) -> Iterator[tuple[str, str, str, str]]:
        draft = self.draft
        for each in self.subject.effects:
            by = draft.kept.get(each.by)
            if each.on != on or by is None:
                continue
            other = self.drafts[draft.fields[by].to]
            target = other.kept.get(each.property)
            amount = str(each.amount)
            if isinstance(each.amount, str):
                name = draft.kept.get(each.amount)
                if name is None or (not key and name not in values):
                    continue
                amount = f"${key}.{name}" if key else str(values[name])
            if target is not None:
                yield (f"${key}.{by}" if key else f"${by}"), target, amount, each.sign

    def source(self, each: Field) -> str:
        """The property that a field was made from."""
        return _property_of(self.draft, each.name)

    def changes(self) -> Iterator[Operation]:
        """Tools that change one field each."""
        draft = self.draft
        for each in self._changeable():
            changed = self.argument(each, optional=False)
            offered = self.subject.offered.get(self.source(each), ())
            if each.kind == "enum" and offered:
                held = tuple(value for value in each.values if value in offered)
                changed = replace(changed, values=held)
            values: dict[str, Value] = {each.name: f"${each.name}"}
            words = label(each.name, draft.noun)
            guards = [
                OperationGuard(
                    rule="different",
                    of=f"${self.key}.{each.name}",
                    is_not=f"${each.name}",
                    says=f"that is the {words} of {self.named()} already",
                ),
                *self._unique(values, self.key),
                *self._compared(values, self.key),
            ]
            yield self.operation(
                f"change_{draft.noun}_{each.name.removeprefix(f'{draft.noun}_')}",
                "update",
                f"Change the {words} of {article(draft.words)}.",
                arguments=(self.its_key(), changed),
                guards=tuple(guards),
                effects=(Effect(change=f"${self.key}", set=values),),
                asks=wording.change_ways(draft, self.key, changed),
                short=wording.change_short(draft, self.key, changed),
                did=f"changed the {words} of {{{self.key}}} to {{{each.name}}}",
            )

    def _changeable(self) -> list[Field]:
        """The fields that tools change: those of the source, or those people change most."""
        draft = self.draft
        wanted = [draft.kept[name] for name in self.subject.updates if name in draft.kept]
        fields = [
            each
            for each in draft.of_kind("money", "number", "date", "time", "text", "enum")
            if each.name not in draft.now | draft.counted
            and each != draft.status
            and (not wanted or each.name in wanted)
            and (each.kind != "text" or draft.manners.get(each.name) is not None)
            and not (each.kind in ("date", "time") and (each.high or 0) < LONG_AGO)
        ]
        order = {"money": 0, "date": 1, "time": 1, "number": 2, "text": 3, "enum": 4}
        fields.sort(key=lambda each: order[each.kind])
        varied = list({each.kind: each for each in reversed(fields)}.values())[::-1]
        rest = [each for each in fields if each not in varied]
        return [*varied, *rest][:MOST_UPDATES]


def _still_compared(
    other: EntityDraft, path: str, target: str, change: str
) -> Iterator[OperationGuard]:
    """Guards of CHECKs that compare a number which a trigger changes with another column."""
    for each in other.subject.comparisons:
        sides = [other.kept.get(name, "") for name in (each.left, each.right)]
        if target not in sides or any(
            name not in other.fields or other.fields[name].empty for name in sides
        ):
            continue
        one, two = (
            f"={path}.{name} {change}" if name == target else f"{path}.{name}" for name in sides
        )
        left, right = (label(name, other.noun) for name in sides)
        says = (
            f"the {left} of {{{path[1:]}.{other.name or other.marks[0]}}} must be"
            f" {_in_words(each, other.fields[sides[0]])} the {right}"
        )
        tests: Any = {each.test: two}
        yield OperationGuard(rule="capacity", of=one, says=says, **tests)


def _number(text: str) -> Value:
    return int(text) if text.isdigit() else text


def _property_of(draft: EntityDraft, name: str) -> str:
    return next((prop for prop, held in draft.kept.items() if held == name), "")


def _in_words(each: Comparison, left: Field) -> str:
    if left.kind in ("date", "time"):
        words = {"least": "on or after", "most": "on or before", "over": "after", "under": "before"}
        return words[each.test]
    return OPPOSITE[each.test]


def literal(value: float) -> Scalar:
    """A number as a spec writes it."""
    return int(value) if value == int(value) else value
