"""What results so far tell about a value."""

from provegym.language.identity import is_understood
from provegym.servers import load

CARD = {"id": "crd_1", "last_digits": "1078", "account_id": "acc_5"}


def is_known(value: str, marks: set[str], *results: object) -> bool:
    """Whether results of reads without arguments tell what a value stands for."""
    made = [({}, result) for result in results]
    return is_understood(load("banking"), made, value, frozenset(marks))


def test_a_key_is_understood_beside_its_name() -> None:
    assert is_known("crd_1", {"1078"}, {"items": [CARD], "total": 1})
    assert not is_known("crd_2", {"1078"}, {"items": [CARD], "total": 1})
    assert not is_known("crd_1", {"1079"}, {"items": [CARD], "total": 1})


def test_a_key_is_understood_through_a_thing_that_an_earlier_result_names() -> None:
    account = {"id": "acc_5", "name": "Household"}
    assert is_known("crd_1", {"household"}, {"items": [account]}, {"items": [CARD]})
    assert not is_known("crd_1", {"household"}, {"items": [CARD]})


def test_one_id_of_several_in_a_list_tells_nothing() -> None:
    street = {"name": "Amber Avenue", "segment_ids": ["crd_1", "crd_2"]}
    assert not is_known("crd_1", {"amber avenue"}, street)
    assert is_known("crd_1", {"amber avenue"}, {**street, "segment_ids": ["crd_1"]})
