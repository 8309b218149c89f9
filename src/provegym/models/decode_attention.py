"""Flash decoding: attention of one new token per slot over a KV cache, as two Triton kernels.

The kernels of torch give each head of a slot one thread block, which reads all keys one after the
other, so one long conversation holds up the pass. Here the keys of a slot are split into parts that
are read at the same time, heads that share keys read them once, and the new key and value are
stored on the way. Without Triton or a GPU, the attention of torch is used instead.
"""

from typing import Any, NamedTuple

from provegym.models.optional import need

try:
    import triton
    import triton.language as tl
except ImportError:  # CPU builds of torch come without it
    triton = None

# Keys in a part, keys that are read at once, and the fewest rows of a matrix product.
PART, BLOCK, ROWS = 512, 64, 16


class Parts(NamedTuple):
    """What the parts of a pass leave for their sum. All layers use the same memory.

    `weights` are the largest score of a part and the sum of its weights.
    """

    values: Any
    weights: Any


def parts_of(cache: Any, heads: int) -> Parts | None:
    """Memory for the parts of a cache; None if the kernels cannot be used."""
    _, _, slots, longest, shared, width = cache.shape
    plain = width & (width - 1) == 0 and width >= ROWS and heads % shared == 0
    if triton is None or cache.device.type != "cuda" or not plain:
        return None
    count = triton.cdiv(longest, PART)
    values = need("torch").empty((slots, heads, count, width), device=cache.device)
    return Parts(values, values.new_empty((slots, heads, count, 2)))


def decode(
    query: Any,
    key: Any,
    value: Any,
    cache: Any,
    *,
    places: Any,
    used: Any,
    parts: Parts,
    scale: float,
) -> Any:
    """Attention of one token per slot, on tensors of slots x heads x width.

    `cache` are the keys and values of a layer: 2 x slots x longest x heads x width. The new key and
    value are stored at `places` of all slots' tokens in a row; `used` counts the keys of a slot
    with its new one, which is always the last.
    """
    slots, heads, width = query.shape
    shared, longest = key.shape[1], cache.shape[2]
    group, count = heads // shared, parts.values.shape[2]
    seen = query.new_empty(query.shape)
    sizes = {"GROUP": group, "WIDTH": width, "COUNT": count, "PART": PART}
    rows = {"ROWS": max(ROWS, triton.next_power_of_2(group))}
    _attend_parts[(slots, shared, count)](
        *(query, key, value, cache[0], cache[1], places, used, *parts, scale, longest),
        *(query.stride(0), query.stride(1), key.stride(0), key.stride(1)),
        *(value.stride(0), value.stride(1)),
        **sizes,
        **rows,
        BLOCK=BLOCK,
    )
    _add_parts[(slots, heads)](seen, used, *parts, **sizes)
    return seen


if triton is not None:

    @triton.jit  # type: ignore[untyped-decorator]
    def _attend_parts(  # type: ignore[no-untyped-def]
        query,
        key,
        value,
        keys,
        values,
        places,
        used,
        part_values,
        part_weights,
        scale,
        longest,
        query_slot,
        query_head,
        key_slot,
        key_head,
        value_slot,
        value_head,
        GROUP: tl.constexpr,
        WIDTH: tl.constexpr,
        COUNT: tl.constexpr,
        PART: tl.constexpr,
        ROWS: tl.constexpr,
        BLOCK: tl.constexpr,
    ):
        slot = tl.program_id(0).to(tl.int64)
        head = tl.program_id(1)
        part = tl.program_id(2)
        last = tl.load(used + slot) - 1
        begin = part * PART
        if begin > last:
            return
        shared = tl.num_programs(1)
        rows, columns = tl.arange(0, ROWS), tl.arange(0, WIDTH)
        own = rows < GROUP
        asked = query + slot * query_slot + (head * GROUP + rows[:, None]) * query_head
        q = tl.load(asked + columns[None, :], mask=own[:, None], other=0.0)
        largest = tl.full([ROWS], float("-inf"), tl.float32)
        total = tl.zeros([ROWS], tl.float32)
        sums = tl.zeros([ROWS, WIDTH], tl.float32)
        first = (slot * longest * shared + head) * WIDTH
        for at in range(begin, min(begin + PART, last), BLOCK):
            spots = at + tl.arange(0, BLOCK)
            held = spots < last
            offsets = first + spots[:, None] * shared * WIDTH + columns[None, :]
            k = tl.load(keys + offsets, mask=held[:, None], other=0.0)
            scores = tl.where(held[None, :], tl.dot(q, tl.trans(k)) * scale, float("-inf"))
            larger = tl.maximum(largest, tl.max(scores, 1))
            weights = tl.exp(scores - larger[:, None])
            before = tl.exp(largest - larger)
            v = tl.load(values + offsets, mask=held[:, None], other=0.0)
            sums = sums * before[:, None] + tl.dot(weights.to(v.dtype), v)
            total = total * before + tl.sum(weights, 1)
            largest = larger
        if last < begin + PART:
            k = tl.load(key + slot * key_slot + head * key_head + columns)
            v = tl.load(value + slot * value_slot + head * value_head + columns)
            place = (tl.load(places + slot) * shared + head) * WIDTH + columns
            tl.store(keys + place, k)
            tl.store(values + place, v)
            score = tl.sum(q.to(tl.float32) * k.to(tl.float32)[None, :], 1) * scale
            larger = tl.maximum(largest, score)
            weight, before = tl.exp(score - larger), tl.exp(largest - larger)
            sums = sums * before[:, None] + weight[:, None] * v.to(tl.float32)[None, :]
            total = total * before + weight
            largest = larger
        number = (slot * shared * GROUP + head * GROUP + rows) * COUNT + part
        tl.store(part_weights + number * 2, largest, mask=own)
        tl.store(part_weights + number * 2 + 1, total, mask=own)
        found = part_values + number[:, None] * WIDTH + columns[None, :]
        tl.store(found, sums, mask=own[:, None])

    @triton.jit  # type: ignore[untyped-decorator]
    def _add_parts(  # type: ignore[no-untyped-def]
        seen,
        used,
        part_values,
        part_weights,
        GROUP: tl.constexpr,
        WIDTH: tl.constexpr,
        COUNT: tl.constexpr,
        PART: tl.constexpr,
    ):
        slot = tl.program_id(0).to(tl.int64)
        row = slot * tl.num_programs(1) + tl.program_id(1)
        columns = tl.arange(0, WIDTH)
        largest = float("-inf")
        total = 0.0
        sums = tl.zeros([WIDTH], tl.float32)
        for part in range(tl.cdiv(tl.load(used + slot), PART)):
            number = row * COUNT + part
            found = tl.load(part_weights + number * 2)
            larger = tl.maximum(largest, found)
            before, weight = tl.exp(largest - larger), tl.exp(found - larger)
            sums = sums * before + weight * tl.load(part_values + number * WIDTH + columns)
            total = total * before + weight * tl.load(part_weights + number * 2 + 1)
            largest = larger
        tl.store(seen + row * WIDTH + columns, (sums / total).to(seen.dtype.element_ty))
