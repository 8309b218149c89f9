"""Sessions: calls, failures that leave no trace, forks, resets, diffs and pages."""

import dataclasses
import gc
import sys
import weakref
from asyncio import CancelledError
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel.shelf import Book, books_of, server, shelf_of
from provegym.kernel import Bug, Seed, Session
from provegym.kernel.errors import MAX_ERROR, shorten
from provegym.kernel.session import MAX_RESULT_BYTES

BOOK = {"title": "Reeds", "price": 12.5, "kind": "novel"}


def test_a_call_answers_with_json() -> None:
    outcome = Session([server]).call("add_book", BOOK)
    assert outcome.ok
    assert outcome.value["title"] == "Reeds"
    assert '"price":12.50' in outcome.text


def test_arguments_may_be_an_object_or_json_text() -> None:
    texts = {
        Session([server]).call("add_book", given).text
        for given in (
            BOOK,
            '{"title":"Reeds","price":12.5,"kind":"novel"}',
            b'{"title":"Reeds","price":12.5,"kind":"novel"}',
        )
    }
    assert len(texts) == 1


def test_an_unknown_tool_is_not_found_and_the_nearest_is_named() -> None:
    outcome = Session([server]).call("add_bok", BOOK)
    assert outcome.error == "not_found"
    assert outcome.value["message"] == "unknown tool 'add_bok'; did you mean 'add_book'?"


def test_a_long_error_loses_its_middle() -> None:
    assert shorten("no such book") == "no such book"
    message = shorten(f"no such book: {'x' * 60_000}; see list_books")
    assert len(message) <= MAX_ERROR
    assert message.startswith("no such book: xxx")
    assert message.endswith("xxx; see list_books")


def test_a_failed_call_leaves_no_trace() -> None:
    session = shelf_of(*({"title": f"t{n}"} for n in range(10)))
    before = session.digest(), list(books_of(session).keys()), books_of(session)._next
    outcome = session.call("add_book", BOOK)
    assert outcome.error == "rejected"
    assert (session.digest(), list(books_of(session).keys()), books_of(session)._next) == before
    assert session.diff() == []
    assert session.changes("add_book") == []


def test_a_read_that_writes_is_a_bug_and_leaves_no_trace() -> None:
    session = Session([server])
    before = session.digest()
    with pytest.raises(Bug, match="peek is marked as a read, but it wrote"):
        session.call("peek", {})
    assert session.digest() == before


def test_an_unexpected_exception_is_a_bug_that_names_its_cause_and_leaves_no_trace() -> None:
    session = Session([server], 4)
    before, keys = session.digest(), list(books_of(session).keys())
    with pytest.raises(Bug, match=r"^shelf: crash raised ZeroDivisionError: ") as caught:
        session.call("crash", {})
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert (session.digest(), list(books_of(session).keys())) == (before, keys)
    assert session.call("list_books", {}).ok


@pytest.mark.parametrize("error", [KeyboardInterrupt, CancelledError])
def test_an_interrupt_leaves_no_trace_and_is_no_bug(error: type[BaseException]) -> None:
    def interrupt(*_: object) -> None:
        raise error

    session = Session([server])
    before = session.digest()
    interrupted = dataclasses.replace(server.tools["add_book"], function=interrupt)
    session._tools = {"add_book": (interrupted, server)}
    with pytest.raises(error):
        session.call("add_book", BOOK)
    assert session.digest() == before


def test_an_oversized_result_is_a_bug_and_leaves_no_trace() -> None:
    session = Session([server])
    before = session.digest()
    with pytest.raises(Bug, match="at most 4096"):
        session.call("shout", {"length": 5_000})
    assert session.digest() == before
    assert session.call("shout", {"length": 4_000}).ok
    assert session.digest() != before


def test_what_one_call_changed() -> None:
    session = Session([server])
    made = session.call("add_book", BOOK).value["id"]
    (change,) = session.changes("add_book")
    assert (change.table, change.key, change.before) == ("books", made, None)
    session.call("remove_book", {"book_id": made})
    (change,) = session.changes("remove_book")
    assert (change.key, change.after) == (made, None)
    assert session.diff() == []
    session.call("list_books", {})
    assert session.changes("list_books") == []


