"""What can be done with the calendar."""

from datetime import datetime, timedelta
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from provegym.kernel import Denied, Label, Rejected, Time

from . import state as kept
from .state import OFFSETS, Attendee, Calendar, Diary, Event, Occurrence, Room, Scope, server

Days = Annotated[int, Meta(ge=1, le=62)]
Length = Annotated[int, Meta(ge=5, le=720)]
Lead = Annotated[int, Meta(ge=1, le=10_080)]
Ids = Annotated[list[str], Meta(max_length=8)]


class Slot(Struct, frozen=True):
    """A stretch of time."""

    starts: datetime
    ends: datetime


@server.read
def list_calendars(diary: Diary, /, name: str = "") -> list[Calendar]:
    """List the calendars the user sees; shared ones can only be read.

    Args:
        name: Only calendars whose name contains this.
    """
    return [calendar for calendar in diary.calendars if name.lower() in calendar.name.lower()]


@server.read
def list_calendar_events(
    diary: Diary, /, title: str = "", since: Time | None = None, days: Days = 14
) -> list[Occurrence]:
    """List calendar events by start, each time of a series by itself; cancelled ones left out.

    Args:
        title: Only events whose title contains this.
        since: From when on, e.g. "2026-03-02T00:00:00Z"; now if left out.
        days: How many days to look at.
    """
    name, found = title.lower(), diary.between(since or diary.now, days)
    return [row for row in found if name in row.title.lower()]


@server.read
def get_calendar_event(diary: Diary, /, event_id: str) -> Event:
    """Show one calendar event: its calendar, organiser, rule, invitees and their answers.

    Args:
        event_id: The event, e.g. "evt_2210".
    """
    return diary.events[event_id]


@server.read
def list_attendees(diary: Diary, /, name: str = "") -> list[Attendee]:
    """List the people who can be invited to calendar events, with their time zones.

    Args:
        name: Only people whose name contains this.
    """
    return [person for person in diary.attendees if name.lower() in person.name.lower()]


@server.read
def list_event_invitations(diary: Diary, /, answer: kept.Answer = "pending") -> list[Event]:
    """List the calendar events that others invite the user to, by what the user answered.

    Args:
        answer: The user's answer; "pending" are those not answered yet.
    """
    me = diary.me.id
    return [event for event in diary.events if event.said(me) == answer]


@server.read
def list_meeting_rooms(diary: Diary, /, name: str = "", free_at: Time | None = None) -> list[Room]:
    """List meeting rooms with their seats, if need be only those free at a certain time.

    Args:
        name: Only rooms whose name contains this.
        free_at: Only rooms that are free at this time, e.g. "2026-03-02T14:00:00Z".
    """
    taken = [r.room_id for r in diary.occurrences if free_at and r.starts <= free_at < r.ends]
    found = [room for room in diary.rooms if room.id not in taken]
    return [room for room in found if name.lower() in room.name.lower()]


@server.read
def list_busy_times(diary: Diary, /, attendee_id: str, since: Time, days: Days = 1) -> list[Slot]:
    """List when a person is busy by the calendar, without saying with what.

    Args:
        attendee_id: The person, e.g. "att_310".
        since: From when on, e.g. "2026-03-02T00:00:00Z".
        days: How many days to look at.
    """
    person = diary.attendees[attendee_id]
    return [Slot(row.starts, row.ends) for row in diary.taken([person], since, days)]


@server.read
def find_free_slots(diary: Diary, /, attendee_ids: Ids, minutes: Length, since: Time) -> list[Slot]:
    """Find when the user and others are all free from nine to five their time, within five days.

    Args:
        attendee_ids: The others, e.g. ["att_310"].
        minutes: How long it shall be.
        since: From when on, after now, e.g. "2026-03-02T00:00:00Z".
    """
    diary.require_soon(since)
    people = [diary.me, *(diary.attendees[attendee_id] for attendee_id in attendee_ids)]
    busy, first = diary.taken(people, since, 5), since.replace(minute=0, second=0, microsecond=0)
    starts = [first + timedelta(minutes=30 * half) for half in range(5 * 48)]
    slots = [Slot(at, at + timedelta(minutes=minutes)) for at in starts if at >= since]
    slots = [s for s in slots if all(person.works(s.starts, s.ends) for person in people)]
    return [s for s in slots if not any(b.starts < s.ends and b.ends > s.starts for b in busy)]


