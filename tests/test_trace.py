"""Examples and rollouts as lines of JSON: what is written is read again, and nothing else is."""

import json
from pathlib import Path as File
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import pay_example
from provegym.trace import (
    Attempt,
    BadFile,
    Call,
    Claim,
    Example,
    Path,
    Provenance,
    Ref,
    RelationClaim,
    Rollout,
    Step,
    line,
    literals,
    read,
)

DATA = sorted((File(__file__).parent / "data").glob("*.jsonl"))
EXAMPLE = pay_example()
CREATED = Ref(source=(0, "/id"), literal="acc_1")

NUMBERS = st.integers(0, 99)
WORDS = st.text(max_size=5)
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-9, 9) | WORDS


def nested(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """JSON values of any depth, made of these leaves."""
    return st.recursive(
        leaf,
        lambda part: st.lists(part, max_size=2) | st.dictionaries(WORDS, part, max_size=2),
        max_leaves=5,
    )


def objects(leaf: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """JSON objects, such as the arguments of a call."""
    return st.dictionaries(WORDS, nested(leaf), max_size=3)


def tuples(item: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    """Tuples of a few items."""
    return st.lists(item, max_size=3).map(tuple)


REFS = st.builds(Ref, source=st.tuples(NUMBERS, WORDS), literal=nested(SCALARS))
ERRORS = st.sampled_from(["invalid_argument", "not_found", "rejected", "denied"])
ATTEMPTS = st.builds(Attempt, before=NUMBERS, tool=WORDS, arguments=objects(SCALARS), error=ERRORS)
CLAIMS = st.builds(Claim, turn=NUMBERS, tool=WORDS, arguments=objects(SCALARS))
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("made", "persona", "why", "elsewhere", "model", "first_turn_of"), WORDS),
    **dict.fromkeys(("levels", "would_serve"), tuples(WORDS)),
    **dict.fromkeys(("infeasible", "unserved"), st.none() | CLAIMS),
    "slots": tuples(tuples(WORDS)),
    "names": tuples(tuples(st.tuples(WORDS, WORDS))),
    "derived": st.dictionaries(WORDS, WORDS, max_size=3),
    "attempts": tuples(ATTEMPTS),
    "relations": tuples(st.builds(RelationClaim)),
    "tokens": st.none() | NUMBERS,
    "transcript": tuples(objects(SCALARS)),
}


def in_file(tmp_path: File, example: dict[str, Any]) -> Example:
    """An example as it is read from a file."""
    path = tmp_path / "example.jsonl"
    path.write_text(json.dumps(example))
    return next(read(path, Example))


def written(provenance: object = None, argument: object = None) -> dict[str, Any]:
    """An example as JSON, with some provenance and an argument of its first step."""
    told: dict[str, Any] = json.loads(line(EXAMPLE))
    if provenance is not None:
        told["provenance"] = provenance
    if argument is not None:
        told["paths"][0]["steps"][1]["arguments"]["name"] = argument
    return told


@given(st.fixed_dictionaries({}, optional=FIELDS))
def test_provenance_is_read_as_it_was_written(fields: dict[str, Any]) -> None:
    example = msgspec.structs.replace(EXAMPLE, provenance=Provenance(**fields))
    text = line(example)
    again = msgspec.json.decode(text, type=Example)
    assert again == example
    assert line(again) == text
    full = {name for name, value in fields.items() if value not in ("", (), {}, None)}
    assert json.loads(text)["provenance"].keys() == full


def test_every_field_of_provenance_is_tried() -> None:
    assert FIELDS.keys() == set(Provenance.__struct_fields__)


@given(st.dictionaries(WORDS, nested(SCALARS | REFS), max_size=3))
def test_arguments_are_read_as_they_were_written(arguments: dict[str, Any]) -> None:
    step = Step(turn=0, tool="use", arguments=arguments)
    assert step.arguments == arguments
    example = msgspec.structs.replace(EXAMPLE, paths=(Path(steps=(step,)),))
    text = line(example)
    again = msgspec.json.decode(text, type=Example)
    assert again == example
    assert line(again) == text


@pytest.mark.parametrize("path", DATA, ids=lambda path: path.stem)
def test_files_keep_their_bytes(path: File) -> None:
    assert b"".join(line(example) for example in read(path, Example)) == path.read_bytes()


def test_the_files_hold_references() -> None:
    examples = [example for path in DATA for example in read(path, Example)]
    steps = [step for example in examples for path in example.paths for step in path.steps]
    assert any(isinstance(value, Ref) for step in steps for value in step.arguments.values())


def test_a_reference_has_its_own_form_in_files(tmp_path: File) -> None:
    step = Step(turn=0, tool="use", arguments={"ids": [{"deep": CREATED}]})
    form = b'{"ids":[{"deep":{"$from":[0,"/id"],"literal":"acc_1"}}]}'
    assert msgspec.json.encode(step.arguments) == form
    argument = {"few": [{"$from": [0, "/id"], "literal": "acc_1"}], "none": {}}
    held = in_file(tmp_path, written(argument=argument)).paths[0].steps[1].arguments["name"]
    assert held == {"few": [CREATED], "none": {}}


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"$from": 3, "literal": 1}, "Expected `array`, got `int` - at `$.$from`"),
        ({"$from": None, "literal": 1}, "Expected `array`, got `null` - at `$.$from`"),
        ({"$from": [0], "literal": 1}, "Expected `array` of length 2, got 1 - at `$.$from`"),
        ({"$from": ["0", "/id"], "literal": 1}, "Expected `int`, got `str` - at `$.$from[0]`"),
        ({"$from": [0, 7], "literal": 1}, "Expected `str`, got `int` - at `$.$from[1]`"),
        ({"$from": [0, "/id"]}, "missing required field `literal`"),
        ({"$from": [0, "/id"], "literal": 1, "more": 2}, "unknown field `more`"),
    ],
)
def test_a_malformed_reference_is_named(tmp_path: File, value: object, says: str) -> None:
    for argument in (value, [value], {"deep": [value]}):
        with pytest.raises(BadFile) as problem:
            in_file(tmp_path, written(argument=argument))
        told = str(problem.value)
        assert told.startswith(f"{tmp_path / 'example.jsonl'}:1: Malformed reference: ")
        assert says in told
        assert told.endswith("- at `$.paths[0].steps[1]`; correct this line, or take it out")


