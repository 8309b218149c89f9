"""The rollout function that TRL calls: plays a batch here or in engines, and returns its tokens."""

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

from provegym.models.codec import Codec
from provegym.models.optional import need
from provegym.models.sampler import Sampler
from provegym.models.source import Generate, Rounds, Sampled, Source, Timed
from provegym.models.vllm import Continuous
from provegym.players.local import Trajectory
from provegym.trace import Json
from provegym.train.branches import play, spreads
from provegym.train.credit import credit, paid_or_none, per_token
from provegym.train.engines import Batch, Engines
from provegym.train.precision import Base
from provegym.train.prefetch import Prefetcher
from provegym.train.recipe import Grpo, Recipe
from provegym.train.run import Run

STRIDE = 1_000_003


class Roller:
    """The rollout function that TRL calls at each generation."""

    def __init__(
        self, recipe: Recipe, run: Run, codec: Codec, base: Base, ahead: Prefetcher
    ) -> None:
        self.recipe, self.run, self.codec, self.base, self.ahead = recipe, run, codec, base, ahead
        self.grpo = recipe.grpo or Grpo()
        self.advantages: list[list[float]] = []
        count = self.grpo.engines
        self.engines = Engines(recipe, ahead.examples, count) if count else None

    # TRL reads the name of the function for its logs.
    __name__ = "rollouts"

    def __call__(self, ids: Sequence[str], trainer: Any) -> Json:
        """Play one rollout for each id, and return tokens, loss masks and rewards."""
        # TRL has just merged the adapter to send the weights to vLLM.
        self.base.put_back()
        step, began = trainer.state.global_step, perf_counter()
        if self.engines is None:
            played = self._here(ids, trainer, step)
        else:
            played = self._there(self.engines, ids, trainer, step)
        more = self._credit(played)
        if self.grpo.lag:
            more["waited_seconds"] = perf_counter() - began
        world = played.seconds - played.generation
        figures = self.run.note(step, played.trajectories, played.generation, world, more)
        if self.engines is None:
            self.ahead.draw(ids)
        columns = to_columns(played.trajectories, self.codec.end, self.grpo.mask_truncated)
        return {**columns, "figures": figures}

    def close(self) -> None:
        """Stop the engines."""
        if self.engines is not None:
            self.engines.close()

    def _here(self, ids: Sequence[str], trainer: Any, step: int) -> Batch:
        """Play in this process."""
        source = Timed(self._source(trainer, step))
        began, read = perf_counter(), self.codec.seconds
        self.ahead.wait()
        examples = [self.ahead.examples[each] for each in ids]
        trajectories, potentials = play(examples, source, self.codec, self.recipe)
        # The time for tokenising and decoding counts as generation.
        generation = source.seconds + self.codec.seconds - read
        return Batch(trajectories, potentials, perf_counter() - began, generation)

    def _there(self, engines: Engines, ids: Sequence[str], trainer: Any, step: int) -> Batch:
        """Play in the engines. With a lag, they go on with the next batch at once."""
        if not engines.is_busy:
            engines.load(self._weights(trainer))
            engines.submit(ids, self._seed(step))
        batch = engines.collect()
        if self.grpo.lag and step + self.grpo.iterations < self.grpo.steps:
            engines.load(self._weights(trainer))
            engines.submit(self._next(ids), self._seed(step + 1))
        return batch

    def _weights(self, trainer: Any) -> dict[str, Any]:
        return dict(trainer.accelerator.unwrap_model(trainer.model).named_parameters())

    def _next(self, ids: Sequence[str]) -> list[str]:
        """The ids that TRL will ask for after these."""
        coming = self.ahead.after(ids)
        return [each for each in coming for _ in range(self.grpo.rollouts)]

    def _seed(self, step: int) -> int:
        return self.grpo.seed * STRIDE + step

    def _credit(self, played: Batch) -> dict[str, float]:
        """Keep the advantages of the tokens, if each reply has its own; return their figures."""
        if self.grpo.credit == "rollout":
            return {}
        made = credit(
            [paid_or_none(each.rollout) for each in played.trajectories],
            played.potentials,
            self.grpo.rollouts,
            self.run.last_figure("credit_slope"),
            scaled=self.grpo.scale_rewards != "none",
            forked=[each.fork for each in played.trajectories],
            trunks=self.grpo.trunks,
        )
        self.advantages = [
            per_token(each.starts, some, max(1, len(each.completion)))
            for each, some in zip(played.trajectories, made.advantages, strict=True)
        ]
        return {
            "credit_slope": made.slope,
            "advantage_variance": made.variance,
            "plain_advantage_variance": made.plain_variance,
            **(spreads(played.trajectories, self.grpo) if self.grpo.branches else {}),
        }

    def _source(self, trainer: Any, step: int) -> Source:
        grpo = self.grpo
        if trainer.use_vllm and grpo.vllm_mode == "server":
            return Rounds(vllm(trainer.vllm_generation))
        if trainer.use_vllm:
            asked = None if grpo.vllm_correction == "none" else 0
            drawn = {"temperature": grpo.temperature, "top_p": grpo.top_p, "top_k": grpo.top_k}
            return Continuous(trainer.vllm_generation.llm, logprobs=asked, **drawn)
        # Every step has its own seed, so a resumed run draws the same tokens.
        model = trainer.accelerator.unwrap_model(trainer.model)
        seed = self._seed(step) * STRIDE + trainer.accelerator.process_index
        sampler = Sampler(model, trainer.processing_class, trainer.temperature, seed)
        return Rounds(sampler.generate)


