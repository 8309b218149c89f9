"""What a run takes: GPU memory, the conversations that fit into the KV cache, and minutes.

Memory is counted from the sizes of the model. Times are scaled, by tokens and parameters, from runs
of the embedded model on one H200 (docs/results.md and docs/scale.md), so they are estimates.
"""

from math import ceil
from pathlib import Path
from typing import NamedTuple

import msgspec

from provegym.corpus.exports import shards
from provegym.models.optional import need
from provegym.models.sizes import ModelSizes
from provegym.train.recipe import Grpo, Lora, Recipe, Sft

GB = 1_000_000_000
ASSUMED = 80
# Weights and gradients in 32 bits, and Adam's two moments in 32 bits.
TRAINED_BYTES = 4 + 4 + 8
NARROW, WIDE = 2, 4

MEASURED_PARAMETERS = 134_515_008
# Seconds to learn from a token. GRPO took 4.1 s for a step of 226,000 tokens, with its reference
# model; compiled and without one, 2.3 s for 240,000, with the sampler beside it. SFT took 3.5 µs
# with all weights and 5.5 µs with an adapter.
GRPO_TOKEN, COMPILED_TOKEN, SFT_TOKEN = 18e-6, 9.6e-6, 4.5e-6
# Seconds of a start, and of an example of a new corpus on two cores.
START, EXAMPLE = 120.0, 0.025
# Checkpointing computes the forward pass, a third of the work, once more.
RECOMPUTED = 4 / 3
# The longest rollout of a step generates this many times the tokens of the mean.
TAIL = 3
# Usual lengths in tokens, before examples are measured: of a rollout, its replies and its prompt.
REST, OWN, INSTRUCTIONS, TOOL, TOOLS = 850, 240, 330, 165, 20


class Sampling(NamedTuple):
    """Seconds of a forward pass that samples a token, and of each conversation in it."""

    one_pass: float
    conversation: float


# A pass of slots was measured alone. A conversation in it was fitted to a step beside a trainer: so
# it has its share of reading messages, of the worlds, and of waiting for the GPU.
VLLM, SLOTS = Sampling(7.9e-3, 22e-6), Sampling(2.2e-3, 45e-6)


class Card(msgspec.Struct, frozen=True):
    """A GPU and its memory in bytes; without a name, the memory is only assumed."""

    memory: int
    name: str = ""


class Usual(NamedTuple):
    """Lengths in tokens: a mean prompt, what follows it, and the replies in that.

    `longest` is the longest conversation; `examples` is how many there are.
    """

    prompt: float
    rest: float
    own: float
    longest: int
    examples: int


class Cache(msgspec.Struct, frozen=True):
    """The memory of the sampler in bytes, and how many conversations fit into its cache at once.

    `fits` counts conversations of the full length, `usual_fits` those of a usual length.
    """

    weights: int
    memory: int
    needed: int
    fits: int
    usual_fits: int


class Pace(NamedTuple):
    """Seconds of playing and of learning in a step, and the number of steps.

    The seconds of playing are None if they cannot be estimated.
    """

    playing: float | None
    learning: float
    steps: int


class Cost(msgspec.Struct, frozen=True):
    """What a run takes on one GPU: bytes, the tokens of a pass of the trainer, and seconds.

    `state` are weights, gradients, moments and copies of weights. `overlaps` means that playing and
    learning run at the same time. `playing` is None if nothing like it was measured.
    """

    parameters: int
    state: int
    pass_tokens: int
    most_pass_tokens: int
    activations: int
    most_activations: int
    cache: Cache | None
    playing: float | None
    learning: float
    steps: int
    overlaps: bool
    corpus_seconds: float

    @property
    def memory(self) -> int:
        """The bytes of trainer and sampler together, with the activations of a usual pass."""
        cache = self.cache
        return self.state + self.activations + (cache.weights + cache.memory if cache else 0)

    @property
    def step(self) -> float | None:
        """The seconds of a step."""
        if self.playing is None:
            return None
        both = (self.playing, self.learning)
        return max(both) if self.overlaps else sum(both)

    @property
    def seconds(self) -> float | None:
        """The seconds of the run with its start, without making the corpus."""
        return None if self.step is None else START + self.steps * self.step

    @property
    def scale(self) -> float:
        """How many times more parameters the model has than the one that was measured."""
        return self.parameters / MEASURED_PARAMETERS


def find_card(gigabytes: int | None = None) -> Card:
    """The GPU of this machine; if there is none, or a size is given, one of that size."""
    cuda = need("torch").cuda
    if gigabytes is None and cuda.is_available():
        found = cuda.get_device_properties(0)
        return Card(found.total_memory, found.name)
    return Card((gigabytes or ASSUMED) * GB)


def assume(recipe: Recipe) -> Usual:
    """The usual lengths of a recipe, before its examples are made or read."""
    data, limits = recipe.data, recipe.limits
    prompt = min(limits.prompt, INSTRUCTIONS + TOOL * (data.limit or TOOLS))
    rest = min(limits.completion, REST)
    count = data.size
    if data.corpus:
        count = sum(path.read_bytes().count(b"\n") for path in shards(Path(data.corpus), "train"))
    longest = min(limits.prompt + limits.completion, 2 * (prompt + rest))
    return Usual(prompt, rest, min(OWN, rest), longest, min(count, data.most or count))


