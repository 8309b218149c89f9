"""Evaluation on held-out tasks: on unseen servers, unseen worlds of others, unseen drawn worlds.

The tasks are unseen only by a model that was trained on a corpus made with `--split servers`. That
split keeps four servers out of training, the last hundred worlds of every other server, and a tenth
of the drawn worlds, which are data and each a kind of their own.
"""

from collections.abc import Callable, Iterator, Sequence
from hashlib import file_digest, sha256
from pathlib import Path
from random import Random
from typing import Any

from provegym import servers
from provegym.corpus.candidates import DrawJob, Made, draw
from provegym.corpus.corpus import OF_WORLD
from provegym.corpus.near_copies import Deduplicator
from provegym.corpus.quotas import CorpusPart, Quotas
from provegym.corpus.split import HELD_OUT, TRAIN_WORLDS, split_worlds
from provegym.evals.environments import BenchmarkError
from provegym.evals.failures import causes
from provegym.evals.journal import INSTEAD, ROLLOUTS, ResultsFolder
from provegym.evals.measure import Estimate, measure
from provegym.models.local import adapter_place
from provegym.players.scripted import SCRIPTS
from provegym.rollout import play_script
from provegym.trace import BadFile, Example, Json, Rollout, line, numbered, read, read_some
from provegym.worlds.files import admitted, copy_worlds

SERVERS, WORLDS, TRAINING = "unseen servers", "unseen worlds", "training worlds"
DRAWN = "unseen drawn worlds"
SEED, IDLE = 0, 3
Play = Callable[[Sequence[Example]], Iterator[Rollout]]


def group(example: Example) -> str:
    """The group of an example: unseen server, unseen world, unseen drawn world, or training."""
    if example.server in HELD_OUT:
        return SERVERS
    if example.seed < TRAIN_WORLDS:
        return TRAINING
    return WORLDS if servers.world_file(example.server) is None else DRAWN


def held_out_worlds(folder: Path) -> tuple[str, ...]:
    """The drawn worlds of a folder, or of a corpus, that `synth --split servers` holds out.

    From now on `servers.load` finds them.
    """
    beside = folder / servers.BESIDE
    place = beside if beside.is_dir() else folder
    found = [world.spec.name for world in admitted(place)]
    if not found:
        raise BadFile(f"{place} holds no admitted world; run `provegym worlds admit`")
    servers.look_in(place.resolve())
    return split_worlds(found)[1]


def tasks(data: Path | None, count: int, worlds: tuple[str, ...] = ()) -> list[Example]:
    """At most `count` tasks of each group, the same ones every time.

    Of a corpus folder, the held-out part is read and tasks on unseen worlds are made now. A file
    is read as it is. Without data, all tasks are made now. Tasks on drawn worlds are made now if
    there are `worlds`; then those of the corpus folder are left out.
    """
    found: list[Example] = []
    if data is not None and data.is_dir():
        files = sorted(data.glob("heldout-*.jsonl"))
        if not files:
            raise BadFile(f"{data} has no heldout-*.jsonl; make it with `synth --split servers`")
        found = [example for file in files for example in read(file, Example)]
    elif data is not None:
        found = list(read_some(data, Example))
    if data is None or data.is_dir():
        seen = tuple(name for name in servers.names() if name not in HELD_OUT)
        found += [] if data else drawn(HELD_OUT, count)
        found += drawn(seen, count)
    if worlds:
        found = [each for each in found if group(each) != DRAWN] + drawn(worlds, count)
    by_group: dict[str, list[Example]] = {}
    for example in found:
        by_group.setdefault(group(example), []).append(example)
    return [each for name in sorted(by_group) for each in _some(by_group[name], count)]


def _some(examples: list[Example], count: int) -> list[Example]:
    if len(examples) <= count:
        return examples
    return Random("heldout").sample(examples, count)


def drawn(names: tuple[str, ...], count: int) -> list[Example]:
    """Verified examples on worlds that no training part uses, in the paper's mix of kinds."""
    drawer = Drawer(names)
    while len(drawer.kept) < count:
        before = len(drawer.kept)
        drawer.fill(count - before)
        if len(drawer.kept) == before:
            raise BadFile(f"only {before} of {count} held-out tasks were found; ask for fewer")
    return drawer.kept


