"""The rules of video meetings, told on one that the acting user hosts and one of somebody else."""

from datetime import timedelta
from typing import Any

import pytest

from provegym.kernel import Seed
from provegym.servers.video_meeting.state import LOBBY_OPENS, Hub, Meeting, server
from servers.desk import Desk

NOW = Seed(0).now
ME, ADA, BEN, CEM = "Ida Falk", "Ada Berg", "Ben Ito", "Cem Roth"
AGREES = {ME: True, ADA: True, BEN: True, CEM: False}


class Hall(Desk[Hub]):
    """A meeting of one's own in half an hour, and Ada's in two hours."""

    def __init__(self, capacity: int = 10) -> None:
        super().__init__(server, Hub(Seed(0)))
        self.mine = self.plan("Sync", 30, ME, ADA, BEN, CEM, capacity=capacity)
        self.hers = self.plan("Review", 120, ADA, ME, BEN, CEM)
        self.start()

    def plan(self, title: str, minutes: int, host: str, *guests: str, capacity: int = 10) -> str:
        """A meeting of an hour that starts in so many minutes."""
        starts = NOW + timedelta(minutes=minutes)
        times = {"starts_at": starts, "ends_at": starts + timedelta(hours=1)}
        fields = {"title": title, "host_name": host, "host_id": "", "code": "", "locked": False}
        meeting = self.world.meetings.add(
            status="scheduled", capacity=capacity, due_at=starts - LOBBY_OPENS, **fields, **times
        )
        return self.world.invite(meeting, {name: AGREES[name] for name in (host, *guests)}, ME).id

    def meeting(self, meeting_id: str) -> Meeting:
        """A meeting as it is now."""
        return self.state.meetings[meeting_id]

    def id_of(self, name: str, meeting_id: str | None = None) -> str:
        """The id somebody has in a meeting."""
        return self.state.people.where(meeting_id=meeting_id or self.mine, name=name)[0].id

    def place(self, name: str, meeting_id: str | None = None) -> str:
        """Where somebody is in a meeting."""
        return self.state.people[self.id_of(name, meeting_id)].status

    def join(self, meeting_id: str) -> Any:
        """Join a meeting by its code."""
        return self.done("join_video_meeting", code=self.meeting(meeting_id).code)

    def admit(self, *names: str) -> None:
        """Let people into one's own meeting."""
        for name in names:
            self.done("admit_participant", participant_id=self.id_of(name))

    def record(self, state: str) -> Any:
        """Switch the recording of one's own meeting."""
        return self.done(
            "set_meeting_control", meeting_id=self.mine, control="recording", state=state
        )

    def go_live(self, *names: str) -> None:
        """Start one's own meeting when everybody waits, and let some of them in."""
        self.wait(35)
        self.join(self.mine)
        self.admit(*names)


@pytest.fixture
def desk() -> Hall:
    return Hall()


def test_the_lobby_opens_ten_minutes_before(desk: Hall) -> None:
    code = desk.meeting(desk.mine).code
    desk.rejected("join_video_meeting", "is not open yet", code=code)
    desk.wait(20)
    assert desk.meeting(desk.mine).status == "lobby"
    assert desk.join(desk.mine)["status"] == "present"
    assert desk.meeting(desk.mine).status == "live"


def test_people_arrive_on_the_clock_and_wait(desk: Hall) -> None:
    desk.wait(27)
    assert [desk.place(name) for name in (ADA, BEN)] == ["waiting", "invited"]
    desk.wait(10)
    assert [desk.place(name) for name in (ADA, BEN, CEM)] == ["waiting"] * 3
    assert desk.done("list_meeting_participants", meeting_id=desk.mine, name="Ada")["total"] == 1


def test_only_a_live_meeting_is_managed(desk: Hall) -> None:
    desk.wait(27)
    desk.rejected("admit_participant", "is lobby, not live", participant_id=desk.id_of(ADA))
    desk.rejected("end_video_meeting", "is lobby, not live", meeting_id=desk.mine)


