"""Draws a team's chat: its people, its channels, two weeks of talk and what is still to come."""

from datetime import datetime, timedelta
from random import Random
from typing import Any, get_args

from provegym.kernel import Seed
from provegym.servers import people, words

from .state import PIN_LIMIT, Channel, Chat, ChatMessage, Emoji, Teammate, server

WORDS = words("team_chat")
TWO_WEEKS_IN_MINUTES = 14 * 24 * 60


@server.seed
def draw(seed: Seed) -> Chat:
    """A team of twenty-two, one of whom the assistant acts for."""
    chat = Chat(seed)
    chance = seed.random
    _gather_team(chat, seed)
    _open_channels(chat, chance)
    _talk_for_two_weeks(chat, chance)
    _queue_messages(chat, chance)
    return chat


def _gather_team(chat: Chat, seed: Seed) -> None:
    """Add the acting user and twenty-one others, in a random order."""
    user = people.acting_user(seed)
    team = [user, *people.others(seed, 21)]
    for person in seed.random.sample(team, len(team)):
        _add_teammate(chat, seed.random, person, you=person == user)


def _add_teammate(chat: Chat, chance: Random, person: people.Person, *, you: bool) -> None:
    """Add one person with a job title; some of the others have a status or are undisturbed."""
    rank = chance.choice(WORDS["ranks"])
    craft = chance.choice(WORDS["crafts"])
    status = ""
    undisturbed_until = None
    if not you and chance.random() < 0.4:
        ends = chat.now + timedelta(minutes=5 * chance.randint(6, 400))
        undisturbed_until = chance.choice((ends, None))
        status = chance.choice(WORDS["statuses"])
    chat.teammates.add(
        name=person.name,
        handle=person.handle,
        title=f"{rank} {craft}",
        you=you,
        status=status,
        undisturbed_until=undisturbed_until,
    )


def _open_channels(chat: Chat, chance: Random) -> None:
    """Open channels that differ in who is in them and what the user may do there.

    Nobody is in two direct conversations, and whoever is in one joins no channel opened later.
    """
    names = {kind: chance.sample(known, len(known)) for kind, known in WORDS["names"].items()}
    team = chance.sample(list(chat.teammates), 22)
    others = [person.id for person in team if not person.you]
    plans = WORDS["channels"]
    for plan in chance.sample(plans, len(plans)):
        if plan["kind"] == "direct":
            _open_conversation(chat, chance, plan, others)
        else:
            _open_channel(chat, chance, plan, names[plan["kind"]].pop(), others)


def _open_conversation(chat: Chat, chance: Random, plan: dict[str, Any], others: list[str]) -> None:
    """Open a direct conversation, named after the people in it besides the user."""
    members = [others.pop() for _ in range(plan["size"])]
    name = ", ".join(chat.teammates[member].name for member in members)
    members.insert(chance.randint(0, plan["size"]), chat.me.id)
    chat.channels.add(
        name=name, kind="direct", member_ids=tuple(members), your_role=plan["your_role"]
    )


def _open_channel(
    chat: Chat, chance: Random, plan: dict[str, Any], name: str, others: list[str]
) -> None:
    """Open a public, private or announcement channel."""
    size = chance.randint(4, 12)
    members = chance.sample(others, size)
    topic = chance.choice(WORDS["topics"])
    if plan["your_role"] != "none":
        members.insert(chance.randint(0, size), chat.me.id)
    chat.channels.add(
        name=f"#{name}",
        kind=plan["kind"],
        member_ids=tuple(members),
        your_role=plan["your_role"],
        topic=topic,
        archived=plan.get("archived", False),
    )


