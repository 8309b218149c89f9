"""Operations that move records between states and to each other: statuses, assignments, links,
transfers and removals."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from provegym.inflection import past
from provegym.worlds.schemas import lexicon, wording
from provegym.worlds.schemas.nouns import article, label, plain, plural, spaced
from provegym.worlds.schemas.shaping import EntityDraft
from provegym.worlds.schemas.sketch import Move
from provegym.worlds.schemas.tooling import HELD, STOCKED, STORES, Toolmaker
from provegym.worlds.spec import Argument, Effect, Field, Operation, OperationGuard, Value


class Mover(Toolmaker):
    """Makes the operations of one entity that move records."""

    def final(self, status: Field) -> tuple[str, ...]:
        """The values of a status after which nothing happens any more."""
        known = lexicon.status_words("final")
        return tuple(value for value in status.values if lexicon.folded(value) in known)

    def _not_over(self, status: Field, but: Sequence[str] = ()) -> Iterator[OperationGuard]:
        final = tuple(value for value in self.final(status) if value not in but)
        if final and len(final) < len(status.values):
            of = f"${self.key}.{status.name}"
            says = f"{self.named()} is {{{self.key}.{status.name}}} already"
            yield OperationGuard(rule="status", of=of, is_not=final, says=says)

    def statuses(self) -> Iterator[Operation]:
        """A tool that sets the status, one that cancels, and the verbs that a source has."""
        status = self.draft.status
        verbs = list(self._verbs())
        yield from verbs
        offered = self.subject.offered.get(self.source(status), ()) if status is not None else ()
        is_moved = any(each.kind in ("transition", "cancel") for each in verbs)
        if status is None or len(status.values) < 2 or (is_moved and not offered):
            return
        cancelled = [
            v for v in status.values if lexicon.folded(v) in lexicon.status_words("cancelled")
        ]
        others = status.values
        if cancelled and len(status.values) > 2:
            if "cancel" not in [move.verb for move in self.subject.moves]:
                yield self._verb("cancel", "cancel", status, cancelled[0])
            others = tuple(v for v in others if v not in cancelled)
        if offered:
            others = tuple(v for v in others if v in offered)
        elif len(others) > 2:
            others = tuple(v for v in others if v != status.start)
        if "update" in self.subject.deeds and len(others) > 1:
            yield self._set_status(status, others)

    def _set_status(self, status: Field, values: tuple[str, ...]) -> Operation:
        draft = self.draft
        words = label(status.name, draft.noun)
        given = Argument(name=status.name, about=f"The new {words}.", kind="enum", values=values)
        different = OperationGuard(
            rule="different",
            of=f"${self.key}.{status.name}",
            is_not=f"${status.name}",
            says=f"{self.named()} is {{{status.name}}} already",
        )
        return self.operation(
            f"set_{draft.noun}_{status.name.removeprefix(f'{draft.noun}_')}",
            "transition",
            f"Set the {words} of {article(draft.words)}.",
            arguments=(self.its_key(), given),
            guards=(*self._not_over(status), different),
            effects=(Effect(change=f"${self.key}", set={status.name: f"${status.name}"}),),
            asks=wording.status_ways(draft, self.key, given),
            short=wording.status_short(draft, self.key, given),
            did=f"marked {{{self.key}}} as {{{status.name}}}",
        )

    def _verbs(self) -> Iterator[Operation]:
        for move in self.subject.moves:
            name = self.draft.kept.get(move.property)
            field = self.draft.fields.get(name or "")
            sets = list(self._settings(move))
            if field is not None and not (field.kind == "enum" and move.value in field.values):
                field = None
            if sets:
                yield self._action(move, field, sets)
            elif field is not None:
                is_cancel = lexicon.folded(move.value) in lexicon.status_words("cancelled")
                kind = "cancel" if is_cancel else "transition"
                yield self._verb(move.verb, kind, field, move.value)

    def _settings(self, move: Move) -> Iterator[tuple[Field, Argument]]:
        """The fields that a verb sets, each with the argument that gives the value."""
        for each in move.sets:
            held = self.draft.fields.get(self.draft.kept.get(each.property, ""))
            name = plain(each.argument, self.draft.noun)
            if held is None or held.kind in ("copy", "flag") or name == self.key:
                continue
            given = self.argument(held, optional=False, name=name)
            if each.values and held.kind == "enum":
                given = replace(given, values=each.values)
            yield held, given

    def _action(
        self, move: Move, status: Field | None, sets: Sequence[tuple[Field, Argument]]
    ) -> Operation:
        """A tool that sets what a verb is given, and a status if the verb names one."""
        draft, verb, key = self.draft, move.verb, self.key
        given = [argument for _, argument in sets]
        values: dict[str, Value] = {field.name: f"${argument.name}" for field, argument in sets}
        guards = [*self._unique(values), *self._compared(values, key)]
        is_moved = status is not None or any(f == draft.status for f, _ in sets)
        kind = "assign" if all(f.kind == "reference" for f, _ in sets) else "update"
        if status is not None:
            of, says = f"${key}.{status.name}", f"{self.named()} is {move.value} already"
            guards = [
                *self._not_over(status, (move.value,)),
                OperationGuard(rule="status", of=of, is_not=move.value, says=says),
                *guards,
            ]
            values[status.name] = move.value
        elif len(sets) == 1:
            field, argument = sets[0]
            words = label(field.name, draft.noun)
            says = f"that is the {words} of {self.named()} already"
            of = f"${key}.{field.name}"
            guards = [
                *(self._not_over(field) if is_moved else ()),
                OperationGuard(rule="different", of=of, is_not=f"${argument.name}", says=says),
                *guards,
            ]
        shown = " and ".join(label(f.name, draft.noun) for f, _ in sets)
        return self.operation(
            f"{verb}_{draft.noun}",
            "transition" if is_moved else kind,
            f"{spaced(verb).capitalize()} {article(draft.words)}: it gets the given {shown}.",
            arguments=(self.its_key(), *given),
            guards=tuple(guards),
            effects=(Effect(change=f"${key}", set=values),),
            asks=wording.action_ways(draft, key, verb, given),
            short=wording.action_short(draft, key, verb, given),
            did=wording.action_did(draft, key, verb, given),
        )

    def _verb(self, verb: str, kind: str, status: Field, value: str) -> Operation:
        draft = self.draft
        words = label(status.name, draft.noun)
        back = verb.startswith(("re", "un")) or verb in ("open", "enable", "activate")
        return self.operation(
            f"{verb}_{draft.noun}",
            kind,
            f"{spaced(verb).capitalize()} {article(draft.words)}: its {words} becomes {value}.",
            arguments=(self.its_key(),),
            guards=(
                *(() if back else self._not_over(status, (value,))),
                OperationGuard(
                    rule="status",
                    of=f"${self.key}.{status.name}",
                    is_not=value,
                    says=f"{self.named()} is {value} already",
                ),
            ),
            effects=(Effect(change=f"${self.key}", set={status.name: value}),),
            asks=wording.verb_ways(draft, self.key, verb),
            short=wording.verb_short(draft, self.key, verb),
            did=f"{past(spaced(verb))} {{{self.key}}}",
        )

    def assigns(self) -> Iterator[Operation]:
        """Tools that set a reference that may be empty."""
        draft = self.draft
        for each in [f for f in draft.references if f.empty][:2]:
            base = each.name.removesuffix("_id")
            other = self.argument(each, optional=False)
            words = label(each.name, draft.noun)
            target = self.drafts.get(each.to, draft)
            if other.name == self.key:
                continue
            name = target.name or target.marks[0]
            guards = [
                OperationGuard(
                    rule="different",
                    of=f"${self.key}.{each.name}",
                    is_not=f"${each.name}",
                    says=f"{{{each.name}.{name}}} is the {words} of {self.named()} already",
                )
            ]
            if each.to == draft.noun:
                says = f"{self.named()} cannot be its own {words}"
                guards.append(
                    OperationGuard(
                        rule="different", of=f"${self.key}", is_not=f"${each.name}", says=says
                    )
                )
            yield self.operation(
                f"assign_{draft.noun}_{base}",
                "assign",
                f"Set the {words} of {article(draft.words)}.",
                arguments=(self.its_key(), other),
                guards=tuple(guards),
                effects=(Effect(change=f"${self.key}", set={each.name: f"${each.name}"}),),
                asks=wording.assign_ways(draft, self.key, other),
                short=wording.assign_short(draft, self.key, other),
                did=f"made {{{each.name}}} the {words} of {{{self.key}}}",
            )

    def link(self) -> Operation | None:
        """A tool that puts two records together, from a join table."""
        draft = self.draft
        pairs = [draft.fields[draft.kept[n]] for n in self.subject.key if n in draft.kept]
        if not self.subject.is_link or len(pairs) != 2:
            return None
        arguments, values = self._given()
        first, second = pairs
        nouns = (label(first.name), label(second.name))
        rest = [a for a in arguments if a.name not in (first.name, second.name)]
        if any(not a.optional for a in rest):
            return None
        given = tuple(a for a in arguments if a not in rest)
        values = {n: v for n, v in values.items() if n not in {a.name for a in rest}}
        by_name = {a.name: a for a in given}
        one, two = by_name[first.name], by_name[second.name]
        says = (
            f"{{{two.name}.{_called(self, two)}}} is in {{{one.name}.{_called(self, one)}}} already"
        )
        pair = {first.name: f"${one.name}", second.name: f"${two.name}"}
        return self.operation(
            f"add_{nouns[1].replace(' ', '_')}_to_{nouns[0].replace(' ', '_')}",
            "link",
            f"Put {article(nouns[1])} together with {article(nouns[0])}.",
            arguments=given,
            guards=(
                OperationGuard(rule="unique", count=draft.noun, where=dict(pair), is_=0, says=says),
                *self._stocked("create", values),
            ),
            effects=(Effect(add=draft.noun, set=values), *self._triggered("create", values)),
            asks=wording.link_ways(one, two),
            short=wording.link_short(one, two, nouns),
            did=f"added {{{two.name}}} to {{{one.name}}}",
        )

    def transfer(self) -> Operation | None:
        """A tool that moves a part of a balance, or of a stock, to another record."""
        draft = self.draft
        each, same = self._held()
        if each is None or each.empty:
            return None
        words = label(each.name, draft.noun)
        source, target = f"from_{draft.noun}_id", f"to_{draft.noun}_id"
        return self.operation(
            f"transfer_{draft.noun}_{each.name.removeprefix(f'{draft.noun}_')}",
            "transfer",
            f"Move some {words} from one {draft.words} to another.",
            arguments=(
                Argument(name=source, about=f"The {draft.words} it comes from.", of=draft.noun),
                Argument(name=target, about=f"The {draft.words} it goes to.", of=draft.noun),
                Argument(
                    name="amount",
                    about=f"How much of the {words}.",
                    kind="money" if each.kind == "money" else "number",
                    low=1 if each.kind == "number" else None,
                    make=(5, 10, 20, 25, 40) if each.kind == "money" else (1, 2, 3, 5, 10),
                ),
            ),
            guards=tuple(self._transferable(each, same, source, target)),
            effects=(
                Effect(change=f"${source}", set={each.name: f"${source}.{each.name} - $amount"}),
                Effect(change=f"${target}", set={each.name: f"${target}.{each.name} + $amount"}),
            ),
            returns=source,
            asks=wording.transfer_ways("amount", source, target, words),
            short=wording.transfer_short("amount", source, target, words),
            did=f"moved {{amount}} of the {words} from {{{source}}} to {{{target}}}",
        )

    def _held(self) -> tuple[Field | None, Field | None]:
        """The field that is moved; of a stock per place, also the reference to the goods."""
        draft = self.draft
        held = _holdings(draft)
        if held and draft.name and not self._is_entry():
            return min(held, key=lambda each: each.kind != "money"), None
        stocked = [f for f in draft.of_kind("number") if f.name in STOCKED]
        places = [f for f in draft.references if f.to.rpartition("_")[2] in STORES]
        goods = [f for f in draft.references if f not in places]
        if stocked and len(places) == len(goods) == 1 and not draft.name:
            return stocked[0], goods[0]
        return None, None

    def _is_entry(self) -> bool:
        """Whether records are entries of something that has a balance itself, as bookings are."""
        needed = [f.to for f in self.draft.references if not f.empty and f.to != self.draft.noun]
        return any(_holdings(self.drafts[noun]) for noun in needed)

    def _transferable(
        self, each: Field, same: Field | None, source: str, target: str
    ) -> Iterator[OperationGuard]:
        """The two sides differ, the source has enough, and both hold the same goods."""
        says = "both sides are the same"
        yield OperationGuard(rule="different", of=f"${source}", is_not=f"${target}", says=says)
        says = f"{self.named(source)} has only {{{source}.{each.name}}}"
        of = f"${source}.{each.name}"
        yield OperationGuard(rule="balance", of=of, least="$amount", says=says)
        if same is not None:
            says = f"the two hold different {plural(label(same.name, self.draft.noun))}"
            of, other = f"${source}.{same.name}", f"${target}.{same.name}"
            yield OperationGuard(rule="dependency", of=of, is_=other, says=says)

    def remove(self, children: Sequence[tuple[EntityDraft, Field]]) -> Operation:
        """A tool that removes a record that no other record points to."""
        draft = self.draft
        guards = [
            OperationGuard(
                rule="dependency",
                count=child.noun,
                where={by.name: f"${self.key}"},
                is_=0,
                says=f"{self.named()} still has {child.many}: {{value}}",
            )
            for child, by in children
        ]
        guards += self._stocked("remove", {}, self.key)
        ends = ", if nothing belongs to it any more." if children else " from the records on file."
        removed = (*self._triggered("remove", {}, self.key), Effect(remove=f"${self.key}"))
        ways, short = wording.remove_ways(draft, self.key), wording.remove_short(draft, self.key)
        return self.operation(
            f"remove_{draft.noun}",
            "remove",
            f"Remove {article(draft.words)}{ends}",
            arguments=(self.its_key(),),
            guards=tuple(guards),
            effects=removed,
            asks=ways,
            short=short,
            did=f"removed {{{self.key}}}",
        )


def _holdings(draft: EntityDraft) -> list[Field]:
    """The fields that hold a balance, points or the like."""
    return [each for each in draft.of_kind("money", "number") if each.name.endswith(HELD)]


def _called(maker: Toolmaker, argument: Argument) -> str:
    other = maker.drafts[argument.of]
    return other.name or other.marks[0]
