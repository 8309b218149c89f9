"""Operations that read the entities of a sketch: lists with filters, details and reports."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from provegym.worlds.schemas import asking, lexicon
from provegym.worlds.schemas.nouns import article, label, plural
from provegym.worlds.schemas.shaping import EntityDraft
from provegym.worlds.spec import Argument, Field, Figure, Join, Operation

Drafts = Mapping[str, EntityDraft]


class Finder:
    """Makes the reads of one entity."""

    def __init__(self, draft: EntityDraft, drafts: Drafts) -> None:
        self.draft = draft
        self.drafts = drafts
        self.subject = draft.subject
        self.key = f"{draft.noun}_id"
        self.properties = {
            draft.kept[each.name]: each
            for each in self.subject.properties
            if each.name in draft.kept and draft.kept[each.name] in draft.fields
        }

    def operation(self, tool: str, kind: Any, about: str, **more: Any) -> Operation:
        """An operation on this entity."""
        return Operation(tool=tool[:64], kind=kind, about=about, entity=self.draft.noun, **more)

    def its_key(self) -> Argument:
        """The argument that is a record of this entity."""
        return Argument(name=self.key, about=f"The {self.draft.words}.", of=self.draft.noun)

    def named(self, path: str = "") -> str:
        """A slot of a refusal that names the record of the key."""
        name = self.draft.name or self.draft.marks[0]
        return f"{{{path or self.key}.{name}}}"

    def search(self, at: int) -> Operation:
        """The list of the records, with filters."""
        draft = self.draft
        arguments = self._filters()
        order = "newest" if draft.now or draft.lived else ""
        newest = ", newest first" if order else ""
        return self.operation(
            f"list_{plural(draft.noun)}",
            "search",
            f"List the {draft.many}{newest}, with {self._shown()}.",
            arguments=tuple(arguments),
            order=order,
            asks=asking.list_ways(draft, arguments, at),
            told=asking.list_told(draft),
        )

    def _shown(self) -> str:
        """The labels of the first fields, as the description of a list names them."""
        fields = [each for each in self.draft.fields.values() if each.kind != "reference"]
        words = list(dict.fromkeys(label(each.name, self.draft.noun) for each in fields))[:4]
        return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)

    def _filters(self) -> list[Argument]:
        draft, many = self.draft, self.draft.many
        found = []
        if draft.name:
            words = label(draft.name, draft.noun)
            about = f"Only {many} whose {words} contains this."
            found.append(Argument(name=draft.name_argument, about=about, filter=draft.name))
        references = sorted(draft.references, key=lambda each: each.empty)
        for each in [f for f in references if self._is_filter(f)][:3]:
            words = label(each.name, draft.noun)
            about = f"Only {many} with this {words}."
            found.append(Argument(name=each.name, about=about, of=each.to, filter=each.name))
        enums = [f for f in draft.of_kind("enum") if self._is_filter(f)]
        most = 4 if self.subject.filters else 2
        for each in sorted(enums, key=lambda f: f != draft.status)[:most]:
            about = f"Only {many} with this {label(each.name, draft.noun)}."
            found.append(Argument(name=each.name, about=about, filter=each.name))
        texts = [f for f in draft.of_kind("text", "copy", "code") if f.name != draft.name]
        for each in [f for f in texts if self.subject.filters and self._is_filter(f)][:3]:
            about = f"Only {many} whose {label(each.name, draft.noun)} contains this."
            found.append(Argument(name=each.name, about=about, filter=each.name))
        amounts = [f for f in draft.of_kind("money") if not f.empty and self._is_filter(f)]
        if amounts and draft.name:
            each = amounts[0]
            about = f"Only {many} with at most this {label(each.name, draft.noun)}."
            make = self.numbers(each)
            found.append(
                Argument(
                    name=f"highest_{each.name}",
                    about=about,
                    filter=each.name,
                    test="most",
                    make=make,
                )
            )
        return found

    def _is_filter(self, each: Field) -> bool:
        names = {self.draft.kept.get(name, name) for name in self.subject.filters}
        return not names or each.name in names or each.kind == "reference"

    def get(self, children: Sequence[tuple[EntityDraft, Field]]) -> Operation | None:
        """One record with those that belong to it, if they fit into a result, or else alone."""
        for child, by in children:
            if child.name and child.count <= 60 and len(child.fields) <= 9:
                name = plural(child.noun)
                if name in self.draft.fields:
                    continue
                return self.operation(
                    f"get_{self.draft.noun}",
                    "get",
                    f"Get {article(self.draft.words)} with its {child.many}.",
                    arguments=(self.its_key(),),
                    joins=(Join(name=name, entity=child.noun, by=by.name),),
                    asks=asking.get_ways(self.draft, self.key, name, child.name),
                )
        return self._plain_get() if self.subject.shown else None

    def _plain_get(self) -> Operation | None:
        """One record alone, if it has fields to ask about."""
        ways = asking.plain_get_ways(self.draft, self.key)
        if not ways:
            return None
        return self.operation(
            f"get_{self.draft.noun}",
            "get",
            f"Get {article(self.draft.words)} with all that is on file about it.",
            arguments=(self.its_key(),),
            asks=ways,
        )

    def report(self, children: Sequence[tuple[EntityDraft, Field]]) -> Operation | None:
        """Figures over the records that point to a record of this entity.

        Records that point to it in two ways are left out: "how many" would not say which.
        """
        figures: list[Figure] = []
        said: list[tuple[str, str, str]] = []
        ways = Counter(child.noun for child, _ in children)
        for child, by in [each for each in children if ways[each[0].noun] == 1][:2]:
            where: dict[str, Any] = {by.name: f"${self.key}"}
            name = f"{child.noun}_count"
            figures.append(Figure(name=name, count=child.noun, where=where))
            said.append((name, child.noun, ""))
            amounts = [f for f in child.of_kind("money") if not f.empty]
            summable = [f for f in amounts if not f.name.endswith(("price", "rate", "price_each"))]
            for each in summable[:1]:
                name = f"{child.noun}_{each.name}"
                figures.append(Figure(name=name, sum=f"{child.noun}.{each.name}", where=where))
                said.append((name, child.noun, each.name))
        if not figures or not self.draft.name:
            return None
        return self.operation(
            f"summarize_{self.draft.noun}",
            "report",
            f"Count and sum up what belongs to {article(self.draft.words)}.",
            arguments=(self.its_key(),),
            figures=tuple(figures),
            asks=asking.report_ways(self.draft, self.key, said),
            told=asking.report_told(self.draft, said),
        )

    def numbers(self, each: Field) -> tuple[int | float, ...]:
        """Values of a field that users could say."""
        low = each.low if each.low is not None else 1
        high = each.high if each.high is not None else 20
        step = each.step or (0.5 if each.kind == "money" and high - low < 100 else 1)
        made = lexicon.steps(low, high, step)
        return tuple(v for v in made if v > 0 or each.kind == "number") or (1,)
