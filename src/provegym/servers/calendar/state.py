"""The records of the calendar, the times of a series, rules about rooms, invariants."""

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Literal

from msgspec import Struct

from provegym.kernel import Denied, Record, Rejected, Server, State, Table, table

# Zones of our own with offsets that never change, so that no world depends on a zone database.
Zone = Literal["Lisbon", "Berlin", "Athens", "Nairobi", "Mumbai", "Tokyo", "New York", "Denver"]
OFFSETS: dict[Zone, timedelta] = {
    "Lisbon": timedelta(hours=0),
    "Berlin": timedelta(hours=1),
    "Athens": timedelta(hours=2),
    "Nairobi": timedelta(hours=3),
    "Mumbai": timedelta(hours=5, minutes=30),
    "Tokyo": timedelta(hours=9),
    "New York": timedelta(hours=-5),
    "Denver": timedelta(hours=-7),
}
Frequency = Literal["daily", "weekly", "monthly"]
Scope = Literal["this", "following"]
Answer = Literal["pending", "accepted", "tentative", "declined"]
OPENS = timedelta(hours=9)
CLOSES = timedelta(hours=17)
YEAR = timedelta(days=366)


class Calendar(Record, frozen=True):
    """A set of events; to a shared one the acting user adds nothing."""

    id: str
    name: str
    kind: Literal["work", "private", "shared"]


class Attendee(Record, frozen=True):
    """Somebody who can be invited; one of them is the acting user."""

    id: str
    name: str
    zone: Zone
    me: bool = False

    def works(self, starts: datetime, ends: datetime) -> bool:
        """Whether all of a time lies between nine and five of a working day of theirs."""
        local = starts + OFFSETS[self.zone]
        midnight = local.replace(hour=0, minute=0)
        is_working_day = local.weekday() < 5
        starts_in_time = midnight + OPENS <= local
        ends_in_time = local + (ends - starts) <= midnight + CLOSES
        return is_working_day and starts_in_time and ends_in_time


class Room(Record, frozen=True):
    """A meeting room; it holds one event at a time."""

    id: str
    name: str
    seats: int


class Invitee(Struct, frozen=True):
    """Somebody asked to an event, and what they said."""

    attendee_id: str
    attendee_name: str
    answer: Answer = "pending"


class Event(Record, frozen=True):
    """What is to happen, once or by a rule; its times are occurrences."""

    id: str
    calendar_id: str
    title: str
    organiser_id: str
    organiser_name: str
    repeat: Frequency | None = None
    interval: int = 1
    invitees: tuple[Invitee, ...] = ()

    def said(self, attendee_id: str) -> Answer | None:
        """What somebody answered, if they were asked."""
        for invitee in self.invitees:
            if invitee.attendee_id == attendee_id:
                return invitee.answer
        return None

    def takes_time_of(self, attendee_id: str) -> bool:
        """Whether somebody organises the event or said yes or maybe to it."""
        if attendee_id == self.organiser_id:
            return True
        return self.said(attendee_id) in ("accepted", "tentative")


class Occurrence(Record, frozen=True):
    """One time of an event; an exception is one that was changed by itself."""

    id: str
    event_id: str
    title: str
    starts: datetime
    ends: datetime
    room_id: str | None = None
    exception: bool = False
    remind_at: datetime | None = None
    reminded_at: datetime | None = None
    status: Literal["confirmed", "cancelled"] = "confirmed"


