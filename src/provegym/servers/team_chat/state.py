"""What the chat knows, who may see and say what, and what arrives with the clock."""

from collections import Counter
from datetime import datetime
from typing import Any, Literal

from provegym.kernel import Record, Server, State, Table, forbid, table

ChannelKind = Literal["public", "private", "announcement", "direct"]
Emoji = Literal["thumbs_up", "heart", "tada", "eyes", "check", "laugh", "plus_one", "rocket"]
PIN_LIMIT = 4


class Teammate(Record, frozen=True):
    """Somebody in the team; until `undisturbed_until` nobody sends them direct messages."""

    id: str
    name: str
    handle: str
    title: str
    you: bool = False
    status: str = ""
    undisturbed_until: datetime | None = None


class Channel(Record, frozen=True):
    """A place to talk, the acting user's role there, and how many messages are new to them."""

    id: str
    name: str
    kind: ChannelKind
    member_ids: tuple[str, ...]
    your_role: Literal["none", "member", "admin"]
    topic: str = ""
    unread: int = 0
    archived: bool = False

    @property
    def hidden(self) -> bool:
        """Whether the user must not even know of it."""
        return self.your_role == "none" and self.kind == "private"


class ChatMessage(Record, frozen=True):
    """What somebody said, which never changes, its pin and reactions ("heart by Mira Holm")."""

    id: str
    channel_id: str
    channel_name: str
    author_id: str
    author_name: str
    at: datetime
    text: str
    thread_id: str | None = None
    reactions: tuple[str, ...] = ()
    pinned_by: str | None = None


class Chat(State):
    """The chat of one team on behalf of one member; what is scheduled waits in a queue."""

    teammates: Table[Teammate] = table(Teammate, "tmt", look_up="list_teammates")
    channels: Table[Channel] = table(Channel, "chn", look_up="list_channels")
    messages: Table[ChatMessage] = table(ChatMessage, "cht", look_up="search_chat_messages")
    queue: Table[ChatMessage] = table(ChatMessage, "que", look_up="search_chat_messages")

    @property
    def me(self) -> Teammate:
        """The acting user."""
        return self.teammates.where(you=True)[0]

    def channel(self, channel_id: str) -> Channel:
        """A channel; to the user, one that is hidden is no other than one that does not exist."""
        if (channel := self.channels[channel_id]).hidden:
            raise self.tables["channels"].missing(channel_id)
        return channel

    def message(self, chat_message_id: str) -> ChatMessage:
        """A message in a channel the user may know of."""
        message = self.messages[chat_message_id]
        if self.channels[message.channel_id].hidden:
            raise self.tables["messages"].missing(chat_message_id)
        return message

    def joined(self, channel_id: str) -> Channel:
        """A channel the user is in and that is not archived."""
        channel = self.channel(channel_id)
        forbid(channel.your_role == "none", f"join {channel.name} with add_channel_member first")
        forbid(channel.archived, f"{channel.name} is archived and can only be read")
        return channel

    def say(self, channel: Channel, text: str, **fields: Any) -> ChatMessage:
        """Put the user's message into a channel now, or into the queue with a time of its own."""
        alone = channel.kind == "direct" and "at" not in fields
        for person in [self.teammates[member] for member in channel.member_ids if alone]:
            until = None if person.you else person.undisturbed_until
            forbid(until is not None, f"{person.name} is not to be disturbed until {until}")
        known = {person.handle: person.id for person in self.teammates}
        for call in [word[1:].rstrip(".,:;!?").lower() for word in text.split() if word[0] == "@"]:
            forbid(call not in known, f"nobody is called @{call}; list_teammates shows handles")
            blind = channel.kind != "public" and known[call] not in channel.member_ids
            forbid(blind, f"@{call} is not in {channel.name}; add them first")
        said = {"channel_id": channel.id, "channel_name": channel.name, "text": text, **fields}
        said |= {"author_id": self.me.id, "author_name": self.me.name}
        return self.queue.add(**said) if "at" in said else self.messages.add(at=self.now, **said)

    def next_event(self) -> datetime | None:
        """A queued message arrives or somebody can be disturbed again."""
        ends = [person.undisturbed_until for person in self.teammates if person.undisturbed_until]
        return min([*ends, *(message.at for message in self.queue)], default=None)

    def happen(self) -> None:
        """Deliver what is due, in the order it was queued, and end what people set for a time."""
        for waiting in self.queue.where(at=self.now):
            self.queue.remove(waiting.id)
            names, channel = waiting.__struct_fields__[1:], self.channels[waiting.channel_id]
            self.messages.add(**{name: getattr(waiting, name) for name in names})
            if channel.your_role != "none" and waiting.author_id != self.me.id:
                self.channels.update(channel.id, unread=channel.unread + 1)
        for person in self.teammates.where(undisturbed_until=self.now):
            self.teammates.update(person.id, status="", undisturbed_until=None)

    def check(self) -> None:
        """Nothing said ever changes; threads, marks and members are in order."""
        for _, before, after in self.messages.touched():
            assert len({m and (m.at, m.author_id, m.text) for m in (before or after, after)}) == 1
        pins = Counter(message.channel_id for message in self.messages if message.pinned_by)
        assert max(pins.values(), default=0) <= PIN_LIMIT
        for channel in self.channels:
            assert set(channel.member_ids) <= set(self.teammates.keys())
            assert len(set(channel.member_ids)) == len(channel.member_ids)
            assert (channel.your_role == "none") == (self.me.id not in channel.member_ids)
        direct = {c.id: frozenset(c.member_ids) for c in self.channels.where(kind="direct")}
        assert len(set(direct.values())) == len(direct)
        for message in [*self.messages, *self.queue]:
            root = self.messages[message.thread_id] if message.thread_id else message
            assert (root.channel_id, root.thread_id) == (message.channel_id, None)
            assert message.author_id in direct.get(message.channel_id, [message.author_id])
            assert len(set(message.reactions)) == len(message.reactions)
        assert all(message.at > self.now for message in self.queue)


about = "Channels, threads, direct conversations, pins and presence in a team's chat."
server = Server("team_chat", Chat, category="social", about=about)
