"""Checks that a conversation makes sense: what is said is known, and what is done stays done."""

import re
from collections.abc import Iterator

import msgspec

from provegym import servers
from provegym.fuzz.pool import snake
from provegym.kernel import Session
from provegym.kernel.state import ENCODE
from provegym.language.identity import direct, is_understood
from provegym.language.things import noun_of
from provegym.language.values import Scalar, in_context, is_code, is_said, leaves, made_up, normal
from provegym.players.gold import CAPS, Gold
from provegym.players.plan import with_attempts
from provegym.rewards import BEST, score
from provegym.rewards.evidence import holds
from provegym.rollout import play, run_now
from provegym.servers import asks
from provegym.trace import Example
from provegym.verify.evidence import naming_marks
from provegym.verify.proofs import said_by
from provegym.verify.replay import Played, Replay

ENDS = re.compile(r"cancel|remove|delete|close|end|stop|void|discard|leave|clear|withdraw|reject")


def ids_are_understood(example: Example, gold: Replay) -> Iterator[str]:
    """What was shown by then tells what each key in a call stands for.

    A key that a turn names was shown beside the parts of that name; for a lookup on the way to a
    goal, beside something that was said. Any other key was mentioned or made before, or a relation
    such as "its owner" leads to it. An example made by hand does not say what is named where.
    """
    server = servers.load(example.server)
    told = {claim.key for claim in example.provenance.relations}
    for at, played in enumerate(gold.played):
        said = said_by(example, played.step.turn)
        for leaf in set(leaves(played.arguments)):
            if not isinstance(leaf, str) or not noun_of(server, leaf):
                continue
            if leaf in told or is_said(leaf, said):
                continue
            before = [(each.arguments, each.outcome.value) for each in gold.played[:at]]
            turn = played.step.turn
            is_goal = played.step.writes or played.step.answers
            # What the turn itself says comes first: "the contact of that deal" needs the deal.
            own = list(naming_marks(gold, leaf, [turn])) if is_goal else []
            marks = own or list(naming_marks(gold, leaf, range(turn + 1)))
            if any(is_understood(server, before, leaf, each) for each in marks):
                continue
            if marks and is_goal:
                yield f"step {at}: nothing shown by then tells what {leaf} is"
            elif example.provenance.names and not _was_spoken_of(gold, at, leaf, said):
                yield f"step {at}: no turn says what {leaf} is"


def _was_spoken_of(gold: Replay, at: int, leaf: str, said: str) -> bool:
    """Whether an earlier step took or made a key, or showed it beside something that was said."""
    for played in gold.played[:at]:
        if leaf in set(leaves(played.arguments)) or leaf in made_up({}, played.changes):
            return True
        for record, _ in in_context(played.outcome.value):
            beside = set(direct(record))
            if leaf in beside and any(_is_told(value, said) for value in beside - {leaf}):
                return True
    return False


def _is_told(value: Scalar, said: str) -> bool:
    return not isinstance(value, bool) and len(normal(value)) > 2 and is_said(value, said)


def answers_last(gold: Replay) -> Iterator[str]:
    """An answer is still true at the end of its turn: no later write of the turn changes it."""
    for at, played in enumerate(gold.played):
        step = played.step
        later = [e for e in gold.played[at + 1 :] if e.step.turn == step.turn and e.step.writes]
        if not step.answers or step.evidence is None or not later:
            continue
        world = _after(later[-1])
        again = world.call(step.tool, played.arguments)
        if not again.ok or not holds(again.text, step.evidence.facts):
            yield f"step {at}: a later call of its turn changes the answer"


def answers_are_news(gold: Replay) -> Iterator[str]:
    """No question asks for what a read of an earlier turn has shown.

    It can be answered without a call, so the step that answers it would not be necessary.
    """
    for at, played in enumerate(gold.played):
        evidence = played.step.evidence
        if not played.step.answers or evidence is None or not evidence.facts:
            continue
        for earlier in gold.played[:at]:
            is_read = not earlier.step.writes and earlier.step.turn < played.step.turn
            is_same = (earlier.step.tool, earlier.arguments) == (played.step.tool, played.arguments)
            could = is_read and (is_same or not evidence.tied)
            if could and holds(earlier.outcome.text, evidence.facts):
                yield f"step {at}: turn {earlier.step.turn} has shown the answer"
                break