class Diary(State):
    """The calendars that one user sees."""

    calendars: Table[Calendar] = table(Calendar, "cal", look_up="list_calendars")
    attendees: Table[Attendee] = table(Attendee, "att", look_up="list_attendees")
    rooms: Table[Room] = table(Room, "rom", look_up="list_meeting_rooms")
    events: Table[Event] = table(Event, "evt", look_up="list_calendar_events")
    occurrences: Table[Occurrence] = table(Occurrence, "occ", look_up="list_calendar_events")

    @property
    def me(self) -> Attendee:
        """The acting user."""
        return next(person for person in self.attendees if person.me)

    def coming(self, event_id: str) -> list[Occurrence]:
        """The times of an event that have not begun, by start; there must be one."""
        event = self.events[event_id]
        times = self.occurrences.where(event_id=event_id, status="confirmed")
        times = [row for row in times if row.starts > self.now]
        if not times:
            raise Rejected(f"{event.title!r} is cancelled or has begun; choose an event to come")
        return sorted(times, key=lambda row: row.starts)

    def own(self, event_id: str) -> list[Occurrence]:
        """The times to come of an event that the acting user organises."""
        event = self.events[event_id]
        if event.organiser_id != self.me.id:
            raise Denied(f"only the organiser {event.organiser_name} may change {event.title!r}")
        return self.coming(event_id)

    def chosen(self, occurrence_id: str, scope: Scope) -> list[Occurrence]:
        """The times that the organiser wants to change; one time of a series is an exception."""
        row = self.occurrences[occurrence_id]
        event = self.events[row.event_id]
        times = self.own(row.event_id)
        if row not in times:
            raise Rejected(f"{row.title!r} at {row.starts} is cancelled or has begun")
        if scope == "this" and event.repeat:
            return [self.occurrences.update(occurrence_id, exception=True)]
        return times[times.index(row) :]

    def require_soon(self, starts: datetime) -> None:
        """Refuse a start that is not after now and within a year."""
        if not self.now < starts <= self.now + YEAR:
            raise Rejected(f"an event must start within a year after {self.now:%Y-%m-%d %H:%M} UTC")

    def schedule(self, times: list[datetime], minutes: int, **fields: Any) -> Event:
        """Add an event with these fields, and an occurrence for each of its times."""
        event = self.events.add(**fields)
        length = timedelta(minutes=minutes)
        for starts in times:
            self.occurrences.add(
                event_id=event.id, title=event.title, starts=starts, ends=starts + length
            )
        return event

    def hold(self, event_id: str) -> Event:
        """Refuse a change to an event if its room is now too small or taken twice."""
        event = self.events[event_id]
        room_id = self.coming(event_id)[0].room_id
        if room_id is None:
            return event
        room = self.rooms[room_id]
        heads = 1 + len(event.invitees)
        if heads > room.seats:
            raise Rejected(f"{room.name} seats {room.seats}, not {heads}; book a larger room")
        pair = self.clash(room.id)
        if pair:
            first, second = pair
            other = second if first.event_id == event_id else first
            raise Rejected(f"{room.name} is taken by {other.title!r} at {other.starts}")
        return event

    def keep_month_days(self, event: Event, before: list[Occurrence]) -> None:
        """Refuse to move a monthly series so that its times fall on different days of the month.

        Days of the month are counted where the organiser is; `before` are the times as they were.
        """
        if event.repeat != "monthly":
            return
        offset = OFFSETS[self.attendees[event.organiser_id].zone]
        for old in before:
            before_move = old.starts + offset
            local = self.occurrences[old.id].starts + offset
            same_month = (local.year, local.month) == (before_move.year, before_move.month)
            if not old.exception and not (same_month and local.day <= 28):
                raise Rejected(
                    "a monthly series stays in its months and on one of their first 28 days; "
                    "move this time only"
                )

    def clash(self, room_id: str) -> tuple[Occurrence, Occurrence] | None:
        """Two occurrences that would be in a room at the same time, if there are any."""
        times = sorted(self.occurrences.where(room_id=room_id), key=lambda row: row.starts)
        for first, second in pairwise(times):
            if second.starts < first.ends:
                return first, second
        return None

    def invite(self, event: Event, attendee_id: str) -> Event:
        """Invite somebody who does not take part yet."""
        person = self.attendees[attendee_id]
        if person.id == event.organiser_id or event.said(person.id):
            raise Rejected(f"{person.name} takes part in {event.title!r} already; invite others")
        invitees = (*event.invitees, Invitee(person.id, person.name))
        return self.events.update(event.id, invitees=invitees)

    def between(self, since: datetime, days: int) -> list[Occurrence]:
        """The occurrences within so many days after a moment, by start."""
        times = [row for row in self.occurrences.where(status="confirmed") if row.ends > since]
        times = [row for row in times if row.starts - since < timedelta(days=days)]
        return sorted(times, key=lambda row: row.starts)

    def taken(self, people: list[Attendee], since: datetime, days: int) -> list[Occurrence]:
        """The occurrences within so many days that take the time of any of these people."""
        taken = []
        for row in self.between(since, days):
            event = self.events[row.event_id]
            if any(event.takes_time_of(person.id) for person in people):
                taken.append(row)
        return taken

    def next_event(self) -> datetime | None:
        """The next thing to happen is a reminder."""
        reminders = [row.remind_at for row in self.occurrences if row.remind_at]
        return min(reminders, default=None)

    def happen(self) -> None:
        """Deliver the reminders that are due."""
        for row in list(self.occurrences):
            if row.remind_at and row.remind_at <= self.now:
                self.occurrences.update(row.id, remind_at=None, reminded_at=self.now)

    def check(self) -> None:
        """Rooms are not taken twice or too small; events and reminders are consistent."""
        for room in self.rooms:
            assert self.clash(room.id) is None
        for event in self.events:
            self._check_event(event)
        for row in self.occurrences:
            self._check_occurrence(row, self.events[row.event_id])

    def _check_event(self, event: Event) -> None:
        attendee_ids = [event.organiser_id, *(invitee.attendee_id for invitee in event.invitees)]
        assert len(set(attendee_ids)) == len(attendee_ids)
        assert all(attendee_id in self.attendees for attendee_id in attendee_ids)
        calendar = self.calendars[event.calendar_id]
        if event.organiser_id == self.me.id:
            assert calendar.kind != "shared"

    def _check_occurrence(self, row: Occurrence, event: Event) -> None:
        if row.exception:
            assert event.repeat
        if row.room_id:
            room = self.rooms[row.room_id]
            assert row.status == "confirmed"
            if row.starts > self.now:
                assert len(event.invitees) < room.seats
        if row.remind_at:
            assert row.status == "confirmed"
            assert row.remind_at <= row.starts
            assert event.said(self.me.id) != "declined"


def series(first: datetime, repeat: Frequency | None, interval: int, count: int) -> list[datetime]:
    """The starts of a series; a monthly one must start on one of the first 28 days of a month."""
    if repeat is None:
        return [first]
    if repeat == "monthly":
        return [_add_months(first, number * interval) for number in range(count)]
    step = timedelta(weeks=interval) if repeat == "weekly" else timedelta(days=interval)
    return [first + number * step for number in range(count)]


def _add_months(moment: datetime, months: int) -> datetime:
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    return moment.replace(year=year, month=month + 1)


about = "The user's calendars: events, series, invitations, meeting rooms, reminders."
server = Server("calendar", Diary, category="productivity", about=about, version=2)
