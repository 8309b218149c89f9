"""What can be done in the team's chat."""

from datetime import timedelta
from typing import Annotated, Literal

from msgspec import Meta

from provegym.kernel import Denied, Rejected, Time

from .state import PIN_LIMIT, Channel, Chat, ChatMessage, Emoji, Teammate, server

Body = Annotated[str, Meta(min_length=1, max_length=500)]
People = Annotated[list[str], Meta(min_length=1, max_length=7)]


@server.read
def list_channels(chat: Chat, /, name: str = "", unread_only: bool = False) -> list[Channel]:
    """List the chat channels and direct conversations the user can see, archived ones too.

    Args:
        name: Only channels whose name contains this; a conversation is named after its people.
        unread_only: Only channels with messages the user has not read.
    """
    found = [channel for channel in chat.channels if not channel.hidden]
    found = [channel for channel in found if name.lower() in channel.name.lower()]
    if unread_only:
        found = [channel for channel in found if channel.unread]
    return found


@server.read
def list_teammates(chat: Chat, /, name: str = "", channel_id: str | None = None) -> list[Teammate]:
    """List the people of the team chat with handle, title and status, the user among them.

    Args:
        name: Only teammates whose name contains this.
        channel_id: Only members of this channel, e.g. "chn_310".
    """
    found = [person for person in chat.teammates if name.lower() in person.name.lower()]
    if channel_id is not None:
        members = chat.channel(channel_id).member_ids
        found = [person for person in found if person.id in members]
    return found


@server.read
def search_chat_messages(
    chat: Chat,
    /,
    text: str = "",
    channel_id: str | None = None,
    thread_id: str | None = None,
    only: Literal["pinned", "scheduled"] | None = None,
) -> list[ChatMessage]:
    """Find chat messages the user can see, newest first, with reactions and pins.

    Args:
        text: Only messages whose text or author contains this; a mention is written "@handle".
        channel_id: Only messages in this channel or conversation, e.g. "chn_310".
        thread_id: Only the message that starts this thread, e.g. "cht_5120", and its replies.
        only: Only pinned messages, or those of the user that are scheduled for later.
    """
    channels = list(chat.channels) if channel_id is None else [chat.channel(channel_id)]
    visible = {channel.id for channel in channels if not channel.hidden}
    found = list(chat.messages)
    if only == "scheduled":
        found = chat.queue.where(author_id=chat.me.id)
    found = [message for message in found if message.channel_id in visible]
    if thread_id is not None:
        found = [message for message in found if thread_id in (message.id, message.thread_id)]
    if only == "pinned":
        found = [message for message in found if message.pinned_by is not None]
    wanted = text.lower()
    found = [m for m in found if wanted in f"{m.author_name} {m.text}".lower()]
    return found[::-1]


@server.write
def post_channel_message(
    chat: Chat,
    /,
    channel_id: str,
    text: Body,
    thread_id: str | None = None,
    post_at: Time | None = None,
) -> ChatMessage:
    """Post for good in a chat channel the user is in; only admins announce, everybody replies.

    Args:
        channel_id: The channel, e.g. "chn_310".
        text: What to say; "@handle" mentions somebody who can see it.
        thread_id: Reply to this message of the channel, itself no reply, e.g. "cht_5120".
        post_at: When, within 30 days, e.g. "2026-03-02T08:00:00Z"; now if left out; two may wait.
    """
    channel = chat.joined(channel_id)
    root = None if thread_id is None else chat.message(thread_id)
    if root is not None and (root.channel_id != channel_id or root.thread_id is not None):
        raise Rejected(f"that message starts no thread in {channel.name}; it is elsewhere")
    if channel.kind == "announcement" and channel.your_role != "admin" and root is None:
        raise Denied(f"only admins announce in {channel.name}; reply to a message there")
    if post_at is None:
        return chat.say(channel, text, thread_id)
    if not chat.now < post_at <= chat.now + timedelta(days=30):
        raise Rejected(f"choose a time within 30 days of {chat.now}")
    waiting = chat.queue.where(channel_id=channel_id, author_id=chat.me.id)
    if len(waiting) >= 2:
        raise Rejected(f"two messages of the user wait for {channel.name} already")
    return chat.say_later(channel, text, post_at, thread_id)


@server.write
def send_direct_message(chat: Chat, /, teammate_ids: People, text: Body) -> ChatMessage:
    """Send a direct message to teammates in the chat; not while one of them is undisturbed.

    Args:
        teammate_ids: The people besides the user, e.g. ["tmt_77"].
        text: What to say.
    """
    people = [chat.teammates[teammate_id] for teammate_id in dict.fromkeys(teammate_ids)]
    if chat.me in people:
        raise Rejected("leave the user out and name the others")
    members = (chat.me.id, *(person.id for person in people))
    for conversation in chat.channels.where(kind="direct"):
        if set(conversation.member_ids) == set(members):
            return chat.say(conversation, text)
    conversation = chat.channels.add(
        name=", ".join(person.name for person in people),
        kind="direct",
        member_ids=members,
        your_role="member",
    )
    return chat.say(conversation, text)


