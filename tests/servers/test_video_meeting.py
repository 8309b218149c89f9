"""The rules of video meetings, told on one that the acting user hosts and one of somebody else."""

from datetime import timedelta
from typing import Any

import pytest

from provegym.kernel import Outcome, Seed, Session
from provegym.servers.video_meeting.state import LOBBY_OPENS, Hub, Meeting, server

NOW = Seed(0).now
ME, ADA, BEN, CEM = "Ida Falk", "Ada Berg", "Ben Ito", "Cem Roth"
AGREES = {ME: True, ADA: True, BEN: True, CEM: False}


class Desk:
    """A session with a meeting of one's own in half an hour and Ada's in two hours."""

    def __init__(self, capacity: int = 10) -> None:
        self.hub = Hub(Seed(0))
        self.mine = self.plan("Sync", 30, ME, ADA, BEN, CEM, capacity=capacity)
        self.hers = self.plan("Review", 120, ADA, ME, BEN, CEM)
        self.session = Session.over(server, self.hub)

    def plan(self, title: str, minutes: int, host: str, *guests: str, capacity: int = 10) -> str:
        """A meeting of an hour that starts in so many minutes."""
        starts = NOW + timedelta(minutes=minutes)
        times = {"starts_at": starts, "ends_at": starts + timedelta(hours=1)}
        fields = {"title": title, "host_name": host, "host_id": "", "code": "", "locked": False}
        meeting = self.hub.meetings.add(
            status="scheduled", capacity=capacity, due_at=starts - LOBBY_OPENS, **fields, **times
        )
        return self.hub.invite(meeting, {name: AGREES[name] for name in (host, *guests)}, ME).id

    def try_(self, tool: str, **arguments: Any) -> Outcome:
        """A call, after which the invariants must hold."""
        outcome = self.session.call(tool, arguments)
        self.session.check()
        return outcome

    def call(self, tool: str, **arguments: Any) -> Any:
        """What a call yields that has to succeed."""
        outcome = self.try_(tool, **arguments)
        assert outcome.ok, outcome.text
        return outcome.value

    def refused(self, because: str, tool: str, **arguments: Any) -> None:
        """A call that a rule or a missing right forbids."""
        outcome = self.try_(tool, **arguments)
        assert outcome.error in ("rejected", "denied"), outcome.text
        assert because in outcome.value["message"]

    def wait(self, minutes: int) -> None:
        """Let time pass."""
        self.session.advance(minutes)
        self.session.check()

    def now(self) -> Hub:
        """All meetings as they are now."""
        state = self.session.state(server)
        assert isinstance(state, Hub)
        return state

    def meeting(self, meeting_id: str) -> Meeting:
        """A meeting as it is now."""
        return self.now().meetings[meeting_id]

    def id_of(self, name: str, meeting_id: str | None = None) -> str:
        """The id somebody has in a meeting."""
        return self.now().people.where(meeting_id=meeting_id or self.mine, name=name)[0].id

    def place(self, name: str, meeting_id: str | None = None) -> str:
        """Where somebody is in a meeting."""
        return self.now().people[self.id_of(name, meeting_id)].status

    def join(self, meeting_id: str) -> Any:
        """Join a meeting by its code."""
        return self.call("join_video_meeting", code=self.meeting(meeting_id).code)

    def admit(self, *names: str) -> None:
        """Let people into one's own meeting."""
        for name in names:
            self.call("admit_participant", participant_id=self.id_of(name))

    def record(self, state: str) -> Any:
        """Switch the recording of one's own meeting."""
        return self.call(
            "set_meeting_control", meeting_id=self.mine, control="recording", state=state
        )

    def go_live(self, *names: str) -> None:
        """Start one's own meeting when everybody waits, and let some of them in."""
        self.wait(35)
        self.join(self.mine)
        self.admit(*names)


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_the_lobby_opens_ten_minutes_before(desk: Desk) -> None:
    code = desk.meeting(desk.mine).code
    desk.refused("is not open yet", "join_video_meeting", code=code)
    desk.wait(20)
    assert desk.meeting(desk.mine).status == "lobby"
    assert desk.join(desk.mine)["status"] == "present"
    assert desk.meeting(desk.mine).status == "live"


