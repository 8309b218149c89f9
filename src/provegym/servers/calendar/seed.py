"""Draws a user's calendars: a month of meetings, series and private things around now."""

from datetime import timedelta
from random import Random
from typing import Any

from provegym.kernel import Seed
from provegym.servers import people, words

from .state import OFFSETS, Answer, Diary, Event, Frequency, Invitee, series, server

WORDS = words("calendar")
ANSWERS: tuple[Answer, ...] = ("accepted", "accepted", "tentative", "declined", "pending")
REPEATS: tuple[Frequency | None, ...] = (None, None, None, "daily", "weekly", "monthly")


@server.seed
def draw(seed: Seed) -> Diary:
    """Five calendars, colleagues in several zones, rooms, and events in every state."""
    diary, chance, user = Diary(seed), seed.random, people.acting_user(seed)
    home, folk = chance.choice(list(OFFSETS)), [user, *people.others(seed, 17)]
    for person in chance.sample(folk, len(folk)):
        zone = home if person == user or chance.random() < 0.6 else chance.choice(list(OFFSETS))
        diary.attendees.add(name=person.name, zone=zone, me=person == user)
    for name in chance.sample(WORDS["rooms"], 9):
        diary.rooms.add(name=name, seats=chance.choice((2, 3, 4, 6, 8, 10, 14, 20)))
    names = {kind: chance.sample(names, 3) for kind, names in WORDS["calendars"].items()}
    for kind in chance.sample(("work", "private", "shared", "shared", "shared"), 5):
        diary.calendars.add(name=names[kind].pop(), kind=kind)
    roles = ["work"] * 17 + ["asked"] * 14 + ["shared"] * 13 + ["private"] * 9
    titles = {role: chance.sample(titles, 17) for role, titles in WORDS["titles"].items()}
    for role in chance.sample(roles, len(roles)):
        _furnish(diary, _event(diary, role, titles[role].pop(), chance), chance)
    return diary


def _event(diary: Diary, role: str, title: str, chance: Random) -> Event:
    """An event with its times; `asked` is one that somebody else asks the user to."""
    others = [person for person in diary.attendees if not person.me]
    guests = chance.sample(others, chance.randint(2, 5) if role != "private" else 0)
    organiser = guests.pop() if role in ("asked", "shared") else diary.me
    guests += [diary.me] * (role == "asked")
    asked = tuple(Invitee(guest.id, guest.name, chance.choice(ANSWERS)) for guest in guests)
    hour, minute, day = chance.randint(8, 16), chance.randrange(0, 60, 15), chance.randint(-9, 18)
    local = diary.now.replace(hour=hour, minute=minute) + timedelta(days=day)
    local += timedelta(days=2 if local.weekday() > 4 and role != "private" else 0)
    repeat = chance.choice(REPEATS)
    interval = chance.choice((1, 1, 2)) if repeat else 1
    times = series(local.replace(day=min(local.day, 28)), repeat, interval, chance.randint(3, 8))
    times = [at - OFFSETS[diary.me.zone] for at in times]
    calendar = chance.choice(diary.calendars.where(kind="work" if role == "asked" else role))
    who = {"organiser_id": organiser.id, "organiser_name": organiser.name, "invitees": asked}
    rule = {"calendar_id": calendar.id, "title": title, "repeat": repeat, "interval": interval}
    return diary.schedule(times, chance.choice((30, 45, 60, 90)), **who, **rule)


def _furnish(diary: Diary, event: Event, chance: Random) -> None:
    """Some events have a room, some a reminder; some times are cancelled."""
    rooms = [room for room in diary.rooms if 0 < len(event.invitees) < room.seats]
    room, lead = chance.choice([None, *rooms]), chance.choice((None, 5, 15, 60, 1440))
    for row in diary.occurrences.where(event_id=event.id):
        fields: dict[str, Any] = {"room_id": room.id if room else None}
        if lead and event.said(diary.me.id) != "declined":
            at = row.starts - timedelta(minutes=lead)
            fields["remind_at" if at > diary.now else "reminded_at"] = at
        if chance.random() < 0.12:
            fields = {"status": "cancelled", "exception": event.repeat is not None}
        diary.occurrences.update(row.id, **fields)
    if room and diary.clash(room.id):
        for row in diary.occurrences.where(event_id=event.id):
            diary.occurrences.update(row.id, room_id=None)