def weighted(base: Any, roller: Roller) -> Any:
    """TRL's trainer with credit per turn and with rollouts of older weights.

    Rollouts of engines have the log-probabilities of the weights that sampled them. The ratio of
    the loss is taken against these; the loss `cispo` truncates it at `epsilon_high`.
    """
    grpo, torch = roller.grpo, need("torch")
    if grpo.credit == "rollout" and not grpo.engines:
        return base

    class Weighted(base):  # type: ignore[misc]
        _new: Any = None

        def _generate_and_score_completions(self, inputs: Any) -> Any:
            scored = super()._generate_and_score_completions(inputs)
            if grpo.engines:
                scored["old_per_token_logps"] = scored["sampling_per_token_logps"]
            if grpo.credit == "turn":
                plain = scored["advantages"]
                made = plain.new_zeros(scored["completion_ids"].shape)
                for at, row in enumerate(roller.advantages):
                    made[at, : len(row)] = plain.new_tensor(row)
                scored["advantages"] = made
            return scored

        def _get_per_token_logps_and_entropies(self, *args: Any, **settings: Any) -> Any:
            found = super()._get_per_token_logps_and_entropies(*args, **settings)
            self._new = found[0].detach()
            return found

        def _compute_loss(self, model: Any, inputs: Any) -> Any:
            loss = super()._compute_loss(model, inputs)
            if grpo.engines:
                own = (inputs["completion_mask"] * inputs["tool_mask"]).bool()
                ratio = torch.exp((self._new - inputs["old_per_token_logps"])[own])
                share = ratio.sum() ** 2 / (len(ratio) * (ratio**2).sum())
                self._metrics["train"]["effective_samples"].append(share.item())
            return loss

    return Weighted


def vllm(backend: Any) -> Generate:
    """Sample from TRL's vLLM, which has the weights of this step; logprobs include temperature."""

    def generate(contexts: list[list[int]], most: int) -> list[Sampled]:
        backend.max_completion_length = most
        _, ids, logprobs, _ = backend.generate(prompts=contexts, images=None, num_generations=1)
        return [
            Sampled(list(row), [_number(best[0]) for best in values])
            for row, values in zip(ids, logprobs, strict=True)
        ]

    return generate


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def to_columns(trajectories: Sequence[Trajectory], end: int, masked: bool = False) -> Json:
    """Rollouts as TRL expects them. An empty completion becomes one masked end token.

    If truncated rollouts are masked, TRL masks those whose last reply was cut. A rollout whose last
    reply is complete, but that had no tokens left for the tool result, is masked here.
    """
    if masked:
        trajectories = [
            _mask(each) if each.rollout.ended == "tokens" else each for each in trajectories
        ]
    said = [bool(each.completion) for each in trajectories]
    pairs = list(zip(trajectories, said, strict=True))
    return {
        "prompt_ids": [each.prompt or [end] for each in trajectories],
        "completion_ids": [each.completion if full else [end] for each, full in pairs],
        "env_mask": [each.mask if full else [0] for each, full in pairs],
        "logprobs": [each.logprobs if full else [0.0] for each, full in pairs],
        "paid": [paid_or_none(each.rollout) for each in trajectories],
    }


def _mask(trajectory: Trajectory) -> Trajectory:
    return replace(trajectory, mask=[0] * len(trajectory.mask))
