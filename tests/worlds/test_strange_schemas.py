"""Schemas as tools write them: dumps, migrations, envelopes and odd names; and hostile ones."""

import json
from time import process_time
from typing import Any

import pytest
import sqlglot

from provegym.worlds import from_openapi, from_sql
from provegym.worlds.schemas import lexicon, nouns
from provegym.worlds.schemas.api_document import load
from provegym.worlds.schemas.sql_text import MAX_PARSED
from provegym.worlds.spec import Operation, SpecError, WorldSpec
from worlds.schemas import field

TAGS = "CREATE TABLE tags (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);\n"
SHELF = """
CREATE TABLE shelves (id INTEGER PRIMARY KEY, name TEXT NOT NULL, room INTEGER NOT NULL,
    used INTEGER NOT NULL DEFAULT 0, CHECK (used <= room));
CREATE TABLE boxes (id INTEGER PRIMARY KEY, shelf_id INTEGER NOT NULL REFERENCES shelves(id),
    width INTEGER NOT NULL CHECK (width > 0), slot INTEGER NOT NULL, UNIQUE (shelf_id, slot));
CREATE TRIGGER filled AFTER INSERT ON boxes BEGIN
    UPDATE shelves SET used = used + NEW.width WHERE id = NEW.shelf_id; END;
"""
COUNTED = (
    "CREATE TRIGGER `t` AFTER INSERT ON `seats` FOR EACH ROW BEGIN"
    " UPDATE `halls` SET `taken` = `taken` + 1 WHERE `id` = NEW.`hall_id`; END"
)
HIDDEN = "/*!50003 CREATE*/ /*!50017 DEFINER=`me`@`%`*/ /*!50003 TRIGGER" + COUNTED[14:] + " */;;"
HALLS = """
CREATE TABLE `halls` (`id` INT PRIMARY KEY, `name` TEXT NOT NULL, `taken` INT NOT NULL) ENGINE=x;
CREATE TABLE `seats` (`id` INT PRIMARY KEY, `hall_id` INT NOT NULL REFERENCES `halls` (`id`));
"""


def sql(text: str, dialect: str = "") -> tuple[WorldSpec, list[str]]:
    return from_sql.spec_of(text, "made", dialect)


def tool(spec: WorldSpec, name: str) -> Operation:
    return next(each for each in spec.operations if each.tool == name)


def names(spec: WorldSpec) -> list[str]:
    return [each.name for each in spec.entities]


def test_options_after_the_columns_do_not_hide_a_table() -> None:
    spec, notes = sql(TAGS.replace(");", ") STRICT, WITHOUT ROWID;"))
    assert (names(spec), notes) == (["tag"], [])


def test_data_of_a_dump_does_not_hide_what_follows() -> None:
    copied = "COPY public.tags (id, name) FROM stdin;\n1\tit's; (\n\\.\n"
    spec, _ = sql(f"\ufeff{TAGS}{copied}CREATE TABLE notes (id serial PRIMARY KEY, title text);")
    assert names(spec) == ["tag", "note"]


@pytest.mark.parametrize(
    "script",
    [f"DELIMITER $$\n{COUNTED}$$\nDELIMITER ;\n", f"DELIMITER ;;\n{HIDDEN}\nDELIMITER ;\n"],
)
def test_triggers_are_read_with_any_delimiter_and_as_mysqldump_hides_them(script: str) -> None:
    spec, _ = sql(f"{HALLS}{script}{TAGS}")
    assert tool(spec, "add_seat").effects[1].set == {"taken": "=$hall_id.taken + 1"}
    assert "tag" in names(spec)


def test_migrations_add_drop_and_rename() -> None:
    spec, notes = sql(
        TAGS
        + """CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL, gone_on DATE,
                 tag_id INTEGER NOT NULL REFERENCES tags(id));
             ALTER TABLE notes ADD COLUMN price DECIMAL(8,2) NOT NULL CHECK (price > 1);
             ALTER TABLE notes DROP COLUMN gone_on;
             ALTER TABLE tags RENAME TO labels;
             CREATE TABLE old (id INTEGER PRIMARY KEY, name TEXT); DROP TABLE IF EXISTS old;"""
    )
    assert (names(spec), notes) == (["label", "note"], [])
    note = spec.entities[1]
    assert field(note, "price").kind == "money"
    assert field(note, "tag_id").to == "label"
    assert "gone_on" not in [each.name for each in note.fields]


