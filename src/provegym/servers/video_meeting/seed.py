"""Draws one person's video meetings and lives through two weeks of them."""

from datetime import timedelta
from random import Random

from provegym.kernel import Seed
from provegym.servers import people, words

from .state import LOBBY_OPENS, Hub, Meeting, server
from .tools import admit_participant, join_video_meeting, set_meeting_control

WORDS, MINUTE = words("video_meeting"), timedelta(minutes=1)


@server.seed
def draw(seed: Seed) -> Hub:
    """Meetings of every stage, some of them the acting user's own, with people who come."""
    hub, chance, me = Hub(seed), seed.random, people.acting_user(seed).name
    agrees = {person.name: chance.random() < 0.7 for person in people.others(seed, 26)} | {me: True}
    plans, titles = (chance.sample(WORDS[key], len(WORDS[key])) for key in ("plans", "titles"))
    hub.now = seed.now - timedelta(days=20)
    for mine, first, last, length in plans:
        starts = seed.now + chance.randrange(first, last, 5) * MINUTE
        host, *guests = chance.sample([name for name in agrees if name != me], chance.randint(5, 9))
        names = [me, host, *guests] if mine else [host, me, *guests]
        fields = {"title": titles.pop(), "host_name": names[0], "host_id": "", "code": ""}
        fields |= {"starts_at": starts, "ends_at": starts + length * MINUTE, "status": "scheduled"}
        fields |= {"capacity": chance.choice((3, 4, 6, 8, 12)), "due_at": starts - LOBBY_OPENS}
        meeting = hub.meetings.add(locked=False, **fields)
        hub.invite(meeting, {name: agrees[name] for name in names}, me)
    begun = [m for m in hub.meetings if m.host_name == me and m.starts_at < seed.now]
    for meeting in sorted(begun, key=lambda meeting: meeting.starts_at):
        hub.pass_time(max(0, (meeting.starts_at - hub.now) // MINUTE))
        _host(hub, chance, meeting)
    hub.pass_time((seed.now - hub.now) // MINUTE)
    for meeting in hub.meetings.where(status="live"):
        if meeting.host_name != me and chance.random() < 0.4:
            hub.meetings.update(meeting.id, locked=True)
    return hub


def _host(hub: Hub, chance: Random, meeting: Meeting) -> None:
    """Start a meeting, let some people in, and record some of the meetings."""
    join_video_meeting(hub, meeting.code)
    hub.pass_time(4)
    recorded, room = chance.random() < 0.6, meeting.capacity - 1
    for person in hub.people.where(meeting_id=meeting.id, status="waiting")[:room]:
        if person.consents_to_recording or not recorded:
            admit_participant(hub, person.id)
    if recorded:
        set_meeting_control(hub, meeting.id, "recording", "on")
    elif chance.random() < 0.4:
        set_meeting_control(hub, meeting.id, "lock", "on")
