"""The card: what a reader needs is in it, and `datasets` can load the folder by it."""

import importlib.util
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from examples import pay_example
from provegym import __version__, servers, trace
from provegym.corpus import figures
from provegym.corpus.card import COLUMNS, card, command
from provegym.corpus.exports import from_row
from provegym.trace import BadFile, Example, read, write

DATA = Path(__file__).parents[1] / "data"


@dataclass(frozen=True)
class Order:
    """What was asked for."""

    size: int
    seed: int
    out: Path
    servers: tuple[str, ...]
    workers: int = 1
    mix: str = ""
    allow_writes: bool = False


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two shards of training examples and one held out."""
    monkeypatch.setattr(figures, "proven_pairs", lambda name: {("a", "b")})
    write(tmp_path / "train-00000.jsonl", read(DATA / "banking.jsonl", Example))
    write(tmp_path / "train-00001.jsonl", read(DATA / "maps.jsonl", Example))
    write(tmp_path / "heldout-00000.jsonl", read(DATA / "crm.jsonl", Example))
    return tmp_path


def written(folder: Path) -> str:
    """The card of a folder."""
    order = Order(13, 3, folder, ("banking", "maps"), workers=4, mix="paper")
    return card(folder, Counter({"kept": 13, "a near copy": 6, "no goal found": 1}), order)


def test_it_tells_counts_figures_funnel_and_command(corpus: Path) -> None:
    text = written(corpus)
    assert "| the tool for one request is hidden, and the assistant must say so |" in text
    assert text.startswith("---\nlicense: apache-2.0\n")
    for told in (
        "## train: 13 examples",
        "| banking | 6 |",
        "## heldout: 8 examples",
        "| made | 20 | 100.0% |",
        "| dropped: a near copy | 6 | 30.0% |",
        "| kept | 13 | 65.0% |",
        "provegym synth --size 13 --seed 3 --servers banking,maps --mix paper --out FOLDER",
        "| turns with internal ids | 0.0% | at most 1% | yes |",
        "Apache-2.0",
        f"ProveGym {__version__}",
    ):
        assert told in text, told
    assert "Real data" not in text


def test_it_names_every_field_of_an_example() -> None:
    assert set(COLUMNS) == {"schema", *Example.__struct_fields__}


def test_it_warns_of_what_is_not_ours(corpus: Path) -> None:
    theirs = pay_example(server="", kind="abstention", paths=(trace.Path(),))
    write(corpus / "train-00002.jsonl", [theirs])
    text = written(corpus)
    assert "**Real data may be in here.**" in text
    assert "an import" in text


def test_the_command_leaves_out_defaults_and_quotes() -> None:
    order = Order(5, 0, Path("x"), servers.names(), mix="a b", allow_writes=True)
    told = "provegym synth --size 5 --seed 0 --mix 'a b' --allow-writes --out FOLDER"
    assert command(order) == told


def test_an_empty_funnel(corpus: Path) -> None:
    text = card(corpus, {}, Order(5, 0, corpus, ()))
    assert "| made | 0 | 100.0% |\n| kept | 0 | 0.0% |\n" in text


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="has no shard such as"):
        written(tmp_path)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(
    importlib.util.find_spec("datasets") is None,
    reason="datasets (provegym[data]) is not installed",
)
def test_datasets_loads_the_folder(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    from datasets import load_dataset

    (corpus / "README.md").write_text(written(corpus), "utf-8")
    cache = str(tmp_path_factory.mktemp("cache"))
    loaded = load_dataset(str(corpus), cache_dir=cache)
    for split, names in (("train", ("banking", "maps")), ("heldout", ("crm",))):
        wanted = [e for name in names for e in read(DATA / f"{name}.jsonl", Example)]
        assert list(map(from_row, loaded[split])) == wanted
