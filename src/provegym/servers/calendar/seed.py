"""Draws a user's calendars: colleagues, rooms, and a month of events around now."""

from datetime import datetime, timedelta
from random import Random

from provegym.kernel import Seed
from provegym.servers import people, words

from .state import OFFSETS, Answer, Diary, Event, Frequency, Invitee, series, server

WORDS = words("calendar")
ANSWERS: tuple[Answer, ...] = ("accepted", "accepted", "tentative", "declined", "pending")
REPEATS: tuple[Frequency | None, ...] = (None, None, None, "daily", "weekly", "monthly")
# "asked" are events that somebody else invites the user to; "shared" are those of other people.
ROLES = ["work"] * 17 + ["asked"] * 14 + ["shared"] * 13 + ["private"] * 9


@server.seed
def draw(seed: Seed) -> Diary:
    """Draw five calendars, colleagues in several zones, rooms, and events of every kind."""
    diary = Diary(seed)
    chance = seed.random
    _draw_attendees(diary, seed)
    _draw_rooms(diary, chance)
    _draw_calendars(diary, chance)
    titles = {role: chance.sample(titles, 17) for role, titles in WORDS["titles"].items()}
    for role in chance.sample(ROLES, len(ROLES)):
        event = _draw_event(diary, chance, role, titles[role].pop())
        _draw_details(diary, chance, event)
    return diary


def _draw_attendees(diary: Diary, seed: Seed) -> None:
    """Add the user and seventeen others; most of them are in the user's time zone."""
    chance = seed.random
    user = people.acting_user(seed)
    home = chance.choice(list(OFFSETS))
    everybody = [user, *people.others(seed, 17)]
    for person in chance.sample(everybody, len(everybody)):
        zone = home
        if person != user and chance.random() >= 0.6:
            zone = chance.choice(list(OFFSETS))
        diary.attendees.add(name=person.name, zone=zone, me=person == user)


def _draw_rooms(diary: Diary, chance: Random) -> None:
    """Add nine meeting rooms."""
    for name in chance.sample(WORDS["rooms"], 9):
        seats = chance.choice((2, 3, 4, 6, 8, 10, 14, 20))
        diary.rooms.add(name=name, seats=seats)


def _draw_calendars(diary: Diary, chance: Random) -> None:
    """Add a work calendar, a private one and three shared ones."""
    names = {kind: chance.sample(names, 3) for kind, names in WORDS["calendars"].items()}
    for kind in chance.sample(("work", "private", "shared", "shared", "shared"), 5):
        diary.calendars.add(name=names[kind].pop(), kind=kind)


def _draw_event(diary: Diary, chance: Random, role: str, title: str) -> Event:
    """Add an event or a series with its organiser and invitees."""
    others = [person for person in diary.attendees if not person.me]
    count = 0 if role == "private" else chance.randint(2, 5)
    guests = chance.sample(others, count)
    organiser = diary.me
    if role in ("asked", "shared"):
        organiser = guests.pop()
    if role == "asked":
        guests.append(diary.me)
    invitees = [Invitee(guest.id, guest.name, chance.choice(ANSWERS)) for guest in guests]

    first = _draw_start(diary, chance, weekdays_only=role != "private")
    repeat = chance.choice(REPEATS)
    interval = chance.choice((1, 1, 2)) if repeat else 1
    local_times = series(first, repeat, interval, count=chance.randint(3, 8))
    kind = "work" if role == "asked" else role
    calendar = chance.choice(diary.calendars.where(kind=kind))
    return diary.schedule(
        [local - OFFSETS[diary.me.zone] for local in local_times],
        minutes=chance.choice((30, 45, 60, 90)),
        calendar_id=calendar.id,
        title=title,
        organiser_id=organiser.id,
        organiser_name=organiser.name,
        repeat=repeat,
        interval=interval,
        invitees=tuple(invitees),
    )


def _draw_start(diary: Diary, chance: Random, *, weekdays_only: bool) -> datetime:
    """Draw the local time of a first start, from nine days ago to about three weeks ahead."""
    hour = chance.randint(8, 16)
    minute = chance.randrange(0, 60, 15)
    day = chance.randint(-9, 18)
    local = diary.now.replace(hour=hour, minute=minute) + timedelta(days=day)
    if weekdays_only and local.weekday() > 4:
        local += timedelta(days=2)
    # A monthly series must start on one of the first 28 days of a month.
    return local.replace(day=min(local.day, 28))


def _draw_details(diary: Diary, chance: Random, event: Event) -> None:
    """Give the event perhaps a room and a reminder, and cancel some of its times."""
    rooms = [room for room in diary.rooms if 0 < len(event.invitees) < room.seats]
    room = chance.choice([None, *rooms])
    lead = chance.choice((None, 5, 15, 60, 1440))
    if event.said(diary.me.id) == "declined":
        lead = None
    for row in diary.occurrences.where(event_id=event.id):
        if chance.random() < 0.12:
            is_series = event.repeat is not None
            diary.occurrences.update(row.id, status="cancelled", exception=is_series)
            continue
        if room:
            diary.occurrences.update(row.id, room_id=room.id)
        if lead:
            remind_at = row.starts - timedelta(minutes=lead)
            if remind_at > diary.now:
                diary.occurrences.update(row.id, remind_at=remind_at)
            else:
                diary.occurrences.update(row.id, reminded_at=remind_at)
    if room and diary.clash(room.id):
        for row in diary.occurrences.where(event_id=event.id):
            diary.occurrences.update(row.id, room_id=None)
