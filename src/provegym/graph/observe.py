"""Black-box exploration of a server: it uses schemas, calls and forks, and nothing else.

Every tool is tried with values that other calls returned. The observer keeps the calls that worked,
the calls that a rule refused, and which result yields which value. The dependency graph is proven
from these.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from provegym.fuzz import Fuzzer
from provegym.fuzz.pool import Pool, TableRow, flat, records, singular
from provegym.graph.slots import EACH, Json, Scalar, Slot, filled, lines, slots, spots
from provegym.hosts.foreign_answers import no_answer
from provegym.kernel import AnyServer, BadArguments, Lost, Outcome, Session, Tool
from provegym.language.values import leaves

if TYPE_CHECKING:
    from provegym.hosts.foreign import ForeignServer

WORKED = 12
REFUSED = 96
ALIKE = 5
ROUNDS = 3
PAGES, PAGE = 8, 20
ECHO = 4
NEW = 0.5
RULES = ("rejected", "denied")
NAMED = ("id", "name", "key", "path", "uri", "url", "title")
FILES = re.compile(r"path|file|dir(?:ectory)?$|folder|repo|document|project", re.IGNORECASE)
VERBS = re.compile(r"^(?:list|search|get|find|show|track|read|check|view|lookup|compare)_")


class Effort(NamedTuple):
    """The numbers of trial calls. The defaults are high, because a fork takes a microsecond."""

    worlds: int = 4
    reads: int = 24
    writes: int = 140
    others: int = 12
    own: int = 4
    templates: int = 4
    refused: int = 2
    made: int = 3
    depth: int = 3
    refusals: int = 120
    draws: int = 8
    work: int = 10_000


# A foreign server is restarted for nearly every write that is tried; its reads are cheap.
THRIFTY = Effort(1, 60, 14, 5, 2, 2, 1, 2, 1, 12, 6, 400)
# Half the work for nearly all edges (372 of 377 on ten drawn worlds), where there are many worlds.
BRISK = Effort(1, 16, 60, 6, 3, 3, 2, 2, 3, 50, 6, 3_000)


class Origin(NamedTuple):
    """Where a value comes from: a tool and a JSON pointer into its result; `*` is any index."""

    tool: str
    pointer: str


class Branch(NamedTuple):
    """A session and the calls that led to it from the seed."""

    session: Session
    path: tuple["Tried", ...] = ()


class Tried(NamedTuple):
    """A trial call: the world before it, its outcome, and the session after it."""

    tool: str
    arguments: Json
    before: Branch
    outcome: Outcome
    session: Session

    @property
    def after(self) -> Branch:
        """The world after this call."""
        return Branch(self.session, (*self.before.path, self))

    @property
    def recognised(self) -> bool:
        """Whether its arguments were found: it worked, or a rule of the domain refused it."""
        return self.outcome.ok or self.outcome.error in RULES


def attempt(world: Branch, tool: str, arguments: Json) -> Tried:
    """Make a call on a fork of a world."""
    session = world.session.fork()
    try:
        outcome = session.call(tool, arguments)
    except Lost as problem:
        # The server crashed or hung. That proves nothing, like a call that does not fit the schema.
        said = {"error": BadArguments.kind, "message": str(problem)}
        outcome = Outcome(msgspec.json.encode(said).decode(), BadArguments.kind)
    return Tried(tool, arguments, world, outcome, session)


class Observer:
    """Explores one world of a server through its tools."""

    def __init__(self, server: AnyServer, seed: int = 0, effort: Effort | None = None) -> None:
        self.server = server
        self.seed = seed
        self.tools = server.tools
        self.effort = effort or (THRIFTY if server.foreign else Effort())
        self.spots = lines if server.foreign else spots
        self.slots = {name: slots(tool) for name, tool in server.tools.items()}
        self.base = Branch(Session([server], seed))
        self.yields: dict[Origin, dict[str, Tried]] = defaultdict(dict)
        self.worked: dict[str, list[Tried]] = defaultdict(list)
        self.refused: dict[str, list[Tried]] = defaultdict(list)
        self.failed: set[str] = set()
        self.silent: dict[str, str] = {}
        self.rows: dict[tuple[str, str], TableRow] = {}
        if server.foreign and any(takes_files(tool) for tool in server.tools.values()):
            for name in cast("ForeignServer", server).files:
                self._learn_text(name)
        self._shapes: dict[str, Counter[tuple[Any, ...]]] = defaultdict(Counter)
        self._stems: dict[str, list[str]] = {}
        self.pages: Counter[str] = Counter()
        self.titled: dict[str, list[TableRow]] = {}
        self.fuzzer = Fuzzer(server, f"observe {seed}")
        self.chance = Random(f"observe {server.name} {seed}")

    def explore(self) -> "Observer":
        """Try reads until they yield nothing new, then writes, each on a fork of the seed."""
        reads = [tool for tool in self.tools.values() if not tool.writes]
        for number in range(ROUNDS):
            self._arrange()
            for tool in reads:
                self._try(tool, self.effort.reads, blind=number > 0)
                self._turn_pages(tool)
        self._arrange()
        for tool in self.writes:
            self._try(tool, self.effort.writes, blind=True)
        return self

    @property
    def pool(self) -> Pool:
        """The records that reads have shown."""
        return self.fuzzer.pool

    @property
    def writes(self) -> list[Tool]:
        """The tools that may change the world."""
        return [tool for tool in self.tools.values() if tool.writes]

    def _arrange(self) -> None:
        now = self.base.session.now
        self.fuzzer.pool = Pool(now, ((row, self.server.foreign) for row in self.rows.values()))
        self._stems = {}
        for noun, keys in self.pool.keys.items():
            if stem := stem_of(keys[0]):
                self._stems.setdefault(stem, []).append(noun)
        self.titled = defaultdict(list)
        for row in self.rows.values():
            for text in texts([value for values in row.fields.values() for value in values]):
                self.titled[text].append(row)

    def nouns_like(self, text: str) -> list[str]:
        """The kinds of records whose keys look like a text: equal but for the number at the end."""
        return self._stems.get(stem_of(text), [])

    def about(self, slot: Slot) -> str:
        """What the schema says about an argument."""
        schema = self.tools[slot.tool].input_schema["properties"][slot.path[0]]
        return str(schema.get("description", ""))

    def _try(self, tool: Tool, tries: int, *, blind: bool) -> None:
        """Try a tool `tries` times. While no record is known, only `blind` allows arguments."""
        known, required = blind or bool(self.pool.rows), tool.input_schema["required"]
        if not known and required:
            return
        for number in range(tries if known else 1):
            arguments = {} if number == 0 and not required else self._arguments(tool)
            tried = attempt(self.base, tool.name, arguments)
            self.fuzzer.learn(tool, arguments, tried.outcome)
            self.note(tried)

    def _turn_pages(self, tool: Tool) -> None:
        """Follow the pagination of a list."""
        names, arguments = tool.input_schema["properties"], {"limit": PAGE}
        if tool.input_schema["required"] or "offset" not in names or self.pages[tool.name]:
            return
        while self.pages[tool.name] < PAGES:
            tried = attempt(self.base, tool.name, arguments)
            self.pages[tool.name] += 1
            if not tried.outcome.ok:
                return
            self.note(tried)
            if (more := tried.outcome.value.get("next_offset")) is None:
                return
            arguments = {"limit": PAGE, "offset": more}

    def _arguments(self, tool: Tool) -> Json:
        """Arguments that fit the schema. Lists of texts hold keys that their description names."""
        arguments = self.fuzzer.arguments(tool)
        for slot in self.slots[tool.name]:
            name = slot.path[0]
            if slot.path[1:] == (EACH,) and arguments.get(name) and self.chance.random() < 0.5:
                live = self.pool.live(singular(name), self.about(slot))
                arguments[name] = self.chance.sample(live, min(2, len(live)))
        needed = [slot for slot in self.slots[tool.name] if slot.required]
        if self.server.foreign and tool.writes and needed and self.chance.random() < NEW:
            arguments = filled(arguments, self.chance.choice(needed).path, self.fuzzer.invent())
        return arguments

    def works(self, tried: Tried) -> bool:
        """Whether a call worked. A read of a foreign server must also be an answer."""
        tool = self.tools[tried.tool]
        if not tried.outcome.ok or tool.writes or not self.server.foreign:
            return tried.outcome.ok
        why = no_answer(tried.before.session, tool, tried.arguments)
        if why:
            self.silent.setdefault(tried.tool, why)
        return not why

    def note(self, tried: Tried) -> None:
        """Keep a call that worked, or that a rule refused, and the values it yields."""
        if not tried.outcome.ok:
            self.failed.add(tried.tool)
        elif not self.works(tried):
            return
        if tried.outcome.ok:
            if not tried.before.path and not self.tools[tried.tool].writes:
                self._take_in(tried)
            self._keep(self.worked[tried.tool], tried, WORKED)
        elif tried.recognised:
            self._keep(self.refused[tried.tool], tried, REFUSED)

    def made(self, tool: str) -> list[Tried]:
        """The successful calls of a write; on a foreign server, those with new names come first."""
        calls, most = self.worked[tool], self.effort.made
        if self.server.foreign:
            calls = sorted(calls, key=self._staleness)
        return calls[:most]

    def _staleness(self, tried: Tried) -> tuple[bool, bool, int]:
        news, said = self.news(tried), list(leaves(tried.outcome.value))
        return not any(text in said for text in news), not news, len(str(tried.arguments))

    def news(self, tried: Tried) -> list[str]:
        """The texts of a call that no read has shown; those in its result come first."""
        new = [text for text in texts(leaves(tried.arguments)) if text not in self.titled]
        said = list(leaves(tried.outcome.value))
        return sorted(new, key=lambda text: text not in said)

    def can_fail(self, tool: str) -> bool:
        """Whether a tool may fail. On a foreign server, where trials are slow: whether it has."""
        return not self.server.foreign or tool in self.failed

    def _keep(self, kept: list[Tried], tried: Tried, most: int) -> None:
        """Keep up to `most` calls, and of one shape a few or an eighth of them."""
        if len(kept) >= most or any(tried.arguments == other.arguments for other in kept):
            return
        count = self._shapes[tried.tool]
        count[shape(tried)] += 1
        if count[shape(tried)] <= max(ALIKE, most // 8):
            kept.append(tried)

    def _take_in(self, tried: Tried) -> None:
        """Note every text that a read yields and that was not among its arguments."""
        value = tried.outcome.value
        for pointer, leaf in self.spots(value):
            if isinstance(leaf, str) and leaf and not echoes(leaf, tried.arguments):
                self.yields[Origin(tried.tool, pointer)].setdefault(leaf, tried)
                if self.server.foreign and "\n" not in leaf and pointer.endswith(EACH):
                    self._learn_text(leaf)
        for noun, record in records(value, singular(VERBS.sub("", tried.tool))):
            key = name_of(record) if self.server.foreign else key_of(record)
            if key is not None:
                self.rows.setdefault((noun, key), TableRow(noun, key, flat(record)))

    def _learn_text(self, text: str) -> None:
        """Note a text that may be an argument of any tool of a foreign server."""
        self.rows.setdefault(("text", text), TableRow("text", text, {"text": [text]}))


def takes_files(tool: Tool) -> bool:
    """Whether an argument of a tool has a name such as path or fileName."""
    return any(map(FILES.search, tool.input_schema["properties"]))


def echoes(leaf: str, arguments: Json) -> bool:
    """Whether a result only repeats an argument of the call, perhaps in a longer form."""
    given = [str(value) for value in leaves(arguments)]
    long = [value for value in given if len(value) >= ECHO]
    return leaf in given or any(
        leaf.endswith(value) or (len(leaf) >= ECHO and leaf in value) for value in long
    )


def shape(tried: Tried) -> tuple[Any, ...]:
    """The kind of a call: the rule that refused it, else its argument names and plain words."""
    if not tried.outcome.ok:
        return (complaint(tried.outcome),)
    words = (v for v in tried.arguments.values() if isinstance(v, str) and v.isalpha())
    return (*sorted(tried.arguments), *words)


def complaint(outcome: Outcome) -> str:
    """Which rule refused a call: the error message without names, numbers and quotes."""
    message = str(outcome.value["message"])
    plain = re.sub(r"'[^']*'|\"[^\"]*\"|\S*\d\S*", "", message)
    return " ".join(word for word in plain.split() if not word[0].isupper())


def key_of(record: Json) -> str | None:
    """The key of a record: its id, else its first string without spaces."""
    if isinstance(record.get("id"), str):
        return str(record["id"])
    return next((v for v in record.values() if isinstance(v, str) and v and " " not in v), None)


def name_of(record: Json) -> str | None:
    """The key of a foreign server's record: a field such as id or name, else as `key_of`."""
    named = (record.get(name) for name in NAMED)
    return next((v for v in named if isinstance(v, str) and v), None) or key_of(record)


def stem_of(text: str) -> str:
    """The common part of keys of one kind: the text before the number at the end."""
    stem = text.rstrip("0123456789")
    return stem if len(stem) > 2 and stem != text else ""


def texts(values: Iterable[Scalar | bool]) -> list[str]:
    """The texts among scalars, each once."""
    return list(dict.fromkeys(value for value in values if isinstance(value, str) and value))
