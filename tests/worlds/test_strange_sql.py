"""SQL as other tools write it: SQL Server, strings with escapes, odd bounds and lost rules."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from provegym.cli import app
from provegym.worlds import from_sql
from provegym.worlds.spec import Entity, SpecError, WorldSpec
from worlds.schemas import field

TAGS = "CREATE TABLE tags (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);\n"
BOOKS = "CREATE TABLE books (id int NOT NULL PRIMARY KEY, title varchar(200) NOT NULL)\nGO\n"
FILMS = BOOKS.replace("books", "films")


def sql(text: str, dialect: str = "") -> tuple[WorldSpec, list[str]]:
    return from_sql.spec_of(text, "made", dialect)


def names(spec: WorldSpec) -> list[str]:
    return [each.name for each in spec.entities]


def first(columns: str, dialect: str = "") -> tuple[Entity, list[str]]:
    """The entity of one table with a name and other columns."""
    text = f"CREATE TABLE hotels (id INT PRIMARY KEY, name TEXT NOT NULL, {columns});"
    spec, notes = sql(text, dialect)
    return spec.entities[0], notes


@pytest.mark.parametrize("go", ["GO", "go 5", "  GO;", "GO\r"])
def test_a_line_go_ends_a_statement(go: str) -> None:
    text = f"USE shop\nGO\n{BOOKS}{FILMS}".replace("GO", go)
    assert names(sql(text)[0]) == ["book", "film"]


def test_tables_need_no_semicolon_between_them() -> None:
    text = f"{BOOKS}{FILMS}{TAGS}".replace("GO", "-- then\n")
    assert names(sql(text)[0]) == ["book", "film", "tag"]


@pytest.mark.parametrize("default", [r"E'it\'s'", r"e'it''s \'; ('", r"E'\\'", r"'grade E'"])
def test_strings_with_escapes_end_where_they_end(default: str) -> None:
    table = f"CREATE TABLE tags (id serial primary key, name text not null default {default});"
    assert names(sql(f"{table}{BOOKS}", "postgres")[0]) == ["tag", "book"]


@pytest.mark.parametrize(
    ("check", "low", "high"),
    [
        ("heat <= -5", -64, -5),
        ("heat < 0", -60, -1),
        ("heat <= 0", -59, 0),
        ("heat >= 950000", 950_000, 950_059),
        ("heat BETWEEN -20 AND -10", -20, -10),
        ("heat <= -5 AND heat >= -9", -9, -5),
        ("heat > 4.5 AND heat < 7.5", 5, 7),
        ("heat <= 8 AND heat >= 2 AND heat >= 0", 2, 8),
    ],
)
def test_bounds_have_a_sensible_other_side(check: str, low: float, high: float) -> None:
    heat = field(first(f"heat INT NOT NULL CHECK ({check})")[0], "heat")
    assert (heat.low, heat.high) == (low, high)


@pytest.mark.parametrize("bound", ["heat > 2000000", "heat < -2000000", "cost <= -0.5"])
def test_numbers_that_no_world_has_are_left_out(bound: str) -> None:
    hotel, notes = first(f"heat INT, cost DECIMAL(6,2), CHECK ({bound})")
    assert len(hotel.fields) == 2
    assert notes == [f"left out: hotel.{bound[:4]}, since a world has no values of its type"]


def test_a_default_that_breaks_a_bound_does_not_count() -> None:
    hotel, _ = first("heat INT NOT NULL DEFAULT 3 CHECK (heat > 5)")
    assert field(hotel, "heat").start is None


def test_contradictory_bounds_are_left_out() -> None:
    hotel, notes = first("stock INT NOT NULL CHECK (stock BETWEEN 10 AND 2)")
    assert field(hotel, "stock").kind == "number"
    assert any("BETWEEN 10 AND 2) of hotels, since no value could keep it" in n for n in notes)


def test_lists_of_flags_and_of_national_strings_are_values() -> None:
    hotel, notes = first(
        "is_open INT NOT NULL CHECK (is_open IN (0,1)),"
        "status NVARCHAR(20) NOT NULL DEFAULT N'open' CHECK (status IN (N'open', N'shut'))"
    )
    assert notes == []
    assert field(hotel, "is_open").kind == "flag"
    assert (field(hotel, "status").values, field(hotel, "status").start) == (
        ("open", "shut"),
        "open",
    )


def test_a_unique_index_of_lower_is_one_of_the_column_and_others_are_noted() -> None:
    index = "CREATE UNIQUE INDEX g ON tags ({});"
    table = TAGS.replace(" UNIQUE", "")
    spec, notes = sql(table + index.format("lower(name) DESC"))
    add = next(each for each in spec.operations if each.tool == "add_tag")
    assert [guard.rule for guard in add.guards] == ["unique"]
    assert notes == []
    _, notes = sql(TAGS.replace("UNIQUE", ", UNIQUE KEY k ((lower(name)))"), "mysql")
    assert "that something is unique" in notes[0]
    _, notes = sql(table + index.format("coalesce(name, '')"))
    assert notes == ["left out: a unique index of tags, since it has more than columns"]
    _, notes = sql(table + index.format("name) WHERE (id > 3"))
    assert notes == ["left out: a unique index of tags, since it has a condition"]


def test_rules_that_are_lost_are_noted() -> None:
    hotel = "room INT, area GEOMETRY, EXCLUDE USING gist (room WITH =), UNIQUE (room, area)"
    notes = first(hotel, "postgres")[1]
    assert "left out: EXCLUDE of hotels, since it compares records" in notes
    assert any("that room and area are unique together, since it has no area" in n for n in notes)


def test_a_child_table_has_the_columns_of_its_parent() -> None:
    spec, notes = sql(f"{TAGS}CREATE TABLE labels (size INT NOT NULL) INHERITS (tags);")
    assert [each.name for each in spec.entities[1].fields] == ["name", "size"]
    assert notes == []
    _, notes = sql(f"{TAGS}CREATE TABLE labels (name TEXT NOT NULL) INHERITS (things);")
    assert notes == ["left out: what labels inherits, since there is no table things"]


def test_years_of_mysql_are_plausible() -> None:
    hotel, _ = first("opened YEAR NOT NULL, built YEAR CHECK (built <= 1950)", "mysql")
    opened, built = field(hotel, "opened"), field(hotel, "built")
    assert (opened.low, opened.high) == (1990, 2026)
    assert (built.low, built.high) == (1920, 1950)


@pytest.mark.parametrize(
    ("default", "kind"),
    [("", "flag"), ("DEFAULT '1'", "flag"), ("DEFAULT TRUE", "flag"), ("DEFAULT '3'", "number")],
)
def test_a_small_number_with_a_large_default_is_no_flag(default: str, kind: str) -> None:
    assert field(first(f"stars TINYINT(1) NOT NULL {default}", "mysql")[0], "stars").kind == kind


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-8"])
def test_files_are_read_by_their_byte_order_mark(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "shop.sql"
    file.write_text(TAGS, encoding)
    done = CliRunner().invoke(app, ["worlds", "from-sql", str(file), "--out", str(tmp_path / "x")])
    assert done.exit_code == 0, done.output


def test_other_files_are_to_be_saved_as_utf_8(tmp_path: Path) -> None:
    file = tmp_path / "shop.sql"
    for data in (TAGS.encode("utf-16-le"), b"\xff" + TAGS.encode(), b"\xff\xfea"):
        file.write_bytes(data)
        done = CliRunner().invoke(app, ["worlds", "from-sql", str(file), "--out", str(tmp_path)])
        assert done.exit_code
        assert "UTF-8" in done.output


def test_a_refusal_names_tables_that_are_dropped() -> None:
    with pytest.raises(SpecError, match="the table tags was left out, since it is dropped later"):
        sql(f"{TAGS}DROP TABLE tags;")


def test_a_digit_in_a_name_is_the_reason() -> None:
    _, notes = sql(TAGS + TAGS.replace("tags", "oauth2_clients"))
    assert notes == ["left out: oauth2_client, since its name has a digit"]
