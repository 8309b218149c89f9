"""The chat's rules, told in a tiny team made by hand."""

from datetime import timedelta
from typing import Any

import pytest

from provegym.kernel import Outcome, Seed, Session
from provegym.servers.team_chat.state import PIN_LIMIT, Channel, Chat, server

NOW = Seed(0).now


class Team:
    """Ida, for whom we act, with Bo and Cy, and short words for what one does."""

    def __init__(self) -> None:
        self.chat = Chat(Seed(0))
        self.ida, self.bo, self.cy = (
            self.chat.teammates.add(name=name, handle=name.lower(), title="", you=name == "Ida").id
            for name in ("Ida", "Bo", "Cy")
        )
        self.hall = self.open("#hall", your_role="member")
        self.crew = self.open("#crew", kind="private", your_role="admin")
        self.vault = self.open("#vault", kind="private")
        self.news = self.open("#news", kind="announcement", your_role="member")
        self.hello = self.say(self.hall, "Hello all")
        self.secret = self.say(self.vault, "The treasure is buried")
        self.notice = self.say(self.news, "We are moving")
        self.start()

    def start(self) -> None:
        """Begin a session over what was made so far."""
        self.session = Session.over(server, self.chat)

    def open(self, name: str, **fields: Any) -> str:
        """A channel with Bo in it, and Ida if she has a role there."""
        known = {"kind": "public", "your_role": "none", **fields}
        members = (self.bo,) if known["your_role"] == "none" else (self.bo, self.ida)
        return self.chat.channels.add(name=name, member_ids=members, **known).id

    def say(self, channel_id: str, text: str, **fields: Any) -> str:
        """Something Bo said an hour ago, or will say if a time is given."""
        name = self.chat.channels[channel_id].name
        known = {"author_id": self.bo, "author_name": "Bo", "at": NOW - timedelta(hours=1)}
        place = self.chat.queue if "at" in fields else self.chat.messages
        said = {"channel_id": channel_id, "channel_name": name, "text": text}
        return place.add(**said, **{**known, **fields}).id

    def call(self, tool: str, **arguments: Any) -> Outcome:
        """A call, after which the chat must still be in order."""
        outcome = self.session.call(tool, arguments)
        self.session.state(server).check()
        return outcome

    def refused(self, tool: str, kind: str = "rejected", **arguments: Any) -> str:
        """What Ida is told when a rule forbids it."""
        outcome = self.call(tool, **arguments)
        assert outcome.error == kind, outcome.text
        return str(outcome.value["message"])

    def done(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a call that works."""
        outcome = self.call(tool, **arguments)
        assert outcome.ok, outcome.text
        value: dict[str, Any] = outcome.value
        return value

    def channel(self, channel_id: str) -> Channel:
        """A channel as it is now."""
        state = self.session.state(server)
        assert isinstance(state, Chat)
        return state.channels[channel_id]

    def said(self, **filters: Any) -> list[str]:
        """The texts a search finds."""
        return [item["text"] for item in self.done("search_chat_messages", **filters)["items"]]


def test_a_member_posts_and_everyone_finds_it() -> None:
    team = Team()
    posted = team.done("post_channel_message", channel_id=team.hall, text="Good morning @bo!")
    assert (posted["author_name"], posted["channel_name"]) == ("Ida", "#hall")
    assert team.said(channel_id=team.hall) == ["Good morning @bo!", "Hello all"]
    assert team.said(text="@bo") == ["Good morning @bo!"]


def test_one_must_join_before_posting() -> None:
    team = Team()
    lounge = team.open("#lounge")
    team.start()
    post = {"channel_id": lounge, "text": "Hi"}
    assert "add_channel_member" in team.refused("post_channel_message", **post)
    assert team.done("add_channel_member", channel_id=lounge)["your_role"] == "member"
    assert team.done("post_channel_message", **post)
    assert "already in" in team.refused("add_channel_member", channel_id=lounge)


def test_an_archived_channel_can_only_be_read() -> None:
    team = Team()
    attic = team.open("#attic", your_role="member", archived=True)
    old = team.say(attic, "Dust")
    team.start()
    assert team.said(channel_id=attic) == ["Dust"]
    assert "only be read" in team.refused("post_channel_message", channel_id=attic, text="Hi")
    react = {"chat_message_id": old, "emoji": "heart"}
    assert "only be read" in team.refused("react_to_chat_message", **react)
    assert "only be read" in team.refused("pin_chat_message", chat_message_id=old)
    member = {"channel_id": attic, "teammate_id": team.cy}
    assert "only be read" in team.refused("add_channel_member", **member)


def test_a_private_channel_is_like_none_to_those_outside() -> None:
    team = Team()
    unknown = team.refused("post_channel_message", "not_found", channel_id="chn_1", text="Hi")
    hidden = team.refused("post_channel_message", "not_found", channel_id=team.vault, text="Hi")
    assert hidden.replace(team.vault, "chn_1") == unknown
    team.refused("add_channel_member", "not_found", channel_id=team.vault)
    team.refused("list_teammates", "not_found", channel_id=team.vault)
    team.refused("pin_chat_message", "not_found", chat_message_id=team.secret)
    assert "treasure" not in str(team.said())
    assert team.done("list_channels", name="vault")["total"] == 0


def test_only_admins_announce_but_everybody_replies() -> None:
    team = Team()
    post = {"channel_id": team.news, "text": "Where to?"}
    assert "reply" in team.refused("post_channel_message", "denied", **post)
    assert team.done("post_channel_message", **post, thread_id=team.notice)
    assert team.refused("pin_chat_message", "denied", chat_message_id=team.notice)


def test_a_reply_belongs_to_a_thread_of_its_channel() -> None:
    team = Team()
    post = {"channel_id": team.hall, "text": "Hi"}
    assert "no thread" in team.refused("post_channel_message", **post, thread_id=team.notice)
    reply = team.done("post_channel_message", **post, thread_id=team.hello)
    assert "no thread" in team.refused("post_channel_message", **post, thread_id=reply["id"])
    assert team.said(thread_id=team.hello) == ["Hi", "Hello all"]


def test_a_mention_must_reach_somebody() -> None:
    team = Team()
    nobody = {"channel_id": team.hall, "text": "Ask @dora."}
    assert "@dora" in team.refused("post_channel_message", **nobody)
    outside = {"channel_id": team.crew, "text": "Ask @cy."}
    assert "add them first" in team.refused("post_channel_message", **outside)
    assert team.done("add_channel_member", channel_id=team.crew, teammate_id=team.cy)
    assert team.done("post_channel_message", **outside)


def test_a_scheduled_message_arrives_by_the_clock() -> None:
    team = Team()
    at = (NOW + timedelta(hours=2)).isoformat()
    later = {"channel_id": team.hall, "text": "Time for tea", "post_at": at}
    assert team.done("post_channel_message", **later)["id"].startswith("que_")
    assert team.said(only="scheduled") == ["Time for tea"]
    team.session.advance(119)
    assert team.said(text="tea") == []
    team.session.advance(1)
    assert (team.said(text="tea"), team.said(only="scheduled")) == (["Time for tea"], [])
    assert team.channel(team.hall).unread == 0


def test_messages_are_scheduled_within_thirty_days_and_two_at_a_time() -> None:
    team = Team()
    post = {"channel_id": team.hall, "text": "Later"}
    for days in (-1, 31):
        at = (NOW + timedelta(days=days)).isoformat()
        assert "30 days" in team.refused("post_channel_message", **post, post_at=at)
    at = (NOW + timedelta(days=30)).isoformat()
    assert all(team.done("post_channel_message", **post, post_at=at) for _ in range(2))
    assert "two messages" in team.refused("post_channel_message", **post, post_at=at)
    assert "still waits" in team.refused("leave_channel", channel_id=team.hall)


def test_what_teammates_write_arrives_unread() -> None:
    team = Team()
    team.say(team.hall, "News from Bo", at=NOW + timedelta(hours=1))
    team.start()
    assert "nothing unread" in team.refused("mark_channel_read", channel_id=team.hall)
    assert team.said(only="scheduled") == []
    team.session.advance(60)
    unread = team.done("list_channels", unread_only=True)["items"]
    assert [(channel["name"], channel["unread"]) for channel in unread] == [("#hall", 1)]
    assert team.said(channel_id=team.hall) == ["News from Bo", "Hello all"]
    assert team.done("mark_channel_read", channel_id=team.hall)["unread"] == 0
    assert "nothing unread" in team.refused("mark_channel_read", channel_id=team.hall)


def test_a_direct_message_opens_one_conversation_only() -> None:
    team = Team()
    first = team.done("send_direct_message", teammate_ids=[team.bo, team.bo], text="Hi")
    again = team.done("send_direct_message", teammate_ids=[team.bo], text="Still there?")
    three = team.done("send_direct_message", teammate_ids=[team.bo, team.cy], text="Hi both")
    assert first["channel_id"] == again["channel_id"] != three["channel_id"]
    assert three["channel_name"] == "Bo, Cy"
    assert team.channel(three["channel_id"]).member_ids == (team.ida, team.bo, team.cy)
    alone = {"teammate_ids": [team.ida], "text": "Dear diary"}
    assert "leave the user out" in team.refused("send_direct_message", **alone)


def test_a_conversation_keeps_its_people() -> None:
    team = Team()
    talk = team.done("send_direct_message", teammate_ids=[team.bo], text="Hi")["channel_id"]
    member = {"channel_id": talk, "teammate_id": team.cy}
    assert "another conversation" in team.refused("add_channel_member", **member)
    assert "mark it read" in team.refused("leave_channel", channel_id=talk)


def test_nobody_is_disturbed_until_the_time_is_over() -> None:
    team = Team()
    ends = NOW + timedelta(hours=3)
    team.chat.teammates.update(team.bo, status="Deep work", undisturbed_until=ends)
    team.start()
    note = {"teammate_ids": [team.bo], "text": "Quick one"}
    assert "not to be disturbed" in team.refused("send_direct_message", **note)
    assert team.done("list_channels", name="Bo")["total"] == 0
    assert team.done("post_channel_message", channel_id=team.hall, text="@bo, no hurry")
    team.session.advance(180)
    assert team.done("send_direct_message", **note)
    assert "status" not in team.done("list_teammates", name="Bo")["items"][0]


def test_a_conversation_waits_or_is_scheduled_for_the_undisturbed() -> None:
    team = Team()
    talk = team.done("send_direct_message", teammate_ids=[team.bo], text="Hi")["channel_id"]
    state = team.session.state(server)
    assert isinstance(state, Chat)
    state.teammates.update(team.bo, undisturbed_until=NOW + timedelta(hours=3))
    post = {"channel_id": talk, "text": "Quick one"}
    assert "not to be disturbed" in team.refused("post_channel_message", **post)
    at = (NOW + timedelta(hours=3)).isoformat()
    assert team.done("post_channel_message", **post, post_at=at)
    team.session.advance(180)
    assert team.said(channel_id=talk) == ["Quick one", "Hi"]


def test_one_reaction_of_a_kind_each() -> None:
    team = Team()
    react = {"chat_message_id": team.hello, "emoji": "heart"}
    assert team.done("react_to_chat_message", **react)["reactions"] == ["heart by Ida"]
    assert "already" in team.refused("react_to_chat_message", **react)
    assert len(team.done("react_to_chat_message", **react | {"emoji": "eyes"})["reactions"]) == 2


def test_a_channel_holds_so_many_pins() -> None:
    team = Team()
    said = [team.say(team.hall, f"Rule {number}") for number in range(PIN_LIMIT + 1)]
    team.start()
    *most, last = said
    assert all(team.done("pin_chat_message", chat_message_id=rule) for rule in most)
    assert "already pinned" in team.refused("pin_chat_message", chat_message_id=most[0])
    assert "is full" in team.refused("pin_chat_message", chat_message_id=last)
    assert team.done("pin_chat_message", chat_message_id=most[0], pinned=False)
    assert team.done("pin_chat_message", chat_message_id=last)
    assert len(team.said(only="pinned")) == PIN_LIMIT


def test_a_pin_is_taken_away_by_who_set_it_or_an_admin() -> None:
    team = Team()
    theirs = team.say(team.hall, "Mine", pinned_by="Bo")
    ours = team.say(team.crew, "Ours", pinned_by="Bo")
    team.start()
    unpin: dict[str, Any] = {"pinned": False}
    assert "Bo" in team.refused("pin_chat_message", "denied", chat_message_id=theirs, **unpin)
    assert "pinned_by" not in team.done("pin_chat_message", chat_message_id=ours, **unpin)
    assert "not pinned" in team.refused("pin_chat_message", chat_message_id=ours, **unpin)


def test_only_an_admin_adds_people_to_a_private_channel() -> None:
    team = Team()
    circle = team.open("#circle", kind="private", your_role="member")
    team.start()
    assert team.refused(
        "add_channel_member", "denied", channel_id=circle, teammate_id=team.cy
    ).endswith("ask one")
    team.done("add_channel_member", channel_id=team.crew, teammate_id=team.cy)
    assert team.done("list_teammates", channel_id=team.crew)["total"] == 3


def test_a_private_channel_disappears_when_left() -> None:
    team = Team()
    circle = team.open("#circle", kind="private", your_role="member")
    team.say(circle, "Just us")
    team.start()
    assert team.said(text="just us") == ["Just us"]
    assert team.done("leave_channel", channel_id=circle)["your_role"] == "none"
    assert team.said(text="just us") == []
    team.refused("add_channel_member", "not_found", channel_id=circle)


def test_who_runs_a_channel_stays_and_announcements_reach_all() -> None:
    team = Team()
    for channel_id in (team.crew, team.news):
        assert "mark it read" in team.refused("leave_channel", channel_id=channel_id)
    assert team.done("leave_channel", channel_id=team.hall)
    assert "add_channel_member" in team.refused("leave_channel", channel_id=team.hall)


def test_a_status_is_set_ends_by_itself_and_is_cleared() -> None:
    team = Team()
    assert "no status" in team.refused("set_chat_status", status="")
    busy = {"status": "Exams", "undisturbed_until": (NOW + timedelta(hours=1)).isoformat()}
    assert team.done("set_chat_status", **busy)["status"] == "Exams"
    team.session.advance(60)
    assert "status" not in team.done("list_teammates", name="Ida")["items"][0]
    assert team.done("set_chat_status", status="Here")
    assert "status" not in team.done("set_chat_status", status="")
    far = (NOW + timedelta(days=20)).isoformat()
    assert "choose a time" in team.refused("set_chat_status", status="", undisturbed_until=far)


def test_what_was_said_never_changes() -> None:
    team = Team()
    before = team.session.state(server)
    assert isinstance(before, Chat)
    texts = [(message.id, message.text) for message in before.messages]
    team.done("react_to_chat_message", chat_message_id=team.hello, emoji="eyes")
    team.done("pin_chat_message", chat_message_id=team.hello)
    team.done("post_channel_message", channel_id=team.hall, text="Hi", thread_id=team.hello)
    assert [(message.id, message.text) for message in before.messages][:3] == texts
    before.messages.update(team.hello, text="Goodbye all")
    with pytest.raises(AssertionError):
        before.check()
