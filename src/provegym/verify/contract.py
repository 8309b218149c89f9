"""The contract of an example: all checks it must pass before it is used to train or evaluate.

Among them: the reference calls earn the maximum reward, doing nothing earns nothing, and every
other solution of the same length earns the maximum too.
"""

from collections.abc import Iterator
from typing import Any

from provegym import servers
from provegym.fuzz import Fuzzer
from provegym.kernel import Lost, Session
from provegym.language.things import noun_of, survey
from provegym.players.scripted import eager, guesser, shuffler, spammer
from provegym.rewards import BEST, score
from provegym.rewards.equality import equal
from provegym.rollout import MakePolicy, Player, run_now
from provegym.toolbox import Toolbox, all_tools, gold_tools, plain, why_no_alias
from provegym.trace import Call, Checks, Example, Ref, ToolboxSpec, point
from provegym.verify import claims, proofs, seen, sense
from provegym.verify.evidence import evidence_holds
from provegym.verify.replay import Played, Replay, made, replay
from provegym.verify.roads import other_roads

MOST_LENGTH = 10
MOST_TURNS = 5
CHOICES = 200
SCHEMA_KEYS = {"name", "description", "parameters"}


def verify(example: Example, gold: Replay | None = None) -> list[str]:
    """The problems of an example, one sentence each; empty if it passes.

    `gold` is the replay of its first path, if there is one already. It saves time.
    """
    try:
        return list(problems(example, gold))
    except Lost as problem:
        return [f"could not be checked: {problem}"]


def problems(example: Example, gold: Replay | None = None) -> Iterator[str]:
    """The problems of an example one by one: who needs only one does not pay for all checks."""
    if example.toolbox.alias is not None:
        yield from _of_alias(example)
        return
    wrong = list(shape(example)) or list(world(example))
    if wrong:
        yield from wrong
    elif not example.server:
        yield from abstains(example)
    else:
        gold = gold or replay(example, example.paths[0])
        has_steps = any(path.steps for path in example.paths)
        yield from _of_calls(example, gold) if has_steps else _of_no_calls(example, gold)


def _of_alias(example: Example) -> Iterator[str]:
    """The problems of an aliased example: of its plain twin, of its view, and of playing in it."""
    if not servers.is_known(example.server) or why_no_alias(example):
        why = why_no_alias(example) or f"there is no server {example.server!r}"
        yield f"its tools have other names, but {why}"
        return
    twin = plain(example)
    wrong = list(problems(twin))
    yield from wrong or view_problems(example, twin)


def view_problems(example: Example, twin: Example) -> Iterator[str]:
    """The problems of an alias, given the plain twin, which passes: of its view, and of playing."""
    yield from seen.faithful(example, twin)
    yield from sense.transcript_holds(example)
    yield from seen.paid_alike(example, twin)


def _of_no_calls(example: Example, gold: Replay) -> Iterator[str]:
    """The problems of an example in which no call is right."""
    yield from abstains(example)
    yield from claims.names(example, gold)
    yield from claims.unserved(example, gold)
    yield from sense.transcript_holds(example)


def _of_calls(example: Example, gold: Replay) -> Iterator[str]:
    """The problems of an example with right calls; the checks that play least come first."""
    for at, played in enumerate(gold.played):
        if not played.outcome.ok:
            yield f"step {at} ({played.step.tool}) fails: {played.outcome.text}"
            return
        for pointer in played.step.answers:
            if not point(played.outcome.value, pointer)[0]:
                yield f"step {at} ({played.step.tool}) has nothing at {pointer} in its result"
                return
    if servers.load(example.server).foreign:
        yield from proofs.honest(example, gold)
    yield from proofs.necessary(gold)
    yield from sense.answers_last(gold)
    yield from sense.answers_are_news(gold)
    yield from sense.nothing_ends_at_once(gold)
    yield from sense.nothing_meets_itself(gold)
    yield from sense.nothing_is_foreseen(example, gold)
    yield from sense.new_ones_are_one(example, gold)
    yield from asking(example, gold)
    yield from proofs.derivable(example, gold)
    yield from proofs.edges(gold)
    yield from proofs.effective(gold)
    yield from proofs.answers(example, gold)
    yield from proofs.paths(example, gold)
    yield from evidence_holds(gold, proofs.taken(gold))
    yield from claims.names(example, gold)
    yield from claims.relations_hold(example, gold)
    yield from claims.aside(example)
    yield from claims.attempts(example, gold)
    yield from claims.infeasible(example, gold)
    yield from claims.unserved(example, gold)
    yield from sense.ids_are_understood(example, gold)
    yield from sense.transcript_holds(example)
    yield from pays(example, gold)
    yield from other_roads(example, gold)


