"""What the calendar knows, how a rule becomes occurrences, and what is always true of it."""

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, Literal, get_args

from msgspec import Struct

from provegym.kernel import Denied, Record, Rejected, Server, State, Table, table

# Zones of our own with offsets that never change, so that no world depends on a zone database.
Zone = Literal["Lisbon", "Berlin", "Athens", "Nairobi", "Mumbai", "Tokyo", "New York", "Denver"]
MINUTES_EAST = (0, 60, 120, 180, 330, 540, -300, -420)
OFFSETS = {z: timedelta(minutes=m) for z, m in zip(get_args(Zone), MINUTES_EAST, strict=True)}
Frequency = Literal["daily", "weekly", "monthly"]
Scope = Literal["this", "following"]
Answer = Literal["pending", "accepted", "tentative", "declined"]
OPENS, CLOSES, YEAR = timedelta(hours=9), timedelta(hours=17), timedelta(days=366)


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
        day = local.replace(hour=0, minute=0)
        return local.weekday() < 5 and day + OPENS <= local <= day + CLOSES - (ends - starts)


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
        return next((i.answer for i in self.invitees if i.attendee_id == attendee_id), None)


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
        title, times = self.events[event_id].title, self.occurrences.where(event_id=event_id)
        times = [row for row in times if row.starts > self.now and row.status == "confirmed"]
        if not times:
            raise Rejected(f"{title!r} is cancelled or has begun; choose an event to come")
        return sorted(times, key=lambda row: row.starts)

    def own(self, event_id: str) -> list[Occurrence]:
        """The times to come of an event that the acting user organises."""
        event = self.events[event_id]
        if event.organiser_id != self.me.id:
            raise Denied(f"only the organiser {event.organiser_name} may change {event.title!r}")
        return self.coming(event_id)

    def chosen(self, occurrence_id: str, scope: Scope) -> list[Occurrence]:
        """The times a change by the organiser is for; a single one of a series is an exception."""
        row = self.occurrences[occurrence_id]
        event, times = self.events[row.event_id], self.own(row.event_id)
        if row not in times:
            raise Rejected(f"{row.title!r} at {row.starts} is cancelled or has begun")
        if scope == "this" and event.repeat:
            return [self.occurrences.update(occurrence_id, exception=True)]
        return times[times.index(row) :]

    def require_soon(self, starts: datetime) -> None:
        """Events start after now and within a year."""
        if not self.now < starts <= self.now + YEAR:
            raise Rejected(f"an event must start within a year after {self.now:%Y-%m-%d %H:%M} UTC")

    def schedule(self, times: list[datetime], minutes: int, **fields: Any) -> Event:
        """Add an event and its times."""
        event, length = self.events.add(**fields), timedelta(minutes=minutes)
        for at in times:
            when = {"starts": at, "ends": at + length}
            self.occurrences.add(event_id=event.id, title=event.title, **when)
        return event

    def hold(self, event_id: str) -> Event:
        """Refuse what was done to an event if its room is now too small or taken twice."""
        event, row = self.events[event_id], self.coming(event_id)[0]
        room, heads = self.rooms.get(row.room_id or ""), 1 + len(event.invitees)
        if room and heads > room.seats:
            raise Rejected(f"{room.name} seats {room.seats}, not {heads}; book a larger room")
        if room and (pair := self.clash(room.id)):
            other = pair[pair[0].event_id == event_id]
            raise Rejected(f"{room.name} is taken by {other.title!r} at {other.starts}")
        return event

    def clash(self, room_id: str) -> tuple[Occurrence, Occurrence] | None:
        """Two events that would be in a room at the same time."""
        times = sorted(self.occurrences.where(room_id=room_id), key=lambda row: row.starts)
        return next((pair for pair in pairwise(times) if pair[1].starts < pair[0].ends), None)

    def invite(self, event: Event, attendee_id: str) -> Event:
        """Ask somebody to an event."""
        person = self.attendees[attendee_id]
        if person.id == event.organiser_id or event.said(person.id):
            raise Rejected(f"{person.name} takes part in {event.title!r} already; invite others")
        asked = (*event.invitees, Invitee(person.id, person.name))
        return self.events.update(event.id, invitees=asked)

    def between(self, since: datetime, days: int) -> list[Occurrence]:
        """What takes place within so many days of a moment, by start."""
        times = [t for t in self.occurrences if t.ends > since and t.status == "confirmed"]
        return sorted((t for t in times if (t.starts - since).days < days), key=lambda t: t.starts)

    def taken(self, people: list[Attendee], since: datetime, days: int) -> list[Occurrence]:
        """What any of these people organise or said yes or maybe to, within so many days."""
        who, sure = [person.id for person in people], ("accepted", "tentative")
        roles = ((e, i) for e in self.events for i in who)
        going = {e.id for e, i in roles if i == e.organiser_id or e.said(i) in sure}
        return [row for row in self.between(since, days) if row.event_id in going]

    def next_event(self) -> datetime | None:
        """Reminders go off."""
        return min((row.remind_at for row in self.occurrences if row.remind_at), default=None)

    def happen(self) -> None:
        """Deliver the reminders that are due."""
        for row in [row for row in self.occurrences if row.remind_at and row.remind_at <= self.now]:
            self.occurrences.update(row.id, remind_at=None, reminded_at=self.now)

    def check(self) -> None:
        """No room holds two events or too many people; nothing dangles; reminders are set right."""
        assert all(self.clash(room.id) is None for room in self.rooms)
        for event in self.events:
            heads = {event.organiser_id, *(invitee.attendee_id for invitee in event.invitees)}
            kind, mine = self.calendars[event.calendar_id].kind, event.organiser_id == self.me.id
            assert not (mine and kind == "shared")
            assert sum(who in self.attendees for who in heads) == 1 + len(event.invitees)
        for row in self.occurrences:
            event, room = self.events[row.event_id], self.rooms.get(row.room_id or "")
            assert event.repeat or not row.exception
            assert row.status == "confirmed" or not room
            assert row.starts <= self.now or not room or len(event.invitees) < room.seats
            assert not row.remind_at or (row.status == "confirmed" and row.remind_at <= row.starts)
            assert not row.remind_at or event.said(self.me.id) != "declined"


def series(first: datetime, repeat: Frequency | None, interval: int, count: int) -> list[datetime]:
    """The starts a rule gives; a monthly one falls on one of the first 28 days."""
    if repeat == "monthly":
        months = [first.year * 12 + first.month - 1 + step * interval for step in range(count)]
        return [first.replace(year=month // 12, month=month % 12 + 1) for month in months]
    days = interval * (7 if repeat == "weekly" else 1)
    return [first + timedelta(days=number * days) for number in range(count if repeat else 1)]


about = "The user's calendars: events, series, invitations, meeting rooms, reminders."
server = Server("calendar", Diary, category="productivity", about=about)
