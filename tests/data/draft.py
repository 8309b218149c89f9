"""Turns hand-written drafts (drafts/<server>.toml) into verified examples (<server>.jsonl).

A draft says what the user asks and which calls are right; arguments may point into earlier
results ("$0/items/1/id"). Everything else is proven on the world and filled in. Run it as a script,
with the names of servers or none for all; it exits with 1 if an example breaks the contract.
"""

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from provegym.kernel import Session
from provegym.servers import load
from provegym.toolbox import Toolbox
from provegym.trace import Example, ExampleKind, Provenance, Step, ToolboxSpec, Turn, write
from provegym.trace import Path as Road
from provegym.verify import verify
from provegym.verify.complete import complete

HERE = Path(__file__).parent


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A right call of a draft."""

    tool: str
    arguments: dict[str, Any] = {}
    turn: int = 0
    answers: tuple[str, ...] = ()


class Draft(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An example as a person writes it."""

    id: str
    turns: tuple[Turn, ...]
    seed: int = 7
    kind: ExampleKind = "multi_turn"
    steps: tuple[Wanted, ...] = ()
    toolbox: ToolboxSpec = ToolboxSpec()
    provenance: Provenance = Provenance()


def make(server: str, draft: Draft) -> Example:
    """The example of a draft, with everything filled in that its world implies."""
    now = Session([load(server)], draft.seed).now
    example = Example(
        id=f"{server}/{draft.id}",
        kind=draft.kind,
        server=server,
        server_version=load(server).version,
        seed=draft.seed,
        digest="",
        system=f"You are a helpful assistant. It is {now:%A, %Y-%m-%d %H:%M} UTC.",
        turns=draft.turns,
        toolbox=draft.toolbox,
        knobs=_knobs(draft.toolbox),
        provenance=msgspec.structs.replace(draft.provenance, made="by hand"),
    )
    return complete(msgspec.structs.replace(example, paths=(_road(example, draft),)))


def _knobs(spec: ToolboxSpec) -> tuple[str, ...]:
    used = {"distractors": spec.distractors, "stripped": spec.stripped, "hidden": spec.hidden}
    used |= {"limit": (spec.limit,) if spec.limit else ()}
    return tuple(name for name, value in used.items() if value)


def _road(example: Example, draft: Draft) -> Road:
    """The right calls, with pointers into results followed on the live world."""
    session = Toolbox.of(example).session(draft.seed)
    results: list[Any] = []
    steps: list[Step] = []
    for number, turn in enumerate(draft.turns):
        session.advance(turn.minutes)
        for wanted in (step for step in draft.steps if step.turn == number):
            arguments = {n: follow(value, results) for n, value in wanted.arguments.items()}
            outcome = session.call(wanted.tool, arguments)
            if not outcome.ok:
                sys.exit(f"{example.id}: {wanted.tool}{arguments} fails: {outcome.text}")
            results.append(outcome.value)
            steps.append(
                Step(turn=number, tool=wanted.tool, arguments=arguments, answers=wanted.answers)
            )
    return Road(steps=tuple(steps))


def follow(value: Any, results: list[Any]) -> Any:
    """A value, or what it points to in an earlier result."""
    if isinstance(value, list):
        return [follow(part, results) for part in value]
    if isinstance(value, dict):
        return {name: follow(part, results) for name, part in value.items()}
    if not (isinstance(value, str) and re.match(r"\$\d", value)):
        return value
    number, *path = value[1:].split("/")
    found = results[int(number)]
    for part in path:
        found = found[int(part)] if isinstance(found, list) else found[part]
    return found


def drafts(server: str) -> list[Draft]:
    """The drafts of a server."""
    text = (HERE / "drafts" / f"{server}.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text)["examples"], list[Draft])


def main(names: list[str]) -> None:
    """Make the examples of some servers, or of all that have drafts."""
    failed = 0
    for name in names or sorted(path.stem for path in (HERE / "drafts").glob("*.toml")):
        examples = [make(name, draft) for draft in drafts(name)]
        for example in examples:
            for problem in verify(example):
                print(f"{example.id}: {problem}")
                failed += 1
        write(HERE / f"{name}.jsonl", examples)
        print(f"{name}: {len(examples)} examples")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