def shape(example: Example) -> Iterator[str]:
    """The numbers of turns and steps, the kind and the references between steps are valid."""
    if not 0 < len(example.turns) <= MOST_TURNS:
        yield f"{len(example.turns)} user turns; one to {MOST_TURNS} are allowed"
    if not example.paths or (len(example.paths) > 1 and not all(p.steps for p in example.paths)):
        yield "a path without steps stands beside others, or there is none at all"
    if any(turn.minutes < 0 for turn in example.turns):
        yield "time does not run backwards"
    for number, path in enumerate(example.paths):
        if len(path.steps) + len(example.turns) > MOST_LENGTH:
            yield f"path {number} takes more than {MOST_LENGTH} messages"
        for at, step in enumerate(path.steps):
            if step.turn >= len(example.turns):
                yield f"path {number}, step {at} is in turn {step.turn}, which does not exist"
            if any(not 0 <= edge.step < at for edge in step.needs):
                yield f"path {number}, step {at} needs a step that comes after it"
            if any(not 0 <= ref.source[0] < at for ref in references(step.arguments)):
                yield f"path {number}, step {at} takes a value from a step that is not before it"
    empty = not any(path.steps for path in example.paths)
    if empty != (example.kind in ("abstention", "irrelevance")) and example.kind != "clarification":
        yield f"an example of kind {example.kind} has {'no' if empty else 'some'} right calls"


def references(value: Any) -> Iterator[Ref]:
    """Every reference to an earlier result in arguments, at any depth."""
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from references(part)


def world(example: Example) -> Iterator[str]:
    """The world can be drawn again, and the toolbox shows the tools that are needed."""
    if not example.server:
        yield from without_world(example)
        return
    if not servers.is_known(example.server):
        yield f"there is no server {example.server!r}; if it is somebody's, it has to be connected"
        return
    if example.toolbox.schemas:
        yield "a toolbox has schemas only where there is no server"
    server = servers.load(example.server)
    if server.version != example.server_version:
        yield f"made with version {example.server_version} of {server.name}, now {server.version}"
        return
    missing = [name for name in example.toolbox.distractors if name not in all_tools()]
    if missing:
        yield f"there is no tool {missing[0]!r} to distract with"
        return
    if Session([server], example.seed).digest() != example.digest:
        yield f"world {example.seed} of {server.name} is not the one the example was made on"
    shown = Toolbox.of(example).tools
    for tool in sorted(gold_tools(example) - shown.keys()):
        yield f"{tool} is needed and not shown"
    if example.kind != "clarification":
        return
    serving = example.provenance.would_serve
    if not serving or not set(serving) <= set(example.toolbox.hidden):
        yield "a clarification (tool hidden) names, as would_serve, the tools its request is for"
    for tool in serving:
        if tool in shown:
            yield f"{tool} would serve the request and is not hidden"


def without_world(example: Example) -> Iterator[str]:
    """An example without a server shows whole schemas and has nothing to call."""
    if any(path.steps for path in example.paths):
        yield "there are right calls, and no server to make them on"
    if example.toolbox != ToolboxSpec(schemas=example.toolbox.schemas):
        yield "without a server a toolbox has schemas alone"
    for at, schema in enumerate(example.toolbox.schemas):
        if not isinstance(schema.get("name"), str) or schema.keys() != SCHEMA_KEYS:
            yield f"schema {at} of the toolbox needs {', '.join(sorted(SCHEMA_KEYS))} and no more"