def estimate(
    recipe: Recipe, sizes: ModelSizes, lora: Lora | None, usual: Usual, card: Card
) -> Cost:
    """What a run of a recipe takes on a GPU."""
    scale = sizes.parameters / MEASURED_PARAMETERS
    corpus = 0.0 if recipe.data.corpus else recipe.data.size * EXAMPLE
    if grpo := recipe.grpo:
        tokens, most = _grpo_tokens(recipe, grpo, usual)
        cache = _cache(recipe, grpo, sizes, usual, card)
        pace = _grpo_pace(grpo, usual, cache, scale)
        kept = sizes.activation_bytes(grpo.checkpointing)
    else:
        sft = recipe.sft or Sft()
        cache = None
        tokens, most = _sft_tokens(sft, usual)
        pace = _sft_pace(sft, usual, scale)
        kept = sizes.activation_bytes(sft.checkpointing)
    return Cost(
        parameters=sizes.parameters,
        state=_state(recipe, sizes, lora),
        pass_tokens=tokens,
        most_pass_tokens=most,
        activations=tokens * kept,
        most_activations=most * kept,
        cache=cache,
        playing=pace.playing,
        learning=pace.learning,
        steps=pace.steps,
        overlaps=bool(grpo and grpo.lag),
        corpus_seconds=corpus,
    )


def _state(recipe: Recipe, sizes: ModelSizes, lora: Lora | None) -> int:
    """The bytes of weights, gradients and moments, and of the copies that a run holds."""
    count = sizes.parameters
    is_narrow = recipe.model.dtype == "bfloat16"
    frozen = count * (NARROW if is_narrow else WIDE)
    if lora:
        linear = sizes.linear
        pairs = [linear[name] for name in lora.targets if name in linear]
        trained = sizes.layers * lora.r * sum(into + out for into, out in pairs)
        # GRPO restores the frozen weights from a copy after each merge with the adapter.
        return trained * TRAINED_BYTES + frozen * (2 if recipe.grpo else 1)
    copies = count * NARROW if is_narrow else 0
    reference = count * WIDE if recipe.grpo and recipe.grpo.beta else 0
    return count * TRAINED_BYTES + copies + reference


def _grpo_tokens(recipe: Recipe, grpo: Grpo, usual: Usual) -> tuple[int, int]:
    """The tokens of a usual pass of the trainer, and the most that the limits allow."""
    limits = recipe.limits
    if not grpo.packed:
        return grpo.batch * usual.longest, grpo.batch * (limits.prompt + limits.completion)
    groups = ceil(grpo.batch / grpo.rollouts)
    most = groups * limits.prompt + grpo.batch * limits.completion
    return round(groups * usual.prompt + grpo.batch * usual.rest), most


def _sft_tokens(sft: Sft, usual: Usual) -> tuple[int, int]:
    length = usual.prompt + usual.rest if sft.packed else usual.longest
    return round(sft.batch * min(length, sft.max_tokens)), sft.batch * sft.max_tokens


def _cache(recipe: Recipe, grpo: Grpo, sizes: ModelSizes, usual: Usual, card: Card) -> Cache | None:
    """The KV cache on this GPU: of engines, or of vLLM in the trainer's process."""
    if not grpo.engines and (not grpo.use_vllm or grpo.vllm_mode == "server"):
        return None
    limits, weights = recipe.limits, sizes.parameters * NARROW
    longest = (limits.prompt + limits.completion + limits.reply) * sizes.cache_bytes
    count = grpo.engines or 1
    together = ceil(grpo.prompts_per_step / count) * grpo.rollouts
    if not grpo.use_vllm:
        every = count * together * (limits.prompt + limits.completion) * sizes.cache_bytes
        return Cache(count * weights, every, every, grpo.sequences, grpo.sequences)
    share = int(grpo.vllm_memory * card.memory / count)
    # An engine gets its share for the cache alone, vLLM in the trainer for its weights as well.
    granted = min(share, together * longest) if grpo.engines else max(0, share - weights)
    # vLLM keeps the prompt that a group of rollouts shares once.
    middle = (usual.prompt / grpo.rollouts + usual.rest) * sizes.cache_bytes
    return Cache(
        weights=count * weights,
        memory=count * granted,
        needed=grpo.sequences * longest,
        fits=min(grpo.sequences, count * (granted // longest)),
        usual_fits=int(count * granted // middle),
    )


def _grpo_pace(grpo: Grpo, usual: Usual, cache: Cache | None, scale: float) -> Pace:
    whole = grpo.prompts_per_step * usual.prompt + grpo.sequences * usual.rest
    tokens = whole if grpo.packed else grpo.sequences * usual.longest
    each = COMPILED_TOKEN if grpo.compiled else GRPO_TOKEN
    learning = tokens * each * scale * (RECOMPUTED if grpo.checkpointing else 1)
    playing = _playing(grpo, usual, cache, scale) if cache and cache.usual_fits else None
    return Pace(playing, learning, grpo.steps)


def sampling(grpo: Grpo) -> Sampling:
    """How fast the sampler of a recipe is."""
    return VLLM if grpo.use_vllm else SLOTS


def _playing(grpo: Grpo, usual: Usual, cache: Cache, scale: float) -> float:
    """Seconds of generation in a step: its forward passes, and the conversations in them."""
    pace = sampling(grpo)
    at_once = min(cache.usual_fits, grpo.sequences)
    passes = max(TAIL * usual.own, grpo.sequences * usual.own / at_once)
    seconds = passes * pace.one_pass + grpo.sequences * usual.own * pace.conversation * scale
    return seconds / grpo.iterations


def _sft_pace(sft: Sft, usual: Usual, scale: float) -> Pace:
    tokens = sft.together * min(usual.prompt + usual.rest, sft.max_tokens)
    learning = tokens * SFT_TOKEN * scale * (RECOMPUTED if sft.checkpointing else 1)
    return Pace(0.0, learning, ceil(usual.examples / sft.together * sft.epochs))
