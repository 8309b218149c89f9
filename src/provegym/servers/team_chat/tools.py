"""What can be done in the team's chat."""

from datetime import timedelta
from typing import Annotated, Literal

from msgspec import Meta

from provegym.kernel import Denied, Time, forbid

from .state import PIN_LIMIT, Channel, Chat, ChatMessage, Emoji, Teammate, server

Body = Annotated[str, Meta(min_length=1, max_length=500)]
People = Annotated[list[str], Meta(min_length=1, max_length=7)]
Id = str | None
When = Time | None
Part = Literal["pinned", "scheduled"] | None


@server.read
def list_channels(chat: Chat, /, name: str = "", unread_only: bool = False) -> list[Channel]:
    """List the chat channels and direct conversations the user can see, archived ones too.

    Args:
        name: Only channels whose name contains this; a conversation is named after its people.
        unread_only: Only channels with messages the user has not read.
    """
    found = [channel for channel in chat.channels if name.lower() in channel.name.lower()]
    return [c for c in found if not c.hidden and (c.unread or not unread_only)]


@server.read
def list_teammates(chat: Chat, /, name: str = "", channel_id: Id = None) -> list[Teammate]:
    """List the people of the team chat with handle, title and status, the user among them.

    Args:
        name: Only teammates whose name contains this.
        channel_id: Only members of this channel, e.g. "chn_310".
    """
    found = [person for person in chat.teammates if name.lower() in person.name.lower()]
    members = None if channel_id is None else chat.channel(channel_id).member_ids
    return [person for person in found if members is None or person.id in members]


@server.read
def search_chat_messages(
    chat: Chat, /, text: str = "", channel_id: Id = None, thread_id: Id = None, only: Part = None
) -> list[ChatMessage]:
    """Find chat messages the user can see, newest first, with reactions and pins.

    Args:
        text: Only messages whose text or author contains this; a mention is written "@handle".
        channel_id: Only messages in this channel or conversation, e.g. "chn_310".
        thread_id: Only the message that starts this thread, e.g. "cht_5120", and its replies.
        only: Only pinned messages, or those of the user that are scheduled for later.
    """
    seen = chat.channels if channel_id is None else [chat.channel(channel_id)]
    ids, mine = {c.id for c in seen if not c.hidden}, chat.queue.where(author_id=chat.me.id)
    found = [m for m in (mine if only == "scheduled" else chat.messages) if m.channel_id in ids]
    found = [m for m in found if thread_id in (None, m.id, m.thread_id)]
    found = [m for m in found if text.lower() in f"{m.author_name} {m.text}".lower()]
    return [message for message in reversed(found) if message.pinned_by or only != "pinned"]


@server.write
def post_channel_message(
    chat: Chat, /, channel_id: str, text: Body, thread_id: Id = None, post_at: When = None
) -> ChatMessage:
    """Post for good in a chat channel the user is in; only admins announce, everybody replies.

    Args:
        channel_id: The channel, e.g. "chn_310".
        text: What to say; "@handle" mentions somebody who can see it.
        thread_id: Reply to this message of the channel, itself no reply, e.g. "cht_5120".
        post_at: When, within 30 days, e.g. "2026-03-02T08:00:00Z"; now if left out; two may wait.
    """
    channel, now = chat.joined(channel_id), chat.now
    root = None if thread_id is None else chat.message(thread_id)
    astray = root and (root.channel_id != channel_id or root.thread_id)
    forbid(bool(astray), f"that message starts no thread in {channel.name}; it is elsewhere")
    barred = channel.kind == "announcement" and channel.your_role != "admin" and not root
    forbid(barred, f"only admins announce in {channel.name}; reply to a message there", Denied)
    if post_at is None:
        return chat.say(channel, text, thread_id=thread_id)
    forbid(not now < post_at <= now + timedelta(days=30), f"choose a time within 30 days of {now}")
    waiting = chat.queue.where(channel_id=channel_id, author_id=chat.me.id)
    forbid(len(waiting) > 1, f"two messages of the user wait for {channel.name} already")
    return chat.say(channel, text, thread_id=thread_id, at=post_at)