def test_what_is_nested_too_deeply_is_named(tmp_path: File) -> None:
    path = tmp_path / "deep.jsonl"
    deep = b'[{"a":' * 400 + b"1" + b"}]" * 400
    path.write_bytes(line(EXAMPLE).replace(b'"amount":20', b'"amount":' + deep))
    with pytest.raises(BadFile, match=r"deep\.jsonl:1 is nested too deeply"):
        next(read(path, Example))


@pytest.mark.parametrize(
    ("provenance", "says"),
    [
        ({"fees": 3}, "unknown field `fees` - at `$.provenance`"),
        ({"attempts": [{"before": 0}]}, "field `tool` - at `$.provenance.attempts[0]`"),
        ({"infeasible": {"turn": 0, "mood": 1}}, "field `mood` - at `$.provenance.infeasible`"),
        ({"slots": ["x"]}, "Expected `array`, got `str` - at `$.provenance.slots[0]`"),
        ({"names": [[["x"]]]}, "Expected `array` of length 2"),
    ],
)
def test_provenance_that_is_not_known_is_named(
    tmp_path: File, provenance: object, says: str
) -> None:
    with pytest.raises(BadFile) as problem:
        in_file(tmp_path, written(provenance=provenance))
    assert str(problem.value).startswith(f"{tmp_path / 'example.jsonl'}:1: ")
    assert says in str(problem.value)


def test_literals_stand_in_for_references() -> None:
    arguments = {"id": CREATED, "all": [CREATED, {"deep": CREATED, "plain": 1}], "amount": 20}
    told = {"id": "acc_1", "all": ["acc_1", {"deep": "acc_1", "plain": 1}], "amount": 20}
    assert literals(arguments) == told
    assert arguments["id"] is CREATED


def test_a_step_leaves_the_arguments_it_is_given_alone() -> None:
    given_arguments = {"ids": [{"$from": [0, "/id"], "literal": "acc_1"}]}
    step = Step(turn=0, tool="use", arguments=given_arguments)
    assert step.arguments == {"ids": [CREATED]}
    assert msgspec.structs.replace(step, turn=1).arguments == step.arguments
    assert given_arguments == {"ids": [{"$from": [0, "/id"], "literal": "acc_1"}]}


def test_what_a_model_writes_is_never_a_reference() -> None:
    call = Call(turn=0, message=0, tool="use", arguments={"id": {"$from": "a model"}})
    rollout = Rollout(example=EXAMPLE, policy="model", messages=(), calls=(call,))
    assert msgspec.json.decode(line(rollout), type=Rollout) == rollout
