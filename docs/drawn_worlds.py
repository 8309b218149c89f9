"""Writes the generated parts of docs/drawn-worlds.md: figures, ten worlds, three whole specs.

`python docs/drawn_worlds.py figures FOLDER small` writes the figures of a folder of admitted worlds
into the page; `thousand` in the place of `small` writes those of the large run. `shapes` compares
the tools of drawn worlds with those of our servers. Without arguments the ten worlds and the three
specs are written anew. No figure on the page is typed by hand.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from provegym import servers
from provegym.admission.admit import admit
from provegym.admission.alike import summary, traits
from provegym.admission.examples import Maker
from provegym.corpus.split import HELD_OUT
from provegym.corpus.transcript import transcript
from provegym.graph.dependency import Graph, give, take_back
from provegym.kernel import Tool
from provegym.trace import Example
from provegym.worlds.build import build, install
from provegym.worlds.files import WorldFile, new_file, read_world, world_files
from provegym.worlds.grammar import draw_specs
from provegym.worlds.spec import READS, WorldSpec

HERE = Path(__file__).parent
PAGE, SPECS = HERE / "drawn-worlds.md", HERE / "drawn-worlds"
SEED, WORLDS, WHOLE = 0, 10, 3
TRIES, LONGEST = 40, 700
MEASURED = (
    ("tools", "tools"),
    ("writes", "tools that write"),
    ("edges", "proven dependency edges"),
    ("chain", "tools in the longest chain (counted up to 5)"),
    ("rules", "rules that refused a random call"),
    ("examples", "verified examples"),
    ("mutants", "mutants"),
    ("noticed", "mutants that the examples notice"),
)
# Drawn worlds whose tools are compared with those of our servers.
COMPARED = 200
GROUPS = ("training servers", "held-out servers", "drawn worlds")
Row = tuple[object, ...]


def figures(folder: Path) -> str:
    """The figures of a folder of judged worlds, as tables."""
    judged = [world for file in world_files(folder) if (world := read_world(file)).admission]
    good = [world for world in judged if world.admission and world.admission.admitted]
    reasons = Counter(r for world in judged for r in world.admission.reasons)  # type: ignore[union-attr]
    rows: list[Row] = [("admitted", f"{len(good)} of {len(judged)}", share(len(good), len(judged)))]
    rows += [(f"refused: {why}", n, share(n, len(judged))) for why, n in reasons.most_common()]
    values = {name: sorted(figure(world, name) for world in good) for name, _ in MEASURED}
    means: list[Row] = [
        (what, f"{sum(values[name]) / len(good):.1f}", values[name][0], values[name][-1])
        for name, what in MEASURED
    ]
    alike = summary([traits(world.spec, world.graph) for world in good])
    pairs: list[Row] = [
        (what, f"{alike[f'{what}, all pairs']:.3f}", f"{alike[f'{what}, nearest']:.3f}")
        for what in ("tools", "schemas", "shapes", "graphs")
    ]
    return "\n\n".join(
        [
            table(("worlds", "number", "share"), rows),
            table(("an admitted world has", "mean", "least", "most"), means),
            table(("similarity (Jaccard)", "mean of all pairs", "mean to the nearest"), pairs),
        ]
    )


def shapes() -> str:
    """How the tools of drawn worlds compare with those of the servers that are written by hand."""
    names = servers.names()
    known = [
        [servers.load(name) for name in names if name not in HELD_OUT],
        [servers.load(name) for name in names if name in HELD_OUT],
        [build(spec) for spec in islice(draw_specs(SEED), COMPARED)],
    ]
    head = ("tools of", *(f"{len(some)} {what}" for some, what in zip(known, GROUPS, strict=True)))
    columns = [shape([tool for each in some for tool in each.tools.values()]) for some in known]
    return table(
        head, [(what, *(each.get(what, "0 %") for each in columns)) for what in columns[0]]
    )


def shape(tools: list[Tool]) -> dict[str, str]:
    """What arguments and descriptions some tools have."""
    writes = [tool for tool in tools if tool.writes]
    reads = [tool for tool in tools if not tool.writes]
    kinds = Counter(kind_of(*each) for tool in writes for each in properties(tool).items())
    shares = {f"a write's arguments: {kind}": n / kinds.total() for kind, n in kinds.items()}
    required = [len(tool.input_schema["required"]) for tool in writes]
    given = [len(properties(tool)) for tool in writes]
    percent = {
        "reads that require an argument": fmean(bool(t.input_schema["required"]) for t in reads),
        **{name: shares[name] for name in sorted(shares)},
    }
    return {
        "required arguments of a write": f"{fmean(required):.2f}",
        "optional arguments of a write": f"{fmean(given) - fmean(required):.2f}",
        "words of its description": f"{fmean(len(t.description.split()) for t in tools):.1f}",
        **{name: f"{100 * value:.0f} %" for name, value in percent.items()},
    }


def properties(tool: Tool) -> dict[str, dict[str, Any]]:
    """The arguments of a tool and their schemas, without those that page a list."""
    found: dict[str, dict[str, Any]] = tool.input_schema["properties"]
    return {name: each for name, each in found.items() if name not in ("limit", "offset")}


def kind_of(name: str, schema: dict[str, Any]) -> str:
    """What kind of value an argument takes."""
    if "anyOf" in schema:
        schema = next(each for each in schema["anyOf"] if each.get("type") != "null")
    types = schema.get("type", "string")
    kind = (
        next((each for each in types if each != "null"), "") if isinstance(types, list) else types
    )
    if "enum" in schema:
        return "one of some values"
    if schema.get("format") in ("date", "date-time"):
        return "date or time"
    if kind == "string" and name.endswith("_id"):
        return "id"
    words = {"integer": "number", "number": "number", "boolean": "yes or no", "string": "text"}
    return words.get(kind, "list or object")


def figure(world: WorldFile, name: str) -> int:
    """One figure of the admission of a world."""
    assert world.admission is not None
    return world.admission.figures[name]


def share(part: int, whole: int) -> str:
    """A share in percent."""
    return f"{100 * part / max(1, whole):.1f} %"


def table(head: Row, rows: list[Row]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def admitted(count: int) -> Iterator[WorldFile]:
    """The first admitted worlds of a seed."""
    judged = (admit(new_file(spec)) for spec in draw_specs(SEED))
    return islice((world for world, admission in judged if admission.admitted), count)


def described(world: WorldFile) -> str:
    """A world in two sentences, and a short conversation on it."""
    spec = world.spec
    rules = [guard.says for each in spec.operations for guard in each.guards]
    rule = re.sub(r"\{[\w.]+\}", "…", max(rules, key=lambda says: (says.count(" "), says)))
    told = figure(world, "tools"), figure(world, "writes"), figure(world, "rules")
    lines = [
        f"### {spec.name}",
        f"{spec.about} It has {told[0]} tools, of which {told[1]} write, and {told[2]} rules that"
        f" refuse, such as “{rule}”.",
        "",
        *conversation(example_on(world)),
    ]
    return "\n".join(lines)


def example_on(world: WorldFile) -> Example:
    """A verified example with writes, not too long to read."""
    server = install(world.spec)
    give(msgspec.convert(world.graph, Graph))
    maker = Maker(server)
    writes = [tool.name for tool in server.tools.values() if tool.writes]
    made = (
        example
        for at in range(TRIES)
        if (example := maker.make([writes[at % len(writes)]], "complete"))
        and len(example.turns) == 2
        and example.provenance.persona in ("plain", "formal", "chatty", "terse")
        and len("".join(conversation(example))) < LONGEST
    )
    chosen = next(made)
    take_back(world.spec.name)
    return chosen


def conversation(example: Example) -> list[str]:
    """The messages of an example, with the names of the tools that were called."""
    lines = []
    told = transcript(example)
    for message, learn in zip(told.messages, told.learn, strict=True):
        if message.get("tool_calls"):
            if not learn:  # a call that fails on purpose
                continue
            names = [f"`{call['function']['name']}`" for call in message["tool_calls"]]
            lines.append(f"> *calls {', '.join(names)}*  ")
        elif message["role"] in ("user", "assistant"):
            text = " / ".join(message["content"].split("\n"))
            lines.append(f"> **{message['role'].title()}:** {text}  ")
    return lines


def as_toml(spec: WorldSpec) -> str:
    """A spec as TOML, with a comment on each of its parts."""
    data = msgspec.json.decode(msgspec.json.encode(spec))
    tables = {name: data.pop(name) for name in ("words", "lists") if name in data}
    parts = [f"# The world {spec.name}, {spec.source}."]
    parts += ["\n".join(f"{k} = {plain(v)}" for k, v in data.items() if not is_table(v))]
    for name in ("entities", "operations", "events", "invariants", "past"):
        for at, each in enumerate(data.get(name, ())):
            comment = f"# {COMMENTS[name]}\n\n" if at == 0 else ""
            parts.append(f"{comment}{about(name, each)}[[{name}]]\n{body(each)}")
    for name, some in tables.items():
        for key, words in some.items():
            parts.append(f"[{name}.{bare(key)}]\n{body(words)}")
    return "\n\n".join(parts) + "\n"


COMMENTS = {
    "entities": "What the world holds: records, how a seed draws them, what users call them.",
    "operations": "The tools: arguments, rules that refuse (guards), effects, ways to ask.",
    "events": "What time does.",
    "invariants": "What is true at all times; fuzzing checks it after every call.",
    "past": "What a seed lives through before the world begins: calls at random times.",
}


def is_table(value: Any) -> bool:
    """Whether a part of a spec is a list of tables."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def about(part: str, each: dict[str, Any]) -> str:
    """A comment on one tool."""
    if part != "operations":
        return ""
    if each["kind"] in READS:
        return "# A read.\n"
    counts = f"rules: {len(each.get('guards', ()))}, effects: {len(each.get('effects', ()))}"
    return f"# A write; {counts}.\n"


