"""What the service knows of one person's video meetings, who comes when, and what always holds."""

from datetime import datetime, timedelta
from typing import Literal

from provegym.kernel import Denied, Record, Rejected, Server, State, Table, table

Stage = Literal["scheduled", "lobby", "live", "ended"]
Place = Literal["invited", "waiting", "present", "left", "removed", "absent"]
# How long before the start of a meeting its lobby opens.
LOBBY_OPENS = timedelta(minutes=10)
# How long other hosts let people wait in the lobby.
ADMISSION = timedelta(minutes=2)
# How long recordings are kept.
KEPT = timedelta(days=14)
# Where people are after the end of a meeting, if not where they were.
AFTER_THE_END: dict[Place, Place] = {"present": "left", "waiting": "left", "invited": "absent"}
# The stages of a meeting in which somebody can be in a place.
STAGES_OF_PLACE: dict[Place, tuple[Stage, ...]] = {
    "invited": ("scheduled", "lobby", "live"),
    "waiting": ("lobby", "live"),
    "present": ("live",),
    "left": ("lobby", "live", "ended"),
    "removed": ("lobby", "live", "ended"),
    "absent": ("lobby", "live", "ended"),
}


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
        if meeting.status != "live":
            raise Rejected(f"{meeting.title} is {meeting.status}, not live")
        return meeting

    def invite(self, meeting: Meeting, agreeing: dict[str, bool], me: str) -> Meeting:
        """List who comes to a new meeting, the host first, two minutes apart; give it a code.

        `agreeing` says of each name whether they agree to be recorded. The host comes on time, the
        first guest three minutes early. The acting user does not come by themselves.
        """
        participants = []
        for position, (name, agrees) in enumerate(agreeing.items()):
            early_or_late = timedelta(minutes=2 * position - 5 if position else 0)
            participant = self.people.add(
                meeting_id=meeting.id,
                meeting_title=meeting.title,
                name=name,
                status="invited",
                consents_to_recording=agrees,
                due_at=None if name == me else meeting.starts_at + early_or_late,
                me=name == me,
            )
            participants.append(participant)
        number = int(meeting.id.removeprefix("vmt_")) * 7_654_321 % 10**7
        code = f"{number // 10_000:03d}-{number % 10_000:04d}"
        return self.meetings.update(meeting.id, code=code, host_id=participants[0].id)

    def enter(self, person: Participant) -> Participant:
        """Let somebody in if there is room; a host makes it live, a dissenter ends a recording."""
        meeting = self.meetings[person.meeting_id]
        present = self.people.where(meeting_id=meeting.id, status="present")
        if len(present) >= meeting.capacity:
            raise Rejected(f"{meeting.title} is full; remove somebody first")
        if person.id == meeting.host_id:
            self.meetings.update(meeting.id, status="live")
        if not person.consents_to_recording:
            self.stop_recording(meeting.id)
        return self.people.update(person.id, status="present", due_at=None)

    def wait(self, person: Participant) -> Participant:
        """Put somebody in the lobby; other hosts let people in by themselves."""
        meeting = self.meetings[person.meeting_id]
        due_at = None
        if not self.people[meeting.host_id].me:
            due_at = max(self.now, meeting.starts_at) + ADMISSION
        return self.people.update(person.id, status="waiting", due_at=due_at)

    def stop_recording(self, meeting_id: str) -> None:
        """Store what is being recorded of a meeting, if anything."""
        for running in self.recordings.where(meeting_id=meeting_id, status="running"):
            self.recordings.update(running.id, status="stored", due_at=self.now + KEPT)

    def end(self, meeting_id: str) -> Meeting:
        """Send everybody home, for good."""
        self.stop_recording(meeting_id)
        for person in self.people.where(meeting_id=meeting_id):
            status = AFTER_THE_END.get(person.status, person.status)
            self.people.update(person.id, status=status, due_at=None)
        return self.meetings.update(meeting_id, status="ended", due_at=None)

    def next_event(self) -> datetime | None:
        """A lobby opens, a meeting ends, somebody comes, or a recording expires."""
        rows = [*self.meetings, *self.people, *self.recordings]
        return min((row.due_at for row in rows if row.due_at is not None), default=None)

    def happen(self) -> None:
        """Let lobbies open and meetings end, then people come, hosts first, and go in."""
        for meeting in [row for row in self.meetings if self._is_due(row.due_at)]:
            if meeting.status == "scheduled":
                self.meetings.update(meeting.id, status="lobby", due_at=meeting.ends_at)
            else:
                self.end(meeting.id)
        for person in [row for row in self.people if self._is_due(row.due_at)]:
            self._come(person)
        for recording in [row for row in self.recordings if self._is_due(row.due_at)]:
            self.recordings.update(recording.id, status="expired", due_at=None)

    def _is_due(self, moment: datetime | None) -> bool:
        return moment is not None and moment <= self.now

    def _come(self, person: Participant) -> None:
        """Let somebody arrive in the lobby or go in, unless the meeting is locked or full."""
        meeting = self.meetings[person.meeting_id]
        if meeting.locked:
            self.people.update(person.id, status="absent", due_at=None)
            return
        if person.status == "invited" and person.id != meeting.host_id:
            self.wait(person)
            return
        try:
            self.enter(person)
        except Rejected:
            self.people.update(person.id, due_at=None)

    def check(self) -> None:
        """Everybody is where the stage of the meeting allows, and nobody is recorded unasked."""
        for meeting in self.meetings:
            self._check_people(meeting)
            self._check_recording(meeting)
        assert len({meeting.code for meeting in self.meetings}) == len(self.meetings)
        for recording in self.recordings:
            assert self.meetings[recording.meeting_id].status in ("live", "ended")
            assert (recording.status == "stored") == (recording.due_at is not None)

    def _check_people(self, meeting: Meeting) -> None:
        """Everybody is listed once and where they can be; it is live while the host is there."""
        people = self.people.where(meeting_id=meeting.id)
        present = [person for person in people if person.status == "present"]
        assert len({person.name for person in people}) == len(people)
        for person in people:
            assert meeting.status in STAGES_OF_PLACE[person.status]
        assert len(present) <= meeting.capacity
        assert (meeting.status == "live") == (self.people[meeting.host_id] in present)

    def _check_recording(self, meeting: Meeting) -> None:
        """Only a live meeting is recorded, once at a time, and with everybody's consent."""
        running = self.recordings.where(meeting_id=meeting.id, status="running")
        if not running:
            return
        assert len(running) == 1
        assert meeting.status == "live"
        for person in self.people.where(meeting_id=meeting.id, status="present"):
            assert person.consents_to_recording


about = "Video meetings of one person: lobby and admission, hosts, locks, recordings with consent."
server = Server("video_meeting", Hub, category="lifestyle", about=about, version=2)
