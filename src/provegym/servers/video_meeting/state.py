"""What the video service knows of one person's meetings, who comes when, and what always holds."""

from datetime import datetime, timedelta
from typing import Literal

from provegym.kernel import Denied, Record, Rejected, Server, State, Table, forbid, table

Stage = Literal["scheduled", "lobby", "live", "ended"]
Place = Literal["invited", "waiting", "present", "left", "removed", "absent"]
LOBBY_OPENS, ADMISSION, KEPT = timedelta(minutes=10), timedelta(minutes=2), timedelta(days=14)


class Meeting(Record, frozen=True):
    """A video meeting; `due_at` is when its lobby opens or, after that, when it ends by itself."""

    id: str
    code: str
    title: str
    status: Stage
    host_id: str
    host_name: str
    starts_at: datetime
    ends_at: datetime
    capacity: int
    locked: bool
    due_at: datetime | None


class Participant(Record, frozen=True):
    """One person in one meeting; `due_at` is when they arrive or are let in by themselves."""

    id: str
    meeting_id: str
    meeting_title: str
    name: str
    status: Place
    consents_to_recording: bool
    due_at: datetime | None = None
    me: bool = False


class Recording(Record, frozen=True):
    """What was recorded of a meeting; a stored one expires."""

    id: str
    meeting_id: str
    meeting_title: str
    status: Literal["running", "stored", "expired"]
    started_at: datetime
    due_at: datetime | None = None


class Hub(State):
    """The video meetings the acting user hosts or is invited to."""

    meetings: Table[Meeting] = table(Meeting, "vmt", look_up="list_video_meetings")
    people: Table[Participant] = table(Participant, "ptp", look_up="list_meeting_participants")
    recordings: Table[Recording] = table(Recording, "rcd", look_up="list_meeting_recordings")

    def hosted(self, meeting_id: str) -> Meeting:
        """A live meeting of which the acting user is the host."""
        meeting = self.meetings[meeting_id]
        if not self.people[meeting.host_id].me:
            raise Denied(f"only {meeting.host_name}, the host of {meeting.title}, may do that")
        forbid(meeting.status != "live", f"{meeting.title} is {meeting.status}, not live")
        return meeting

    def invite(self, meeting: Meeting, agreeing: dict[str, bool], me: str) -> Meeting:
        """List who comes to a new meeting, the host first, two minutes apart; give it a code."""
        keys: list[str] = []
        where = {"meeting_id": meeting.id, "meeting_title": meeting.title, "status": "invited"}
        for name, agrees in agreeing.items():
            comes = meeting.starts_at + timedelta(minutes=2 * len(keys) - 5 if keys else 0)
            fields = {"name": name, "me": name == me, "due_at": None if name == me else comes}
            keys.append(self.people.add(consents_to_recording=agrees, **where, **fields).id)
        number = int(meeting.id.removeprefix("vmt_")) * 7_654_321 % 10**7
        code = f"{number // 10_000:03d}-{number % 10_000:04d}"
        return self.meetings.update(meeting.id, code=code, host_id=keys[0])

    def enter(self, person: Participant) -> Participant:
        """Let somebody in if there is room; a host makes it live, a dissenter ends a recording."""
        meeting = self.meetings[person.meeting_id]
        present = self.people.where(meeting_id=meeting.id, status="present")
        forbid(len(present) >= meeting.capacity, f"{meeting.title} is full; remove somebody first")
        if person.id == meeting.host_id:
            self.meetings.update(meeting.id, status="live")
        if not person.consents_to_recording:
            self.stop_recording(meeting.id)
        return self.people.update(person.id, status="present", due_at=None)

    def wait(self, person: Participant) -> Participant:
        """Put somebody in the lobby; other hosts let people in by themselves."""
        meeting = self.meetings[person.meeting_id]
        mine, first = self.people[meeting.host_id].me, max(self.now, meeting.starts_at)
        due_at = None if mine else first + ADMISSION
        return self.people.update(person.id, status="waiting", due_at=due_at)

    def stop_recording(self, meeting_id: str) -> None:
        """Store what is being recorded of a meeting, if anything."""
        for running in self.recordings.where(meeting_id=meeting_id, status="running"):
            self.recordings.update(running.id, status="stored", due_at=self.now + KEPT)

    def end(self, meeting_id: str) -> Meeting:
        """Send everybody home, for good."""
        self.stop_recording(meeting_id)
        after = {"present": "left", "waiting": "left", "invited": "absent"}
        for person in self.people.where(meeting_id=meeting_id):
            status = after.get(person.status, person.status)
            self.people.update(person.id, status=status, due_at=None)
        return self.meetings.update(meeting_id, status="ended", due_at=None)

    def next_event(self) -> datetime | None:
        """A lobby opens, a meeting ends, somebody comes, or a recording expires."""
        rows = [*self.meetings, *self.people, *self.recordings]
        return min((row.due_at for row in rows if row.due_at), default=None)

    def happen(self) -> None:
        """Let lobbies open and meetings end, then people come, hosts first, and go in."""
        for meeting in [m for m in self.meetings if m.due_at and m.due_at <= self.now]:
            if meeting.status == "scheduled":
                self.meetings.update(meeting.id, status="lobby", due_at=meeting.ends_at)
            else:
                self.end(meeting.id)
        for person in [p for p in self.people if p.due_at and p.due_at <= self.now]:
            self._come(person)
        for recording in [r for r in self.recordings if r.due_at and r.due_at <= self.now]:
            self.recordings.update(recording.id, status="expired", due_at=None)

    def _come(self, person: Participant) -> None:
        meeting = self.meetings[person.meeting_id]
        if meeting.locked:
            self.people.update(person.id, status="absent", due_at=None)
        elif person.status == "invited" and person.id != meeting.host_id:
            self.wait(person)
        else:
            try:
                self.enter(person)
            except Rejected:
                self.people.update(person.id, due_at=None)

    def check(self) -> None:
        """Everybody is where the stage of the meeting allows, and nobody is recorded unasked."""
        stages = {"invited": "scheduled lobby live", "waiting": "lobby live", "present": "live"}
        for meeting in self.meetings:
            people, host = self.people.where(meeting_id=meeting.id), self.people[meeting.host_id]
            running = self.recordings.where(meeting_id=meeting.id, status="running")
            present = [person for person in people if person.status == "present"]
            assert len({person.name for person in people}) == len(people)
            assert all(meeting.status in stages.get(p.status, "lobby live ended") for p in people)
            assert len(present) <= meeting.capacity
            assert (meeting.status == "live") == (host in present)
            assert len(running) <= (meeting.status == "live")
            assert not running or all(person.consents_to_recording for person in present)
        for recording in self.recordings:
            assert self.meetings[recording.meeting_id].status in ("live", "ended")
            assert (recording.status == "stored") == bool(recording.due_at)
        assert len({meeting.code for meeting in self.meetings}) == len(self.meetings)


about = "Video meetings of one person: lobby and admission, hosts, locks, recordings with consent."
server = Server("video_meeting", Hub, category="lifestyle", about=about)
