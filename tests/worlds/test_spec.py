"""A spec that is wrong is refused with one sentence that says where and why."""

import re
from pathlib import Path
from typing import Any, get_args

import pytest

from provegym.kernel import Session
from provegym.verify.server_contract import faults
from provegym.worlds import SpecError, build, parse, read
from provegym.worlds.build import asks_of
from provegym.worlds.plain import MAX_BYTES
from provegym.worlds.spec import FieldKind, OperationKind, Rule, convert
from worlds.editing import GONE, edited, server_of
from worlds.mutants import LIBRARY

LEND, LOAN, ITEM = "operations/lend_item", "entities/loan", "entities/item"
OUT = {"change": "$row", "set": {"status": "overdue"}}

# Path, new value, and a part of the sentence.
WRONG: list[tuple[str, Any, str]] = [
    # Names
    ("name", "tool/library", "is no name of a world"),
    ("name", "../x", "is no name of a world"),
    ("category", "a/b", "a category"),
    ("entities/item/name", "Item", "a name has a-z"),
    ("entities/item/name", "now", "not a reserved word"),
    (f"{ITEM}/fields/shelf/name", "class", "not a reserved word"),
    (f"{ITEM}/fields/shelf/name", "name", "'name' 2 times"),
    (f"{LEND}/tool", "lend-item", "no name of a tool"),
    (f"{LEND}/tool", "list_items", "'list_items' 2 times"),
    (f"{LEND}/arguments/days/name", "limit", "not a reserved word"),
    (f"{LEND}/arguments/days/name", "item_id", "'item_id' 2 times"),
    (f"{ITEM}/prefix", "mbr", "'mbr' 2 times"),
    (f"{ITEM}/prefix", "I", "2 to 8 letters"),
    ("entities/tag/name", "items", "there is no entity 'tag'"),
    # Sizes
    (f"{ITEM}/count", 1_000_000, "at most 400 records"),
    (f"{ITEM}/most", 1_000_000, "most from 1 to 2000"),
    (f"{ITEM}/count", -1, "count is from 0"),
    ("past/0/times", 5_000, "at most 400 calls"),
    ("past/0/times", -1, "not a tool that writes"),
    ("days", 5_000, "0 to 1000 days"),
    ("days", -1, "0 to 1000 days"),
    (f"{ITEM}/fields", [], "it has no fields"),
    (f"{ITEM}/fields", [{"name": f"f{n}", "kind": "flag"} for n in range(30)], "at most 24"),
    ("operations", [], "at least one entity and one operation"),
    ("lists/brand", ["a"] * 500, "at most 400 texts"),
    # Fields
    (f"{LOAN}/fields/item_id/to", "tool", "there is no entity 'tool'"),
    (f"{LOAN}/fields/item_name/to", "item_id.title", "item has no field 'title'"),
    (f"{LOAN}/fields/item_name/to", "status.name", "must copy a field"),
    (f"{LOAN}/fields/item_name/to", "item_id", "must copy a field"),
    (f"{ITEM}/fields/status/weights", [1, 2], "one number per value"),
    (f"{ITEM}/fields/status/weights", [0, 0, 0], "not all 0"),
    (f"{ITEM}/fields/status/weights", [-1, 2, 3], "not negative"),
    (f"{ITEM}/fields/status/values", ["on_loan", "on_loan"], "'on_loan' 2 times"),
    (f"{ITEM}/fields/status/values", GONE, "an enum has values"),
    (f"{ITEM}/fields/status/share", 1.5, "share is from 0 to 1"),
    (f"{ITEM}/fields/deposit/low", 90, "low is above high"),
    (f"{ITEM}/fields/deposit/low", GONE, "belong together"),
    (f"{ITEM}/fields/deposit/high", 1e8, "between"),
    (f"{ITEM}/fields/deposit/step", 0, "a step is at least"),
    (f"{ITEM}/fields/shelf/low", 1, "belong together"),
    (f"{ITEM}/fields/shelf/words", [], "its words are missing"),
    (f"{ITEM}/fields/shelf/words", ["{rooms}"], "no word list 'rooms'"),
    (f"{ITEM}/fields/shelf/words", ["{brand"], "a brace is open"),
    (f"{ITEM}/fields/shelf/words", [" "], "a text is empty"),
    (f"{ITEM}/fields/shelf/words", ["x" * 300], "longer than 160"),
    (f"{ITEM}/fields/shelf/exactly", 3, "`exactly` is for a flag"),
    (f"{ITEM}/fields/name/words", ["Drill", "Saw"], "2 names for 22 records"),
    ("entities/branch/fields/opened_on/low", -90_000, "between"),
    ("entities/branch/fields/budget/start", "much", "an amount of money is needed"),
    ("lists/brand", ["{thing}"], ""),
    ("lists/brand", ["{brand}"], "names itself"),
    ("lists/thing", ["{brand}{brand}" * 20], "longer than 80 characters"),
    ("lists/me", ["x"], "not a reserved word"),
    ("lists/person", ["x"], "not called person or me"),
    (f"{ITEM}/refer", ["the {colour} one"], "names a field 'colour'"),
    # Arguments
    (f"{LEND}/arguments/days/kind", GONE, "needs `of`, `kind` or `filter`"),
    (f"{LEND}/arguments/days/about", "", "says what it is"),
    (f"{LEND}/arguments/days/low", 50, "low is above high"),
    (f"{LEND}/arguments/days/low", 0.5, "are whole"),
    (f"{LEND}/arguments/days/high", 1e8, "between"),
    (f"{LEND}/arguments/days/default", "x", "is not a number that the argument allows"),
    (f"{LEND}/arguments/days/default", 500, "is not a number that the argument allows"),
    (f"{LEND}/arguments/days/make", [500], "is not a number that the argument allows"),
    (f"{LEND}/arguments/days/make", {"days": [1, 2]}, "`make` of a date"),
    (f"{LEND}/arguments/days/filter", "name", "only a search filters"),
    ("operations/add_note/arguments/text/make", ["{rust}"], "no word list 'rust'"),
    ("operations/add_note/arguments/text/make", ["{me}"], "`make` has no {me}"),
    ("lists/brand", ["{me}"], "a word list has no {me}"),
    (f"{LEND}/arguments/item_id/of", "tool", "there is no entity 'tool'"),
    (f"{LEND}/arguments/item_id/kind", "text", "has no kind"),
    ("operations/list_items/arguments/name/filter", "title", "item has no field 'title'"),
    ("operations/list_items/arguments/name/filter", GONE, "filters by a field or has tests"),
    ("operations/list_loans/arguments/member_id/of", "item", "does not hold the id of a item"),
    ("operations/list_tags/arguments/checked/tests", [], "filters by a field or has tests"),
    ("operations/list_tags/arguments/checked/default", GONE, "with default = false"),
    ("operations/list_tags/arguments/fragile/test", "least", "least and most are for"),
    ("operations/list_tags/arguments/fragile/test", "on", "is for the day of a time"),
    ("operations/list_tags/arguments/checked/required", True, "`required` is for a filter"),
    (f"{LEND}/arguments/days/required", True, "`required` is for a filter"),
    ("operations/tag_item/arguments/first_check/make", {"days": [9, 2]}, "first to a last day"),
    ("operations/tag_item/arguments/first_check/make", {"days": [9]}, "[first, last]"),
    # Reads
    ("operations/list_tags/order", "size", "tag has no field 'size'"),
    ("operations/get_member/joins/loans/by", "status", "does not point to a member"),
    ("operations/get_member/joins/loans/by", "holder", "loan has no field 'holder'"),
    ("operations/get_member/joins/loans/entity", "rent", "there is no entity 'rent'"),
    ("operations/get_member/joins/loans/name", "quota", "'quota' 2 times"),
    ("operations/get_member/arguments", [], "a get has one argument"),
    ("operations/count_branch/figures", [], "a report has figures"),
    ("operations/count_branch/figures/fees/sum", "member.name", "cannot be summed up"),
    ("operations/count_branch/figures/fees/sum", "member.size", "no field 'size'"),
    ("operations/count_branch/figures/fees/sum", GONE, "either a count or a sum"),
    (
        "operations/count_branch/figures/tags/where",
        {"branch_id": 5},
        "the id of a branch is needed",
    ),
    ("operations/list_tags/guards", [{"rule": "owner", "says": "no"}], "has no let, guards"),
    # Guards and formulas
    (f"{LEND}/guards/0/of", "$item_id.state", "item has no field 'state'"),
    (f"{LEND}/guards/0/of", "$tool.status", "there is no 'tool' here"),
    (f"{LEND}/guards/0/of", "$days.status", "only a record has fields"),
    (f"{LEND}/guards/0/is", "broken", "it is never 'broken'"),
    (f"{LEND}/guards/0/is", ["available", "broken"], "it is never 'broken'"),
    (f"{LEND}/guards/0/is", 5, "where one of available, on_loan, in_repair is needed"),
    (f"{LEND}/guards/0/is", GONE, "a test has one of"),
    (f"{LEND}/guards/0/says", "", "`says` is missing"),
    (f"{LEND}/guards/0/says", "{item_id.colour} is not", "item has no field 'colour'"),
    (f"{LEND}/guards/0/says", "{item_id.name is out", "a brace is open"),
    (f"{LEND}/guards/0/count", "loan", "exactly one of"),
    (f"{LEND}/guards/2/count", "rent", "there is no entity 'rent'"),
    (f"{LEND}/guards/2/where/status", ["out", "lost"], "it is never 'lost'"),
    (f"{LEND}/guards/2/where/size", 3, "loan has no field 'size'"),
    (f"{LEND}/guards/2/under", "$member_id.name", "cannot be compared"),
    (f"{LEND}/guards/2/under", [1, 2], "Expected `"),
    (f"{LEND}/guards/2/under", GONE, "a test has one of"),
    (f"{LEND}/guards/2/rule", "magic", "Invalid enum value"),
    (f"{LEND}/guards/0/of", "$item_id.deposit + $now", "makes no sense"),
    (f"{LEND}/guards/0/of", "=1 +", "not complete"),
    (f"{LEND}/guards/0/of", "=sqrt(4)", "is no function"),
    (f"{LEND}/guards/0/of", "=__import__('os')", "cannot read the formula"),
    (f"{LEND}/guards/0/of", "=" + "(" * 50, "not complete or too deep"),
    (f"{LEND}/guards/0/of", "=1" + " + 1" * 60, "at most 200 characters"),
    (f"{LEND}/guards/0/of", "=" + "9" * 40, "is too large"),
    (f"{LEND}/guards/0/of", "=" + "9" * 40 + "d", "is too large"),
    (f"{LEND}/guards/0/is", "$nothing", "cannot be compared with nothing"),
    # Lets
    ("operations/tag_item/let/check_at/name", "item_id", "already a value 'item_id'"),
    ("operations/tag_item/let/check_at/first", "item", "exactly one of"),
    ("operations/tag_item/let/check_at/otherwise", "soon", "but otherwise"),
    ("operations/tag_item/let/check_at/when", [], "`otherwise` needs `when`"),
    # Effects
    (f"{LEND}/effects", [], "has at least one effect"),
    (f"{LEND}/effects/0/add", "rent", "a reserve adds a loan"),
    (f"{LEND}/effects/0/add", "member", "a reserve adds a loan"),
    (f"{LEND}/effects/0/set/due_at", GONE, "loan.due_at is not set and has no start"),
    (f"{LEND}/effects/0/set/due_at", "$days", "where a time is needed"),
    (f"{LEND}/effects/0/set/status", "gone", "it is never 'gone'"),
    (f"{LEND}/effects/0/set/item_name", "Drill", "is a copy"),
    (f"{LEND}/effects/0/set/item_id", "$member_id", "where the id of a item is needed"),
    (f"{LEND}/effects/0/set/item_id", "itm_1", "where the id of a record is needed"),
    (f"{LEND}/effects/0/set/id", "itm_1", "the id of a record is never set"),
    (f"{LEND}/effects/1/change", "$days", "where a record is needed"),
    (f"{LEND}/effects/1/set", {}, "sets no field"),
    (f"{LEND}/effects/1/each", "item", "exactly one of add, change, remove and each"),
    (f"{LEND}/effects/0/when", [{"of": 1, "is": 1}], "has no `when`"),
    ("operations/return_item/returns", "fee", "there is no 'fee' here"),
    ("operations/move_budget/returns", "amount", "cannot be returned"),
    ("operations/assign_branch/returns", "member_id", "cannot be returned"),
    ("operations/rename_item/kind", "cancel", "sets an enum field"),
    ("operations/rename_item/kind", "transfer", "changes two records"),
    ("operations/rename_item/kind", "create", "adds a item"),
    ("operations/rename_item/kind", "fly", "Invalid enum value"),
    ("operations/remove_item/effects/0/remove", "$nobody", "removes the item of an argument"),
    # Events and invariants
    ("events/0/at", "checks", "is not a time"),
    ("events/0/at", "size", "tag has no field 'size'"),
    ("events/0/entity", "rent", "there is no entity 'rent'"),
    ("events/0/effects/0/set/next_check", "$now", "again and again"),
    ("events/0/effects/0/set/next_check", "$row.next_check + 30d", "again and again"),
    ("events/0/effects/0/set/next_check", "$now + 1h", "again and again"),
    ("events/0/effects/0/set/next_check", "$now + 1d", "come back too often"),
    ("events/1/effects/0/set/status", "out", "again and again"),
    ("events/1/effects/0/when", [{"of": 1, "is": 1}], "again and again"),
    ("events/1/effects", [{"remove": "$row"}], ""),
    ("events/+", {**OUT, "entity": "loan"}, "unknown field"),
    ("invariants/0/entity", "rent", "there is no entity 'rent'"),
    ("invariants/0/of", "$row.debts", "member has no field 'debts'"),
    ("invariants/1/only", {"status": "lost"}, "it is never 'lost'"),
    # The past
    ("past/0/tool", "fly", "not a tool that writes"),
    ("past/0/tool", "list_items", "not a tool that writes"),
    ("past/0/given", {"colour": ["red"]}, "has no argument 'colour'"),
    ("past/0/given", {"days": [900]}, "is not a number that the argument allows"),
    # Words
    (f"{LEND}/asks", ["Lend {tool}."], "names an argument 'tool'"),
    (f"{LEND}/asks", ["Lend {item_id."], "a brace is open"),
    (f"{LEND}/asks", ["Lend[ {item_id}."], "brackets do not come in pairs"),
    (f"{LEND}/asks", ["Lend {item_id}. => status"], "asks for a write"),
    (f"{LEND}/short", {"colour": ["x"]}, "`short` leaves out 'colour'"),
    (f"{LEND}/did", {"days": {"none": "x"}, "item_id": {"else": "y"}}, "one name"),
    (f"{LEND}/did", {"days": "x"}, "chooses by values"),
    (f"{LEND}/did", 5, "Expected `str | object`"),
    (f"{LEND}/told", {"colour": "x"}, "it has no 'colour'"),
    (f"{LEND}/told", {"says": "x"}, "a list of clauses"),
    (f"{LEND}/told", {"says": [{"a": "x", "b": "y"}]}, "one name"),
    (f"{LEND}/told", {"each": 5}, "a list of texts"),
    ("operations/list_items/asks", ["Where is it?"], "which field answers it"),
    ("operations/list_items/asks", ["Where is it? => "], "which field answers it"),
    ("operations/list_items/asks", ["Where is it? => place"], "asks for 'place'"),
    ("words/refer", ["x"], "no table of words"),
    ("words/slots", {"a": {"b": "c"}}, "a list of texts"),
    ("words/say", {"a": {"b": ["{open"]}}, "a brace is open"),
    ("words/say", {"a": "b"}, "a table is needed"),
    ("words/question", {"a": 5}, "a list of texts"),
    ("words/question", {"a": ["Which one?"]}, ""),
    ("words/relation", {"loan_id": "the loan of {}"}, ""),
    ("words/near", {"a": {"to": "b"}}, "to, field and percent"),
    ("words/near", {"a": {"to": "b", "field": "c", "percent": [5, 1]}}, "to, field and percent"),
    ("words/new", {"a": {"days": [5, 1]}}, "days = [first, last]"),
    ("words/new", {"a": [[1]]}, "a list of values"),
    ("words/parts", {"a": {"b": 5}}, "a list of texts"),
    ("words/colours", {"a": "b"}, "no table of words"),
    ("words/kin", ["banking"], "no table of words"),
    # Plain data
    ("about", "two\nlines", "on one line"),
    ("about", "a" * 500, "at most 400 characters"),
    ("about", "bell \x07", "control characters"),
    ("days", 10**30, "a number is between"),
    ("days", float("nan"), "a number is between"),
    ("days", float("inf"), "a number is between"),
    ("nonsense", 1, "unknown field `nonsense`"),
    ("version", 0, "version from 1"),
    ("words/say", {"a": [[[[[[[[[[[[[[[["b"]]]]]]]]]]]]]]]]}, "nested too deeply"),
    ("words/say", {"a": [["b"]]}, "a table is needed"),
]