def test_the_host_admits_who_waits(desk: Hall) -> None:
    desk.go_live(ADA)
    assert desk.place(ADA) == "present"
    desk.rejected("admit_participant", "not waiting", participant_id=desk.id_of(ADA))


def test_a_full_meeting_takes_nobody() -> None:
    desk = Hall(capacity=2)
    desk.go_live(ADA)
    desk.rejected("admit_participant", "Sync is full", participant_id=desk.id_of(BEN))
    desk.done("remove_participant", participant_id=desk.id_of(ADA))
    desk.admit(BEN)
    assert [desk.place(name) for name in (ADA, BEN)] == ["removed", "present"]


def test_only_who_is_there_can_be_removed(desk: Hall) -> None:
    desk.go_live()
    desk.rejected("remove_participant", "a host cannot go", participant_id=desk.id_of(ME))
    desk.done("remove_participant", participant_id=desk.id_of(CEM))
    desk.rejected("remove_participant", "is removed, neither", participant_id=desk.id_of(CEM))


def test_only_the_host_may(desk: Hall) -> None:
    desk.wait(125)
    ben = desk.id_of(BEN, desk.hers)
    for tool in ("admit_participant", "remove_participant", "transfer_meeting_host"):
        desk.denied(tool, "only Ada Berg, the host of Review", participant_id=ben)
    desk.denied("end_video_meeting", "only Ada Berg", meeting_id=desk.hers)
    lock = {"meeting_id": desk.hers, "control": "lock", "state": "on"}
    desk.denied("set_meeting_control", "only Ada Berg", **lock)


def test_other_hosts_come_and_let_people_in_by_themselves(desk: Hall) -> None:
    desk.wait(115)
    assert desk.join(desk.hers)["status"] == "waiting"
    assert desk.meeting(desk.hers).status == "lobby"
    desk.wait(5)
    assert desk.meeting(desk.hers).status == "live"
    assert desk.place(ME, desk.hers) == "waiting"
    desk.wait(2)
    assert desk.place(ME, desk.hers) == "present"
    code = desk.meeting(desk.hers).code
    desk.rejected("join_video_meeting", "you are present in Review", code=code)


def test_a_lock_keeps_everybody_new_out(desk: Hall) -> None:
    desk.wait(28)
    desk.join(desk.mine)
    lock = {"meeting_id": desk.mine, "control": "lock"}
    assert desk.done("set_meeting_control", state="on", **lock)["locked"] is True
    desk.rejected("set_meeting_control", "the lock of Sync is on already", state="on", **lock)
    desk.wait(5)
    assert [desk.place(name) for name in (ADA, BEN, CEM)] == ["waiting", "absent", "absent"]
    assert desk.done("set_meeting_control", state="off", **lock)["locked"] is False


def test_nobody_joins_a_locked_meeting(desk: Hall) -> None:
    desk.wait(121)
    desk.state.meetings.update(desk.hers, locked=True)
    code = desk.meeting(desk.hers).code
    desk.rejected("join_video_meeting", "ask Ada Berg to open it", code=code)


def test_recording_needs_the_consent_of_everybody_present(desk: Hall) -> None:
    desk.go_live(ADA, CEM)
    start = {"meeting_id": desk.mine, "control": "recording", "state": "on"}
    desk.rejected("set_meeting_control", "Cem Roth does not agree", **start)
    desk.done("remove_participant", participant_id=desk.id_of(CEM))
    desk.record("on")
    desk.rejected("set_meeting_control", "is on already", **start)


def test_a_recording_stops_when_somebody_comes_who_does_not_agree(desk: Hall) -> None:
    desk.go_live(ADA)
    desk.record("on")
    desk.admit(BEN)
    assert desk.state.recordings.where(meeting_id=desk.mine)[0].status == "running"
    desk.admit(CEM)
    assert desk.state.recordings.where(meeting_id=desk.mine)[0].status == "stored"


