"""The dry run of a recipe: token lengths, steps, memory, time and problems, without weights."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil
from statistics import fmean
from typing import Any, NamedTuple

import msgspec

from provegym.models.codec import Codec
from provegym.models.local import adapter_place, configuration, load_tokenizer
from provegym.models.sizes import find_sizes
from provegym.players.local import opening
from provegym.rewards import WEIGHTS
from provegym.toolbox import Toolbox
from provegym.trace import Example, label
from provegym.train import cost_lines, sft, trl
from provegym.train.cost import Card, Cost, Usual, estimate, find_card
from provegym.train.cost_lines import Lines
from provegym.train.recipe import Grpo, Model, Recipe, Sft
from provegym.train.run import Run, TrainError
from provegym.train.start import NO_VLLM, held_lora, lacks_vllm, trained_lora

MEASURED, TOLD = 300, 50
ANY = 1_000_000
OWN = "the model's own"


class Forecast(msgspec.Struct, frozen=True):
    """The table of a dry run, its notes, and the cost in numbers, None where it is not known.

    `memory` are the bytes and `seconds` the time of the whole run; `cost` has their parts.
    """

    table: dict[str, str]
    notes: list[str]
    card: Card
    cost: Cost | None = None
    memory: int | None = None
    seconds: float | None = None


class Lengths(NamedTuple):
    """Measured token lengths: prompts, gold transcripts, and the completions in them."""

    prompts: list[int]
    tools: list[int]
    rows: list[sft.SftRow]
    rests: list[int]
    left: int


def forecast(
    recipe: Recipe, run: Run, examples: Sequence[Example], card: Card | None = None
) -> Forecast:
    """A table that describes the run, with a note on each problem; for a GPU, else this machine's.

    It raises an error if no run is possible: the trainer refuses the settings, or no prompt fits.
    """
    tokenizer, whose = find_tokenizer(recipe.model.name)
    found = measure(recipe, examples, Codec(tokenizer, ANY))
    kinds = Counter(example.kind for example in examples)
    limits, card = recipe.limits, card or find_card()
    lines = [
        ("model", _model(recipe)),
        ("tokenizer", whose),
        ("examples", ", ".join(f"{count:,} {label(kind)}" for kind, count in kinds.most_common())),
        ("tools shown", _spread(found.tools)),
        ("prompt tokens", f"{_spread(found.prompts)}; the limit is {limits.prompt:,}"),
        ("too long, left out", f"{_too_long(recipe, found):.1%} of {len(found.prompts)} measured"),
        ("examples left", f"about {found.left:,}{_gold(recipe)}"),
    ]
    if recipe.grpo:
        trl.arguments(recipe, run, "cpu")
        lines += _grpo(recipe, recipe.grpo, found)
    else:
        assert recipe.sft is not None
        sft.arguments(recipe, run, "cpu")
        lines += _sft(recipe.sft, found)
    problems = list(notes(recipe, found, whose))
    cost = _cost(recipe, found, card)
    if cost is None:
        lines.append(("memory and time", cost_lines.unknown(recipe.model.name)))
        return Forecast(dict(lines), problems, card)
    lines += cost_lines.rows(recipe, cost, card)
    problems += cost_lines.notes(recipe, cost, card)
    return Forecast(dict(lines), problems, card, cost, cost.memory, cost.seconds)


def _gold(recipe: Recipe) -> str:
    """Why fewer are left than prompts that fit: long right answers are left out, too."""
    if not recipe.grpo or not recipe.data.gold:
        return ""
    return f", of those whose right answer takes at most data.gold = {recipe.data.gold:,} tokens"


def _cost(recipe: Recipe, found: Lengths, card: Card) -> Cost | None:
    """What the run takes, from the measured lengths; None if the size of the model is not known."""
    sizes = find_sizes(recipe.model.name)
    if sizes is None:
        return None
    limits = recipe.limits
    prompts = [length for length in found.prompts if length <= limits.prompt]
    rests = [min(rest, limits.completion) for rest in found.rests] or [limits.completion]
    own = fmean(sum(label != sft.IGNORED for label in row.labels) for row in found.rows)
    longest = max(prompts) + max(rests)
    usual = Usual(fmean(prompts), fmean(rests), min(own, limits.completion), longest, found.left)
    return estimate(recipe, sizes, trained_lora(recipe.model), usual, card)


def measure(recipe: Recipe, examples: Sequence[Example], codec: Codec) -> Lengths:
    """Measure an even sample of the examples; raise an error if no prompt fits."""
    chosen = examples[:: max(1, len(examples) // MEASURED)]
    prompts = [len(opening(example, codec)) for example in chosen]
    if min(prompts) > recipe.limits.prompt:
        raise TrainError(
            f"no prompt fits: the shortest has {min(prompts)} tokens, limits.prompt is"
            f" {recipe.limits.prompt}; raise it or lower data.limit"
        )
    told = chosen[:: max(1, len(chosen) // TOLD)]
    rows = [sft.encode(example, codec, ANY) for example in told]
    pairs = zip(told, rows, strict=True)
    rests = [len(row.input_ids) - len(opening(example, codec)) for example, row in pairs]
    if recipe.grpo:
        rests = [rest for rest in rests if rest <= (recipe.data.gold or ANY)]
    share = sum(length <= recipe.limits.prompt for length in prompts) / len(prompts)
    share *= len(rests) / len(rows)
    made = min(recipe.data.size, recipe.data.most or recipe.data.size)
    whole = len(examples) if recipe.data.corpus else made
    tools = [len(Toolbox.of(example).tools) for example in chosen]
    return Lengths(prompts, tools, rows, rests, round(whole * share))


def notes(recipe: Recipe, found: Lengths, whose: str) -> Iterator[str]:
    """The problems of a run, one sentence each, with what to do."""
    model, limits = recipe.model, recipe.limits
    if whose != OWN:
        yield "the lengths are an estimate; fetch the model's tokenizer for exact ones"
    if share := _too_long(recipe, found):
        yield (
            f"{share:.1%} of the prompts are longer than limits.prompt ({limits.prompt:,}) and"
            " would be left out; raise it, or show fewer tools by data.limit"
        )
    longest = limits.prompt + limits.completion
    if whose == OWN and (positions := _positions(model)) and positions < longest:
        yield (
            f"limits.prompt and limits.completion allow {longest:,} tokens, and {model.name}"
            f" has {positions:,} positions; lower one of them, or raise model.positions (SFT)"
        )
    if model.adapter and not adapter_place(model.adapter).exists():
        yield f"there is no {model.adapter} yet; train it first, or leave model.adapter out"
    if recipe.grpo:
        yield from _grpo_notes(recipe, recipe.grpo, found)
    elif recipe.sft and (cut := _cut(recipe.sft, found)):
        yield (
            f"{cut} of {len(found.rows)} transcripts are longer than sft.max_tokens"
            f" ({recipe.sft.max_tokens:,}) and end early; raise it"
        )


def _grpo_notes(recipe: Recipe, grpo: Grpo, found: Lengths) -> Iterator[str]:
    most = recipe.limits.completion
    if over := sum(rest > most for rest in found.rests):
        yield (
            f"{over} of {len(found.rests)} right conversations are longer than limits.completion"
            f" ({most:,}), and can never be finished; raise it"
        )
    if found.left < grpo.prompts_per_step:
        limit = "data.gold" if len(found.rests) < len(found.rows) else "limits.prompt"
        yield (
            f"{found.left} examples fit, and a step takes {grpo.prompts_per_step}; raise {limit},"
            " or lower grpo.prompts_per_step"
        )
    if lacks_vllm(grpo):
        yield NO_VLLM


def find_tokenizer(name: str) -> tuple[Any, str]:
    """The tokenizer of a model if this machine has it, else the embedded one; and its name."""
    try:
        return load_tokenizer(name, here=True), OWN
    except OSError:
        told = f"the embedded model's, as an estimate: {name} is not on this machine"
        return load_tokenizer("embedded"), told


def _positions(model: Model) -> int:
    """The maximum context length of a model; 0 if its configuration is not here."""
    try:
        own = int(configuration(model.name).get("max_position_embeddings") or 0)
    except (OSError, ValueError):
        return 0
    return max(own, model.positions) if own else 0


def _too_long(recipe: Recipe, found: Lengths) -> float:
    over = sum(length > recipe.limits.prompt for length in found.prompts)
    return over / len(found.prompts)


def _cut(settings: Sft, found: Lengths) -> int:
    return sum(len(row.input_ids) > settings.max_tokens for row in found.rows)


def _grpo(recipe: Recipe, grpo: Grpo, found: Lengths) -> Lines:
    most, seen = recipe.limits.completion, grpo.generations * grpo.prompts_per_step
    longest = recipe.limits.prompt + most
    passes, epochs = grpo.sequences // grpo.batch, seen / max(1, found.left)
    weights = {part: recipe.reward.weight(part) for part in WEIGHTS}
    paid = ", ".join(f"{part} {weight:g}" for part, weight in weights.items() if weight)
    return [
        ("tokens after it, if right", f"{_spread(found.rests)}; the limit is {most:,}"),
        (
            "a step",
            f"{grpo.prompts_per_step} prompts of {grpo.rollouts} rollouts{_branches(grpo)} ="
            f" {grpo.sequences} sequences, in {passes} passes of {grpo.batch} over all devices",
        ),
        ("tokens of a step", f"at most {grpo.sequences * longest:,}"),
        ("tokens of a pass", f"at most {grpo.batch * longest:,}"),
        ("steps", f"{grpo.steps:,}: {seen:,} prompts, {epochs:.2f} epochs"),
        ("rollouts in all", f"{grpo.generations * grpo.sequences:,}"),
        ("generation", _generation(grpo)),
        ("reward", f"{paid}; β {recipe.reward.beta:g}"),
        ("loss", f"{grpo.loss_type}, KL {grpo.beta:g}, {_bound(grpo)}, lr {grpo.lr:g}"),
    ]


def _bound(grpo: Grpo) -> str:
    """What bounds the ratio of new and old probabilities."""
    if grpo.loss_type == "cispo":
        return f"importance weights of at most {grpo.epsilon_high:g}"
    return f"clip {grpo.epsilon:g}"


def _branches(grpo: Grpo) -> str:
    """How many rollouts of a prompt may go on from others, if any."""
    return f" ({grpo.rollouts - grpo.trunks} of them may be branches)" if grpo.branches else ""


def _generation(grpo: Grpo) -> str:
    sampler = "vLLM" if grpo.use_vllm else "transformers"
    if not grpo.engines:
        return f"vLLM, {grpo.vllm_mode}" if grpo.use_vllm else sampler
    played = (
        "they play the next step while the trainer learns from this one"
        if grpo.lag
        else "the trainer waits while they play"
    )
    processes = "1 engine process" if grpo.engines == 1 else f"{grpo.engines} engine processes"
    return f"{sampler} in {processes}, lag {grpo.lag}: {played}"


def _sft(settings: Sft, found: Lengths) -> Lines:
    lengths = [len(row.input_ids) for row in found.rows]
    learnt = sum(label != sft.IGNORED for row in found.rows for label in row.labels)
    updates = ceil(found.left / settings.together * settings.epochs)
    share = learnt / max(1, sum(lengths))
    return [
        ("transcript tokens", f"{_spread(lengths)}; {share:.0%} of them are learnt"),
        ("an update", f"{settings.together} transcripts, {settings.batch} at a time"),
        ("updates", f"about {updates:,} in {settings.epochs:g} epochs"),
        ("lr", f"{settings.lr:g}, {settings.schedule}"),
    ]


def _model(recipe: Recipe) -> str:
    model = recipe.model
    lora = held_lora(model) or model.lora
    some = f"LoRA r={lora.r}, alpha={lora.alpha}" if lora else "the adapter"
    trained = some if lora or model.adapter else "all weights"
    start = f", from {model.adapter}" if model.adapter else ""
    return f"{model.name}, {trained}, {model.dtype}{start}"


def _spread(values: Sequence[int]) -> str:
    if not values:
        return "none"
    ordered = sorted(values)
    return f"{ordered[0]:,} to {ordered[-1]:,}, {ordered[len(ordered) // 2]:,} in the middle"