def body(each: dict[str, Any]) -> str:
    """The entries of a table; a list of several values has one on each line."""
    lines = []
    for name, value in each.items():
        if isinstance(value, list) and (is_table(value) or len(plain(value)) > 100):
            rows = "".join(f"  {plain(row)},\n" for row in value)
            lines.append(f"{bare(name)} = [\n{rows}]")
        else:
            lines.append(f"{bare(name)} = {plain(value)}")
    return "\n".join(lines)


def bare(key: str) -> str:
    """A key in TOML; one with a dot is quoted."""
    return key if re.fullmatch(r"[\w-]+", key) else json.dumps(key)


def plain(value: Any) -> str:
    """A value in TOML on one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{bare(k)} = {plain(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(plain, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def whole(worlds: list[WorldFile]) -> list[WorldFile]:
    """The worlds with the shortest specs."""
    return sorted(worlds, key=lambda world: len(msgspec.json.encode(world.spec)))[:WHOLE]


def write(name: str, part: str) -> None:
    """Write a generated part of the page anew."""
    block = f"<!-- begin {name} -->\n{part}\n<!-- end {name} -->"
    pattern = rf"<!-- begin {name} -->.*?<!-- end {name} -->"
    text, count = re.subn(pattern, lambda _: block, PAGE.read_text("utf-8"), flags=re.DOTALL)
    assert count == 1, name
    PAGE.write_text(text, "utf-8")


def main(arguments: list[str]) -> None:
    """Write what is asked for."""
    if arguments[:1] == ["figures"]:
        folder, place = arguments[1:]
        write(place, figures(Path(folder)))
        return
    if arguments == ["shapes"]:
        write("shapes", shapes())
        return
    worlds = list(admitted(WORLDS))
    write("worlds", "\n\n".join(described(world) for world in worlds))
    SPECS.mkdir(exist_ok=True)
    for file in SPECS.glob("*.toml"):
        file.unlink()
    lines = []
    for world in whole(worlds):
        file = SPECS / f"{world.spec.name}.toml"
        file.write_text(as_toml(world.spec), "utf-8")
        lines.append(f"- [{file.name}]({SPECS.name}/{file.name}): {world.spec.about}")
        servers.forget(world.spec.name)
    write("specs", "\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
