"""What the chat knows, who may see and say what, and which messages arrive as time passes."""

from collections import Counter
from datetime import datetime
from typing import Literal

from provegym.kernel import Record, Rejected, Server, State, Table, table

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
        """Whether the user must not learn that it exists."""
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
        """A channel the user may know of; a hidden one is refused like one that does not exist."""
        channel = self.channels[channel_id]
        if channel.hidden:
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
        if channel.your_role == "none":
            raise Rejected(f"join {channel.name} with add_channel_member first")
        if channel.archived:
            raise Rejected(f"{channel.name} is archived and can only be read")
        return channel

    def say(self, channel: Channel, text: str, thread_id: str | None = None) -> ChatMessage:
        """Put the user's message into a channel now."""
        self._refuse_to_disturb(channel, self.now)
        self._refuse_wrong_mentions(channel, text)
        return self.messages.add(
            channel_id=channel.id,
            channel_name=channel.name,
            author_id=self.me.id,
            author_name=self.me.name,
            at=self.now,
            text=text,
            thread_id=thread_id,
        )

    def say_later(
        self, channel: Channel, text: str, at: datetime, thread_id: str | None = None
    ) -> ChatMessage:
        """Put the user's message into the queue until its time comes."""
        self._refuse_to_disturb(channel, at)
        self._refuse_wrong_mentions(channel, text)
        return self.queue.add(
            channel_id=channel.id,
            channel_name=channel.name,
            author_id=self.me.id,
            author_name=self.me.name,
            at=at,
            text=text,
            thread_id=thread_id,
        )

    def _refuse_to_disturb(self, channel: Channel, at: datetime) -> None:
        """Refuse to disturb a member of a direct conversation who asked not to be then."""
        people = self.undisturbed(channel, at)
        if people:
            first = people[0]
            raise Rejected(f"{first.name} is not to be disturbed until {first.undisturbed_until}")

    def undisturbed(self, channel: Channel, at: datetime) -> list[Teammate]:
        """Who besides the user must not get a direct message in this channel at that time."""
        if channel.kind != "direct":
            return []
        others = [self.teammates[member] for member in channel.member_ids if member != self.me.id]
        return [
            person
            for person in others
            if person.undisturbed_until is not None and at < person.undisturbed_until
        ]

    def _refuse_wrong_mentions(self, channel: Channel, text: str) -> None:
        """Refuse a mention ("@mira.holm") of nobody, or of somebody who cannot see the message."""
        known = {person.handle: person.id for person in self.teammates}
        for word in text.split():
            if not word.startswith("@"):
                continue
            handle = word[1:].rstrip(".,:;!?").lower()
            if handle not in known:
                raise Rejected(f"nobody is called @{handle}; list_teammates shows handles")
            if channel.kind != "public" and known[handle] not in channel.member_ids:
                raise Rejected(f"@{handle} is not in {channel.name}; add them first")

    def next_event(self) -> datetime | None:
        """A queued message arrives or somebody can be disturbed again."""
        ends = [person.undisturbed_until for person in self.teammates if person.undisturbed_until]
        arrivals = [message.at for message in self.queue]
        return min([*ends, *arrivals], default=None)

    def happen(self) -> None:
        """Deliver what is due, in the order it was queued, and end what people set for a time."""
        for waiting in self.queue.where(at=self.now):
            self._deliver(waiting)
        for person in self.teammates.where(undisturbed_until=self.now):
            self.teammates.update(person.id, status="", undisturbed_until=None)

    def _deliver(self, waiting: ChatMessage) -> None:
        """Move a message from the queue to its channel, where it gets an id of its own."""
        self.queue.remove(waiting.id)
        self.messages.add(
            channel_id=waiting.channel_id,
            channel_name=waiting.channel_name,
            author_id=waiting.author_id,
            author_name=waiting.author_name,
            at=waiting.at,
            text=waiting.text,
            thread_id=waiting.thread_id,
        )
        channel = self.channels[waiting.channel_id]
        if channel.your_role != "none" and waiting.author_id != self.me.id:
            self.channels.update(channel.id, unread=channel.unread + 1)

    def check(self) -> None:
        """Nothing said ever changes; threads, marks and members are in order."""
        self._check_history()
        self._check_channels()
        self._check_conversations()
        for message in self.messages:
            self._check_message(message)
        for message in self.queue:
            assert message.at > self.now
            self._check_message(message)
            if message.author_id == self.me.id:
                assert not self.undisturbed(self.channels[message.channel_id], message.at)

    def _check_history(self) -> None:
        """No message that was there from the start is gone or says anything else."""
        for _, before, after in self.messages.touched():
            if before is None:
                continue
            assert after is not None
            assert after.at == before.at
            assert after.author_id == before.author_id
            assert after.text == before.text

    def _check_channels(self) -> None:
        """Members exist and are listed once; the user's role says whether they are a member."""
        pins = Counter(message.channel_id for message in self.messages if message.pinned_by)
        for channel in self.channels:
            assert pins[channel.id] <= PIN_LIMIT
            assert set(channel.member_ids) <= set(self.teammates.keys())
            assert len(set(channel.member_ids)) == len(channel.member_ids)
            assert (channel.your_role == "none") == (self.me.id not in channel.member_ids)

    def _check_conversations(self) -> None:
        """No two direct conversations have the same people."""
        direct = self.channels.where(kind="direct")
        assert len({frozenset(channel.member_ids) for channel in direct}) == len(direct)

    def _check_message(self, message: ChatMessage) -> None:
        """A reply is in the channel of its thread; in a direct conversation only members talk."""
        if message.thread_id is not None:
            root = self.messages[message.thread_id]
            assert root.channel_id == message.channel_id
            assert root.thread_id is None
        channel = self.channels[message.channel_id]
        if channel.kind == "direct":
            assert message.author_id in channel.member_ids
        assert len(set(message.reactions)) == len(message.reactions)


about = "Channels, threads, direct conversations, pins and presence in a team's chat."
server = Server("team_chat", Chat, category="social", about=about, version=2)
