"""The tools of the calendar."""

from datetime import datetime, timedelta
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from provegym.kernel import Denied, Label, Rejected, Time

from .state import (
    OFFSETS,
    Answer,
    Attendee,
    Calendar,
    Diary,
    Event,
    Frequency,
    Occurrence,
    Room,
    Scope,
    series,
    server,
)

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
    found = diary.between(since or diary.now, days)
    return [row for row in found if title.lower() in row.title.lower()]


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
def list_event_invitations(diary: Diary, /, answer: Answer = "pending") -> list[Event]:
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
    found = [room for room in diary.rooms if name.lower() in room.name.lower()]
    if free_at is not None:
        taken = [row.room_id for row in diary.occurrences if row.starts <= free_at < row.ends]
        found = [room for room in found if room.id not in taken]
    return found


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
    busy = diary.taken(people, since, days=5)
    length = timedelta(minutes=minutes)
    first = since.replace(minute=0, second=0, microsecond=0)
    slots = []
    for half_hour in range(5 * 48):
        starts = first + timedelta(minutes=30 * half_hour)
        ends = starts + length
        if starts < since:
            continue
        all_at_work = all(person.works(starts, ends) for person in people)
        if all_at_work and not any(row.starts < ends and row.ends > starts for row in busy):
            slots.append(Slot(starts, ends))
    return slots


@server.read
def list_event_notifications(diary: Diary, /, title: str = "") -> list[Occurrence]:
    """List the calendar events the user has been reminded of.

    Args:
        title: Only events whose title contains this.
    """
    reminded = [row for row in diary.occurrences if row.reminded_at]
    return [row for row in reminded if title.lower() in row.title.lower()]


@server.write
def create_calendar_event(
    diary: Diary,
    /,
    calendar_id: str,
    title: Label,
    starts: Time,
    minutes: Length,
    attendee_ids: Ids | None = None,
    repeat: Frequency | None = None,
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
    calendar = diary.calendars[calendar_id]
    if calendar.kind == "shared":
        raise Denied(f"{calendar.name} is only shared with you; use a calendar of your own")
    diary.require_soon(starts)
    me = diary.me
    local = starts + OFFSETS[me.zone]
    if repeat == "monthly" and local.day > 28:
        raise Rejected("a monthly series must start on one of the first 28 days of a month")
    local_times = series(local, repeat, interval, count)
    event = diary.schedule(
        [at - OFFSETS[me.zone] for at in local_times],
        minutes,
        calendar_id=calendar_id,
        title=title,
        organiser_id=me.id,
        organiser_name=me.name,
        repeat=repeat,
        interval=interval if repeat else 1,
    )
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
        starts: New start of that time, e.g. "2026-03-02T14:00:00Z"; following ones move along,
            monthly ones within their months and their first 28 days.
        minutes: New length in minutes.
    """
    if not (title or starts or minutes):
        raise Rejected("nothing would change; give a new title, start or length")
    times = diary.chosen(occurrence_id, scope)
    old = times[0]
    event = diary.events[old.event_id]
    shift = starts - old.starts if starts else timedelta(0)
    length = timedelta(minutes=minutes) if minutes else old.ends - old.starts
    if starts:
        diary.require_soon(starts)
    for row in times:
        diary.occurrences.update(
            row.id,
            title=title or row.title,
            starts=row.starts + shift,
            ends=row.starts + shift + length,
            remind_at=row.remind_at + shift if row.remind_at else None,
        )
    if title and not (scope == "this" and event.repeat):
        diary.events.update(event.id, title=title)
    if starts or minutes:
        asked_again = tuple(replace(invitee, answer="pending") for invitee in event.invitees)
        diary.events.update(event.id, invitees=asked_again)
    diary.keep_month_days(event, times)
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
    diary.invite(diary.events[event_id], attendee_id)
    return diary.hold(event_id)


@server.write(destructive=True)
def remove_invitee(diary: Diary, /, event_id: str, attendee_id: str) -> Event:
    """Take back a person's invitation to a calendar event to come that the user organises.

    Args:
        event_id: The event, e.g. "evt_2210".
        attendee_id: Who is no longer invited, e.g. "att_310".
    """
    diary.own(event_id)
    event = diary.events[event_id]
    person = diary.attendees[attendee_id]
    if event.said(person.id) is None:
        raise Rejected(f"{person.name} is not invited to {event.title!r}; its details say who is")
    others = tuple(invitee for invitee in event.invitees if invitee.attendee_id != person.id)
    return diary.events.update(event_id, invitees=others)


@server.write(idempotent=True)
def answer_event_invitation(diary: Diary, /, event_id: str, answer: Answer) -> Event:
    """Answer somebody's invitation to a calendar event to come; declining turns its reminder off.

    Args:
        event_id: The event, e.g. "evt_2210".
        answer: What the user says; "pending" takes an answer back.
    """
    event = diary.events[event_id]
    times = diary.coming(event_id)
    me = diary.me
    if event.said(me.id) is None:
        raise Rejected(
            f"you are not invited to {times[0].title!r}; list_event_invitations shows what is"
        )
    if answer == "declined":
        for row in times:
            diary.occurrences.update(row.id, remind_at=None)
    invitees = tuple(
        replace(invitee, answer=answer) if invitee.attendee_id == me.id else invitee
        for invitee in event.invitees
    )
    return diary.events.update(event_id, invitees=invitees)


@server.write(idempotent=True)
def set_event_reminder(diary: Diary, /, event_id: str, minutes: Lead | None = None) -> Occurrence:
    """Remind the user each time before a calendar event to come, unless they declined it.

    Args:
        event_id: The event, e.g. "evt_2210".
        minutes: How long before the start; if left out, the reminder is turned off.
    """
    times = diary.coming(event_id)
    event = diary.events[event_id]
    if event.said(diary.me.id) == "declined":
        raise Rejected(f"you have declined {event.title!r}; accept it to be reminded")
    lead = timedelta(minutes=minutes or 0)
    if times[0].starts - lead <= diary.now:
        raise Rejected(f"{event.title!r} starts at {times[0].starts}; choose fewer minutes")
    for row in times:
        remind_at = row.starts - lead if minutes else None
        diary.occurrences.update(row.id, remind_at=remind_at)
    return diary.occurrences[times[0].id]


@server.write(idempotent=True)
def book_meeting_room(diary: Diary, /, event_id: str, room_id: str | None = None) -> Occurrence:
    """Book a meeting room for all times to come of a calendar event that the user organises.

    Args:
        event_id: The event, e.g. "evt_2210".
        room_id: A room that is free and large enough, e.g. "rom_77"; if left out, it is given back.
    """
    times = diary.own(event_id)
    room = diary.rooms[room_id] if room_id else None
    for row in times:
        diary.occurrences.update(row.id, room_id=room.id if room else None)
    diary.hold(event_id)
    return diary.occurrences[times[0].id]
