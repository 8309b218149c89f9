"""The cost of a run in words: rows for the table of a dry run, notes, and one line for a start."""

from collections.abc import Iterator

from provegym.train.cost import GB, START, TAIL, Card, Cost, sampling
from provegym.train.recipe import Grpo, Recipe, Sft
from provegym.train.run import duration

# Up to this many times the parameters of the measured model, its figures are taken as they are.
ALIKE = 2

Lines = list[tuple[str, str]]


def rows(recipe: Recipe, cost: Cost, card: Card) -> Lines:
    """The rows of the table on memory, generation and time."""
    lines = [("GPU", _card(card)), ("memory of the trainer", _trainer(recipe, cost))]
    if recipe.grpo and cost.cache:
        lines.append(("KV cache", _cache(recipe, recipe.grpo, cost)))
        if cost.playing is not None:
            lines.append(("what limits a step", limit(recipe.grpo, cost, cost.playing)))
    return [*lines, ("time", _time(recipe, cost))]


def unknown(name: str) -> str:
    """Why nothing can be said about a model."""
    return (
        f"not known, because {name} is not on this machine, or not a dense transformer; for the"
        " figures of another model of its size, add --set model.name=MODEL, such as embedded"
    )


def notes(recipe: Recipe, cost: Cost, card: Card) -> Iterator[str]:
    """A sentence if the memory of the GPU is too small, with what to do."""
    batch = recipe.grpo.batch if recipe.grpo else _sft(recipe).batch
    able = " or ".join(_lowerable(recipe, cost, card))
    lower = f" lower {able}," if able else ""
    if cost.cache and not cost.cache.usual_fits:
        yield (
            "grpo.vllm_memory has room for the weights of vLLM alone, and none for the KV cache;"
            " raise it"
        )
    most = cost.memory - cost.activations + cost.most_activations
    if cost.memory > card.memory:
        yield (
            f"the run needs about {size(cost.memory)} of memory, and the GPU has"
            f" {size(card.memory)};{lower} train an adapter (model.lora), or take a larger GPU"
        )
    elif most > card.memory:
        shorter = "limits.completion" if recipe.grpo else "sft.max_tokens"
        smaller = (_lower_batch(recipe) or shorter).partition(" ")[0]
        yield (
            f"if conversations get as long as the limits allow, a pass of {batch} of them needs"
            f" {size(most)} with everything else, and the GPU has {size(card.memory)}; lower"
            f" {smaller} if the run stops for lack of memory"
        )


def _lowerable(recipe: Recipe, cost: Cost, card: Card) -> Iterator[str]:
    """The settings that can be lowered to save memory, with their values.

    A smaller KV cache helps only where all the rest fits.
    """
    if batch := _lower_batch(recipe):
        yield batch
    grpo = recipe.grpo
    fits = cost.cache is not None and cost.memory - cost.cache.memory < card.memory
    if grpo and grpo.use_vllm and fits:
        yield f"grpo.vllm_memory (now {grpo.vllm_memory:g})"


def _lower_batch(recipe: Recipe) -> str:
    """The batch, if it can be lowered; packed rows need whole groups of rollouts."""
    if recipe.grpo is None:
        batch = _sft(recipe).batch
        return f"sft.batch (now {batch})" if batch > 1 else ""
    batch = recipe.grpo.batch
    least = recipe.grpo.rollouts if recipe.grpo.packed else 1
    return f"grpo.batch (now {batch})" if batch > least else ""


def brief(recipe: Recipe, cost: Cost, card: Card) -> str:
    """What a run will take, in one line."""
    if not card.name:
        return (
            f"this run needs about {size(cost.memory)} of memory; its minutes are not known,"
            " because only runs on a GPU were measured"
        )
    memory = f"about {size(cost.memory)} of the {size(card.memory)} of the GPU"
    if cost.step is None or cost.seconds is None:
        return f"this run needs {memory}; its minutes are not known (see --dry-run)"
    corpus = "" if recipe.data.corpus else f", and {duration(cost.corpus_seconds)} for the corpus"
    return (
        f"on one H200 this run takes about {duration(cost.seconds)} ({cost.steps:,} steps of"
        f" {_short(cost.step)}){corpus}; it needs {memory}; an estimate, see --dry-run"
    )


