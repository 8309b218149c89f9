"""Rollout engines in processes of their own, so that playing and learning run at the same time.

Each process has a sampler (vLLM on a GPU), its own worlds and its own Python interpreter lock. The
trainer writes its weights to a file in memory, and every engine loads them before it plays. With a
lag of one step, the engines play the next batch while the trainer learns from this one.
"""

import os
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil
from multiprocessing import get_context
from pathlib import Path
from shutil import disk_usage
from time import perf_counter
from typing import Any, NamedTuple

from provegym import servers
from provegym.models.codec import Codec
from provegym.models.local import load, load_tokenizer, narrow
from provegym.models.optional import need
from provegym.models.slots import Slots
from provegym.models.source import Source, Timed
from provegym.players.local import Trajectory
from provegym.temporary import SweptFolder
from provegym.trace import Example
from provegym.train.branches import play
from provegym.train.recipe import Grpo, Recipe
from provegym.train.run import TrainError
from provegym.train.scoring import Scoring
from provegym.train.scoring_pool import ScoringPool, count_workers

MEMORY = Path("/dev/shm")
PATIENCE = 600.0


class EngineJob(NamedTuple):
    """Rollouts to play: one for each id, with the weights of a file and a seed for the sampler."""

    ids: Sequence[str]
    weights: str
    seed: int


class Batch(NamedTuple):
    """Played rollouts, the potentials before their replies, and the seconds that it took.

    `generation` are the seconds of sampling among them.
    """

    trajectories: list[Trajectory]
    potentials: list[list[float]]
    seconds: float
    generation: float


