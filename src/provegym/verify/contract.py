"""The contract of an example: all checks it must pass before it is used to train or evaluate.

Among them: the reference calls earn the maximum reward, doing nothing earns nothing, and every
other solution of the same length earns the maximum too.
"""

from collections.abc import Iterator
from typing import Any

from provegym import servers
from provegym.fuzz import Fuzzer
from provegym.kernel import Session
from provegym.players.plan import by_turn
from provegym.players.scripted import Script, eager, guesser, shuffler, spammer
from provegym.rewards import BEST, score
from provegym.rewards.equality import equal
from provegym.rollout import MakePolicy, Player, run_now
from provegym.toolbox import Toolbox, all_tools, gold_tools
from provegym.trace import Call, Checks, Example, Ref, ToolboxSpec
from provegym.verify import claims, proofs, sense
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
    problems = list(shape(example)) or list(world(example))
    if problems:
        return problems
    if not example.server:
        return list(abstains(example))
    gold = gold or replay(example, example.paths[0])
    if not any(path.steps for path in example.paths):
        problems += abstains(example)
        problems += claims.names(example, gold)
        problems += claims.unserved(example, gold)
        problems += sense.transcript_holds(example)
        return problems
    for at, played in enumerate(gold.played):
        if not played.outcome.ok:
            return [f"step {at} ({played.step.tool}) fails: {played.outcome.text}"]
    problems += pays(example)
    problems += proofs.derivable(example, gold)
    problems += proofs.edges(gold)
    problems += proofs.necessary(gold)
    problems += proofs.effective(gold)
    problems += proofs.answers(gold)
    problems += proofs.paths(example, gold)
    problems += evidence_holds(gold, proofs.taken(gold))
    problems += claims.names(example, gold)
    problems += claims.relations_hold(example, gold)
    problems += claims.aside(example)
    problems += claims.attempts(example, gold)
    problems += claims.infeasible(example, gold)
    problems += claims.unserved(example, gold)
    problems += asking(example, gold)
    problems += sense.ids_are_understood(example, gold)
    problems += sense.answers_last(gold)
    problems += sense.nothing_ends_at_once(gold)
    problems += sense.nothing_meets_itself(gold)
    problems += sense.nothing_is_foreseen(example, gold)
    problems += sense.new_ones_are_one(example, gold)
    problems += sense.transcript_holds(example)
    problems += other_roads(example, gold)
    return problems


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
        yield "a clarification names, as would_serve, the hidden tools its request is for"
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


def pays(example: Example) -> Iterator[str]:
    """The reference calls earn the maximum, doing nothing earns 0, scripted cheats earn less."""
    best = total(example, right_calls)
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
    """The paper's reward of a scripted policy on the live world; what it says does not matter."""
    player = Player(example)
    run_now(player.play(policy(example)))
    return score(example, player.calls).total


def right_calls(example: Example) -> Script:
    """Makes the reference calls in order, one per message, and says nothing of them."""
    return Script(example, by_turn(example))


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
    server = servers.load(example.server)
    fuzzer = Fuzzer(server, f"choice {example.id}")
    fuzzer.look(played.before.state(server))
    tool = played.step.tool
    schema = server.tools[tool].input_schema["properties"][argument]
    for _ in range(CHOICES):
        other = fuzzer.value(argument, schema)
        if not equal(played.arguments[argument], other):
            arguments = {**played.arguments, argument: other}
            if played.before.fork().call(tool, arguments).ok:
                return True
    return False
