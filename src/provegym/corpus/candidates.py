"""Candidates of a corpus: where to draw them, and the checks that look at one of them alone."""

from collections.abc import Sequence
from functools import cache, partial
from itertools import islice
from typing import NamedTuple

from provegym import servers
from provegym.conversation.kinds import Place, Shape, candidate, shapes
from provegym.conversation.perturb import alias_seed
from provegym.corpus.quotas import CorpusPart, Quotas
from provegym.corpus.split import ALL_WORLDS, TRAIN_WORLDS
from provegym.toolbox import aliased
from provegym.trace import Example
from provegym.verify.complete import complete_and_replay
from provegym.verify.contract import problems, view_problems

# A job looks at so many shapes for wanted ones.
SHAPES = 4_000
# Candidates on one world, on average.
PER_WORLD = 8
ERROR_RATE = 0.30
NO_GOAL = "no goal found"


class DrawJob(NamedTuple):
    """A job for a worker: draw candidates of wanted shapes on one world of one server."""

    part: CorpusPart
    server: str
    seed: int
    round: int
    first: int
    quotas: Quotas
    candidates: int = PER_WORLD


class Made(NamedTuple):
    """A verified example, or the reason why the candidate was dropped."""

    shape: Shape
    example: Example | None
    reason: str


Aim = tuple[Place, Shape]
Aimed = tuple[list[Aim], int]
Drawn = tuple[list[Made], int]


def draw(job: DrawJob) -> Drawn:
    """Draw and verify candidates; return them and the number of the next candidate."""
    aims, number = aim(job)
    return attempt_all(aims), number


def aim(job: DrawJob, most: int = SHAPES) -> Aimed:
    """Find the next places whose shapes are wanted, and the number of the next candidate."""
    held_out = job.part.name == "heldout"
    span = ALL_WORLDS - TRAIN_WORLDS if held_out else TRAIN_WORLDS
    world = job.round % span + (TRAIN_WORLDS if held_out else 0)
    others = job.part.others or servers.names()
    first = Place(job.server, world, job.seed, job.first, others, held_out, job.part.aliases)
    wants = cache(partial(job.quotas.wants, job.server))
    aims: list[Aim] = []
    for number, wanted in enumerate(islice(shapes(first), most), job.first):
        if wants(wanted):
            aims.append((first._replace(number=number), wanted))
            if len(aims) == job.candidates:
                return aims, number + 1
    return aims, job.first + most


def numbers_after(jobs: Sequence[DrawJob], aimed: Sequence[Aimed]) -> dict[str, int]:
    """The number of the next candidate of each server, after the jobs of a round."""
    return {job.server: number for job, (_, number) in zip(jobs, aimed, strict=True)}


def attempt(aim: Aim) -> Made:
    """Make one candidate and check it."""
    place, wanted = aim
    made = judge(wanted, candidate(place, wanted))
    seed = alias_seed(place.key, place.aliases)
    return made if seed is None or made.example is None else renamed(made, made.example, seed)


def renamed(made: Made, example: Example, seed: int) -> Made:
    """The aliased twin of a verified example, if it holds as well."""
    twin = aliased(example, seed)
    if next(view_problems(twin, example), None) is not None:
        return Made(made.shape, None, "breaks the contract under other names")
    return made._replace(example=twin)


def attempt_all(aims: Sequence[Aim]) -> list[Made]:
    """Make some candidates and check them."""
    return [attempt(aim) for aim in aims]


def judge(wanted: Shape, example: Example | None) -> Made:
    """Apply the filters that look at one candidate alone: its error rate and the contract."""
    if example is None:
        return Made(wanted, None, NO_GOAL)
    example, gold = complete_and_replay(example)
    if gold is not None and _error_rate(example) > ERROR_RATE:
        return Made(wanted, None, "too many errors")
    if next(problems(example, gold), None) is not None:
        return Made(wanted, None, "breaks the contract")
    return Made(wanted, example, "")


def _error_rate(example: Example) -> float:
    """The share of a teacher's calls that failed."""
    failed = len(example.provenance.attempts)
    return failed / (failed + len(example.paths[0].steps))
