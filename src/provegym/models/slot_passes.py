"""Forward passes of a transformers model over a KV cache with a slot per conversation.

A pass of a small model takes the GPU 2 ms, and Python 25 ms to launch. So both kinds of passes are
CUDA graphs there: one that decodes a token for every slot, and some that read new tokens, each for
a number of tokens up to a size.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from provegym.models.decode_attention import Parts, decode, parts_of
from provegym.models.optional import need
from provegym.models.varlen import Bounds, attention

ATTENTION = "provegym_slots"
REFUSED = ("sliding_window", "attn_logit_softcapping", "final_logit_softcapping")
# Tokens that a graph reads at most, and slots that it reads for.
SIZES, SPANS = (512, 2_048, 8_192, 16_384), 64
WARM = 3


class SlotPass(NamedTuple):
    """What the attention of one forward pass needs: the KV cache, and where its tokens belong.

    `places` are the places of the tokens in the cache, all slots one after the other. `parts` is
    memory for a pass with one token of every slot.
    """

    cache: Any
    places: Any
    bounds: Bounds
    parts: Parts | None = None


class Unread(NamedTuple):
    """Tokens to read for a slot: its number, the place of the first, and the tokens."""

    slot: int
    known: int
    ids: Sequence[int]


@dataclass(frozen=True)
class ReadGraph:
    """A forward pass that reads up to `size` tokens, as a CUDA graph over these inputs."""

    size: int
    ids: Any
    positions: Any
    where: SlotPass
    graph: Any


class Passes:
    """Runs the passes of a model, which is used as it is."""

    def __init__(self, model: Any, slots: int, longest: int, *, compiled: bool = False) -> None:
        """Allocate a KV cache: so many slots of `longest` tokens; the last place stays unread.

        With `compiled`, the layers are compiled, which takes some seconds.
        """
        self.torch = torch = need("torch")
        if problem := objection(model.config):
            raise ValueError(f"{problem}; sample this model with vLLM")
        compiler = torch.compiler
        register = need("transformers").AttentionInterface.register
        register(ATTENTION, compiler.disable(_attend) if compiled else _attend)
        model.set_attn_implementation(ATTENTION)
        self.model, self.longest, self.device = model.eval(), longest, model.device
        if compiled:
            for layer in model.get_decoder().layers:
                layer.compile(dynamic=True)
        shape = cache_shape(model.config, slots, longest)
        self.cache = torch.zeros(shape, dtype=model.dtype, device=self.device)
        self.parts = parts_of(self.cache, model.config.num_attention_heads)
        self.pool = torch.cuda.graph_pool_handle() if self.on_gpu else None
        self.reads = [self._read_graph(size) for size in SIZES] if self.on_gpu else []

    @property
    def on_gpu(self) -> bool:
        """Whether passes can be CUDA graphs."""
        return bool(self.device.type == "cuda")

    def decode(self, ids: Any, positions: Any, places: Any, bounds: Bounds) -> Any:
        """The last hidden states of one token of every slot."""
        return self._see(ids, positions, SlotPass(self.cache, places, bounds, self.parts))

    def read(self, spans: Sequence[Unread]) -> None:
        """Keep the keys and values of the tokens of some spans."""
        some: list[Unread] = []
        size = 0
        for span in spans:
            if some and (size + len(span.ids) > SIZES[-1] or len(some) == SPANS):
                self._read(some)
                some, size = [], 0
            some.append(span)
            size += len(span.ids)
        if some:
            self._read(some)

    def _read(self, spans: Sequence[Unread]) -> None:
        tensor = self.torch.tensor
        ids = [token for span in spans for token in span.ids]
        positions = [span.known + at for span in spans for at in range(len(span.ids))]
        places = [
            span.slot * self.longest + span.known + at
            for span in spans
            for at in range(len(span.ids))
        ]
        ends = [0]
        for span in spans:
            ends.append(ends[-1] + len(span.ids))
        starts = [*(span.slot * self.longest for span in spans), 0]
        used = [span.known + len(span.ids) for span in spans]
        fitting = next((each for each in self.reads if each.size >= len(ids)), None)
        if fitting is None:
            narrow = {"dtype": self.torch.int32, "device": self.device}
            longest = max(len(span.ids) for span in spans)
            bounds = Bounds(
                tensor(ends, **narrow),
                tensor(starts, **narrow),
                longest,
                self.longest,
                tensor(used, **narrow),
            )
            row, at, where = (tensor(each, device=self.device) for each in (ids, positions, places))
            self._see(row, at, SlotPass(self.cache, where, bounds))
            return
        _fill(fitting.ids, ids, 0)
        _fill(fitting.positions, positions, 0)
        _fill(fitting.where.places, places, self.longest - 1)
        _fill(fitting.where.bounds.queries, ends, ends[-1])
        _fill(fitting.where.bounds.keys, starts, 0)
        _fill(fitting.where.bounds.used, used, 0)
        fitting.graph.replay()

    def copy(self, number: int, others: Sequence[int], length: int) -> None:
        """Copy the first keys and values of a slot to others."""
        chosen = self.torch.tensor(others, device=self.device)
        self.cache[:, :, chosen, :length] = self.cache[:, :, number : number + 1, :length]

    def _read_graph(self, size: int) -> ReadGraph:
        """A graph whose tokens are all of no conversation."""
        zeros = self.torch.zeros
        ids, positions, places = zeros((3, size), dtype=self.torch.long, device=self.device)
        places += self.longest - 1
        narrow = {"dtype": self.torch.int32, "device": self.device}
        bounds = Bounds(
            zeros(SPANS + 1, **narrow),
            zeros(SPANS + 1, **narrow),
            min(size, self.longest),
            self.longest,
            zeros(SPANS, **narrow),
        )
        where = SlotPass(self.cache, places, bounds)
        graph = self.captured(lambda: self._see(ids, positions, where))
        return ReadGraph(size, ids, positions, where, graph)

    def captured(self, run: Callable[[], Any], chance: Any = None) -> Any:
        """The CUDA graph of a pass; `chance` is the generator that it draws from."""
        cuda = self.torch.cuda
        with self.torch.inference_mode():
            side = cuda.Stream()
            side.wait_stream(cuda.current_stream())
            with cuda.stream(side):
                for _ in range(WARM):
                    run()
            cuda.current_stream().wait_stream(side)
            graph = cuda.CUDAGraph()
            if chance is not None:
                graph.register_generator_state(chance)
            with cuda.graph(graph, pool=self.pool):
                run()
        return graph

    def _see(self, ids: Any, positions: Any, where: SlotPass) -> Any:
        """The last hidden states of a row of tokens, whose keys and values are kept."""
        seen = self.model.get_decoder()(
            input_ids=ids[None], position_ids=positions[None], use_cache=False, slots=where
        )
        return seen.last_hidden_state[0]


def _fill(kept: Any, values: Sequence[int], rest: int) -> None:
    """Write some values into an input of a graph, and the same one into the rest of it."""
    torch = need("torch")
    whole = [*values, *[rest] * (len(kept) - len(values))]
    kept.copy_(torch.tensor(whole, dtype=kept.dtype), non_blocking=True)


def objection(config: Any) -> str:
    """Why a model cannot be sampled here: its attention or its head is not the plain one."""
    settings = config.to_dict()
    kinds = set(settings.get("layer_types") or ()) - {"full_attention"}
    odd = [name for name in REFUSED if settings.get(name) and settings.get("use_" + name, True)]
    missing = sorted(odd or kinds)
    return f"slots have no {', '.join(missing)}" if missing else ""


def cache_shape(config: Any, slots: int, longest: int) -> tuple[int, ...]:
    """The shape of the KV cache: keys and values, layers, slots, tokens, heads, width."""
    heads = config.num_attention_heads
    width = config.to_dict().get("head_dim") or config.hidden_size // heads
    return (2, config.num_hidden_layers, slots, longest, config.num_key_value_heads or heads, width)


def _attend(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **settings: Any
) -> tuple[Any, None]:
    """Attention of transformers over the slots; the new keys and values are kept first."""
    where: SlotPass = settings["slots"]
    cache, kind = where.cache[:, module.layer_idx], where.cache.dtype
    query, key, value = (each[0].transpose(0, 1).to(kind) for each in (query, key, value))
    scale = settings.get("scaling") or query.shape[-1] ** -0.5
    if where.parts is not None:
        told = {"places": where.places, "used": where.bounds.used, "parts": where.parts}
        return decode(query, key, value, cache, **told, scale=scale)[None], None
    keys, values = cache.flatten(1, 2)
    keys.index_copy_(0, where.places, key)
    values.index_copy_(0, where.places, value)
    return attention(query, keys, values, where.bounds, scale)[None], None