class Drawer:
    """Makes held-out tasks of some servers, without near copies.

    On a server that is not ours they are as different as among OF_WORLD tasks, if fewer are wanted.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.kept: list[Example] = []
        self.names, self.keeper, self.round = names, Deduplicator(), 0
        self.next = dict.fromkeys(names, 0)

    def fill(self, count: int) -> None:
        """Make `count` more tasks; stop earlier after three rounds that gave none."""
        part = CorpusPart("heldout", count, self.names)
        quotas, wanted, idle = Quotas(part), len(self.kept) + count, 0
        while len(self.kept) < wanted and idle < IDLE:
            before = len(self.kept)
            for name in filter(quotas.owed, self.names):
                job = DrawJob(part, name, SEED, self.round, self.next[name], quotas)
                made, self.next[name] = draw(job)
                for each in made:
                    self._take(each, quotas, count)
            self.round += 1
            idle = 0 if len(self.kept) > before else idle + 1

    def _take(self, made: Made, quotas: Quotas, count: int) -> None:
        example = made.example
        if example is None or not quotas.wants(example.server, made.shape):
            return
        is_ours = example.server in servers.names()
        if not self.keeper.objection(example, count if is_ours else max(count, OF_WORLD)):
            self.keeper.keep(example)
            quotas.take(example.server, made.shape)
            self.kept.append(example)


class HeldoutFolder(ResultsFolder[Rollout]):
    """The folder of a held-out run; only rollouts that went wrong are played again."""

    def __init__(self, folder: Path, settings: Json) -> None:
        super().__init__(folder, {"benchmark": "heldout", **settings}, ROLLOUTS, Rollout)
        self.take_back(lambda rollout: rollout.reward is None)

    def held(self, asked: Sequence[Example]) -> list[Rollout | None]:
        """The recorded rollout of each task, or None; rollouts of other tasks are an error."""
        by_task: dict[bytes, list[Rollout]] = {}
        for rollout in reversed(self.lines):
            by_task.setdefault(line(rollout.example), []).append(rollout)
        found = [some.pop() if (some := by_task.get(line(task))) else None for task in asked]
        if others := [rollout.example.id for some in by_task.values() for rollout in some]:
            raise BenchmarkError(
                f"{self.folder} holds a run on other tasks, such as {others[0]}; {INSTEAD}"
            )
        return found

    def keep_worlds(self, examples: Sequence[Example]) -> None:
        """Copy the drawn worlds of the tasks into the folder, so that rollouts can be replayed."""
        copy_worlds({each.server for each in examples}, self.folder / servers.BESIDE)


def marked(name: str) -> str:
    """The name of a model or adapter; for a folder, with a hash of its weights.

    The hash tells two trainings apart that wrote into the same folder.
    """
    folder = adapter_place(name)
    mark, files = sha256(), sorted(folder.glob("*.safetensors"))
    for file in files:
        with file.open("rb") as weights:
            mark.update(file_digest(weights, "sha256").digest())
    return f"{name}, weights {mark.hexdigest()[:12]}" if files else name


def evaluate(
    examples: Sequence[Example], player: Play, samples: int, book: HeldoutFolder | None
) -> Json:
    """Play every task `samples` times, except what is played already, and report on all."""
    asked = [example for example in examples for _ in range(samples)]
    found: list[Rollout | None] = book.held(asked) if book else [None] * len(asked)
    left = [at for at, rollout in enumerate(found) if rollout is None]
    played = numbered(player([asked[at] for at in left]), filter(None, found))
    for at, rollout in zip(left, played, strict=True):
        found[at] = rollout
        if book:
            book.add(rollout)
    told = report([rollout for rollout in found if rollout])
    if book:
        book.tell(told)
    return told


def report(rollouts: Sequence[Rollout]) -> dict[str, Any]:
    """Every score by group beside that of doing nothing, and why rollouts failed."""
    groups: dict[str, list[Rollout]] = {}
    for rollout in rollouts:
        groups.setdefault(group(rollout.example), []).append(rollout)
    return {name: _scores(groups[name]) for name in sorted(groups)}


def _scores(rollouts: list[Rollout]) -> dict[str, Any]:
    examples = {rollout.example.id: rollout.example for rollout in rollouts}
    idle = measure([play_script(example, SCRIPTS["noop"]) for example in examples.values()])
    scores: dict[str, dict[str, Estimate]] = {
        name: {"model": value, "noop": idle[name]} for name, value in measure(rollouts).items()
    }
    broken = sum(rollout.reward is None for rollout in rollouts)
    return {
        "tasks": len(examples),
        "rollouts": len(rollouts),
        "broken": broken,
        "scores": scores,
        "failures": causes(rollouts),
    }