@pytest.mark.parametrize(("path", "value", "says"), WRONG)
def test_a_wrong_spec_is_refused_in_a_sentence(path: str, value: Any, says: str) -> None:
    if not says:
        server_of((path, value)).world(0)
        return
    with pytest.raises(SpecError) as refused:
        server_of((path, value))
    sentence = str(refused.value)
    assert says in sentence
    assert "\n" not in sentence
    assert len(sentence) < 600


TWICE = {"entity": "loan", "at": "due_at", "where": {"status": "overdue"}}


@pytest.mark.parametrize(
    ("edits", "says"),
    [
        (
            [("events/+", {**TWICE, "effects": [{"change": "$row", "set": {"status": "out"}}]})],
            "events 2 and 3 could start each other",
        ),
        (
            [
                (f"{ITEM}/fields/+", {"name": "loan_id", "kind": "reference", "to": "loan"}),
                (f"{ITEM}/count", 0),
            ],
            "item, loan, note, tag need each other",
        ),
        (
            [
                ("entities/branch/fields/+", {"name": "a", "kind": "copy", "to": "member_id.b"}),
                ("entities/member/count", 0),
                (
                    "entities/member/fields/+",
                    {"name": "branch_id", "kind": "reference", "to": "branch", "empty": True},
                ),
                ("entities/member/fields/+", {"name": "b", "kind": "copy", "to": "branch_id.a"}),
            ],
            "leads in a circle",
        ),
        (
            [
                (f"{ITEM}/fields/+", {"name": f"t{n}", "kind": "text", "empty": True})
                for n in range(20)
            ],
            "",
        ),
        (
            [
                (f"{LOAN}/fields/+", {"name": f"c{n}", "kind": "copy", "to": "item_id.name"})
                for n in range(12)
            ],
            "bytes",
        ),
        (
            [
                ("events/1/effects", [{"remove": "$row"}]),
                (
                    "entities/tag/fields/+",
                    {"name": "loan_id", "kind": "reference", "to": "loan", "empty": True},
                ),
            ],
            "cannot remove what a tag points to",
        ),
    ],
)
def test_circles_and_excess_are_refused(edits: list[tuple[str, Any]], says: str) -> None:
    if not says:
        assert faults(server_of(*edits), calls=150) == []
        return
    with pytest.raises(SpecError, match=says):
        server_of(*edits)


