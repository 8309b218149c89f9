"""Other roads: every short sequence of reads that shows what a turn's reads are needed for.

A road that is as short as the reference must earn the maximum too. Reads whose evidence is tied to
their own call have no other road; they stay in every road.
"""

from collections.abc import Iterator, Sequence

import msgspec

from provegym.kernel import Session
from provegym.language.values import Scalar, normal, spoken_values
from provegym.rewards import BEST, score
from provegym.search import Road, Seeker, Wanted, key_leaves
from provegym.toolbox import Toolbox
from provegym.trace import Call, Example, Fact, Step
from provegym.verify.evidence import answer_facts, is_tied_to_thing, lookup_fact
from provegym.verify.proofs import said_by, taken_values
from provegym.verify.replay import Played, Replay, made


def other_roads(example: Example, gold: Replay) -> Iterator[str]:
    """Other reads, no more than the reference reads, must earn the maximum as well."""
    for turn in range(len(example.turns)):
        for road in unpaid_roads(example, gold, turn):
            told = " then ".join(f"{read.tool}{read.arguments}" for read in road)
            yield f"turn {turn} could also be solved by {told}, which earns less"


def replaceable(gold: Replay, turn: int) -> list[Played]:
    """The reads of a turn that another road may replace."""
    return [
        each
        for each in gold.played
        if each.step.turn == turn
        and not each.step.writes
        and not (each.step.evidence and each.step.evidence.tied)
    ]


def unpaid_roads(example: Example, gold: Replay, turn: int) -> Iterator[Road]:
    """Other reads for one turn that earn less than the maximum, shortest first."""
    reads = replaceable(gold, turn)
    if not reads:
        return
    known = gold.memo.roads
    if turn not in known:
        seeker, said = search(example, gold, turn)
        known[turn] = seeker.roads(said, len(reads)) if seeker.wanted else []
    for number, road in enumerate(known[turn]):
        if not any(_is_paid(example, gold, (turn, number, place)) for place in (0, -1)):
            yield road


def _is_paid(example: Example, gold: Replay, key: tuple[int, int, int]) -> bool:
    """Whether a road earns the maximum; the key is its turn, its number and its place."""
    turn, number, place = key
    if key not in gold.memo.calls:
        gold.memo.calls[key] = _calls(gold, turn, gold.memo.roads[turn][number], place)
    return score(example, gold.memo.calls[key]).total >= BEST - 1e-9


def search(example: Example, gold: Replay, turn: int) -> tuple[Seeker, list[Scalar]]:
    """A search for the facts that a turn's reads are needed for, and the values known before."""
    before = replaceable(gold, turn)[0].before
    earlier = [each for each in gold.played if each.step.turn < turn]
    said = known_values(example, turn, before, earlier)
    wanted = [Wanted(fact) for fact in needed_facts(example, gold, turn)]
    return Seeker(before.fork(), Toolbox.of(example), wanted), said


def known_values(
    example: Example, turn: int, world: Session, earlier: Sequence[Played]
) -> list[Scalar]:
    """The values said up to a turn, and the keys that earlier steps returned beside them."""
    said = spoken_values(world, said_by(example, turn))
    marks = {normal(value) for value in said}
    return said + [leaf for each in earlier for leaf in key_leaves(each.outcome.value, marks)]


def needed_facts(example: Example, gold: Replay, turn: int) -> list[Fact]:
    """What goals need from a turn's reads: facts for their arguments, and for the answers.

    A goal is a write, a read that answers, or a read that no other can replace.
    """
    reads = replaceable(gold, turn)
    taken: dict[str, Scalar] = {}
    for at, each in enumerate(gold.played):
        step = each.step
        is_goal = step.writes or step.answers or (step.turn == turn and each not in reads)
        if step.turn >= turn and is_goal:
            for _, leaf in taken_values(at, gold.played, said_by(example, step.turn)):
                taken.setdefault(normal(leaf), leaf)
    found: list[Fact] = []
    for each in reads:
        fresh = [leaf for leaf in taken.values() if not each.known.has(leaf)]
        found += [lookup_fact(gold, each.at, leaf) for leaf in fresh]
        found += answer_facts(gold, each.at) if each.step.answers else []
    unique = {msgspec.json.encode(fact): fact for fact in found if is_tied_to_thing(fact)}
    return list(unique.values())


def _calls(gold: Replay, turn: int, road: Road, place: int) -> list[Call]:
    """The reference calls with one turn's reads replaced by a road in the place of one."""
    replaced = replaceable(gold, turn)
    calls: list[Call] = []
    for each in gold.played:
        if each not in replaced:
            calls.append(made(each.step.tool, each.arguments, len(calls), each.step, each.outcome))
        elif each is replaced[place]:
            for read in road:
                bare = Step(turn=turn, tool="")
                outcome = each.before.fork().call(read.tool, read.arguments)
                calls.append(made(read.tool, read.arguments, len(calls), bare, outcome))
    return calls
