"""The calendar's rules, told on a diary of a few events."""

from datetime import datetime, timedelta

import pytest

from provegym.kernel import Seed
from provegym.servers.calendar import server
from provegym.servers.calendar.state import Diary, Event, Occurrence
from servers.desk import Desk


class Office(Desk[Diary]):
    """Ines, who acts, Bo and Cem; two rooms; a one-off, a series and an invitation."""

    def __init__(self) -> None:
        super().__init__(server, Diary(Seed(0)))
        diary = self.world
        self.ines = diary.attendees.add(name="Ines Falk", zone="Berlin", me=True)
        self.bo = diary.attendees.add(name="Bo Lind", zone="Berlin")
        self.cem = diary.attendees.add(name="Cem Aydin", zone="Tokyo")
        self.small = diary.rooms.add(name="Fjord", seats=2)
        self.large = diary.rooms.add(name="Aspen", seats=9)
        self.work = diary.calendars.add(name="Work", kind="work")
        self.team = diary.calendars.add(name="Design Team", kind="shared")
        self.monday = midnight(diary.now) + timedelta(days=7 - diary.now.weekday())
        self.review = self.plan("Review", 9, 1)
        self.standup = self.plan("Stand-up", 8, 3, repeat="daily")
        self.council = self.plan("Council", 13, 1, organiser=self.bo)
        diary.invite(self.council, self.ines.id)
        self.start()

    def plan(self, title: str, hour: int, count: int, **fields: object) -> Event:
        """An event from next Monday on, at an hour of UTC."""
        organiser = fields.pop("organiser", self.ines)
        who = {"organiser_id": organiser.id, "organiser_name": organiser.name}  # type: ignore[attr-defined]
        start = self.monday + timedelta(hours=hour)
        times = [start + timedelta(days=number) for number in range(count)]
        calendar = {"calendar_id": self.work.id, "title": title}
        return self.world.schedule(times, 60, **calendar, **who, **fields)

    def lunch(self, **changes: object) -> dict[str, object]:
        """The arguments of a new event on Monday afternoon."""
        starts = self.monday + timedelta(hours=15)
        usual = {"calendar_id": self.work.id, "title": "Lunch", "starts": starts, "minutes": 30}
        return usual | changes

    def times(self, event: Event) -> list[Occurrence]:
        """The times of an event, by start."""
        return sorted(self.state.occurrences.where(event_id=event.id), key=lambda row: row.starts)


def midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0)


@pytest.fixture
def office() -> Office:
    return Office()


def test_a_series_has_as_many_times_as_were_asked_for(office: Office) -> None:
    series = office.lunch(repeat="weekly", interval=2, count=4)
    event = office.done("create_calendar_event", **series)
    starts = [row.starts for row in office.state.occurrences.where(event_id=event["id"])]
    assert [(start - starts[0]).days for start in starts] == [0, 14, 28, 42]


def test_a_monthly_series_keeps_its_day_and_starts_by_the_28th(office: Office) -> None:
    early = (office.monday + timedelta(days=40)).replace(day=28, hour=23)
    first = office.lunch(repeat="monthly", starts=early - timedelta(days=3))
    assert "first 28 days" not in office.call("create_calendar_event", **first).text
    late = office.monday.replace(month=1 if office.monday.month > 1 else 3, day=31)
    late = late.replace(year=office.monday.year + (late < office.monday))
    office.rejected(
        "create_calendar_event", "first 28 days", **office.lunch(repeat="monthly", starts=late)
    )


def test_a_day_is_counted_where_the_user_is(office: Office) -> None:
    """Half past eleven in the evening of the 28th in UTC is the 29th in Berlin."""
    at = (office.monday + timedelta(days=62)).replace(day=28, hour=23, minute=30)
    office.rejected("create_calendar_event", **office.lunch(repeat="monthly", starts=at))


def test_nothing_is_added_to_a_shared_calendar(office: Office) -> None:
    office.denied("create_calendar_event", **office.lunch(calendar_id=office.team.id))


def test_an_event_starts_after_now_and_within_a_year(office: Office) -> None:
    for days in (-1, 400):
        starts = office.state.now + timedelta(days=days)
        office.rejected("create_calendar_event", "within a year", **office.lunch(starts=starts))


def test_a_failed_invitation_leaves_no_event(office: Office) -> None:
    office.rejected(
        "create_calendar_event", **office.lunch(attendee_ids=[office.bo.id, office.ines.id])
    )
    assert len(office.state.events) == 3


