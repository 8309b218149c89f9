"""Draws one person's video meetings and lives through twenty days of them."""

from datetime import timedelta
from random import Random

from provegym.kernel import Seed
from provegym.servers import people, words

from .state import LOBBY_OPENS, Hub, Meeting, server
from .tools import admit_participant, join_video_meeting, set_meeting_control

WORDS = words("video_meeting")
MINUTE = timedelta(minutes=1)


@server.seed
def draw(seed: Seed) -> Hub:
    """Meetings of every stage, some of them the acting user's own, with people who come."""
    hub = Hub(seed)
    chance = seed.random
    me = people.acting_user(seed).name
    agrees = {person.name: chance.random() < 0.7 for person in people.others(seed, 26)}
    agrees[me] = True
    plans = chance.sample(WORDS["plans"], len(WORDS["plans"]))
    titles = chance.sample(WORDS["titles"], len(WORDS["titles"]))
    hub.now = seed.now - timedelta(days=20)
    for is_mine, earliest, latest, length in plans:
        starts_at = seed.now + chance.randrange(earliest, latest, 5) * MINUTE
        names = _draw_names(chance, agrees, me, is_mine)
        meeting = hub.meetings.add(
            code="",
            title=titles.pop(),
            status="scheduled",
            host_id="",
            host_name=names[0],
            starts_at=starts_at,
            ends_at=starts_at + length * MINUTE,
            capacity=chance.choice((3, 4, 6, 8, 12)),
            locked=False,
            due_at=starts_at - LOBBY_OPENS,
        )
        hub.invite(meeting, {name: agrees[name] for name in names}, me)
    _live_until_now(hub, seed, me)
    _lock_some(hub, chance, me)
    return hub


def _draw_names(chance: Random, agrees: dict[str, bool], me: str, is_mine: bool) -> list[str]:
    """The acting user and five to nine others, the host first."""
    others = [name for name in agrees if name != me]
    first, *guests = chance.sample(others, chance.randint(5, 9))
    if is_mine:
        return [me, first, *guests]
    return [first, me, *guests]


def _live_until_now(hub: Hub, seed: Seed, me: str) -> None:
    """Let time pass until the seed's present; the user starts each meeting of their own."""
    own = [meeting for meeting in hub.meetings if meeting.host_name == me]
    begun = [meeting for meeting in own if meeting.starts_at < seed.now]
    for meeting in sorted(begun, key=lambda meeting: meeting.starts_at):
        hub.pass_time(max(0, (meeting.starts_at - hub.now) // MINUTE))
        _host(hub, seed.random, meeting)
    hub.pass_time((seed.now - hub.now) // MINUTE)


def _host(hub: Hub, chance: Random, meeting: Meeting) -> None:
    """Start a meeting, let some people in, and record or lock some of the meetings."""
    join_video_meeting(hub, meeting.code)
    hub.pass_time(4)
    is_recorded = chance.random() < 0.6
    waiting = hub.people.where(meeting_id=meeting.id, status="waiting")
    room_left = meeting.capacity - 1
    for person in waiting[:room_left]:
        if person.consents_to_recording or not is_recorded:
            admit_participant(hub, person.id)
    if is_recorded:
        set_meeting_control(hub, meeting.id, "recording", "on")
    elif chance.random() < 0.4:
        set_meeting_control(hub, meeting.id, "lock", "on")


def _lock_some(hub: Hub, chance: Random, me: str) -> None:
    """Lock some of the live meetings that others host."""
    for meeting in hub.meetings.where(status="live"):
        if meeting.host_name != me and chance.random() < 0.4:
            hub.meetings.update(meeting.id, locked=True)
