"""Time is state: it moves when told to, and what is due happens at its own moment."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernel.shelf import Shelf, server, shelf_of
from provegym.kernel import Bug, Seed, Session, State
from provegym.servers import load

NOW = Seed(0).now
MINUTES = st.integers(0, 600)


def due_in(*minutes: int) -> Session:
    """A shelf whose books are due after so many minutes."""
    return shelf_of(*({"title": f"b{m}", "due": NOW + timedelta(minutes=m)} for m in minutes))


def noted(session: Session) -> list[str]:
    """When the books that fell due did so."""
    state = session.state(server)
    assert isinstance(state, Shelf)
    return [note.text for note in state.notes]


def test_events_fire_in_order_and_see_their_own_time() -> None:
    session = due_in(90, 30, 60, 500)
    session.digest()
    session.advance(120)
    assert noted(session) == [(NOW + timedelta(minutes=m)).isoformat() for m in (30, 60, 90)]
    assert session.now == NOW + timedelta(minutes=120)


def test_an_event_fires_at_the_very_minute_and_once() -> None:
    session = due_in(30)
    session.digest()
    session.advance(29)
    assert noted(session) == []
    session.advance(1)
    session.advance(0)
    session.advance(60)
    assert noted(session) == [(NOW + timedelta(minutes=30)).isoformat()]


def test_what_was_due_before_happens_now_and_not_in_the_past() -> None:
    session = due_in(-600)
    session.digest()
    session.advance(1)
    assert noted(session) == [NOW.isoformat()]


@settings(max_examples=60)
@given(st.lists(MINUTES, max_size=6), st.lists(MINUTES, max_size=6))
@example([0], [0])
def test_time_adds_up(dues: list[int], splits: list[int]) -> None:
    often, once = due_in(*dues), due_in(*dues)
    often.digest()
    for minutes in splits:
        often.advance(minutes)
    once.advance(sum(splits))
    assert often.digest() == once.digest()
    assert often.diff() == once.diff()


def test_calls_do_not_move_the_clock() -> None:
    session = due_in(30)
    session.call("list_books", {})
    assert session.now == NOW


@pytest.mark.parametrize("minutes", [-1, 366 * 24 * 60 + 1])
def test_time_passes_within_bounds(minutes: int) -> None:
    session = due_in(30)
    before = session.digest()
    with pytest.raises(ValueError, match="minutes"):
        session.advance(minutes)
    assert session.digest() == before


def test_a_world_where_events_never_end_is_a_bug() -> None:
    class Loop(State):
        def next_event(self) -> datetime | None:
            return self.now

    with pytest.raises(Bug, match="more than 200000 events"):
        Loop(Seed(0)).pass_time(5)


def test_the_clock_starts_on_a_weekday_in_office_hours() -> None:
    starts = [Seed(number).now for number in range(200)]
    assert all(start.weekday() < 5 and 9 <= start.hour < 17 for start in starts)
    assert all(start.tzinfo is UTC for start in starts)
    assert len({start.date() for start in starts}) > 100
    assert Seed(7, "banking").now == Seed(7, "email").now


def test_time_passes_on_every_server_or_on_none() -> None:
    session = due_in(30)
    before = session.digest()
    state = session.state(session.servers[0])
    type(state).happen, kept = (lambda _: 1 / 0), type(state).happen  # type: ignore[method-assign]
    try:
        with pytest.raises(Bug, match="letting 60 minutes pass raised ZeroDivisionError: "):
            session.advance(60)
    finally:
        type(state).happen = kept  # type: ignore[method-assign]
    assert session.digest() == before
    assert session.now == NOW


@pytest.mark.parametrize("name", ["trading", "iot_devices", "food_delivery", "marketplace"])
def test_a_world_opened_late_is_the_one_opened_early(name: str) -> None:
    real = load(name)
    early, late, twin = (Session([real], 5) for _ in range(3))
    early.digest()
    for minutes in (45, 0, 600, 1_500):
        early.advance(minutes)
        late.advance(minutes)
        twin.advance(minutes)
    assert late.digest() == early.digest() != Session([real], 5).digest()
    assert late.diff() == early.diff() != []
    late.advance(5_000)
    assert twin.digest() == early.digest(), "worlds of equal age share nothing that can be written"
