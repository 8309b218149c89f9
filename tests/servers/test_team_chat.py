"""The chat's rules, told in a tiny team made by hand."""

from datetime import timedelta
from typing import Any

import pytest

from provegym.kernel import Seed
from provegym.servers.team_chat.state import PIN_LIMIT, Channel, Chat, server
from servers.desk import Desk

NOW = Seed(0).now


class Team(Desk[Chat]):
    """Ida, for whom we act, with Bo and Cy, and four channels."""

    def __init__(self) -> None:
        super().__init__(server, Chat(Seed(0)))
        self.ida, self.bo, self.cy = (
            self.world.teammates.add(name=name, handle=name.lower(), title="", you=name == "Ida").id
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

    def open(self, name: str, **fields: Any) -> str:
        """A channel with Bo in it, and Ida if she has a role there."""
        known = {"kind": "public", "your_role": "none", **fields}
        members = (self.bo,) if known["your_role"] == "none" else (self.bo, self.ida)
        return self.world.channels.add(name=name, member_ids=members, **known).id

    def say(self, channel_id: str, text: str, **fields: Any) -> str:
        """Something Bo said an hour ago, or will say if a time is given."""
        name = self.world.channels[channel_id].name
        known = {"author_id": self.bo, "author_name": "Bo", "at": NOW - timedelta(hours=1)}
        place = self.world.queue if "at" in fields else self.world.messages
        said = {"channel_id": channel_id, "channel_name": name, "text": text}
        return place.add(**said, **{**known, **fields}).id

    def channel(self, channel_id: str) -> Channel:
        """A channel as it is now."""
        return self.state.channels[channel_id]

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
    team.rejected("post_channel_message", "add_channel_member", **post)
    assert team.done("add_channel_member", channel_id=lounge)["your_role"] == "member"
    assert team.done("post_channel_message", **post)
    team.rejected("add_channel_member", "already in", channel_id=lounge)


def test_an_archived_channel_can_only_be_read() -> None:
    team = Team()
    attic = team.open("#attic", your_role="member", archived=True)
    old = team.say(attic, "Dust")
    team.start()
    assert team.said(channel_id=attic) == ["Dust"]
    team.rejected("post_channel_message", "only be read", channel_id=attic, text="Hi")
    react = {"chat_message_id": old, "emoji": "heart"}
    team.rejected("react_to_chat_message", "only be read", **react)
    team.rejected("pin_chat_message", "only be read", chat_message_id=old)
    member = {"channel_id": attic, "teammate_id": team.cy}
    team.rejected("add_channel_member", "only be read", **member)


def test_a_private_channel_is_like_none_to_those_outside() -> None:
    team = Team()
    unknown = team.not_found("post_channel_message", channel_id="chn_1", text="Hi")
    hidden = team.not_found("post_channel_message", channel_id=team.vault, text="Hi")
    assert hidden.replace(team.vault, "chn_1") == unknown
    team.not_found("add_channel_member", channel_id=team.vault)
    team.not_found("list_teammates", channel_id=team.vault)
    team.not_found("pin_chat_message", chat_message_id=team.secret)
    assert "treasure" not in str(team.said())
    assert team.done("list_channels", name="vault")["total"] == 0


def test_only_admins_announce_but_everybody_replies() -> None:
    team = Team()
    post = {"channel_id": team.news, "text": "Where to?"}
    team.denied("post_channel_message", "reply", **post)
    assert team.done("post_channel_message", **post, thread_id=team.notice)
    assert team.denied("pin_chat_message", chat_message_id=team.notice)


def test_a_reply_belongs_to_a_thread_of_its_channel() -> None:
    team = Team()
    post = {"channel_id": team.hall, "text": "Hi"}
    team.rejected("post_channel_message", "no thread", **post, thread_id=team.notice)
    reply = team.done("post_channel_message", **post, thread_id=team.hello)
    team.rejected("post_channel_message", "no thread", **post, thread_id=reply["id"])
    assert team.said(thread_id=team.hello) == ["Hi", "Hello all"]


def test_a_mention_must_reach_somebody() -> None:
    team = Team()
    nobody = {"channel_id": team.hall, "text": "Ask @dora."}
    team.rejected("post_channel_message", "@dora", **nobody)
    outside = {"channel_id": team.crew, "text": "Ask @cy."}
    team.rejected("post_channel_message", "add them first", **outside)
    assert team.done("add_channel_member", channel_id=team.crew, teammate_id=team.cy)
    assert team.done("post_channel_message", **outside)


def test_a_scheduled_message_arrives_by_the_clock() -> None:
    team = Team()
    at = (NOW + timedelta(hours=2)).isoformat()
    later = {"channel_id": team.hall, "text": "Time for tea", "post_at": at}
    assert team.done("post_channel_message", **later)["id"].startswith("que_")
    assert team.said(only="scheduled") == ["Time for tea"]
    team.wait(119)
    assert team.said(text="tea") == []
    team.wait(1)
    assert (team.said(text="tea"), team.said(only="scheduled")) == (["Time for tea"], [])
    assert team.channel(team.hall).unread == 0


def test_messages_are_scheduled_within_thirty_days_and_two_at_a_time() -> None:
    team = Team()
    post = {"channel_id": team.hall, "text": "Later"}
    for days in (-1, 31):
        at = (NOW + timedelta(days=days)).isoformat()
        team.rejected("post_channel_message", "30 days", **post, post_at=at)
    at = (NOW + timedelta(days=30)).isoformat()
    assert all(team.done("post_channel_message", **post, post_at=at) for _ in range(2))
    team.rejected("post_channel_message", "two messages", **post, post_at=at)
    team.rejected("leave_channel", "still waits", channel_id=team.hall)


def test_what_teammates_write_arrives_unread() -> None:
    team = Team()
    team.say(team.hall, "News from Bo", at=NOW + timedelta(hours=1))
    team.start()
    team.rejected("mark_channel_read", "nothing unread", channel_id=team.hall)
    assert team.said(only="scheduled") == []
    team.wait(60)
    unread = team.done("list_channels", unread_only=True)["items"]
    assert [(channel["name"], channel["unread"]) for channel in unread] == [("#hall", 1)]
    assert team.said(channel_id=team.hall) == ["News from Bo", "Hello all"]
    assert team.done("mark_channel_read", channel_id=team.hall)["unread"] == 0
    team.rejected("mark_channel_read", "nothing unread", channel_id=team.hall)


def test_a_direct_message_opens_one_conversation_only() -> None:
    team = Team()
    first = team.done("send_direct_message", teammate_ids=[team.bo, team.bo], text="Hi")
    again = team.done("send_direct_message", teammate_ids=[team.bo], text="Still there?")
    three = team.done("send_direct_message", teammate_ids=[team.bo, team.cy], text="Hi both")
    assert first["channel_id"] == again["channel_id"] != three["channel_id"]
    assert three["channel_name"] == "Bo, Cy"
    assert team.channel(three["channel_id"]).member_ids == (team.ida, team.bo, team.cy)
    alone = {"teammate_ids": [team.ida], "text": "Dear diary"}
    team.rejected("send_direct_message", "leave the user out", **alone)


def test_a_conversation_keeps_its_people() -> None:
    team = Team()
    talk = team.done("send_direct_message", teammate_ids=[team.bo], text="Hi")["channel_id"]
    member = {"channel_id": talk, "teammate_id": team.cy}
    team.rejected("add_channel_member", "another conversation", **member)
    team.rejected("leave_channel", "mark it read", channel_id=talk)


def test_nobody_is_disturbed_until_the_time_is_over() -> None:
    team = Team()
    ends = NOW + timedelta(hours=3)
    team.world.teammates.update(team.bo, status="Deep work", undisturbed_until=ends)
    team.start()
    note = {"teammate_ids": [team.bo], "text": "Quick one"}
    team.rejected("send_direct_message", "not to be disturbed", **note)
    assert team.done("list_channels", name="Bo")["total"] == 0
    assert team.done("post_channel_message", channel_id=team.hall, text="@bo, no hurry")
    team.wait(180)
    assert team.done("send_direct_message", **note)
    assert "status" not in team.done("list_teammates", name="Bo")["items"][0]


def test_a_conversation_waits_or_is_scheduled_for_the_undisturbed() -> None:
    team = Team()
    talk = team.done("send_direct_message", teammate_ids=[team.bo], text="Hi")["channel_id"]
    team.state.teammates.update(team.bo, undisturbed_until=NOW + timedelta(hours=3))
    post = {"channel_id": talk, "text": "Quick one"}
    team.rejected("post_channel_message", "not to be disturbed", **post)
    at = (NOW + timedelta(hours=2)).isoformat()
    team.rejected("post_channel_message", "not to be disturbed", **post, post_at=at)
    at = (NOW + timedelta(hours=3)).isoformat()
    assert team.done("post_channel_message", **post, post_at=at)
    team.wait(180)
    assert team.said(channel_id=talk) == ["Quick one", "Hi"]


def test_one_reaction_of_a_kind_each() -> None:
    team = Team()
    react = {"chat_message_id": team.hello, "emoji": "heart"}
    assert team.done("react_to_chat_message", **react)["reactions"] == ["heart by Ida"]
    team.rejected("react_to_chat_message", "already", **react)
    assert len(team.done("react_to_chat_message", **react | {"emoji": "eyes"})["reactions"]) == 2


def test_a_channel_holds_so_many_pins() -> None:
    team = Team()
    said = [team.say(team.hall, f"Rule {number}") for number in range(PIN_LIMIT + 1)]
    team.start()
    *most, last = said
    assert all(team.done("pin_chat_message", chat_message_id=rule) for rule in most)
    team.rejected("pin_chat_message", "already pinned", chat_message_id=most[0])
    team.rejected("pin_chat_message", "is full", chat_message_id=last)
    assert team.done("pin_chat_message", chat_message_id=most[0], pinned=False)
    assert team.done("pin_chat_message", chat_message_id=last)
    assert len(team.said(only="pinned")) == PIN_LIMIT


def test_a_pin_is_taken_away_by_who_set_it_or_an_admin() -> None:
    team = Team()
    theirs = team.say(team.hall, "Mine", pinned_by="Bo")
    ours = team.say(team.crew, "Ours", pinned_by="Bo")
    team.start()
    unpin: dict[str, Any] = {"pinned": False}
    team.denied("pin_chat_message", "Bo", chat_message_id=theirs, **unpin)
    assert "pinned_by" not in team.done("pin_chat_message", chat_message_id=ours, **unpin)
    team.rejected("pin_chat_message", "not pinned", chat_message_id=ours, **unpin)


def test_only_an_admin_adds_people_to_a_private_channel() -> None:
    team = Team()
    circle = team.open("#circle", kind="private", your_role="member")
    team.start()
    assert team.denied("add_channel_member", channel_id=circle, teammate_id=team.cy).endswith(
        "ask one"
    )
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
    team.not_found("add_channel_member", channel_id=circle)


def test_who_runs_a_channel_stays_and_announcements_reach_all() -> None:
    team = Team()
    for channel_id in (team.crew, team.news):
        team.rejected("leave_channel", "mark it read", channel_id=channel_id)
    assert team.done("leave_channel", channel_id=team.hall)
    team.rejected("leave_channel", "add_channel_member", channel_id=team.hall)


def test_a_status_is_set_ends_by_itself_and_is_cleared() -> None:
    team = Team()
    team.rejected("set_chat_status", "no status", status="")
    busy = {"status": "Exams", "undisturbed_until": (NOW + timedelta(hours=1)).isoformat()}
    assert team.done("set_chat_status", **busy)["status"] == "Exams"
    team.wait(60)
    assert "status" not in team.done("list_teammates", name="Ida")["items"][0]
    assert team.done("set_chat_status", status="Here")
    assert "status" not in team.done("set_chat_status", status="")
    far = (NOW + timedelta(days=20)).isoformat()
    team.rejected("set_chat_status", "choose a time", status="", undisturbed_until=far)


def test_what_was_said_never_changes() -> None:
    team = Team()
    before = team.state
    texts = [(message.id, message.text) for message in before.messages]
    team.done("react_to_chat_message", chat_message_id=team.hello, emoji="eyes")
    team.done("pin_chat_message", chat_message_id=team.hello)
    team.done("post_channel_message", channel_id=team.hall, text="Hi", thread_id=team.hello)
    assert [(message.id, message.text) for message in before.messages][:3] == texts
    before.messages.update(team.hello, text="Goodbye all")
    with pytest.raises(AssertionError):
        before.check()