def test_people_arrive_on_the_clock_and_wait(desk: Desk) -> None:
    desk.wait(27)
    assert [desk.place(name) for name in (ADA, BEN)] == ["waiting", "invited"]
    desk.wait(10)
    assert [desk.place(name) for name in (ADA, BEN, CEM)] == ["waiting"] * 3
    assert desk.call("list_meeting_participants", meeting_id=desk.mine, name="Ada")["total"] == 1


def test_only_a_live_meeting_is_managed(desk: Desk) -> None:
    desk.wait(27)
    desk.refused("is lobby, not live", "admit_participant", participant_id=desk.id_of(ADA))
    desk.refused("is lobby, not live", "end_video_meeting", meeting_id=desk.mine)


def test_the_host_admits_who_waits(desk: Desk) -> None:
    desk.go_live(ADA)
    assert desk.place(ADA) == "present"
    desk.refused("not waiting", "admit_participant", participant_id=desk.id_of(ADA))


def test_a_full_meeting_takes_nobody() -> None:
    desk = Desk(capacity=2)
    desk.go_live(ADA)
    desk.refused("Sync is full", "admit_participant", participant_id=desk.id_of(BEN))
    desk.call("remove_participant", participant_id=desk.id_of(ADA))
    desk.admit(BEN)
    assert [desk.place(name) for name in (ADA, BEN)] == ["removed", "present"]


def test_only_who_is_there_can_be_removed(desk: Desk) -> None:
    desk.go_live()
    desk.refused("a host cannot go", "remove_participant", participant_id=desk.id_of(ME))
    desk.call("remove_participant", participant_id=desk.id_of(CEM))
    desk.refused("is removed, neither", "remove_participant", participant_id=desk.id_of(CEM))


def test_only_the_host_may(desk: Desk) -> None:
    desk.wait(125)
    ben = desk.id_of(BEN, desk.hers)
    for tool in ("admit_participant", "remove_participant", "transfer_meeting_host"):
        desk.refused("only Ada Berg, the host of Review", tool, participant_id=ben)
    desk.refused("only Ada Berg", "end_video_meeting", meeting_id=desk.hers)
    lock = {"meeting_id": desk.hers, "control": "lock", "state": "on"}
    desk.refused("only Ada Berg", "set_meeting_control", **lock)


def test_other_hosts_come_and_let_people_in_by_themselves(desk: Desk) -> None:
    desk.wait(115)
    assert desk.join(desk.hers)["status"] == "waiting"
    assert desk.meeting(desk.hers).status == "lobby"
    desk.wait(5)
    assert desk.meeting(desk.hers).status == "live"
    assert desk.place(ME, desk.hers) == "waiting"
    desk.wait(2)
    assert desk.place(ME, desk.hers) == "present"
    code = desk.meeting(desk.hers).code
    desk.refused("you are present in Review", "join_video_meeting", code=code)


def test_a_lock_keeps_everybody_new_out(desk: Desk) -> None:
    desk.wait(28)
    desk.join(desk.mine)
    lock = {"meeting_id": desk.mine, "control": "lock"}
    assert desk.call("set_meeting_control", state="on", **lock)["locked"] is True
    desk.refused("the lock of Sync is on already", "set_meeting_control", state="on", **lock)
    desk.wait(5)
    assert [desk.place(name) for name in (ADA, BEN, CEM)] == ["waiting", "absent", "absent"]
    assert desk.call("set_meeting_control", state="off", **lock)["locked"] is False


def test_nobody_joins_a_locked_meeting(desk: Desk) -> None:
    desk.wait(121)
    desk.now().meetings.update(desk.hers, locked=True)
    code = desk.meeting(desk.hers).code
    desk.refused("ask Ada Berg to open it", "join_video_meeting", code=code)


def test_recording_needs_the_consent_of_everybody_present(desk: Desk) -> None:
    desk.go_live(ADA, CEM)
    start = {"meeting_id": desk.mine, "control": "recording", "state": "on"}
    desk.refused("Cem Roth does not agree", "set_meeting_control", **start)
    desk.call("remove_participant", participant_id=desk.id_of(CEM))
    desk.record("on")
    desk.refused("is on already", "set_meeting_control", **start)