def test_a_trigger_keeps_a_check_between_columns() -> None:
    add = tool(sql(SHELF)[0], "add_box")
    guards = [(each.rule, each.of, each.most) for each in add.guards]
    assert ("capacity", "=$shelf_id.used + $width", "$shelf_id.room") in guards


def test_a_change_keeps_a_unique_group() -> None:
    changes = [each for each in sql(SHELF)[0].operations if each.tool == "change_box_slot"]
    found = [guard for each in changes for guard in each.guards if guard.rule == "unique"]
    assert [guard.where for guard in found] == [{"shelf_id": "$box_id.shelf_id", "slot": "$slot"}]


def test_a_unique_column_that_may_be_empty_is_guarded_where_it_is_given() -> None:
    text = "CREATE TABLE guests (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT UNIQUE);"
    guards = tool(sql(text)[0], "add_guest").guards
    assert [(each.rule, len(each.when)) for each in guards] == [("unique", 1)]


def test_bounds_of_the_source_count_more_than_those_of_the_lexicon() -> None:
    text = """CREATE TABLE courses (id INTEGER PRIMARY KEY, name TEXT NOT NULL,
                  credits INTEGER NOT NULL CHECK (credits BETWEEN 1 AND 10));"""
    credits = field(sql(text)[0].entities[0], "credits")
    assert (credits.low, credits.high) == (1, 10)
    assert max(lexicon.steps(1, 10, 10)) <= 10


def test_names_lose_accents_and_shared_prefixes() -> None:
    assert nouns.snake("größeÉtage") == "groesse_etage"
    text = "CREATE TABLE {} (id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
    spec, notes = sql("".join(text.format(each) for each in ("wp_users", "wp_posts", "wp_terms")))
    assert (names(spec), notes) == (["user", "post", "term"], [])
    spec, notes = sql(TAGS + text.format('"訂單"'))
    assert notes == ["left out: the table 訂單, since its name has no Latin letters"]


def test_a_circle_is_called_a_circle() -> None:
    _, notes = sql(
        """CREATE TABLE teams (id INT PRIMARY KEY, name TEXT,
               captain_id INT REFERENCES players(id));
           CREATE TABLE players (id INT PRIMARY KEY, name TEXT,
               team_id INT REFERENCES teams(id));"""
    )
    assert [note.partition(", ")[2] for note in notes] == ["since references form a circle"]


def test_a_table_with_very_many_references_fits_into_a_list() -> None:
    places = [f"place_{chr(97 + n)}_id INT NOT NULL REFERENCES tags(id)" for n in range(26)]
    spec, notes = sql(f"{TAGS}CREATE TABLE trips (id INT PRIMARY KEY, {', '.join(places)});")
    assert names(spec) == ["tag", "trip"]
    assert any("too long" in note for note in notes)