def test_recordings_expire(desk: Hall) -> None:
    desk.go_live()
    desk.record("on")
    desk.record("off")
    off = {"meeting_id": desk.mine, "control": "recording", "state": "off"}
    desk.rejected("set_meeting_control", "is off already", **off)
    desk.wait(14 * 1440 - 1)
    assert desk.done("list_meeting_recordings")["items"][0]["status"] == "stored"
    desk.wait(1)
    assert (
        desk.done("list_meeting_recordings", meeting_title="sync")["items"][0]["status"]
        == "expired"
    )


def test_a_host_hands_over_to_somebody_present(desk: Hall) -> None:
    desk.go_live(ADA)
    desk.rejected("transfer_meeting_host", "host of Sync already", participant_id=desk.id_of(ME))
    desk.rejected("transfer_meeting_host", "not present", participant_id=desk.id_of(BEN))
    meeting = desk.done("transfer_meeting_host", participant_id=desk.id_of(ADA))
    assert meeting["host_name"] == ADA
    desk.denied("end_video_meeting", "only Ada Berg", meeting_id=desk.mine)
    desk.wait(2)
    assert [desk.place(name) for name in (ME, BEN, CEM)] == ["present"] * 3


def test_ending_sends_everybody_home_for_good(desk: Hall) -> None:
    desk.go_live(ADA)
    desk.record("on")
    assert desk.done("end_video_meeting", meeting_id=desk.mine)["status"] == "ended"
    assert [desk.place(name) for name in (ME, ADA, BEN)] == ["left"] * 3
    assert desk.state.recordings.where(meeting_id=desk.mine)[0].status == "stored"
    code = desk.meeting(desk.mine).code
    desk.rejected("join_video_meeting", "cannot be started again", code=code)
    desk.rejected("end_video_meeting", "is ended, not live", meeting_id=desk.mine)


def test_a_meeting_ends_by_itself_even_if_the_host_never_came(desk: Hall) -> None:
    desk.wait(90)
    assert desk.meeting(desk.mine).status == "ended"
    assert [desk.place(name) for name in (ME, ADA)] == ["absent", "left"]


def test_a_new_meeting_has_a_code_and_people_one_has_met(desk: Hall) -> None:
    new = {"title": "Quiz", "starts_at": (NOW + timedelta(hours=5)).isoformat()}
    made = desk.done("schedule_video_meeting", invitee_names=[ADA, ADA, CEM], **new)
    assert made["host_name"] == ME
    names = desk.done("list_meeting_participants", meeting_id=made["id"])["items"]
    assert [person["name"] for person in names] == [ME, ADA, CEM]
    assert desk.done("list_video_meetings", title=made["code"])["items"] == [made]
    other = {**new, "title": "Chess", "invitee_names": ["Zoe Unknown"]}
    desk.rejected("schedule_video_meeting", "you host Quiz", **other)
    other["starts_at"] = (NOW + timedelta(hours=9)).isoformat()
    desk.rejected("schedule_video_meeting", "never met Zoe Unknown", **other)


def test_a_host_is_busy_while_a_meeting_runs(desk: Hall) -> None:
    desk.go_live()
    soon = (NOW + timedelta(minutes=60)).isoformat()
    new = {"title": "Quiz", "invitee_names": [ADA], "starts_at": soon}
    desk.rejected("schedule_video_meeting", "you host Sync", **new)


def test_meetings_are_scheduled_ahead_under_a_title_of_their_own(desk: Hall) -> None:
    new = {"title": "Sync", "invitee_names": [ADA]}
    for moment in (NOW + timedelta(minutes=10), NOW + timedelta(days=60), NOW - timedelta(days=1)):
        early = {**new, "starts_at": moment.isoformat()}
        desk.rejected("schedule_video_meeting", "choose a start", **early)
    later = (NOW + timedelta(hours=5)).isoformat()
    desk.rejected("schedule_video_meeting", "there is a Sync to come", **new, starts_at=later)
    new["title"] = " sync"
    desk.rejected("schedule_video_meeting", "to come already", **new, starts_at=later)
    desk.not_found("join_video_meeting", code="000-0000")