def test_a_recording_stops_when_somebody_comes_who_does_not_agree(desk: Desk) -> None:
    desk.go_live(ADA)
    desk.record("on")
    desk.admit(BEN)
    assert desk.now().recordings.where(meeting_id=desk.mine)[0].status == "running"
    desk.admit(CEM)
    assert desk.now().recordings.where(meeting_id=desk.mine)[0].status == "stored"


def test_recordings_expire(desk: Desk) -> None:
    desk.go_live()
    desk.record("on")
    desk.record("off")
    off = {"meeting_id": desk.mine, "control": "recording", "state": "off"}
    desk.refused("is off already", "set_meeting_control", **off)
    desk.wait(14 * 1440 - 1)
    assert desk.call("list_meeting_recordings")["items"][0]["status"] == "stored"
    desk.wait(1)
    assert (
        desk.call("list_meeting_recordings", meeting_title="sync")["items"][0]["status"]
        == "expired"
    )


def test_a_host_hands_over_to_somebody_present(desk: Desk) -> None:
    desk.go_live(ADA)
    desk.refused("host of Sync already", "transfer_meeting_host", participant_id=desk.id_of(ME))
    desk.refused("not present", "transfer_meeting_host", participant_id=desk.id_of(BEN))
    meeting = desk.call("transfer_meeting_host", participant_id=desk.id_of(ADA))
    assert meeting["host_name"] == ADA
    desk.refused("only Ada Berg", "end_video_meeting", meeting_id=desk.mine)
    desk.wait(2)
    assert [desk.place(name) for name in (ME, BEN, CEM)] == ["present"] * 3


def test_ending_sends_everybody_home_for_good(desk: Desk) -> None:
    desk.go_live(ADA)
    desk.record("on")
    assert desk.call("end_video_meeting", meeting_id=desk.mine)["status"] == "ended"
    assert [desk.place(name) for name in (ME, ADA, BEN)] == ["left"] * 3
    assert desk.now().recordings.where(meeting_id=desk.mine)[0].status == "stored"
    code = desk.meeting(desk.mine).code
    desk.refused("cannot be started again", "join_video_meeting", code=code)
    desk.refused("is ended, not live", "end_video_meeting", meeting_id=desk.mine)


def test_a_meeting_ends_by_itself_even_if_the_host_never_came(desk: Desk) -> None:
    desk.wait(90)
    assert desk.meeting(desk.mine).status == "ended"
    assert [desk.place(name) for name in (ME, ADA)] == ["absent", "left"]


def test_a_new_meeting_has_a_code_and_people_one_has_met(desk: Desk) -> None:
    new = {"title": "Quiz", "starts_at": (NOW + timedelta(hours=5)).isoformat()}
    made = desk.call("schedule_video_meeting", invitee_names=[ADA, ADA, CEM], **new)
    assert made["host_name"] == ME
    names = desk.call("list_meeting_participants", meeting_id=made["id"])["items"]
    assert [person["name"] for person in names] == [ME, ADA, CEM]
    assert desk.call("list_video_meetings", title=made["code"])["items"] == [made]
    other = {**new, "title": "Chess", "invitee_names": ["Zoe Unknown"]}
    desk.refused("you host Quiz", "schedule_video_meeting", **other)
    other["starts_at"] = (NOW + timedelta(hours=9)).isoformat()
    desk.refused("never met Zoe Unknown", "schedule_video_meeting", **other)


def test_meetings_are_scheduled_ahead_under_a_title_of_their_own(desk: Desk) -> None:
    new = {"title": "Sync", "invitee_names": [ADA]}
    for moment in (NOW + timedelta(minutes=10), NOW + timedelta(days=60), NOW - timedelta(days=1)):
        early = {**new, "starts_at": moment.isoformat()}
        desk.refused("choose a start", "schedule_video_meeting", **early)
    later = (NOW + timedelta(hours=5)).isoformat()
    desk.refused("there is a Sync to come", "schedule_video_meeting", **new, starts_at=later)
    assert desk.try_("join_video_meeting", code="000-0000").error == "not_found"