@server.write
def react_to_chat_message(chat: Chat, /, chat_message_id: str, emoji: Emoji) -> ChatMessage:
    """React to a message in a chat channel the user is in; once with each emoji.

    Args:
        chat_message_id: The message, e.g. "cht_5120".
        emoji: The reaction.
    """
    message = chat.message(chat_message_id)
    chat.joined(message.channel_id)
    reaction = f"{emoji} by {chat.me.name}"
    if reaction in message.reactions:
        raise Rejected(f"the user has reacted with {emoji} already")
    return chat.messages.update(message.id, reactions=(*message.reactions, reaction))


@server.write
def pin_chat_message(chat: Chat, /, chat_message_id: str, pinned: bool = True) -> ChatMessage:
    """Pin a message to its chat channel, which holds four pins, or take the pin away.

    Args:
        chat_message_id: The message, e.g. "cht_5120".
        pinned: Whether it shall be pinned; others' pins and announcements are for admins only.
    """
    message = chat.message(chat_message_id)
    channel = chat.joined(message.channel_id)
    if pinned:
        return _pin(chat, channel, message)
    return _unpin(chat, channel, message)


def _pin(chat: Chat, channel: Channel, message: ChatMessage) -> ChatMessage:
    if message.pinned_by is not None:
        raise Rejected("that message is already pinned")
    if channel.kind == "announcement" and channel.your_role != "admin":
        raise Denied(f"that is for admins to do in {channel.name}")
    messages = chat.messages.where(channel_id=channel.id)
    if sum(other.pinned_by is not None for other in messages) >= PIN_LIMIT:
        raise Rejected(f"{channel.name} is full; take a pin away first")
    return chat.messages.update(message.id, pinned_by=chat.me.name)


def _unpin(chat: Chat, channel: Channel, message: ChatMessage) -> ChatMessage:
    if message.pinned_by is None:
        raise Rejected("that message is not pinned")
    if message.pinned_by != chat.me.name and channel.your_role != "admin":
        raise Denied(f"that is for {message.pinned_by} to do in {channel.name}")
    return chat.messages.update(message.id, pinned_by=None)


@server.write
def add_channel_member(chat: Chat, /, channel_id: str, teammate_id: str | None = None) -> Channel:
    """Join a public chat channel, or add a teammate to one the user is in; private ones as admin.

    Args:
        channel_id: The channel, e.g. "chn_310".
        teammate_id: Whom to add, e.g. "tmt_77"; leave it out to join.
    """
    person = chat.me if teammate_id is None else chat.teammates[teammate_id]
    channel = chat.channel(channel_id) if person.you else chat.joined(channel_id)
    if channel.archived:
        raise Rejected(f"{channel.name} is archived and can only be read")
    if channel.kind == "direct":
        raise Rejected("open another conversation with send_direct_message instead")
    if person.id in channel.member_ids:
        raise Rejected(f"{person.name} is already in {channel.name}")
    if channel.kind == "private" and channel.your_role != "admin":
        raise Denied(f"only an admin adds people to {channel.name}; ask one")
    members = (*channel.member_ids, person.id)
    if person.you:
        return chat.channels.update(channel_id, member_ids=members, your_role="member")
    return chat.channels.update(channel_id, member_ids=members)


@server.write(destructive=True)
def leave_channel(chat: Chat, /, channel_id: str) -> Channel:
    """Leave a chat channel that the user does not run and has nothing scheduled in.

    Args:
        channel_id: The channel, e.g. "chn_310".
    """
    channel = chat.joined(channel_id)
    if channel.kind in ("direct", "announcement") or channel.your_role == "admin":
        raise Rejected(f"{channel.name} is not one the user can leave; mark it read instead")
    if chat.queue.where(channel_id=channel_id, author_id=chat.me.id):
        raise Rejected(f"a message of the user still waits to be posted in {channel.name}")
    members = tuple(member for member in channel.member_ids if member != chat.me.id)
    return chat.channels.update(channel_id, member_ids=members, your_role="none", unread=0)


@server.write(idempotent=True)
def mark_channel_read(chat: Chat, /, channel_id: str) -> Channel:
    """Mark everything in a chat channel or conversation as read; some of it must be unread.

    Args:
        channel_id: The channel, e.g. "chn_310".
    """
    if chat.channel(channel_id).unread == 0:
        raise Rejected("there is nothing unread in that channel")
    return chat.channels.update(channel_id, unread=0)


@server.write
def set_chat_status(chat: Chat, /, status: str, undisturbed_until: Time | None = None) -> Teammate:
    """Set or clear the user's status in the team chat, maybe undisturbed for up to 14 days.

    Args:
        status: What teammates see, e.g. "In workshops"; empty clears it.
        undisturbed_until: Until when to keep direct messages off, e.g. "2026-03-02T17:00:00Z".
    """
    me = chat.me
    latest = chat.now + timedelta(days=14)
    if undisturbed_until is not None and not chat.now < undisturbed_until <= latest:
        raise Rejected(f"choose a time between {chat.now} and {latest}")
    if not status and not me.status and undisturbed_until is None:
        raise Rejected("there is no status to clear")
    return chat.teammates.update(me.id, status=status, undisturbed_until=undisturbed_until)
