"""What can be done with video meetings."""

from datetime import timedelta
from typing import Annotated, Literal

from msgspec import Meta

from provegym.kernel import Label, NotFound, Rejected, Time
from provegym.servers import plain_name

from .state import LOBBY_OPENS, Hub, Meeting, Participant, Recording, Stage, server

Names = Annotated[list[Label], Meta(min_length=1, max_length=8)]
Length = Annotated[int, Meta(ge=15, le=180)]
Control = Literal["lock", "recording"]
Switch = Literal["on", "off"]


@server.read
def list_video_meetings(hub: Hub, /, title: str = "", status: Stage | None = None) -> list[Meeting]:
    """List the video meetings the user hosts or is invited to, with code, host, lock and capacity.

    Args:
        title: Only meetings whose title or code contains this.
        status: Only meetings with this status.
    """
    wanted = title.lower()
    found = [row for row in hub.meetings if wanted in f"{row.title} {row.code}".lower()]
    if status is not None:
        found = [meeting for meeting in found if meeting.status == status]
    return found


@server.read
def list_meeting_participants(hub: Hub, /, meeting_id: str, name: str = "") -> list[Participant]:
    """List who is invited to a video meeting, in its lobby or present, and who agrees to recording.

    Args:
        meeting_id: The video meeting, e.g. "vmt_310".
        name: Only people whose name contains this.
    """
    meeting = hub.meetings[meeting_id]
    people = hub.people.where(meeting_id=meeting.id)
    return [person for person in people if name.lower() in person.name.lower()]


@server.read
def list_meeting_recordings(hub: Hub, /, meeting_title: str = "") -> list[Recording]:
    """List the recordings of the user's video meetings; stored ones expire after 14 days.

    Args:
        meeting_title: Only recordings of meetings whose title contains this.
    """
    wanted = meeting_title.lower()
    return [row for row in hub.recordings if wanted in row.meeting_title.lower()]


@server.write
def schedule_video_meeting(
    hub: Hub, /, title: Label, starts_at: Time, invitee_names: Names, minutes: Length = 30
) -> Meeting:
    """Schedule a video meeting that the user hosts; its lobby opens ten minutes before the start.

    Args:
        title: What to call it; no coming meeting has this title.
        starts_at: When it starts, within 60 days, e.g. "2026-03-04T15:00:00Z".
        invitee_names: Full names of people the user has met in a video meeting before.
        minutes: How long it lasts before it ends by itself; not while the user hosts another.
    """
    if not LOBBY_OPENS < starts_at - hub.now < timedelta(days=60):
        raise Rejected("choose a start more than ten minutes and less than 60 days from now")
    me = next(person.name for person in hub.people if person.me)
    ends_at = starts_at + timedelta(minutes=minutes)
    for other in [meeting for meeting in hub.meetings if meeting.status != "ended"]:
        if other.status == "scheduled" and plain_name(other.title) == plain_name(title):
            raise Rejected(f"there is a {title} to come already; choose another title")
        overlaps = other.starts_at < ends_at and starts_at < other.ends_at
        if overlaps and other.host_name == me:
            raise Rejected(f"you host {other.title} at that time")
    known = {person.name: person.consents_to_recording for person in hub.people}
    for name in invitee_names:
        if name not in known:
            raise Rejected(f"you never met {name}; list_meeting_participants shows names")
    meeting = hub.meetings.add(
        code="",
        title=title,
        status="scheduled",
        host_id="",
        host_name=me,
        starts_at=starts_at,
        ends_at=ends_at,
        capacity=10,
        locked=False,
        due_at=starts_at - LOBBY_OPENS,
    )
    return hub.invite(meeting, {name: known[name] for name in (me, *invitee_names)}, me)


@server.write
def join_video_meeting(hub: Hub, /, code: str) -> Participant:
    """Join a video meeting by its code: as the host the user starts it, else waits to be let in.

    Args:
        code: The code people quote, e.g. "482-7113"; the lobby must be open and not locked.
    """
    found = hub.meetings.where(code=code.strip().lower())
    if not found:
        raise NotFound(f"no meeting has the code {code!r}; list_video_meetings shows the codes")
    meeting = found[0]
    me = hub.people.where(meeting_id=meeting.id, me=True)[0]
    if meeting.status == "ended":
        raise Rejected(f"{meeting.title} is over and cannot be started again")
    if meeting.status == "scheduled":
        raise Rejected(f"the lobby of {meeting.title} is not open yet")
    if me.status in ("waiting", "present"):
        raise Rejected(f"you are {me.status} in {meeting.title}")
    if meeting.locked:
        raise Rejected(f"{meeting.title} is locked; ask {meeting.host_name} to open it")
    if me.id == meeting.host_id:
        return hub.enter(me)
    return hub.wait(me)