def _talk_for_two_weeks(chat: Chat, chance: Random) -> None:
    """Let people talk, the oldest message first; half of the messages are moved closer to now."""
    count = chance.randint(150, 180)
    ages = [chance.randrange(TWO_WEEKS_IN_MINUTES) for _ in range(count)]
    ages = [age // chance.choice((1, 1, 4, 30)) + 2 for age in ages]
    for age in sorted(ages, reverse=True):
        _say(chat, chance, chat.now - timedelta(minutes=age))


def _queue_messages(chat: Chat, chance: Random) -> None:
    """Queue what people will say within the next two days."""
    for delay in (9, 20, 50, 240, 500, 1300, 2900) * 3:
        minutes = delay + chance.randint(0, 60)
        _say(chat, chance, chat.now + timedelta(minutes=minutes))


def _say(chat: Chat, chance: Random, at: datetime) -> None:
    """Let somebody say something somewhere; a third of it in threads."""
    channel = _pick_channel(chat, chance, at)
    said = chat.messages.where(channel_id=channel.id)
    thread_id = _pick_thread(said, chance)
    author_id, other_id = chance.sample(channel.member_ids, 2)
    author = chat.teammates[author_id]
    other = chat.teammates[other_id]
    if channel.kind == "announcement" and thread_id is None:
        author = _announcer(chat, channel)
    if author == chat.me and at > chat.now and chat.undisturbed(channel, at):
        author, other = other, author
    templates = WORDS["messages"] if thread_id is None else WORDS["replies"]
    text = _compose(chance, templates, mentioned=other)
    if at > chat.now:
        chat.queue.add(
            channel_id=channel.id,
            channel_name=channel.name,
            author_id=author.id,
            author_name=author.name,
            at=at,
            text=text,
            thread_id=thread_id,
        )
        return
    _count_unread(chat, channel, author, at)
    emoji = chance.sample(get_args(Emoji), chance.choice((0, 0, 1, 2)))
    chat.messages.add(
        channel_id=channel.id,
        channel_name=channel.name,
        author_id=author.id,
        author_name=author.name,
        at=at,
        text=text,
        thread_id=thread_id,
        reactions=tuple(f"{kind} by {other.name}" for kind in emoji),
        pinned_by=author.name if _is_pinned(said, chance) else None,
    )


def _pick_channel(chat: Chat, chance: Random, at: datetime) -> Channel:
    """A channel to talk in; in an archived one nobody has talked for a week."""
    is_old = at < chat.now - timedelta(weeks=1)
    return chance.choice([channel for channel in chat.channels if is_old or not channel.archived])


def _pick_thread(said: list[ChatMessage], chance: Random) -> str | None:
    """The message to reply to, one of the last six of the channel that are no replies, or None."""
    roots = [message for message in said if message.thread_id is None][-6:]
    if roots and chance.random() < 0.35:
        return chance.choice(roots).id
    return None


def _announcer(chat: Chat, channel: Channel) -> Teammate:
    """Who announces: the user where they are the admin, else the first member."""
    if channel.your_role == "admin":
        return chat.me
    return chat.teammates[channel.member_ids[0]]


def _compose(chance: Random, templates: list[str], mentioned: Teammate) -> str:
    """A sentence about things, customers, days and places of the team."""
    slots = {name: chance.choice(values) for name, values in WORDS["slots"].items()}
    template = chance.choice(templates)
    number = chance.randint(2, 96)
    return template.format(number=number, handle=f"@{mentioned.handle}", **slots)


def _count_unread(chat: Chat, channel: Channel, author: Teammate, at: datetime) -> None:
    """Count a message as unread if others said it in the last five hours where the user is."""
    is_recent = at > chat.now - timedelta(hours=5)
    if is_recent and chat.me.id in channel.member_ids and author != chat.me:
        chat.channels.update(channel.id, unread=channel.unread + 1)


def _is_pinned(said: list[ChatMessage], chance: Random) -> bool:
    """Whether the next message of a channel gets pinned; some do while there is room for a pin."""
    pins = sum(message.pinned_by is not None for message in said)
    return pins < PIN_LIMIT and chance.random() < 0.3