@pytest.mark.parametrize(
    "statement",
    [
        f"CREATE TABLE things ({'b INT CHECK (a > 1 AND c < 2), ' * 300},,;\n",
        "ALTER TABLE tags ADD CONSTRAINT x CHECK id > 1 (;\n",
    ],
)
def test_scripts_that_are_slow_to_parse_are_refused(statement: str) -> None:
    """A hostile script takes at most four times as long as parsing the largest ordinary one."""
    start = process_time()
    for _ in range(MAX_PARSED // len(TAGS)):
        sqlglot.parse_one(TAGS)
    ordinary = process_time() - start
    start = process_time()
    with pytest.raises(SpecError, match="leave some of them out"):
        sql(TAGS + statement * min(240, 2_900_000 // len(statement)) * (1 + 200 // len(statement)))
    assert process_time() - start < 4 * ordinary


# API descriptions


def answer(schema: Any) -> dict[str, Any]:
    return {"200": {"content": {"application/json": {"schema": schema}}}}


def api(paths: dict[str, Any], schemas: dict[str, Any]) -> tuple[WorldSpec, list[str]]:
    document = {"openapi": "3.1.0", "paths": paths, "components": {"schemas": schemas}}
    return from_openapi.spec_of(json.dumps(document), "made")


def reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def body(schema: Any) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


def listed(name: str) -> dict[str, Any]:
    return {"get": {"responses": answer({"type": "array", "items": reference(name)})}}


SHOP = {
    "Guest": {"type": "object", "properties": {"id": {}, "name": {"type": "string"}}},
    "Stay": {
        "type": "object",
        "properties": {
            "number": {"type": "string"},
            "guest": {"anyOf": [{"type": "string"}, reference("Guest")]},
            "parent": reference("Stay"),
            "size": {"enum": ["small", "large"]},
            "status": {"type": "string", "enum": ["booked", "checked_in"]},
        },
    },
}


def test_records_among_alternatives_are_references_and_enums_need_no_type() -> None:
    spec, _ = api({"/guests.json": listed("Guest"), "/stays": listed("Stay")}, SHOP)
    stay = next(each for each in spec.entities if each.name == "stay")
    assert (field(stay, "guest_id").to, field(stay, "parent_id").to) == ("guest", "stay")
    assert field(stay, "size").kind == "enum"


def test_verbs_of_two_words_post_to_a_record_and_two_slots_are_understood() -> None:
    paths = {
        "/hotels/{chain}/{hotel}/stays": listed("Stay"),
        "/stays/{id}": {"post": {"requestBody": body(SHOP["Stay"]), "responses": {}}},
        "/stays/{id}/check-in": {"post": {"responses": {}}},
    }
    tools = {each.tool for each in api(paths, SHOP)[0].operations}
    assert {"list_stays", "check_in_stay", "change_stay_size"} <= tools


def test_query_parameters_of_a_path_are_filters() -> None:
    shared = [{"name": "size", "in": "query", "schema": {"type": "string"}}]
    spec, _ = api({"/stays": {"parameters": shared, **listed("Stay")}}, SHOP)
    assert "size" in [each.name for each in tool(spec, "list_stays").arguments]


@pytest.mark.parametrize(
    "envelope",
    [
        {"guest": reference("Guest")},
        {"data": {"type": "object", "properties": {"type": {}, "attributes": reference("Guest")}}},
    ],
)
def test_records_in_envelopes_are_found(envelope: dict[str, Any]) -> None:
    made = {"requestBody": body({"properties": envelope}), "responses": {}}
    spec, _ = api({"/guests": {"post": made, **listed("Guest")}}, SHOP)
    assert [each.name for each in tool(spec, "add_guest").arguments] == ["name"]


def test_a_list_of_nothing_is_no_crash_and_a_refusal_says_why() -> None:
    with pytest.raises(SpecError, match="guest was left out, since"):
        api(
            {"/guests": {"get": {"responses": answer({"properties": {"x": {"type": "array"}}})}}},
            {},
        )


@pytest.mark.parametrize("mark", ["- ", "? ", "[", "{a: "])
def test_deep_yaml_is_refused_before_it_is_built(mark: str) -> None:
    with pytest.raises(SpecError, match="nested too deeply"):
        load(f"openapi: 3.0.0\npaths:\n {mark * 90_000}a")


def test_numbers_of_yaml_are_plain_numbers() -> None:
    text = "openapi: 3.0.0\npaths: {/a: {b: 12:30, c: 010, d: -3, e: 1.5}}"
    assert load(text)["paths"]["/a"] == {"b": "12:30", "c": "010", "d": -3, "e": 1.5}
    start = process_time()
    load(f"openapi: 3.0.0\npaths: {{a: {'1:' * 190_000}1}}")
    assert process_time() - start < 3


def test_wide_schemas_take_no_long_time() -> None:
    parts = range(40)
    wide = {
        f"S{n}": {"properties": {f"p{n}_{at}": {"type": "string"} for at in range(200)}}
        for n in parts
    }
    wide["All"] = {"allOf": [reference(f"S{n}") for n in parts]}
    start = process_time()
    with pytest.raises(SpecError):
        api(
            {f"/thing{chr(97 + n // 26)}{chr(97 + n % 26)}": listed("All") for n in range(300)},
            wide,
        )
    assert process_time() - start < 4
