"""What results so far tell about a value."""

from provegym.kernel import Session
from provegym.language.identity import is_understood, marks_of
from provegym.language.things import survey
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


def test_a_key_that_is_named_is_not_meant_by_a_name_of_something_else() -> None:
    """A stock is named too, and there is an order for it in the portfolio."""
    session = Session([load("trading")], 7)
    found = survey(session, "trading")
    order = session.call("list_trade_orders", {}).value["items"][0]
    portfolio, stock = found.things[order["portfolio_id"]], found.things[order["symbol"]]
    of_stock = (stock.names[0], stock.key)
    named = [of_stock, (portfolio.names[0], portfolio.key)]
    assert list(marks_of(portfolio.key, named, found)) == [portfolio.marks(portfolio.names[0])]
    assert list(marks_of(stock.key, named, found)) == [stock.marks(stock.names[0])]