@server.write
def admit_participant(hub: Hub, /, participant_id: str) -> Participant:
    """Let somebody into a live video meeting that the user hosts; a recording they refuse stops.

    Args:
        participant_id: Who is waiting in the lobby, e.g. "ptp_4711"; there must be room.
    """
    person = hub.people[participant_id]
    hub.hosted(person.meeting_id)
    if person.status != "waiting":
        raise Rejected(f"{person.name} is {person.status}, not waiting")
    return hub.enter(person)


@server.write(destructive=True)
def remove_participant(hub: Hub, /, participant_id: str) -> Participant:
    """Take somebody out of a live video meeting that the user hosts, or its lobby, for good.

    Args:
        participant_id: Who is present or waiting, e.g. "ptp_4711"; not the user.
    """
    person = hub.people[participant_id]
    hub.hosted(person.meeting_id)
    if person.me:
        raise Rejected("a host cannot go; transfer the meeting or end it")
    if person.status not in ("present", "waiting"):
        raise Rejected(f"{person.name} is {person.status}, neither present nor waiting")
    return hub.people.update(participant_id, status="removed")


@server.write
def transfer_meeting_host(hub: Hub, /, participant_id: str) -> Meeting:
    """Hand a live video meeting that the user hosts to somebody present; they admit who waits.

    Args:
        participant_id: The new host, e.g. "ptp_4711".
    """
    person = hub.people[participant_id]
    meeting = hub.hosted(person.meeting_id)
    if person.me:
        raise Rejected(f"you are the host of {meeting.title} already")
    if person.status != "present":
        raise Rejected(f"{person.name} is {person.status}, not present")
    changed = hub.meetings.update(meeting.id, host_id=person.id, host_name=person.name)
    for other in hub.people.where(meeting_id=meeting.id, status="waiting"):
        hub.wait(other)
    return changed


@server.write
def set_meeting_control(hub: Hub, /, meeting_id: str, control: Control, state: Switch) -> Meeting:
    """Lock (nobody new comes) or record a live video meeting that the user hosts, or undo that.

    Args:
        meeting_id: The video meeting, e.g. "vmt_310".
        control: What to turn on or off; recording needs the consent of everybody present.
        state: Whether it shall be on or off.
    """
    meeting = hub.hosted(meeting_id)
    if control == "lock":
        return _switch_lock(hub, meeting, state)
    return _switch_recording(hub, meeting, state)


def _switch_lock(hub: Hub, meeting: Meeting, state: Switch) -> Meeting:
    wanted = state == "on"
    if meeting.locked == wanted:
        raise Rejected(f"the lock of {meeting.title} is {state} already")
    return hub.meetings.update(meeting.id, locked=wanted)


def _switch_recording(hub: Hub, meeting: Meeting, state: Switch) -> Meeting:
    running = hub.recordings.where(meeting_id=meeting.id, status="running")
    wanted = state == "on"
    if bool(running) == wanted:
        raise Rejected(f"the recording of {meeting.title} is {state} already")
    if not wanted:
        hub.stop_recording(meeting.id)
        return meeting
    for person in hub.people.where(meeting_id=meeting.id, status="present"):
        if not person.consents_to_recording:
            raise Rejected(f"{person.name} does not agree to be recorded")
    hub.recordings.add(
        meeting_id=meeting.id, meeting_title=meeting.title, status="running", started_at=hub.now
    )
    return meeting


@server.write(destructive=True)
def end_video_meeting(hub: Hub, /, meeting_id: str) -> Meeting:
    """End a live video meeting that the user hosts, for everybody and for good.

    Args:
        meeting_id: The video meeting, e.g. "vmt_310".
    """
    meeting = hub.hosted(meeting_id)
    return hub.end(meeting.id)
