"""Continuous batching for small models: a KV-cache slot per conversation, decoding as a CUDA graph.

vLLM prepares every forward pass in Python. For a small model that takes longer than the pass. Here
a pass with its sampling is one CUDA graph that Python only starts, several times in a row. A
conversation keeps its slot, so only its new messages are read, and equal prompts are read once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

from provegym.models.optional import need
from provegym.models.sampler import end_tokens
from provegym.models.slot_passes import Passes, Unread, cache_shape, objection
from provegym.models.source import Sampled, Source
from provegym.models.varlen import Bounds

# Tokens that are sampled for every conversation before the finished ones are looked for.
STEPS = 4
# The share of the free memory that slots may take; passes need some, too.
SHARE = 0.8


class Request(NamedTuple):
    """A context to continue, for a seat."""

    seat: int
    context: list[int]
    most: int


@dataclass
class CacheSlot:
    """The place of a conversation in the KV cache: the tokens that it holds.

    While a reply is sampled, it has the seat that waits for it.
    """

    number: int
    ids: list[int] = field(default_factory=list)
    seat: int | None = None
    used: int = 0


class Slots(Source):
    """Samples a model of transformers on one device; temperature 0 means greedy decoding."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        temperature: float,
        *,
        slots: int,
        longest: int,
        reply: int,
        seed: int = 0,
        compiled: bool = False,
    ) -> None:
        """Take a model and its tokenizer, and the most tokens of a context and of a reply.

        The model is used as it is: its weights may be replaced in place, then call `forget`.
        """
        self.torch = torch = need("torch")
        self.model, self.temperature, self.reply = model, temperature, reply
        # The last place of a slot is for the tokens of a slot that samples nothing.
        self.longest = longest + 1
        self.device = model.device
        self.passes = Passes(model, slots, self.longest, compiled=compiled)
        self.slots = [CacheSlot(number) for number in range(slots)]
        self.seats: dict[int, CacheSlot] = {}
        self.waiting: list[Request] = []
        self.flying = False
        self.clock = 0
        self.chance = torch.Generator(device=self.device).manual_seed(seed)
        self.ends = torch.tensor(sorted(end_tokens(model, tokenizer)), device=self.device)
        self.first = torch.arange(slots, device=self.device) * self.longest
        self.going = torch.zeros(slots, dtype=torch.bool, device=self.device)
        # Of each slot: the next token to read, the tokens in the cache, the tokens that were
        # sampled, and how many may be.
        self.token, self.length, self.count, self.most = torch.zeros(
            (4, slots), dtype=torch.long, device=self.device
        )
        self.ids = torch.zeros((slots, reply), dtype=torch.long, device=self.device)
        self.logprobs = torch.zeros((slots, reply), device=self.device)
        one_each = torch.arange(slots + 1, dtype=torch.int32, device=self.device)
        self.bounds = Bounds(one_each, one_each * self.longest, 1, self.longest)
        on_gpu = self.passes.on_gpu
        self.graph = self.passes.captured(self._decode, self.chance) if on_gpu else None

    def seed(self, number: int) -> None:
        """Start the random numbers anew."""
        self.chance.manual_seed(number)

    def forget(self) -> None:
        """Forget what was read, because the weights have changed."""
        for slot in self.slots:
            slot.ids = []

    def ask(self, seat: int, context: list[int], most: int) -> None:
        """Request a continuation."""
        room = self.longest - 1
        if len(context) + most > room or most > self.reply:
            raise ValueError(
                f"{len(context)} tokens and a reply of {most} were asked for, and the sampler was"
                f" made for {room} together and replies of {self.reply}"
            )
        self.waiting.append(Request(seat, context, most))

    def take(self) -> Mapping[int, Sampled]:
        """Wait for replies. The next tokens are sampled already while the caller uses them."""
        with self.torch.inference_mode():
            while True:
                ended = self._landed() if self.flying else {}
                self._admit()
                self.flying = any(slot.seat is not None for slot in self.slots)
                if self.flying:
                    for _ in range(STEPS):
                        self._step()
                if ended:
                    return ended
                if not self.flying:
                    raise RuntimeError("take was called, but nothing was asked for")

    def _landed(self) -> dict[int, Sampled]:
        """The replies that are finished. This waits for the device."""
        going = self.going.tolist()
        done = [each for each in self.slots if each.seat is not None and not going[each.number]]
        if not done:
            return {}
        chosen = self.torch.tensor([slot.number for slot in done], device=self.device)
        counts, ids, logprobs = (
            values[chosen].tolist() for values in (self.count, self.ids, self.logprobs)
        )
        ended: dict[int, Sampled] = {}
        for slot, count, row, values in zip(done, counts, ids, logprobs, strict=True):
            if slot.seat is not None:
                ended[slot.seat] = Sampled(row[:count], values[:count])
            # The last sampled token was not read.
            slot.ids += row[: count - 1]
            slot.seat = None
        return ended

    def _admit(self) -> None:
        """Give slots to waiting requests, and read the tokens that their slots do not hold."""
        taken: list[tuple[CacheSlot, Request]] = []
        owners: dict[tuple[int, ...], CacheSlot] = {}
        alike: dict[int, list[CacheSlot]] = {}
        reads: list[Unread] = []
        while self.waiting and (slot := self._free(self.waiting[0].seat)):
            asked = self.waiting.pop(0)
            known = min(_shared(slot.ids, asked.context), len(asked.context) - 1)
            owner = owners.setdefault(tuple(asked.context), slot)
            slot.ids, slot.seat, slot.used = list(asked.context), asked.seat, self.clock
            taken.append((slot, asked))
            if owner is not slot:
                alike.setdefault(owner.number, []).append(slot)
            elif known < len(asked.context) - 1:
                reads.append(Unread(slot.number, known, slot.ids[known:-1]))
            self.clock += 1
        self.passes.read(reads)
        for number, others in alike.items():
            length = len(others[0].ids) - 1
            self.passes.copy(number, [slot.number for slot in others], length)
        self._begin(taken)

    def _free(self, seat: int) -> CacheSlot | None:
        """A free slot: the last one of this seat, or else the one not used for longest."""
        own = self.seats.get(seat)
        if own is None or own.seat is not None:
            free = [slot for slot in self.slots if slot.seat is None]
            own = min(free, key=lambda slot: slot.used, default=None)
        if own is not None:
            self.seats[seat] = own
        return own

    def _begin(self, taken: Sequence[tuple[CacheSlot, Request]]) -> None:
        """Set the slots to sample from the last token of their contexts on."""
        if not taken:
            return
        rows = [
            (slot.number, asked.context[-1], len(asked.context) - 1, asked.most)
            for slot, asked in taken
        ]
        chosen, token, length, most = self.torch.tensor(rows, device=self.device).T
        self.token[chosen], self.length[chosen], self.most[chosen] = token, length, most
        self.count[chosen], self.going[chosen] = 0, True

    def _step(self) -> None:
        """Sample a token for every slot."""
        if self.graph is None:
            self._decode()
        else:
            self.graph.replay()

    def _decode(self) -> None:
        """Read the next token of every slot and sample one, in place and without a branch."""
        torch, going = self.torch, self.going
        places = self.first + torch.where(going, self.length, self.longest - 1)
        used = torch.where(going, self.length + 1, 1).int()
        bounds, positions = self.bounds._replace(used=used), torch.where(going, self.length, 0)
        seen = self.passes.decode(self.token, positions, places, bounds)
        logits = self.model.get_output_embeddings()(seen).float()
        drawn, logprob = self._draw(logits)
        self._note(self.ids, drawn)
        self._note(self.logprobs, logprob)
        self.token.copy_(torch.where(going, drawn, self.token))
        self.length.add_(going)
        self.count.add_(going)
        going.logical_and_(~torch.isin(drawn, self.ends)).logical_and_(self.count < self.most)

    def _note(self, kept: Any, values: Any) -> None:
        """Write a value of every slot that samples after those before it."""
        place = self.count.clamp(max=self.reply - 1)[:, None]
        before = kept.gather(1, place)
        kept.scatter_(1, place, self.torch.where(self.going[:, None], values[:, None], before))

    def _draw(self, logits: Any) -> tuple[Any, Any]:
        """Tokens and their log-probabilities, temperature included."""
        scaled = (logits / (self.temperature or 1.0)).log_softmax(-1)
        drawn = scaled.argmax(-1)
        if self.temperature:
            # Gumbel-max trick: argmax of p / Exp(1), as torch.multinomial does it.
            noise = self.torch.empty_like(scaled).exponential_(generator=self.chance)
            drawn = (scaled.exp() / noise).argmax(-1)
        return drawn, scaled.gather(1, drawn[:, None])[:, 0]


def takes(model: Any) -> bool:
    """Whether slots are the best way to sample a model: on a GPU, if its attention is plain."""
    return model.device.type == "cuda" and not objection(model.config)


def room_for(model: Any, longest: int) -> int:
    """How many slots for contexts of so many tokens fit into the free memory of the GPU."""
    free, _ = need("torch").cuda.mem_get_info(model.device)
    one: int = prod(cache_shape(model.config, 1, longest + 1)) * model.dtype.itemsize
    return int(SHARE * free) // one


def _shared(first: Sequence[int], second: Sequence[int]) -> int:
    """The length of the longest common prefix."""
    least = min(len(first), len(second))
    if first[:least] == second[:least]:
        return least
    return next(at for at in range(least) if first[at] != second[at])