def test_forks_and_resets() -> None:
    session = Session([server], 2)
    fresh = session.digest()
    session.call("add_book", BOOK)
    once = session.digest()
    twin = session.fork()
    third = twin.fork()
    twin.call("add_book", BOOK)
    session.reset()
    assert session.digest() == fresh
    assert third.digest() == once
    assert len({fresh, once, twin.digest()}) == 3
    twin.reset()
    assert twin.digest() == fresh


def test_a_hand_made_world_is_shared_by_forks_and_survives_a_reset() -> None:
    session = shelf_of({"title": "mine"})
    twin = session.fork()
    twin.call("remove_book", {"book_id": next(iter(books_of(twin).keys()))})
    twin.reset()
    assert [book.title for book in books_of(twin)] == ["mine"]
    assert session.digest() == twin.digest()


def test_the_diff_costs_what_changed_and_not_what_there_is() -> None:
    assert diff_lines(20) == diff_lines(1_500)


def diff_lines(size: int) -> int:
    """How many lines of Python a diff and a digest take in a world of this size."""
    session = shelf_of(*({"title": f"t{n}"} for n in range(size)))
    books = books_of(session)
    books.update(next(iter(books.keys())), title="changed")
    count = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        session.diff()
        session.digest()
    finally:
        sys.settrace(before)
    return count


SIZES = st.lists(st.integers(1, 3_800), max_size=45)


@settings(max_examples=60)
@given(SIZES, st.integers(1, 20))
def test_paging_yields_every_row_once(sizes: list[int], limit: int) -> None:
    session = shelf_of(*({"title": "x" * size} for size in sizes))
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        outcome = session.call("list_books", {"limit": limit, "offset": offset})
        page = outcome.value
        assert len(outcome.text.encode()) <= MAX_RESULT_BYTES
        assert page["total"] == len(sizes)
        assert page["items"] or not sizes
        assert len(page["items"]) <= limit
        seen += [item["id"] for item in page["items"]]
        offset = page.get("next_offset")
        assert offset is None or offset == len(seen)
    assert seen == list(books_of(session).keys())


@pytest.mark.parametrize(
    "sizes", [(5_000,), (5_000, 10), (10, 5_000), (3_000, 6_000), (10, 20, 9_000)]
)
def test_an_item_no_page_can_hold_is_a_bug_on_the_page_that_meets_it(
    sizes: tuple[int, ...],
) -> None:
    session = shelf_of(*({"title": "x" * size} for size in sizes))
    with pytest.raises(Bug, match="at most 4096"):
        page_through(session, len(sizes))


def page_through(session: Session, calls: int) -> None:
    """Follow next_offset for so many calls."""
    offset = 0
    for _ in range(calls):
        offset = session.call("list_books", {"offset": offset}).value["next_offset"]


def test_a_page_beyond_the_end_is_empty() -> None:
    page = shelf_of({"title": "one"}).call("list_books", {"offset": 5}).value
    assert page == {"items": [], "total": 1, "offset": 5}


def test_equal_seeds_are_one_world_and_different_seeds_are_not() -> None:
    assert Session([server], 3).digest() == Session([server], 3).digest()
    assert Session([server], 3).digest() != Session([server], 4).digest()
    assert Seed(3, "shelf").random.random() != Seed(3, "other").random.random()


def test_check_asserts_invariants() -> None:
    session = shelf_of({"title": "odd", "pages": -1})
    books = books_of(session)
    with pytest.raises(AssertionError):
        session.check()
    books.put(Book(id=next(iter(books.keys())), title="even", pages=1))
    session.check()


def test_a_session_that_is_let_go_is_gone_at_once() -> None:
    """Sessions come and go by the million; none may wait for the garbage collector."""
    session = shelf_of({"title": "one"})
    twin = session.fork()
    outcome = twin.call("remove_book", {"book_id": next(iter(books_of(twin).keys()))})
    state = weakref.ref(twin.state(server))
    gc.disable()
    try:
        del twin
        assert outcome.ok
        assert state() is None
    finally:
        gc.enable()
