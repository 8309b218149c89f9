"""Export of a corpus to the formats of trainers: TRL (GRPO and SFT), verl, OpenAI fine-tuning.

A form is a function from an example to a row, registered with a decorator. Rows are streamed to
JSON lines, or to Parquet if the name of the output ends in `.parquet`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from provegym.corpus.transcript import transcript
from provegym.files import atomic_path, check_free
from provegym.lines import has_sums
from provegym.models.endpoint import on_the_wire
from provegym.players.gold import Unplayable
from provegym.toolbox import Toolbox
from provegym.trace import BadFile, Example, Json, line, read_some

BATCH = 500
JSON = "json"
SPLITS = ("train", "heldout")
SHARD = "*-[0-9][0-9][0-9][0-9][0-9].jsonl"

Make = Callable[[Example, int, str], Json]
Columns = dict[str, Any]


class Form(NamedTuple):
    """An export format: a function that makes a row, and its Parquet column types (or none)."""

    make: Make
    columns: Columns


FORMS: dict[str, Form] = {}


def form(**columns: Any) -> Callable[[Make], Make]:
    """Register a function as a form of export."""

    def register(function: Make) -> Make:
        FORMS[function.__name__] = Form(function, columns)
        return function

    return register


@form(prompt="string", example="string")
def trl(example: Example, index: int, split: str) -> Json:
    """TRL's GRPO: the prompt is the example's id, by which a rollout function finds the example."""
    return {"prompt": example.id, "example": native(example)}


@form(messages=[JSON], tools="string", learn=["bool"])
def sft(example: Example, index: int, split: str) -> Json:
    """TRL's SFT, conversational with tools; `learn` is a loss mask over messages.

    Arguments are objects here, because chat templates serialise them. `tools` is JSON text,
    because a column has one type and schemas differ.
    """
    messages, learn = transcript(example)
    return {
        "messages": [_with_objects(message) for message in messages],
        "tools": msgspec.json.encode(Toolbox.of(example).openai()).decode(),
        "learn": learn,
    }


@form(
    data_source="string",
    prompt=[{"role": "string", "content": "string"}],
    ability="string",
    reward_model={"style": "string", "ground_truth": "string"},
    extra_info={"split": "string", "index": "int64", "example": "string"},
    agent_name="string",
)
def verl(example: Example, index: int, split: str) -> Json:
    """verl's datasets: `agent_name` is the agent loop that plays the example in `extra_info`.

    verl shows `prompt` in its reports only. The agent loop writes its own prompt, with the tools.
    """
    return {
        "data_source": f"provegym/{example.server or 'imported'}",
        "prompt": [
            {"role": "system", "content": example.system},
            {"role": "user", "content": example.turns[0].text},
        ],
        "ability": example.kind,
        "reward_model": {
            "style": "rule",
            "ground_truth": msgspec.json.encode(example.paths).decode(),
        },
        "extra_info": {"split": split, "index": index, "example": native(example)},
        "agent_name": "provegym",
    }


@form()
def openai(example: Example, index: int, split: str) -> Json:
    """OpenAI's fine-tuning files. Assistant messages outside the loss have weight 0.

    OpenAI allows no dot in the name of a tool; a dot is written as two underscores.
    """
    messages, learn = transcript(example)
    told = [
        message if right or message["role"] != "assistant" else {**message, "weight": 0}
        for message, right in zip(messages, learn, strict=True)
    ]
    tools = Toolbox.of(example).openai()
    # OpenAI refuses a file with an empty list of tools.
    shown = {"tools": tools, "parallel_tool_calls": True} if tools else {}
    return on_the_wire({"messages": told, **shown})


def native(example: Example) -> str:
    """An example as one line of JSON text."""
    return line(example).decode().rstrip("\n")


def from_row(row: Mapping[str, Any]) -> Example:
    """An example from a row of `datasets`, where a field that equals its default is null.

    Its reader may change the last bit of a float, so floats are rounded to 15 digits. No world has
    more.
    """
    held = {name: _exact(value) for name, value in row.items() if value is not None}
    return msgspec.convert(held, Example)


def _exact(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _exact(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_exact(part) for part in value]
    return float(f"{value:.15g}") if isinstance(value, float) else value


def _with_objects(message: Json) -> Json:
    """The message with the arguments of its calls as objects, not as JSON text."""
    if not message.get("tool_calls"):
        return message
    calls = [
        {**call, "function": {**function, "arguments": msgspec.json.decode(function["arguments"])}}
        for call in message["tool_calls"]
        for function in [call["function"]]
    ]
    return {**message, "tool_calls": calls}


def shards(source: Path, split: str) -> list[Path]:
    """The files of one split of a corpus. A file, or a folder without shards, is one split."""
    if not source.exists():
        raise BadFile(f"{source}: there is no such file or folder")
    if not source.is_dir():
        return [source]
    named = sorted(source.glob(SHARD))
    found = [path for path in named if path.name.startswith(f"{split}-")]
    if named and not found:
        raise BadFile(f"{source} has no {split} shards, only shards such as {named[0].name}")
    files = found or sorted(source.glob("*.jsonl"))
    if not files:
        raise BadFile(f"{source} holds no .jsonl file")
    return files


def export(
    source: Path, out: Path, name: str, split: str = "train", left_out: list[str] | None = None
) -> Iterator[int]:
    """Write one split of a corpus in a form; yield the count after each example.

    An example whose reference calls do not run has no transcript. It is left out, and the reason is
    added to `left_out`; without that list it is an error.
    """
    files = shards(source, split)
    check_free(out)
    if has_sums(out) or any(out.exists() and out.samefile(path) for path in files):
        raise BadFile(f"{out} holds examples or rollouts, which would be lost; name another file")
    examples = (example for path in files for example in read_some(path, Example))
    return write_rows(examples, out, name, split, left_out)


def write_rows(
    examples: Iterable[Example],
    out: Path,
    name: str,
    split: str = "train",
    left_out: list[str] | None = None,
) -> Iterator[int]:
    """Write examples in a form, as `export` does. The file appears only when it is complete."""
    make, columns = FORMS[name]
    parquet = out.suffix == ".parquet"
    if parquet and not columns:
        raise BadFile(f"{name} takes JSON lines only; name the output .jsonl, not {out.name}")
    rows = _rows(examples, make, split, left_out)
    with atomic_path(out) as part:
        yield from _write_parquet(part, rows, columns) if parquet else _write_lines(part, rows)


def _rows(
    examples: Iterable[Example], make: Make, split: str, left_out: list[str] | None
) -> Iterator[Json]:
    index = 0
    for example in examples:
        try:
            row = make(example, index, split)
        except Unplayable as problem:
            if left_out is None:
                raise
            left_out.append(str(problem))
            continue
        yield row
        index += 1


def _write_lines(path: Path, rows: Iterable[Json]) -> Iterator[int]:
    with path.open("wb") as file:
        for count, row in enumerate(rows, 1):
            file.write(msgspec.json.encode(row) + b"\n")
            yield count


def _write_parquet(path: Path, rows: Iterable[Json], columns: Columns) -> Iterator[int]:
    """Write rows in batches; free-form columns are of Arrow's JSON type."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise BadFile("Parquet needs pyarrow: pip install pyarrow") from None
    schema = pa.schema([(name, _arrow(pa, kind, pa.json_())) for name, kind in columns.items()])
    plain = pa.schema([(name, _arrow(pa, kind, pa.string())) for name, kind in columns.items()])
    count, rows = 0, iter(rows)
    with pq.ParquetWriter(path, schema) as file:
        while batch := list(islice(rows, BATCH)):
            table = pa.Table.from_pylist([_encoded(row, columns) for row in batch], schema=plain)
            file.write_table(table.cast(schema))
            for _ in batch:
                count += 1
                yield count


def _arrow(pa: Any, kind: Any, free: Any) -> Any:
    """The Arrow type of a column; `free` is the type of free-form JSON."""
    if isinstance(kind, list):
        return pa.list_(_arrow(pa, kind[0], free))
    if isinstance(kind, dict):
        return pa.struct([(name, _arrow(pa, part, free)) for name, part in kind.items()])
    return free if kind == JSON else getattr(pa, {"bool": "bool_"}.get(kind, kind))()


def _encoded(row: Json, columns: Columns) -> Json:
    """A row with its free-form columns as JSON text."""
    free = [name for name, kind in columns.items() if kind == [JSON]]
    texts = {name: [msgspec.json.encode(part).decode() for part in row[name]] for name in free}
    return {**row, **texts}