class Engines:
    """Some engines, each a process. Groups of rollouts are dealt out to them in turn."""

    def __init__(self, recipe: Recipe, examples: Mapping[str, Example], count: int) -> None:
        self.recipe = recipe
        context = get_context("spawn")
        self.folder: SweptFolder | None = None
        self.version = 0
        cores = sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []
        self.pipes: list[Any] = []
        self.processes: list[Any] = []
        self.dealt: list[list[int]] = []
        try:
            for number in range(count):
                here, there = context.Pipe()
                own = cores[1 + number :: count] if len(cores) > 2 * count else []
                workers = count_workers(len(own))
                given = {"count": count, "cores": own, "workers": workers}
                process = context.Process(
                    target=_serve, args=(there, recipe, examples, servers.places()), kwargs=given
                )
                process.start()
                there.close()
                self.pipes.append(here)
                self.processes.append(process)
                if number == 0:  # it compiles the model, and the others find that in vLLM's cache
                    self._hear(here)
            for here in self.pipes[1:]:
                self._hear(here)
        except BaseException:  # Ctrl-C, too, ends the processes that are starting
            self.close()
            raise

    def load(self, weights: Mapping[str, Any]) -> None:
        """Write the weights that the next rollouts are sampled with."""
        self.version += 1
        small = {
            name: value.detach().to("cpu", need("torch").bfloat16).contiguous()
            for name, value in weights.items()
        }
        if self.folder is None:
            self.folder = SweptFolder("weights", _place(small.values()))
        need("safetensors.torch").save_file(small, self._file(self.version))
        self._file(self.version - 2).unlink(missing_ok=True)

    def _file(self, version: int) -> Path:
        assert self.folder is not None
        return self.folder.path / f"{version}.safetensors"

    def submit(self, ids: Sequence[str], seed: int) -> None:
        """Start to play one rollout for each id, with the weights that were loaded last."""
        group = self.recipe.grpo.rollouts if self.recipe.grpo else 1
        count = len(self.pipes)
        self.dealt = [
            [at for at in range(len(ids)) if at // group % count == number]
            for number in range(count)
        ]
        for number, (pipe, mine) in enumerate(zip(self.pipes, self.dealt, strict=True)):
            some = [ids[at] for at in mine]
            with _alive():
                pipe.send(EngineJob(some, str(self._file(self.version)), seed * count + number))

    def collect(self) -> Batch:
        """Wait for the rollouts, in the order of the ids."""
        batches = [self._hear(pipe) for pipe in self.pipes]
        found: dict[int, tuple[Trajectory, list[float]]] = {}
        for mine, batch in zip(self.dealt, batches, strict=True):
            found |= dict(
                zip(mine, zip(batch.trajectories, batch.potentials, strict=True), strict=True)
            )
        self.dealt = []
        ordered = [found[at] for at in sorted(found)]
        return Batch(
            [each for each, _ in ordered],
            [potentials for _, potentials in ordered],
            max(batch.seconds for batch in batches),
            max(batch.generation for batch in batches),
        )

    @property
    def is_busy(self) -> bool:
        """Whether rollouts were submitted and not yet collected."""
        return bool(self.dealt)

    def _hear(self, pipe: Any) -> Any:
        """What an engine says; if it failed or died, an error that says why."""
        with _alive():
            if not pipe.poll(PATIENCE):
                raise TrainError(f"an engine has not answered for {PATIENCE:.0f} s; start again")
            said = pipe.recv()
        if isinstance(said, str):
            raise TrainError(f"an engine failed: {said}")
        return said

    def close(self) -> None:
        """Stop the processes."""
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.join()
        if self.folder is not None:
            self.folder.close()


@contextmanager
def _alive() -> Iterator[None]:
    """Turn the broken pipe of an engine process that died into a sentence."""
    try:
        yield
    except (EOFError, ConnectionError):
        raise TrainError(
            "an engine process died; a smaller grpo.vllm_memory, or fewer engines, may help;"
            " --resume goes on from the last checkpoint"
        ) from None


def _place(tensors: Iterable[Any]) -> Path | None:
    """The folder in memory, if it has room for the weights of three steps; else any folder.

    In a container it often has 64 MB.
    """
    size = sum(each.nbytes for each in tensors)
    return MEMORY if MEMORY.exists() and disk_usage(MEMORY).free > 3 * size else None


def _serve(
    pipe: Any,
    recipe: Recipe,
    examples: Mapping[str, Example],
    places: servers.Places,
    *,
    count: int,
    cores: Sequence[int],
    workers: int,
) -> None:
    """The life of an engine process: say that it is ready, then play what it is sent."""
    try:
        if cores and sys.platform == "linux":
            os.sched_setaffinity(0, cores)
        servers.look_at(places)
        scoring = ScoringPool(recipe, workers) if workers else Scoring(recipe)
        engine = _Engine(recipe, examples, count, scoring)
        pipe.send(True)
        while True:
            pipe.send(engine.play(pipe.recv()))
    except (EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        return
    except TrainError as problem:
        pipe.send(str(problem))
    except BaseException:
        pipe.send(traceback.format_exc(limit=-3))


class _Engine:
    """A sampler with its weights, and the examples that it can play."""

    def __init__(
        self, recipe: Recipe, examples: Mapping[str, Example], count: int, scoring: Scoring
    ) -> None:
        grpo = recipe.grpo or Grpo()
        self.recipe, self.grpo, self.examples, self.scoring = recipe, grpo, examples, scoring
        self.tokenizer = load_tokenizer(recipe.model.name)
        self.codec = Codec(self.tokenizer, recipe.limits.prompt)
        self.loaded = ""
        limits = recipe.limits
        together = ceil(grpo.prompts_per_step / count) * grpo.rollouts
        self.model: Any = None
        if grpo.use_vllm:
            from provegym.models.vllm import Vllm

            self.vllm = Vllm(
                recipe.model.name,
                limits.prompt + limits.completion + limits.reply,
                grpo.temperature,
                memory=grpo.vllm_memory / count,
                together=together,
                logprobs=0,
                top_p=grpo.top_p,
                top_k=grpo.top_k,
            )
            return
        torch = need("torch")
        on_gpu = torch.cuda.is_available()
        model, _ = load(recipe.model.name, None, "cuda" if on_gpu else "cpu")
        self.model = narrow(model) if on_gpu else model
        self.slots = Slots(
            self.model,
            self.tokenizer,
            grpo.temperature,
            slots=together,
            longest=limits.prompt + limits.completion,
            reply=limits.reply,
            compiled=grpo.compiled and on_gpu,
        )

    def play(self, job: EngineJob) -> Batch:
        """Load the weights, if they are new, and play."""
        began, read = perf_counter(), self.codec.seconds
        if job.weights != self.loaded:
            self._load(need("safetensors.torch").load_file(job.weights))
            self.loaded = job.weights
        source = Timed(self._source(job.seed))
        examples = [self.examples[each] for each in job.ids]
        played, potentials = play(examples, source, self.codec, self.recipe, self.scoring)
        generation = source.seconds + self.codec.seconds - read
        return Batch(played, potentials, perf_counter() - began, generation)

    def _load(self, weights: Mapping[str, Any]) -> None:
        if self.model is None:
            self.vllm.load(list(weights.items()))
        else:
            self.model.load_state_dict(weights, strict=False)
            self.slots.forget()

    def _source(self, seed: int) -> Source:
        if self.model is None:
            return self.vllm.source
        self.slots.seed(seed)
        return self.slots