@server.write
def send_direct_message(chat: Chat, /, teammate_ids: People, text: Body) -> ChatMessage:
    """Send a direct message to teammates in the chat; not while one of them is undisturbed.

    Args:
        teammate_ids: The people besides the user, e.g. ["tmt_77"].
        text: What to say.
    """
    people, me = [chat.teammates[key] for key in dict.fromkeys(teammate_ids)], chat.me
    forbid(me in people, "leave the user out and name the others")
    members = (me.id, *(person.id for person in people))
    known = [c for c in chat.channels.where(kind="direct") if set(c.member_ids) == set(members)]
    if not known:
        fields = {"kind": "direct", "your_role": "member", "member_ids": members}
        known = [chat.channels.add(name=", ".join(person.name for person in people), **fields)]
    return chat.say(known[0], text)


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
    forbid(reaction in message.reactions, f"the user has reacted with {emoji} already")
    return chat.messages.update(message.id, reactions=(*message.reactions, reaction))


@server.write
def pin_chat_message(chat: Chat, /, chat_message_id: str, pinned: bool = True) -> ChatMessage:
    """Pin a message to its chat channel, which holds four pins, or take the pin away.

    Args:
        chat_message_id: The message, e.g. "cht_5120".
        pinned: Whether it shall be pinned; others' pins and announcements are for admins only.
    """
    message, me = chat.message(chat_message_id), chat.me.name
    channel, by = chat.joined(message.channel_id), message.pinned_by
    forbid(pinned == bool(by), f"that message is {'already' if pinned else 'not'} pinned")
    theirs = (by != me if by else channel.kind == "announcement") and channel.your_role != "admin"
    forbid(theirs, f"that is for {by or 'admins'} to do in {channel.name}", Denied)
    pins = sum(m.pinned_by is not None for m in chat.messages.where(channel_id=channel.id))
    forbid(pinned and pins >= PIN_LIMIT, f"{channel.name} is full; take a pin away first")
    return chat.messages.update(message.id, pinned_by=me if pinned else None)


@server.write
def add_channel_member(chat: Chat, /, channel_id: str, teammate_id: Id = None) -> Channel:
    """Join a public chat channel, or add a teammate to one the user is in; private ones as admin.

    Args:
        channel_id: The channel, e.g. "chn_310".
        teammate_id: Whom to add, e.g. "tmt_77"; leave it out to join.
    """
    person = chat.me if teammate_id is None else chat.teammates[teammate_id]
    channel = chat.channel(channel_id) if person.you else chat.joined(channel_id)
    forbid(channel.archived, f"{channel.name} is archived and can only be read")
    forbid(channel.kind == "direct", "open another conversation with send_direct_message instead")
    forbid(person.id in channel.member_ids, f"{person.name} is already in {channel.name}")
    barred = channel.kind == "private" and channel.your_role != "admin"
    forbid(barred, f"only an admin adds people to {channel.name}; ask one", Denied)
    fields = {"your_role": "member"} if person.you else {}
    return chat.channels.update(channel_id, member_ids=(*channel.member_ids, person.id), **fields)


@server.write(destructive=True)
def leave_channel(chat: Chat, /, channel_id: str) -> Channel:
    """Leave a chat channel that the user does not run and has nothing scheduled in.

    Args:
        channel_id: The channel, e.g. "chn_310".
    """
    channel, me = chat.joined(channel_id), chat.me.id
    fixed = channel.kind in ("direct", "announcement") or channel.your_role == "admin"
    forbid(fixed, f"{channel.name} is not one the user can leave; mark it read instead")
    waiting = chat.queue.where(channel_id=channel_id, author_id=me) != []
    forbid(waiting, f"a message of the user still waits to be posted in {channel.name}")
    members = tuple(member for member in channel.member_ids if member != me)
    return chat.channels.update(channel_id, member_ids=members, your_role="none", unread=0)


@server.write(idempotent=True)
def mark_channel_read(chat: Chat, /, channel_id: str) -> Channel:
    """Mark everything in a chat channel or conversation as read; some of it must be unread.

    Args:
        channel_id: The channel, e.g. "chn_310".
    """
    forbid(not chat.channel(channel_id).unread, "there is nothing unread in that channel")
    return chat.channels.update(channel_id, unread=0)


@server.write
def set_chat_status(chat: Chat, /, status: str, undisturbed_until: When = None) -> Teammate:
    """Set or clear the user's status in the team chat, maybe undisturbed for up to 14 days.

    Args:
        status: What teammates see, e.g. "In workshops"; empty clears it.
        undisturbed_until: Until when to keep direct messages off, e.g. "2026-03-02T17:00:00Z".
    """
    now, until, me = chat.now, undisturbed_until, chat.me
    latest, ends = now + timedelta(days=14), until or now + timedelta(days=1)
    forbid(not now < ends <= latest, f"choose a time between {now} and {latest}")
    forbid(not (status or me.status or until), "there is no status to clear")
    return chat.teammates.update(me.id, status=status, undisturbed_until=until)
