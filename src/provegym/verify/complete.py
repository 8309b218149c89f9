"""Completion of an example: derives all annotations from the user's turns and the reference calls.

The calls of the first path are played on the world. This tells which calls are writes, which calls
depend on which, which ids come from records that earlier calls created, and the outcome. A search
finds other solutions; one that the first path does not pay for becomes a further path.
"""

from typing import Any

from msgspec.structs import replace as put

from provegym import servers
from provegym.kernel import Session
from provegym.language.values import is_said, leaves
from provegym.rewards.outcome import fingerprints
from provegym.search import Road
from provegym.toolbox import Toolbox
from provegym.trace import Edge, Example, Path, Ref, Step, literals
from provegym.verify import proofs
from provegym.verify.evidence import evidence_of, pointers_to, values_of
from provegym.verify.replay import Replay, replay
from provegym.verify.roads import unpaid_roads


def complete(example: Example) -> Example:
    """The example with everything filled in that its first path and its world imply."""
    return complete_and_replay(example)[0]


def complete_and_replay(example: Example) -> tuple[Example, Replay | None]:
    """The completed example, and the replay of its first path. The replay keeps its memo."""
    server = servers.load(example.server)
    digest = Session([server], example.seed).digest()
    example = put(example, server_version=server.version, digest=digest)
    if not any(path.steps for path in example.paths):
        return example, None
    gold = complete_path(example, example.paths[0])
    example = put(example, paths=(gold.path,))
    if not gold.ok:
        return example, gold
    still = gold.other(range(len(gold.path.steps))).outcome
    drift = tuple(sorted(fingerprints(still).elements()))
    example = put(example, outcome=gold.outcome, drift=drift)
    example = _with_paths(example, gold)
    return example, gold.annotated(example, example.paths[0])


def complete_path(example: Example, path: Path) -> Replay:
    """The replay of a path, its steps annotated with writes, edges and references to new ids."""
    tools = Toolbox.of(example).tools
    steps = tuple(put(step, writes=tools[step.tool].writes, needs=()) for step in path.steps)
    gold = replay(example, Path(steps=steps))
    if not gold.ok or len(gold.played) != len(steps):
        return gold
    for at, step in enumerate(steps):
        said = proofs.said_by(example, step.turn)
        sources = sorted(proofs.first_sources(at, gold.played, said))
        needs = tuple(Edge(step=number, kind="explicit") for number in sources)
        arguments = {n: _from_created(v, at, gold) for n, v in step.arguments.items()}
        steps = (*steps[:at], put(step, needs=needs, arguments=arguments), *steps[at + 1 :])
    gold = gold.annotated(example, Path(steps=steps))
    gold = gold.annotated(example, _with_implicit(gold))
    return gold.annotated(example, _with_evidence(example, gold))


def _with_evidence(example: Example, gold: Replay) -> Path:
    """The path with the values of each answer, and the evidence of each read."""
    steps = []
    for at, played in enumerate(gold.played):
        found = evidence_of(gold, at, proofs.taken_from(at, example, gold.played))
        steps.append(put(played.step, values=values_of(played), evidence=found))
    return Path(steps=tuple(steps))


def _with_implicit(gold: Replay) -> Path:
    """The path with an implicit edge from every write whose effect a later step needs."""
    path = gold.path
    steps = list(path.steps)
    for at, step in enumerate(path.steps):
        taken = {edge.step for edge in step.needs}
        more = [
            Edge(step=number, kind="implicit")
            for number in range(at)
            if number not in taken
            and path.steps[number].writes
            and proofs.needs_state(gold, number, at)
        ]
        steps[at] = put(step, needs=(*step.needs, *more))
    return Path(steps=tuple(steps))


def _from_created(value: Any, at: int, gold: Replay) -> Any:
    """The value, or a reference to its source if it names a record that an earlier step made."""
    if isinstance(value, list):
        return [_from_created(part, at, gold) for part in value]
    if isinstance(value, dict):
        return {n: _from_created(v, at, gold) for n, v in value.items()}
    if not isinstance(value, str) or is_said(value, gold.played[at].known.text):
        return value
    for number, played in enumerate(gold.played[:at]):
        made = [change.after for change in played.changes if change.before is None]
        if any(value in leaves(record) for record in made):
            pointer = _pointer_to(value, played.outcome.value)
            if pointer is not None:
                return Ref(source=(number, pointer), literal=value)
    return value


def _pointer_to(value: Any, result: Any, path: str = "") -> str | None:
    if not isinstance(result, dict | list):
        return path if result == value else None
    parts = result.items() if isinstance(result, dict) else enumerate(result)
    return next((p for n, part in parts if (p := _pointer_to(value, part, f"{path}/{n}"))), None)


def _with_paths(example: Example, gold: Replay) -> Example:
    """Add a path for every other solution that does not earn the maximum, up to MOST_PATHS."""
    for turn in range(len(example.turns)):
        for road in list(unpaid_roads(example, gold, turn)):
            if len(example.paths) == proofs.MOST_PATHS:
                return example
            path = _with_answers(example, _path_by(example, road, turn), gold)
            other = complete_path(example, path)
            if not any(proofs.path_problems(example, other, gold)):
                example = put(example, paths=(*example.paths, other.path))
    return example


def _path_by(example: Example, road: Road, turn: int) -> Path:
    """The first path with one turn's lookups replaced by other reads."""
    steps: list[Step] = []
    reads = [Step(turn=turn, tool=read.tool, arguments=read.arguments) for read in road]
    for step in example.paths[0].steps:
        if step.turn >= turn and reads:
            steps, reads = [*steps, *reads], []
        is_tied = step.evidence is not None and step.evidence.tied
        if step.turn != turn or step.writes or is_tied:
            bare = put(step, arguments=literals(step.arguments), needs=(), evidence=None)
            steps.append(bare)
    return Path(steps=tuple(steps))


def _with_answers(example: Example, path: Path, gold: Replay) -> Path:
    """The path with JSON pointers to the answers in the results of its own reads."""
    steps = list(path.steps)
    results = [played.outcome.value for played in replay(example, path).played]
    if len(results) != len(steps):
        return path
    for asked in gold.played:
        if not asked.step.answers or any(_is_same_answer(step, asked.step) for step in steps):
            continue
        for at, result in enumerate(results):
            if steps[at].turn == asked.step.turn and not steps[at].writes:
                pointers = pointers_to(result, asked.step)
                if pointers:
                    steps[at] = put(steps[at], answers=pointers)
                    break
    return Path(steps=tuple(steps))


def _is_same_answer(one: Step, two: Step) -> bool:
    return (one.turn, one.tool, one.answers) == (two.turn, two.tool, two.answers)