def test_only_the_organiser_changes_an_event(office: Office) -> None:
    row = office.times(office.council)[0]
    for tool, more in (
        ("update_calendar_event", {"occurrence_id": row.id, "title": "Jury"}),
        ("cancel_calendar_event", {"occurrence_id": row.id}),
        ("invite_attendee", {"event_id": office.council.id, "attendee_id": office.cem.id}),
        ("book_meeting_room", {"event_id": office.council.id, "room_id": office.large.id}),
    ):
        office.denied(tool, "only the organiser Bo Lind", **more)


def test_one_day_of_a_series_moves_alone(office: Office) -> None:
    first, second, third = office.times(office.standup)
    moved = second.starts + timedelta(hours=2)
    office.done("update_calendar_event", occurrence_id=second.id, starts=moved)
    rows = office.times(office.standup)
    assert [row.starts for row in rows] == [first.starts, moved, third.starts]
    assert [row.exception for row in rows] == [False, True, False]


def test_the_rest_of_a_series_moves_together(office: Office) -> None:
    first, second, third = office.times(office.standup)
    later = second.starts + timedelta(hours=1)
    given = {"occurrence_id": second.id, "scope": "following", "title": "Huddle"}
    office.done("update_calendar_event", starts=later, **given)
    rows = office.times(office.standup)
    assert [
        row.starts - old.starts for row, old in zip(rows, (first, second, third), strict=True)
    ] == [timedelta(0), timedelta(hours=1), timedelta(hours=1)]
    assert [row.title for row in rows] == ["Stand-up", "Huddle", "Huddle"]
    assert office.state.events[office.standup.id].title == "Huddle"


def test_a_monthly_series_moves_within_its_months(office: Office) -> None:
    first = (office.monday + timedelta(days=40)).replace(day=20, hour=12)
    event = office.done("create_calendar_event", **office.lunch(starts=first, repeat="monthly"))
    row = office.state.occurrences.where(event_id=event["id"])[0]
    given = {"occurrence_id": row.id, "scope": "following"}
    next_month = (first + timedelta(days=20)).replace(day=3)
    for starts in (first.replace(day=29), next_month):
        office.rejected("update_calendar_event", "first 28 days", starts=starts, **given)
    office.done("update_calendar_event", starts=first.replace(day=28), **given)
    rows = office.state.occurrences.where(event_id=event["id"])
    assert {row.starts.day for row in rows} == {28}
    office.done("update_calendar_event", occurrence_id=row.id, starts=next_month)


def test_what_is_years_ahead_can_be_renamed_with_its_series(office: Office) -> None:
    yearly = office.lunch(repeat="monthly", interval=12, count=3)
    yearly["starts"] = (office.monday + timedelta(days=40)).replace(day=20)
    event = office.done("create_calendar_event", **yearly)
    last = office.state.occurrences.where(event_id=event["id"])[-1]
    office.done("update_calendar_event", occurrence_id=last.id, title="Gala")
    office.done(
        "update_calendar_event", occurrence_id=last.id, scope="following", title="Long Lunch"
    )
    assert office.state.events[event["id"]].title == "Long Lunch"


def test_moving_asks_every_invitee_again(office: Office) -> None:
    office.done("invite_attendee", event_id=office.review.id, attendee_id=office.bo.id)
    row = office.times(office.review)[0]
    office.done("update_calendar_event", occurrence_id=row.id, minutes=90)
    assert office.state.events[office.review.id].said(office.bo.id) == "pending"
    office.rejected("update_calendar_event", "nothing would change", occurrence_id=row.id)


def test_what_has_begun_or_is_cancelled_cannot_change(office: Office) -> None:
    first, second, _ = office.times(office.standup)
    office.done("cancel_calendar_event", occurrence_id=second.id)
    office.rejected("cancel_calendar_event", "cancelled or has begun", occurrence_id=second.id)
    office.wait(int((first.starts - office.state.now) / timedelta(minutes=1)) + 5)
    office.rejected("cancel_calendar_event", "cancelled or has begun", occurrence_id=first.id)


def test_cancelling_the_rest_of_a_series_frees_its_room(office: Office) -> None:
    office.done("book_meeting_room", event_id=office.standup.id, room_id=office.large.id)
    second = office.times(office.standup)[1]
    office.done("cancel_calendar_event", occurrence_id=second.id, scope="following")
    rows = office.times(office.standup)
    assert [row.status for row in rows] == ["confirmed", "cancelled", "cancelled"]
    assert [row.room_id for row in rows] == [office.large.id, None, None]