def abstains(example: Example) -> Iterator[str]:
    """Where no call is right, making no call earns 1 and any call earns 0."""
    if score(example, []).total != 1:
        yield "doing nothing is not paid one"
    call = Call(turn=0, message=1, tool="x", arguments={}, checks=Checks())
    if score(example, [call]).total != 0:
        yield "a call is paid where none is right"


def pays(example: Example, gold: Replay) -> Iterator[str]:
    """The reference calls earn the maximum, doing nothing earns 0, scripted cheats earn less."""
    best = score(example, gold.calls).total
    if abs(best - BEST) > 1e-9:
        yield f"the right calls are paid {best:.3f}, not {BEST}"
    if score(example, []).total != 0:
        yield "doing nothing is paid"
    if total(example, spammer) > best:
        yield "padding pays"
    if _breaks_order(example) and total(example, shuffler) >= best:
        yield "the wrong order is paid as well as the right one"
    if any(step.arguments for step in example.paths[0].steps) and total(example, guesser) >= best:
        yield "wrong values are paid as well as the right ones"


def asking(example: Example, gold: Replay) -> Iterator[str]:
    """Where the assistant must ask, guessing earns less, and more than one value would work."""
    for number, turn in enumerate(example.turns):
        if turn.asks is None:
            continue
        steps = [step for step in example.paths[0].steps if step.turn == number]
        if any(step.writes for step in steps):
            yield f"turn {number} asks for {turn.asks} and acts all the same"
        later = [p for p in gold.played if p.step.turn == number + 1 and p.step.writes]
        if not any(turn.asks in played.arguments for played in later):
            yield f"no step of turn {number + 1} takes {turn.asks}, which turn {number} asks for"
        for played in later:
            if turn.asks in played.arguments and not _has_choice(example, played, turn.asks):
                yield f"no other {turn.asks} would work, so there is nothing to ask about"
    if any(turn.asks for turn in example.turns) and total(example, eager) >= BEST - 1e-9:
        yield "guessing is paid as well as asking"


def total(example: Example, policy: MakePolicy) -> float:
    """The paper's reward of a scripted policy on the live world; what it says does not matter.

    If it makes a foreign server crash or hang, the rollout is void and pays nothing.
    """
    player = Player(example)
    try:
        run_now(player.play(policy(example)))
    except Lost:
        return 0.0
    return score(example, player.calls).total


def _breaks_order(example: Example) -> bool:
    """Whether the shuffler's order lowers coverage even if every call succeeds."""
    steps = example.paths[0].steps
    order = sorted(range(len(steps)), key=lambda at: (steps[at].turn, -at))
    calls = [
        made(steps[at].tool, dict(steps[at].arguments), number, steps[at], None)
        for number, at in enumerate(order)
    ]
    return score(example, calls).parts["coverage"] < 1


def _has_choice(example: Example, played: Played, argument: str) -> bool:
    """Whether another value of an argument would work in the world at that step."""
    given, tool = played.arguments[argument], played.step.tool
    return any(
        not equal(given, other)
        and played.before.fork().call(tool, {**played.arguments, argument: other}).ok
        for other in _choices(example, played, argument)
    )


def _choices(example: Example, played: Played, argument: str) -> Iterator[Any]:
    """Values for an argument: first the other things of its kind, then random ones."""
    server = servers.load(example.server)
    noun = noun_of(server, played.arguments[argument])
    if noun is not None:
        yield from survey(played.before, example.server).named.get(noun, ())
    fuzzer = Fuzzer(server, f"choice {example.id}")
    fuzzer.look(played.before.state(server))
    schema = server.tools[played.step.tool].input_schema["properties"][argument]
    for _ in range(CHOICES):
        yield fuzzer.value(argument, schema)
