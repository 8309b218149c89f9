"""What can be done with video meetings."""

from datetime import timedelta
from typing import Annotated, Literal

from msgspec import Meta

from provegym.kernel import Label, NotFound, Time, forbid

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
    found = [m for m in hub.meetings if title.lower() in f"{m.title} {m.code}".lower()]
    return [m for m in found if status in (None, m.status)]


@server.read
def list_meeting_participants(hub: Hub, /, meeting_id: str, name: str = "") -> list[Participant]:
    """List who is invited to a video meeting, in its lobby or present, and who agrees to recording.

    Args:
        meeting_id: The video meeting, e.g. "vmt_310".
        name: Only people whose name contains this.
    """
    people = hub.people.where(meeting_id=hub.meetings[meeting_id].id)
    return [person for person in people if name.lower() in person.name.lower()]


@server.read
def list_meeting_recordings(hub: Hub, /, meeting_title: str = "") -> list[Recording]:
    """List the recordings of the user's video meetings; stored ones expire after 14 days.

    Args:
        meeting_title: Only recordings of meetings whose title contains this.
    """
    return [r for r in hub.recordings if meeting_title.lower() in r.meeting_title.lower()]


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
    soon = LOBBY_OPENS < starts_at - hub.now < timedelta(days=60)
    forbid(not soon, "choose a start more than ten minutes and less than 60 days from now")
    known = {person.name: person.consents_to_recording for person in hub.people}
    me, ends_at = next(p.name for p in hub.people if p.me), starts_at + timedelta(minutes=minutes)
    for other in hub.meetings.where(status="scheduled"):
        forbid(other.title == title, f"there is a {title} to come already; choose another title")
        clash = other.starts_at < ends_at and starts_at < other.ends_at
        forbid(clash and other.host_name == me, f"you host {other.title} at that time")
    for name in invitee_names:
        forbid(name not in known, f"you never met {name}; list_meeting_participants shows names")
    fields = {"host_id": "", "host_name": me, "locked": False, "capacity": 10, "code": ""}
    times = {"starts_at": starts_at, "ends_at": ends_at, "due_at": starts_at - LOBBY_OPENS}
    meeting = hub.meetings.add(title=title, status="scheduled", **fields, **times)
    return hub.invite(meeting, {name: known[name] for name in (me, *invitee_names)}, me)


@server.write
def join_video_meeting(hub: Hub, /, code: str) -> Participant:
    """Join a video meeting by its code: as the host the user starts it, else waits to be let in.

    Args:
        code: The code people quote, e.g. "482-7113"; the lobby must be open and not locked.
    """
    for meeting in hub.meetings.where(code=code.strip().lower()):
        me = hub.people.where(meeting_id=meeting.id, me=True)[0]
        forbid(meeting.status == "ended", f"{meeting.title} is over and cannot be started again")
        forbid(meeting.status == "scheduled", f"the lobby of {meeting.title} is not open yet")
        forbid(me.status in ("waiting", "present"), f"you are {me.status} in {meeting.title}")
        forbid(meeting.locked, f"{meeting.title} is locked; ask {meeting.host_name} to open it")
        return hub.enter(me) if me.id == meeting.host_id else hub.wait(me)
    raise NotFound(f"no meeting has the code {code!r}; list_video_meetings shows the codes")


@server.write
def admit_participant(hub: Hub, /, participant_id: str) -> Participant:
    """Let somebody into a live video meeting that the user hosts; a recording they refuse stops.

    Args:
        participant_id: Who is waiting in the lobby, e.g. "ptp_4711"; there must be room.
    """
    person = hub.people[participant_id]
    hub.hosted(person.meeting_id)
    forbid(person.status != "waiting", f"{person.name} is {person.status}, not waiting")
    return hub.enter(person)


@server.write(destructive=True)
def remove_participant(hub: Hub, /, participant_id: str) -> Participant:
    """Take somebody out of a live video meeting that the user hosts, or its lobby, for good.

    Args:
        participant_id: Who is present or waiting, e.g. "ptp_4711"; not the user.
    """
    person = hub.people[participant_id]
    hub.hosted(person.meeting_id)
    forbid(person.me, "a host cannot go; transfer the meeting or end it")
    here = person.status in ("present", "waiting")
    forbid(not here, f"{person.name} is {person.status}, neither present nor waiting")
    return hub.people.update(participant_id, status="removed")


@server.write
def transfer_meeting_host(hub: Hub, /, participant_id: str) -> Meeting:
    """Hand a live video meeting that the user hosts to somebody present; they admit who waits.

    Args:
        participant_id: The new host, e.g. "ptp_4711".
    """
    person = hub.people[participant_id]
    meeting = hub.hosted(person.meeting_id)
    forbid(person.me, f"you are the host of {meeting.title} already")
    forbid(person.status != "present", f"{person.name} is {person.status}, not present")
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
    meeting, wanted = hub.hosted(meeting_id), state == "on"
    running = hub.recordings.where(meeting_id=meeting_id, status="running")
    is_on = meeting.locked if control == "lock" else bool(running)
    forbid(is_on == wanted, f"the {control} of {meeting.title} is {state} already")
    if control == "lock":
        return hub.meetings.update(meeting_id, locked=wanted)
    if not wanted:
        hub.stop_recording(meeting_id)
        return meeting
    for person in hub.people.where(meeting_id=meeting_id, status="present"):
        forbid(not person.consents_to_recording, f"{person.name} does not agree to be recorded")
    fields = {"meeting_id": meeting_id, "meeting_title": meeting.title, "status": "running"}
    hub.recordings.add(started_at=hub.now, **fields)
    return meeting


@server.write(destructive=True)
def end_video_meeting(hub: Hub, /, meeting_id: str) -> Meeting:
    """End a live video meeting that the user hosts, for everybody and for good.

    Args:
        meeting_id: The video meeting, e.g. "vmt_310".
    """
    return hub.end(hub.hosted(meeting_id).id)