def test_a_room_is_never_booked_twice(office: Office) -> None:
    office.done("book_meeting_room", event_id=office.standup.id, room_id=office.large.id)
    office.done("book_meeting_room", event_id=office.review.id, room_id=office.large.id)
    row = office.times(office.review)[0]
    earlier = row.starts - timedelta(minutes=30)
    office.rejected(
        "update_calendar_event",
        "Aspen is taken by 'Stand-up'",
        occurrence_id=row.id,
        starts=earlier,
    )


def test_a_room_has_a_seat_for_everybody(office: Office) -> None:
    office.done("invite_attendee", event_id=office.review.id, attendee_id=office.bo.id)
    office.done("book_meeting_room", event_id=office.review.id, room_id=office.small.id)
    given = {"event_id": office.review.id, "attendee_id": office.cem.id}
    office.rejected("invite_attendee", "Fjord seats 2", **given)
    office.done("book_meeting_room", event_id=office.review.id)
    office.done("invite_attendee", **given)
    office.rejected(
        "book_meeting_room", "Fjord seats 2", event_id=office.review.id, room_id=office.small.id
    )


def test_free_rooms_are_those_with_no_event_then(office: Office) -> None:
    office.done("book_meeting_room", event_id=office.review.id, room_id=office.large.id)
    at = office.monday + timedelta(hours=9)
    free = office.done("list_meeting_rooms", free_at=at)["items"]
    assert [room["name"] for room in free] == ["Fjord"]
    assert office.done("list_meeting_rooms", free_at=at + timedelta(hours=1))["total"] == 2


def test_nobody_is_invited_twice_and_only_invitees_are_removed(office: Office) -> None:
    given = {"event_id": office.review.id, "attendee_id": office.bo.id}
    office.rejected("remove_invitee", "not invited", **given)
    office.done("invite_attendee", **given)
    office.rejected("invite_attendee", "already", **given)
    office.done("remove_invitee", **given)
    assert office.state.events[office.review.id].invitees == ()


def test_the_user_answers_what_they_are_invited_to(office: Office) -> None:
    pending = office.done("list_event_invitations")["items"]
    assert [event["title"] for event in pending] == ["Council"]
    office.done("answer_event_invitation", event_id=office.council.id, answer="accepted")
    assert office.done("list_event_invitations")["total"] == 0
    office.rejected(
        "answer_event_invitation", "not invited", event_id=office.review.id, answer="declined"
    )


def test_reminders_go_off_before_each_time(office: Office) -> None:
    office.done("set_event_reminder", event_id=office.standup.id, minutes=30)
    office.wait(days=12)
    told = office.done("list_event_notifications")["items"]
    gaps = [at(row["starts"]) - at(row["reminded_at"]) for row in told]
    assert gaps == [timedelta(minutes=30)] * 3


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_a_reminder_moves_with_its_event(office: Office) -> None:
    office.done("set_event_reminder", event_id=office.review.id, minutes=30)
    row = office.times(office.review)[0]
    later = row.starts + timedelta(days=1)
    office.done("update_calendar_event", occurrence_id=row.id, starts=later)
    assert office.times(office.review)[0].remind_at == later - timedelta(minutes=30)


def test_declined_and_late_reminders_are_refused(office: Office) -> None:
    office.done("set_event_reminder", event_id=office.council.id, minutes=5)
    office.done("answer_event_invitation", event_id=office.council.id, answer="declined")
    assert office.times(office.council)[0].remind_at is None
    office.rejected("set_event_reminder", "declined", event_id=office.council.id, minutes=5)
    soon = office.state.now + timedelta(minutes=20)
    event = office.done("create_calendar_event", **office.lunch(starts=soon))
    office.rejected("set_event_reminder", "fewer", event_id=event["id"], minutes=60)


def test_only_sure_answers_make_people_busy(office: Office) -> None:
    given = {"attendee_id": office.ines.id, "since": office.monday}
    assert office.done("list_busy_times", **given)["total"] == 2
    office.done("answer_event_invitation", event_id=office.council.id, answer="tentative")
    assert office.done("list_busy_times", **given)["total"] == 3


def test_free_slots_keep_to_everybodys_office_hours(office: Office) -> None:
    given = {"minutes": 60, "since": office.monday}
    slots = office.done("find_free_slots", attendee_ids=[office.bo.id], **given)["items"]
    starts = [slot["starts"][11:16] for slot in slots[:5]]
    assert starts == ["10:00", "10:30", "11:00", "11:30", "12:00"]
    assert office.done("find_free_slots", attendee_ids=[office.cem.id], **given)["total"] == 0