def _after(played: Played) -> Session:
    world = played.before.fork()
    world.call(played.step.tool, played.arguments)
    return world


def nothing_ends_at_once(gold: Replay) -> Iterator[str]:
    """No turn makes a thing and ends it again."""
    made: set[tuple[int, str]] = set()
    for played in gold.played:
        tool, turn = played.step.tool, played.step.turn
        if not played.step.writes:
            continue
        given = {(turn, str(leaf)) for leaf in leaves(played.arguments)}
        if made & given and ENDS.match(tool):
            yield f"turn {turn} makes a thing and ends it with {tool}"
        made |= {(turn, change.key) for change in played.changes if change.before is None}


def nothing_meets_itself(gold: Replay) -> Iterator[str]:
    """No call takes the same thing twice: nobody compares a file with itself."""
    for at, played in enumerate(gold.played):
        texts = [v for v in played.arguments.values() if isinstance(v, str) and len(v) > 3]
        keys = [v for v in texts if is_code(v) or "/" in v]
        if len(set(keys)) < len(keys):
            yield f"step {at} ({played.step.tool}) takes the same thing twice"


def nothing_is_foreseen(example: Example, gold: Replay) -> Iterator[str]:
    """No turn says an id or a code that only a call of this or a later turn makes up."""
    for played in gold.played:
        if not played.step.writes:
            continue
        for value in made_up(played.arguments, played.changes):
            for turn in range(played.step.turn + 1):
                if is_said(value, example.turns[turn].text) and not _existed(gold, turn, value):
                    yield f"turn {turn} says {value!r}, which {played.step.tool} is yet to make"


def _existed(gold: Replay, turn: int, value: str) -> bool:
    world = gold.worlds[turn]
    mark = msgspec.json.encode(value)
    states = (world.state(server) for server in world.servers)
    return any(mark in ENCODE(list(getattr(s, name))) for s in states for name in s.tables)


def new_ones_are_one(example: Example, gold: Replay) -> Iterator[str]:
    """The words "the new account" mean one account: only one was made before."""
    server = servers.load(example.server)
    words = asks(example.server).get("call", {})
    for turn, said in enumerate(example.turns):
        made: dict[str, set[str]] = {}
        for played in gold.played:
            if played.step.turn > turn:
                break
            for change in played.changes:
                if change.before is None and change.table in server.state.tables:
                    noun = snake(server.state.tables[change.table])
                    made.setdefault(noun, set()).add(change.key)
        for noun, keys in made.items():
            word = words.get(noun, noun.replace("_", " "))
            told = re.search(rf"\bthe new {re.escape(word)}\b", said.text, re.I)
            if told and len(keys) > 1 and "{" not in word:
                yield f"turn {turn} says {told[0]!r}, and {len(keys)} are new"


def transcript_holds(example: Example) -> Iterator[str]:
    """The very messages that are exported earn the maximum, and their replies are right."""
    gold = Gold(example, with_attempts(example))
    rollout = run_now(play(example, gold, name="gold", caps=CAPS))
    if rollout.reason:
        yield f"its transcript cannot be played: {rollout.reason}"
        return
    made = [call for call in rollout.calls if call.checks.ran]
    total = score(example, made).total
    best = BEST if any(path.steps for path in example.paths) else 1.0
    if abs(total - best) > 1e-9:
        yield f"its transcript is paid {total:.3f}, not {best}"
    verdict = rollout.verdict
    assert verdict is not None
    if not verdict.success:
        parts = [name for name in ("state", "answer", "ended") if not getattr(verdict, name)]
        yield f"its transcript does not succeed: {' and '.join(parts)} not right"
