"""Proofs of an example by execution: values, dependency edges, necessity, paths, answers."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from provegym import servers
from provegym.hosts.foreign_answers import has_effect, no_answer
from provegym.language import dates
from provegym.language.values import Scalar, forms, is_said, leaves, normal, with_dates
from provegym.rewards.answers import states_enough
from provegym.rewards.equality import equal
from provegym.rewards.outcome import same_outcome
from provegym.trace import Example, Path, Step, literals, point
from provegym.verify.replay import Played, Replay, replay

MOST_PATHS = 8


def derivable(example: Example, gold: Replay) -> Iterator[str]:
    """Every argument was said, returned by an earlier step, a default, or follows from words."""
    named = example.provenance.derived
    for at, played in enumerate(gold.played):
        tool = played.before.tools[played.step.tool][0]
        for name, value in played.arguments.items():
            if played.known.has(value):
                continue
            words = named.get(f"{at}.{name}")
            default = tool.input_schema["properties"][name].get("default") == value
            if name in tool.arguments.sensitive:
                yield f"step {at}: {name} is sensitive, and nobody gave {value!r}"
            elif words is not None:
                yield from _follows(words, value, played, f"step {at}: {name}")
            elif not default:
                yield f"step {at}: nothing says that {name} is {value!r}"


def _follows(words: str, value: object, played: Played, where: str) -> Iterator[str]:
    """The words that stand for a value were said. A date in words means that value on that day."""
    if not is_said(words, played.known.text):
        yield f"{where} is said to follow from {words!r}, which nobody said"
    meant = dates.read(words, played.before.now)
    if meant is not None and not equal(meant, value):
        yield f"{where} is {value!r}, but {words!r} means {meant!r}"


def edges(gold: Replay) -> Iterator[str]:
    """Every edge is proven, and every value taken from an earlier step has its edge."""
    example = gold.example
    for at, played in enumerate(gold.played):
        sources = first_sources(at, gold.played, said_by(example, played.step.turn))
        explicit = {edge.step for edge in played.step.needs if edge.kind == "explicit"}
        for number in explicit - sources:
            yield f"step {at} takes no value that step {number} is the first to yield"
        for number in sources - explicit:
            yield f"step {at} takes a value of step {number} without an edge to it"
        for edge in played.step.needs:
            if edge.kind == "implicit" and not needs_state(gold, edge.step, at):
                yield f"step {at} runs without step {edge.step}, which it is said to need"
        for number in range(at):
            known = {edge.step for edge in played.step.needs}
            if number not in known and swaps_badly(gold, number, at):
                yield f"step {at} must come after step {number}, and no edge says so"


def first_sources(at: int, played: Sequence[Played], said: str) -> set[int]:
    """The earlier steps that first yield an argument of a step which the user did not say."""
    return {number for number, _ in taken_values(at, played, said)}


def taken_values(at: int, played: Sequence[Played], said: str) -> Iterator[tuple[int, Scalar]]:
    """Each argument that the user did not say, with the earlier step that first yields it."""
    for leaf in leaves(played[at].arguments):
        if is_said(leaf, said) or isinstance(leaf, bool):
            continue
        form = normal(leaf)
        for number, earlier in enumerate(played[:at]):
            if form in forms(earlier.outcome.text):
                yield number, leaf
                break


def taken_from(number: int, example: Example, played: Sequence[Played]) -> list[Scalar]:
    """The values that later steps take from a step."""
    found: dict[str, Scalar] = {}
    for at in range(number + 1, len(played)):
        said = said_by(example, played[at].step.turn)
        for source, leaf in taken_values(at, played, said):
            if source == number:
                found.setdefault(normal(leaf), leaf)
    return list(found.values())


def taken(gold: Replay) -> list[list[Scalar]]:
    """For each step, the values that later steps take from it."""
    return [taken_from(at, gold.example, gold.played) for at in range(len(gold.played))]


def said_by(example: Example, turn: int) -> str:
    """Everything the user has said up to a turn, also the values that words stand for."""
    now, said = servers.load(example.server).world(example.seed).now, []
    for each in example.turns[: turn + 1]:
        now += timedelta(minutes=each.minutes)
        said.append(with_dates(each.text, now))
    for place in example.provenance.derived:
        number, _, name = place.partition(".")
        step = example.paths[0].steps[int(number)]
        if step.turn <= turn:
            said += map(str, leaves(literals(step.arguments).get(name)))
    return "\n".join(said)


def needs_state(gold: Replay, earlier: int, later: int) -> bool:
    """Whether a later step fails without an earlier write, or no longer yields needed values.

    Steps that take a value from the earlier step are left out with it. Two writes whose order
    matters count as well.
    """
    steps, gone = gold.path.steps, {earlier}
    for at in range(earlier + 1, len(steps)):
        if at != later and gone & _takes(steps[at]):
            gone.add(at)
    left = next((each for each in gold.other(gone).played if each.at == later), None)
    if left is None or not left.outcome.ok:
        return True
    if not steps[later].writes:
        held = forms(left.outcome.text)
        return any(normal(v) not in held for v in taken_from(later, gold.example, gold.played))
    return swaps_badly(gold, earlier, later)


def swaps_badly(gold: Replay, one: int, two: int) -> bool:
    """Whether two writes of one turn, made in the other order, fail or leave another world.

    Either the first moves behind the second, or the second before the first. The order matters only
    if both moves go wrong; one alone may go wrong because of a step between the two.
    """
    steps = gold.path.steps
    if steps[one].turn != steps[two].turn or not (steps[one].writes and steps[two].writes):
        return False
    moves: list[list[int]] = []
    between = range(one, two)
    if not any(need in between for need in _takes(steps[two])):
        moves.append([*range(one), two, *between, *range(two + 1, len(steps))])
    if not any(one in _takes(steps[at]) for at in range(one + 1, two + 1)):
        moves.append([*range(one), *range(one + 1, two + 1), one, *range(two + 1, len(steps))])
    others = [gold.other(order=order) for order in moves]
    return bool(others) and not any(
        other.ok and same_outcome(other.outcome, gold.outcome) for other in others
    )


def _takes(step: Step) -> set[int]:
    return {edge.step for edge in step.needs if edge.kind == "explicit"}


def necessary(gold: Replay) -> Iterator[str]:
    """Every step is necessary: without it a value is unknown or the outcome differs.

    For a write, the outcome must differ: one that is undone later leaves no trace in the state.
    """
    for at, step in enumerate(gold.path.steps):
        if step.answers:
            continue
        rest = gold.other({at})
        is_same = same_outcome(rest.outcome, gold.outcome)
        if step.writes and is_same and not rest.ok:
            yield f"step {at} ({step.tool}) is undone later"
        unknown = any(
            not each.known.has(value)
            for each in rest.played
            if each.at > at
            for value in each.arguments.values()
        )
        if rest.ok and not unknown and is_same:
            yield f"step {at} ({step.tool}) is not needed"


def effective(gold: Replay) -> Iterator[str]:
    """Every write changes the world, and every optional argument changes the outcome."""
    for at, played in enumerate(gold.played):
        tool = played.before.tools[played.step.tool][0]
        if tool.writes != played.step.writes:
            yield f"step {at}: {tool.name} is marked as a {'read' if tool.writes else 'write'}"
        if tool.writes and not played.changes:
            yield f"step {at} ({tool.name}) changes nothing"
        for name in played.arguments.keys() - set(tool.input_schema["required"]):
            if not _matters(played, name):
                yield f"step {at}: {name} could be left out"


def _matters(played: Played, name: str) -> bool:
    session = played.before.fork()
    rest = {key: value for key, value in played.arguments.items() if key != name}
    outcome = session.call(played.step.tool, rest)
    if not outcome.ok or not played.step.writes:
        return outcome.text != played.outcome.text
    return session.changes(played.step.tool) != played.changes


def honest(example: Example, gold: Replay) -> Iterator[str]:
    """On a foreign server every read is an answer, and some read shows what a write changed."""
    replays = [gold, *(replay(example, path) for path in example.paths[1:])]
    for number, each in enumerate(replays):
        where = f"path {number}, step" if number else "step"
        for at, played in enumerate(each.played):
            tool, server = played.before.tools[played.step.tool]
            if not server.foreign or not played.outcome.ok:
                continue
            if tool.writes:
                if not has_effect(played.before, tool, played.arguments):
                    yield f"{where} {at} ({tool.name}) has no effect that a read shows"
            elif why := no_answer(played.before, tool, played.arguments):
                yield f"{where} {at} ({tool.name}) is no answer: {why}"


def paths(example: Example, gold: Replay) -> Iterator[str]:
    """Every path is valid and reaches the same outcome; there are at most MOST_PATHS."""
    if len(example.paths) > MOST_PATHS:
        yield f"there are {len(example.paths)} paths; at most {MOST_PATHS} are kept"
    if not same_outcome(example.outcome, gold.outcome):
        yield "the recorded outcome is not what the first path leaves behind"
    for number, path in enumerate(example.paths[1:], 1):
        other = replay(example, path)
        yield from (f"path {number} {problem}" for problem in path_problems(example, other, gold))


def path_problems(example: Example, other: Replay, gold: Replay) -> Iterator[str]:
    """The problems of another path: a failing call, another outcome, no answer, unknown values."""
    if not other.ok:
        yield "does not run"
        return
    if not same_outcome(other.outcome, gold.outcome):
        yield "leaves another world behind"
    if _answers(other.path) < _answers(example.paths[0]):
        yield "does not answer what was asked"
    yield from (f"has a flaw: {problem}" for problem in edges(other))
    known = {normal(leaf) for each in gold.played for leaf in _derived(example, gold, each)}
    for at, played in enumerate(other.played):
        for leaf in leaves(played.arguments) if played.step.writes else ():
            if not played.known.has(leaf) and normal(leaf) not in known:
                yield f"has a flaw: nothing says {leaf!r} by step {at}"


def _derived(example: Example, gold: Replay, played: Played) -> Iterator[Scalar]:
    """The values of a step that follow from words, as the provenance says."""
    at = gold.played.index(played)
    for name, value in played.arguments.items():
        if f"{at}.{name}" in example.provenance.derived:
            yield from leaves(value)


def _answers(path: Path) -> int:
    return sum(bool(step.answers) for step in path.steps)


def answers(example: Example, gold: Replay) -> Iterator[str]:
    """Every pointer of an answer leads to a value, and the question does not say the answer."""
    for at, played in enumerate(gold.played):
        step = played.step
        for pointer in step.answers:
            if not point(played.outcome.value, pointer)[0]:
                yield f"step {at} has nothing at {pointer}"
        said = example.turns[step.turn].text
        is_told = any(not isinstance(value, bool | None) for value in step.values)
        is_whole = len(step.values) == len(step.answers)
        if is_told and is_whole and states_enough(said, step.answers, step.values):
            yield f"turn {step.turn} says itself what {step.tool} is to tell"
