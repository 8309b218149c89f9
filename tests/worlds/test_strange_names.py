"""Names of tables, columns and files that are ordinary in schemas and odd in English."""

from pathlib import Path

import pytest

from command import run
from provegym.inflection import past
from provegym.worlds import from_sql
from provegym.worlds.schemas import nouns
from provegym.worlds.spec import SpecError, WorldSpec

TAGS = "CREATE TABLE tags (id INTEGER PRIMARY KEY, name TEXT NOT NULL);\n"
PERSONS = """
CREATE TABLE Persons (PersonID int NOT NULL, LastName varchar(255) NOT NULL,
    FirstName varchar(255), Age int, PRIMARY KEY (PersonID, LastName));
CREATE TABLE Orders (OrderID int NOT NULL, OrderNumber int NOT NULL, PersonID int,
    PRIMARY KEY (OrderID), FOREIGN KEY (PersonID) REFERENCES Persons(PersonID));
"""


def sql(text: str) -> tuple[WorldSpec, list[str]]:
    return from_sql.spec_of(text, "made", "")


def test_a_column_named_like_the_key_of_a_tool_is_left_out() -> None:
    spec, notes = sql(PERSONS)
    assert [each.name for each in spec.entities] == ["person", "order"]
    assert not [note for note in notes if "_id," in note]
    assert "person_id" not in [field.name for field in spec.entities[0].fields]


def test_the_id_of_an_unknown_record_is_left_out() -> None:
    spec, notes = sql(TAGS.replace("name", "hotel_id INT, name"))
    assert notes == ["left out: tag.hotel_id, since no record of this world has such an id"]
    assert [field.name for field in spec.entities[0].fields] == ["name"]


@pytest.mark.parametrize(("column", "field"), [("referred_by", ""), ("reports_to", "manager_id")])
def test_a_reference_to_its_own_kind_needs_a_role(column: str, field: str) -> None:
    table = "CREATE TABLE members (id INT PRIMARY KEY, name TEXT, {} INT REFERENCES members(id));"
    spec, notes = sql(table.format(column))
    found = [each.name for each in spec.entities[0].fields if each.kind == "reference"]
    assert found == ([field] if field else [])
    left = f"left out: member.{column}, since it does not name a role"
    assert notes == ([] if field else [left])


def test_a_ring_that_is_larger_than_a_world_is_refused() -> None:
    words = [f"{letter}{letter}ing" for letter in "abcdefghijklm"]
    table = "CREATE TABLE {} (id INT PRIMARY KEY, name TEXT, next INT NOT NULL REFERENCES {}(id));"
    ring = zip(words, [*words[1:], words[0]], strict=True)
    with pytest.raises(SpecError, match=r"^all of the 13 kinds of records need more than 12 of"):
        sql("".join(table.format(*pair) for pair in ring))


@pytest.mark.parametrize("pair", [("shelf", "shelves"), ("news", "news"), ("leaf", "leaves")])
def test_irregular_nouns(pair: tuple[str, str]) -> None:
    one, many = pair
    assert (nouns.singular(many), nouns.plural(one)) == (one, many)


@pytest.mark.parametrize(
    ("verb", "done"),
    [("unfreeze", "unfrozen"), ("resend", "resent"), ("relay", "relayed"), ("return", "returned")],
)
def test_a_prefix_does_not_make_a_verb_regular(verb: str, done: str) -> None:
    assert past(verb) == done


def test_a_world_is_not_written_over_by_another(tmp_path: Path) -> None:
    file, out = tmp_path / "001_init.sql", tmp_path / "worlds"
    file.write_text(TAGS, "utf-8")
    for _ in range(2):  # the same world again is no other one
        assert run("worlds", "from-sql", file, "--out", out).returncode == 0
    before = (out / "world_001_init.json").read_bytes()
    file.write_text(TAGS.replace("tags", "labels"), "utf-8")
    refused = run("worlds", "from-sql", file, "--out", out)
    assert refused.returncode != 0
    assert "holds another world; remove it, or name this one with --name" in refused.stderr
    assert (out / "world_001_init.json").read_bytes() == before