def limit(grpo: Grpo, cost: Cost, playing: float) -> str:
    """What a step spends most of its time on, and what would help."""
    assert cost.cache is not None
    count, room = grpo.sequences, cost.cache.usual_fits
    if cost.learning > playing:
        packed = "" if grpo.packed else "; grpo.packed = true leaves out padding"
        return f"learning: {_short(cost.learning)}, against {_short(playing)} of playing{packed}"
    if room < count:
        return (
            f"memory for the KV cache: {room:,} of {count:,} conversations of a usual length fit at"
            " once, and the others wait; raise grpo.vllm_memory"
        )
    pace = sampling(grpo)
    one, busy = pace.one_pass, count * pace.conversation * cost.scale
    if busy < one:
        return (
            f"the number of conversations: a forward pass of vLLM takes {1000 * one:.0f} ms for"
            f" one of them and {1000 * (one + busy):.0f} ms for {count:,}, so a larger step"
            f" (grpo.prompts_per_step) uses the GPU better; {room:,} of a usual length fit"
        )
    if busy < TAIL * one:
        return (
            "the longest rollout: it is sampled token by token while few others are left; lower"
            " limits.completion or limits.reply"
        )
    return "the speed of the GPU: the conversations of a step keep it busy"


def size(count: float) -> str:
    """Bytes in gigabytes."""
    return f"{count / GB:.1f} GB" if count < 10 * GB else f"{count / GB:,.0f} GB"


def _card(card: Card) -> str:
    if card.name:
        return f"{card.name}, {size(card.memory)}"
    return f"{size(card.memory)} are assumed; --card names another size"


def _trainer(recipe: Recipe, cost: Cost) -> str:
    settings = recipe.grpo or _sft(recipe)
    trained = "weights, gradients and Adam's two moments in 32 bits"
    if recipe.model.lora or recipe.model.adapter:
        trained = f"the frozen weights, and the {trained} of an adapter"
    else:
        trained += ", weights in 16 bits" if recipe.model.dtype == "bfloat16" else ""
        trained += ", and the reference model" if recipe.grpo and recipe.grpo.beta else ""
    checkpointing = "with" if settings.checkpointing else "without"
    return (
        f"{size(cost.state)} for {trained}; about {size(cost.activations)} for the activations of a"
        f" usual pass of {settings.batch} ({cost.pass_tokens:,} tokens, {checkpointing}"
        f" checkpointing), and {size(cost.most_activations)} if all are as long as the limits allow"
    )


def _cache(recipe: Recipe, grpo: Grpo, cost: Cost) -> str:
    cache, limits = cost.cache, recipe.limits
    assert cache is not None
    if not grpo.use_vllm:
        return (
            f"{size(cache.memory)}, and {size(cache.weights)} for the weights: all"
            f" {grpo.sequences:,} conversations have a slot of the longest"
            f" {limits.prompt + limits.completion:,} tokens"
        )
    longest = limits.prompt + limits.completion + limits.reply
    return (
        f"{size(cache.memory)}, and {size(cache.weights)} for the weights. {cache.fits:,} of"
        f" {grpo.sequences:,} conversations fit at once if all have the longest {longest:,} tokens"
        f" (all need {size(cache.needed)}); of a usual length, {cache.usual_fits:,} fit"
    )


def _time(recipe: Recipe, cost: Cost) -> str:
    if cost.step is None or cost.seconds is None:
        return "not known: of generation on a GPU, only vLLM and engines were measured"
    parts = ""
    if recipe.grpo and cost.playing is not None:
        joint = "beside" if cost.overlaps else "and then"
        parts = f" ({_short(cost.playing)} of playing {joint} {_short(cost.learning)} of learning)"
    corpus = ""
    if not recipe.data.corpus:
        corpus = f"; before that {duration(cost.corpus_seconds)} to make the corpus"
    return (
        f"about {duration(cost.seconds)} on one H200: {cost.steps:,} steps of"
        f" {_short(cost.step)}{parts}, {duration(START)} to start{corpus}. {_source(cost)}"
    )


def _short(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 120 else duration(seconds)


def _source(cost: Cost) -> str:
    if cost.scale < ALIKE:
        return "An estimate from measured runs of the embedded model"
    return (
        "A rough estimate, and rather too long: it is scaled by parameters from the embedded model,"
        f" which has {cost.scale:.0f} times fewer, and larger models use a GPU better"
    )


def _sft(recipe: Recipe) -> Sft:
    return recipe.sft or Sft()
