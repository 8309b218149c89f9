"""What a recipe would do, without its weights: the data, its lengths, and the arithmetic."""

from collections import Counter
from collections.abc import Sequence
from math import ceil
from typing import Any

from provegym.policies.local import embedded, need
from provegym.rewards import WEIGHTS
from provegym.toolbox import Toolbox
from provegym.trace import Example
from provegym.train import sft, trl
from provegym.train.codec import Codec
from provegym.train.data import prompt
from provegym.train.recipe import Grpo, Recipe, Sft
from provegym.train.run import Run, TrainError

MEASURED = 300
ANY = 1_000_000

Lines = list[tuple[str, str]]


def forecast(recipe: Recipe, run: Run, examples: Sequence[Example]) -> Lines:
    """A table of what the run would be; it fails where the trainer would refuse the settings."""
    tokenizer, whose = find_tokenizer(recipe.model.name)
    codec = Codec(tokenizer, ANY)
    measured = examples[:: max(1, len(examples) // MEASURED)]
    lengths = [len(prompt(example, codec)) for example in measured]
    too_long = sum(length > recipe.limits.prompt for length in lengths) / len(lengths)
    if too_long == 1:
        raise TrainError(
            f"no prompt fits: the shortest has {min(lengths)} tokens, limits.prompt is"
            f" {recipe.limits.prompt}; raise it or lower data.limit"
        )
    kinds = Counter(example.kind for example in examples)
    tools = [len(Toolbox.of(example).tools) for example in measured]
    lines = [
        ("model", _model(recipe)),
        ("tokenizer", whose),
        ("examples", ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())),
        ("tools shown", _spread(tools)),
        ("prompt tokens", f"{_spread(lengths)}; the limit is {recipe.limits.prompt:,}"),
        ("too long, left out", f"{too_long:.1%} of {len(measured)} measured"),
    ]
    whole = len(examples) if recipe.data.corpus else recipe.data.size
    left = round(whole * (1 - too_long))
    if recipe.grpo:
        trl.arguments(recipe, run, "cpu")
        return lines + _grpo(recipe, recipe.grpo, left)
    assert recipe.sft is not None
    sft.arguments(recipe, run, "cpu")
    rows = sft.rows(measured[:: max(1, len(measured) // 50)], codec, recipe.sft.max_tokens)
    return lines + _sft(recipe.sft, rows, left)


def find_tokenizer(name: str) -> tuple[Any, str]:
    """The tokenizer of a model if this machine has it, else the embedded one; and which it is."""
    auto = need("transformers").AutoTokenizer
    if name == "embedded":
        return auto.from_pretrained(embedded()), "the model's own"
    try:
        return auto.from_pretrained(name, local_files_only=True), "the model's own"
    except (OSError, ValueError):
        told = f"the embedded model's: {name} is not on this machine"
        return auto.from_pretrained(embedded()), told


def _grpo(recipe: Recipe, grpo: Grpo, examples: int) -> Lines:
    longest = recipe.limits.prompt + recipe.limits.completion
    passes = grpo.sequences // grpo.batch
    seen = grpo.steps * grpo.prompts_per_step
    weights = {part: recipe.reward.weight(part) for part in WEIGHTS}
    paid = ", ".join(f"{part} {weight:g}" for part, weight in weights.items() if weight)
    return [
        (
            "a step",
            f"{grpo.prompts_per_step} prompts of {grpo.rollouts} rollouts = {grpo.sequences}"
            f" sequences, in {passes} passes of {grpo.batch} over all devices",
        ),
        ("tokens of a step", f"at most {grpo.sequences * longest:,}"),
        ("tokens of a pass", f"at most {grpo.batch * longest:,}"),
        ("steps", f"{grpo.steps:,}: {seen:,} prompts, {seen / max(1, examples):.2f} epochs"),
        ("rollouts in all", f"{grpo.steps * grpo.sequences:,}"),
        ("generation", f"vLLM, {grpo.vllm_mode}" if grpo.use_vllm else "transformers"),
        ("reward", f"{paid}; β {recipe.reward.beta:g}"),
        ("loss", f"{grpo.loss_type}, KL {grpo.beta:g}, clip {grpo.epsilon:g}, lr {grpo.lr:g}"),
    ]


def _sft(settings: Sft, rows: Sequence[sft.Row], examples: int) -> Lines:
    lengths = [len(row.input_ids) for row in rows]
    learnt = sum(label != sft.IGNORED for row in rows for label in row.labels)
    updates = ceil(examples / settings.together * settings.epochs)
    share = learnt / max(1, sum(lengths))
    return [
        ("transcript tokens", f"{_spread(lengths)}; {share:.0%} of them are learnt"),
        ("an update", f"{settings.together} transcripts, {settings.batch} at a time"),
        ("updates", f"about {updates:,} in {settings.epochs:g} epochs"),
        ("lr", f"{settings.lr:g}, {settings.schedule}"),
    ]


def _model(recipe: Recipe) -> str:
    model = recipe.model
    trained = f"LoRA r={model.lora.r}" if model.lora else "all weights"
    start = f", from {model.adapter}" if model.adapter else ""
    return f"{model.name}, {trained}, {model.dtype}{start}"


def _spread(values: Sequence[int]) -> str:
    if not values:
        return "none"
    ordered = sorted(values)
    return f"{ordered[0]:,} to {ordered[-1]:,}, {ordered[len(ordered) // 2]:,} in the middle"