@server.read
def list_event_notifications(diary: Diary, /, title: str = "") -> list[Occurrence]:
    """List the calendar events the user has been reminded of.

    Args:
        title: Only events whose title contains this.
    """
    return [t for t in diary.occurrences if t.reminded_at and title.lower() in t.title.lower()]


@server.write
def create_calendar_event(
    diary: Diary,
    /,
    calendar_id: str,
    title: Label,
    starts: Time,
    minutes: Length,
    attendee_ids: Ids | None = None,
    repeat: kept.Frequency | None = None,
    interval: Annotated[int, Meta(ge=1, le=12)] = 1,
    count: Annotated[int, Meta(ge=2, le=30)] = 10,
) -> Event:
    """Put an event or a series on a calendar of the user's own and invite people to it.

    Args:
        calendar_id: A work or private calendar, e.g. "cal_4021".
        title: What to call it.
        starts: When it starts, or first starts, within a year, e.g. "2026-03-02T14:00:00Z".
        minutes: How long it lasts.
        attendee_ids: Whom to invite besides the user, e.g. ["att_310"].
        repeat: How it repeats, if it does; monthly from one of the first 28 days only.
        interval: Every how many days, weeks or months it repeats.
        count: How many times it takes place, if it repeats.
    """
    calendar, me = diary.calendars[calendar_id], diary.me
    if calendar.kind == "shared":
        raise Denied(f"{calendar.name} is only shared with you; use a calendar of your own")
    diary.require_soon(starts)
    local = starts + OFFSETS[me.zone]
    if repeat == "monthly" and local.day > 28:
        raise Rejected("a monthly series must start on one of the first 28 days of a month")
    times = [at - OFFSETS[me.zone] for at in kept.series(local, repeat, interval, count)]
    who = {"organiser_id": me.id, "organiser_name": me.name, "calendar_id": calendar_id}
    rule = {"repeat": repeat, "interval": interval if repeat else 1}
    event = diary.schedule(times, minutes, title=title, **who, **rule)
    for attendee_id in attendee_ids or ():
        event = diary.invite(event, attendee_id)
    return event


@server.write
def update_calendar_event(
    diary: Diary,
    /,
    occurrence_id: str,
    scope: Scope = "this",
    title: Label | None = None,
    starts: Time | None = None,
    minutes: Length | None = None,
) -> Occurrence:
    """Rename or move a calendar event that the user organises; moving it asks all invitees again.

    Args:
        occurrence_id: One time of the event, not begun yet, e.g. "occ_2210".
        scope: In a series, change this time only or all the following ones as well.
        title: New title.
        starts: New start of that time, e.g. "2026-03-02T14:00:00Z"; following ones move along.
        minutes: New length in minutes.
    """
    if not (title or starts or minutes):
        raise Rejected("nothing would change; give a new title, start or length")
    times = diary.chosen(occurrence_id, scope)
    old, event = times[0], diary.events[times[0].event_id]
    shift = (starts or old.starts) - old.starts
    length = timedelta(minutes=minutes) if minutes else old.ends - old.starts
    diary.require_soon(old.starts + shift)
    for row in times:
        at, remind_at = row.starts + shift, row.remind_at and row.remind_at + shift
        new = {"title": title or row.title, "starts": at, "ends": at + length}
        diary.occurrences.update(row.id, remind_at=remind_at, **new)
    asked = (replace(i, answer="pending") if starts or minutes else i for i in event.invitees)
    name = event.title if times[0].exception else title or event.title
    diary.events.update(event.id, invitees=tuple(asked), title=name)
    diary.hold(event.id)
    return diary.occurrences[occurrence_id]