def test_a_spec_is_toml_or_json_or_neither() -> None:
    spec = read(LIBRARY)
    again = convert(edited())
    assert spec == again
    assert spec.hash() == again.hash()
    assert spec.hash() != convert(edited(("days", 31))).hash()
    with pytest.raises(SpecError, match="neither TOML nor JSON"):
        parse("name = ")
    with pytest.raises(SpecError, match="neither TOML nor JSON"):
        parse('{"name": ')
    with pytest.raises(SpecError, match="neither TOML nor JSON"):
        parse(b"\xff\xfe")
    with pytest.raises(SpecError, match="missing required field"):
        parse("")


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    large = tmp_path / "large.toml"
    with large.open("wb") as file:
        file.truncate(MAX_BYTES * 1_000)
    with pytest.raises(SpecError, match="at most 400000 bytes"):
        read(large)
    with pytest.raises(SpecError, match="is not a file"):
        read(tmp_path)
    with pytest.raises(SpecError, match="is not a file"):
        read(tmp_path / "missing.toml")
    with pytest.raises(SpecError, match="is not a file"):
        read(Path("/dev/zero"))


def test_the_library_keeps_the_contract_and_has_words() -> None:
    spec = read(LIBRARY)
    server = build(spec)
    assert faults(server, calls=600, seeds=(0, 1, 2)) == []
    asks = asks_of(spec)
    assert asks["call"] == {"item": "tool"}
    assert asks["new"]["_brand"] == list(spec.lists["brand"])
    assert asks["new"]["rename_item.name"] == ["{_brand} Hammer"]
    assert asks["slots"] == {"fees_owed": "fees"}
    assert set(asks["asks"]) == set(server.tools)


def test_what_a_record_is_stands_in_the_output_schema() -> None:
    server = server_of((f"{ITEM}/about", "A tool that members borrow."))
    schema = server.tools["rename_item"].output_schema
    assert schema["description"] == "A tool that members borrow."
    assert Session([server], 0).call("list_items", {}).ok


def page() -> str:
    """The page that describes the format."""
    return (Path(__file__).parents[2] / "docs" / "worlds.md").read_text("utf-8")


def test_the_example_in_the_documents_is_a_world() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", page(), re.DOTALL)
    server = build(parse(example))
    assert faults(server, calls=150) == []
    assert server.world(0).size() > 15


def test_the_documents_name_every_kind_and_rule() -> None:
    tables = "\n".join(line.split("|")[1] for line in page().splitlines() if line.startswith("|"))
    named = set(re.findall(r"`(\w+)`", tables))
    assert named >= {*get_args(FieldKind), *get_args(OperationKind), *get_args(Rule)}
