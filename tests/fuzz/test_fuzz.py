"""Broken and hostile files: every reader reads them or says in a sentence what is wrong.

The long version tries 100,000 inputs for each reader of files. A find is kept in `test_finds.py`.
"""

import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz.mutations import mutants
from fuzz.readers import Reader, readers
from provegym.errors import UserError

READERS = readers()
SHORT, LONG = 600, 100_000
# Of the inputs that are read, so many are used: shown, played, scored.
USED = {"examples": 4_000, "rollouts": 4_000, "page of rollouts": 10_000}
# The page and what is imported are read by the same code, and are tried less often; so is what is
# slow to read.
FEWER = {"page of examples": 30_000, "page of rollouts": 30_000, "imported rows": 30_000}
FEWER |= {"examples": 50_000, "specs": 50_000}
SECONDS, GIGABYTE = 2.0, 1 << 20


def fuzz(name: str, count: int, folder: Path, used: int) -> tuple[int, int]:
    """Try so many inputs on a reader; how many were read, and how many were refused.

    An example that is read, and refused when it is played, counts as refused.
    """
    reader, file, chance = READERS[name], folder / "input.jsonl", Random(f"{name} {count}")
    if name == "recipes":
        file = folder / "input.toml"
    good = bad = 0
    before = peak()
    every = max(1, count // (2 * used))
    for number, text in enumerate(mutants(reader.seeds, count, chance)):
        file.write_bytes(text)
        began = process_time()
        try:
            found = reader.read(file)
            if number % every == 0:
                reader.use(found)
        except UserError:
            bad += 1
        except Exception as problem:
            pytest.fail(f"{name}: {type(problem).__name__}: {problem}\n{text!r}")
        else:
            good += 1
        assert process_time() - began < SECONDS, text
    assert peak() - before < GIGABYTE
    return good, bad


def peak() -> int:
    """The largest memory that this process has had, in kB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.parametrize("name", READERS)
def test_a_broken_file_is_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    good, bad = fuzz(name, SHORT, tmp_path, 60)
    assert good > SHORT // 100
    assert bad > SHORT // 100 or name.startswith(("page", "foreign"))


@pytest.mark.long
@pytest.mark.parametrize("name", READERS)
def test_very_many_broken_files(name: str, tmp_path: Path) -> None:
    count = FEWER.get(name, LONG)
    good, bad = fuzz(name, count, tmp_path, USED.get(name, count))
    assert good + bad == count


@given(st.data())
def test_any_bytes_are_refused_in_a_sentence(data: Any) -> None:
    name = data.draw(st.sampled_from(sorted(READERS)))
    reader, text = READERS[name], data.draw(st.binary(max_size=200))
    for file in temporary():
        file.write_bytes(text)
        use(reader, file)


def use(reader: Reader, file: Path) -> None:
    """Read a file and use what was read; a sentence is as good as a result."""
    with suppress(UserError):
        reader.use(reader.read(file))


def temporary() -> Iterator[Path]:
    """A file of a folder that is removed afterwards."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        yield Path(folder) / "input.jsonl"