@server.write(destructive=True)
def cancel_calendar_event(diary: Diary, /, occurrence_id: str, scope: Scope = "this") -> Occurrence:
    """Cancel a calendar event to come that the user organises; its room becomes free.

    Args:
        occurrence_id: One time of the event, not begun yet, e.g. "occ_2210".
        scope: In a series, cancel this time only or all the following ones as well.
    """
    for row in diary.chosen(occurrence_id, scope):
        diary.occurrences.update(row.id, status="cancelled", remind_at=None, room_id=None)
    return diary.occurrences[occurrence_id]


@server.write
def invite_attendee(diary: Diary, /, event_id: str, attendee_id: str) -> Event:
    """Invite one more person to a calendar event the user organises; its room needs a seat left.

    Args:
        event_id: The event, e.g. "evt_2210".
        attendee_id: Whom to invite, e.g. "att_310".
    """
    diary.own(event_id)
    return diary.hold(diary.invite(diary.events[event_id], attendee_id).id)


@server.write(destructive=True)
def remove_invitee(diary: Diary, /, event_id: str, attendee_id: str) -> Event:
    """Take back a person's invitation to a calendar event to come that the user organises.

    Args:
        event_id: The event, e.g. "evt_2210".
        attendee_id: Who is no longer invited, e.g. "att_310".
    """
    diary.own(event_id)
    event, person = diary.events[event_id], diary.attendees[attendee_id]
    if event.said(person.id) is None:
        raise Rejected(f"{person.name} is not invited to {event.title!r}; its details say who is")
    others = tuple(invitee for invitee in event.invitees if invitee.attendee_id != person.id)
    return diary.events.update(event_id, invitees=others)


@server.write(idempotent=True)
def answer_event_invitation(diary: Diary, /, event_id: str, answer: kept.Answer) -> Event:
    """Answer somebody's invitation to a calendar event to come; declining turns its reminder off.

    Args:
        event_id: The event, e.g. "evt_2210".
        answer: What the user says; "pending" takes an answer back.
    """
    event, me, title = diary.events[event_id], diary.me.id, diary.coming(event_id)[0].title
    if event.said(me) is None:
        raise Rejected(f"you are not invited to {title!r}; list_event_invitations shows what is")
    asked = tuple(replace(i, answer=answer) if i.attendee_id == me else i for i in event.invitees)
    for row in diary.coming(event_id) if answer == "declined" else ():
        diary.occurrences.update(row.id, remind_at=None)
    return diary.events.update(event_id, invitees=asked)


@server.write(idempotent=True)
def set_event_reminder(diary: Diary, /, event_id: str, minutes: Lead | None = None) -> Occurrence:
    """Remind the user each time before a calendar event to come, unless they declined it.

    Args:
        event_id: The event, e.g. "evt_2210".
        minutes: How long before the start; if left out, the reminder is turned off.
    """
    times, event = diary.coming(event_id), diary.events[event_id]
    if event.said(diary.me.id) == "declined":
        raise Rejected(f"you have declined {event.title!r}; accept it to be reminded")
    lead = timedelta(minutes=minutes or 0)
    if times[0].starts - lead <= diary.now:
        raise Rejected(f"{event.title!r} starts at {times[0].starts}; choose fewer minutes")
    for row in times:
        diary.occurrences.update(row.id, remind_at=row.starts - lead if lead else None)
    return diary.occurrences[times[0].id]


@server.write(idempotent=True)
def book_meeting_room(diary: Diary, /, event_id: str, room_id: str | None = None) -> Occurrence:
    """Book a meeting room for all times to come of a calendar event that the user organises.

    Args:
        event_id: The event, e.g. "evt_2210".
        room_id: A room that is free and large enough, e.g. "rom_77"; if left out, it is given back.
    """
    for row in (times := diary.own(event_id)):
        diary.occurrences.update(row.id, room_id=diary.rooms[room_id].id if room_id else None)
    diary.hold(event_id)
    return diary.occurrences[times[0].id]
