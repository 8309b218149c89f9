"""Draws a team's chat: people, channels of every kind, two weeks of talk and what is to come."""

from datetime import datetime, timedelta
from random import Random
from typing import Any, get_args

from provegym.kernel import Seed
from provegym.servers import people, words

from .state import PIN_LIMIT, Chat, Emoji, server

WORDS = words("team_chat")


@server.seed
def draw(seed: Seed) -> Chat:
    """A team of twenty-two, one of whom the assistant acts for."""
    chat, chance, user = Chat(seed), seed.random, people.acting_user(seed)
    for person in chance.sample(staff := [user, *people.others(seed, 21)], len(staff)):
        fields: dict[str, Any] = {"name": person.name, "handle": person.handle}
        fields["title"] = f"{chance.choice(WORDS['ranks'])} {chance.choice(WORDS['crafts'])}"
        if person != user and chance.random() < 0.4:
            ends = seed.now + timedelta(minutes=5 * chance.randint(6, 400))
            fields["undisturbed_until"] = chance.choice((ends, None))
            fields["status"] = chance.choice(WORDS["statuses"])
        chat.teammates.add(you=person == user, **fields)
    _open_channels(chat, chance)
    ages = [chance.randrange(14 * 24 * 60) for _ in range(chance.randint(150, 180))]
    for age in sorted((age // chance.choice((1, 1, 4, 30)) + 2 for age in ages), reverse=True):
        _say(chat, seed.now - timedelta(minutes=age), chance)
    for delay in (9, 20, 50, 240, 500, 1300, 2900) * 3:
        _say(chat, seed.now + timedelta(minutes=delay + chance.randint(0, 60)), chance)
    return chat


def _open_channels(chat: Chat, chance: Random) -> None:
    """Channels that differ in who is in them and what the user may do there."""
    names = {kind: chance.sample(known, len(known)) for kind, known in WORDS["names"].items()}
    staff = [person.id for person in chance.sample(list(chat.teammates), 22) if not person.you]
    for plan in chance.sample(WORDS["channels"], len(WORDS["channels"])):
        direct, fields = plan["kind"] == "direct", dict(plan)
        size = fields.pop("size", 0) or chance.randint(4, 12)
        members = [staff.pop() for _ in range(size)] if direct else chance.sample(staff, size)
        talk = ", ".join(chat.teammates[member].name for member in members)
        fields["name"] = talk if direct else f"#{names[plan['kind']].pop()}"
        fields["topic"] = "" if direct else chance.choice(WORDS["topics"])
        if plan["your_role"] != "none":
            members.insert(chance.randint(0, size), chat.me.id)
        chat.channels.add(member_ids=tuple(members), **fields)


def _say(chat: Chat, at: datetime, chance: Random) -> None:
    """Let somebody say something somewhere; a third of it in threads."""
    live = [c for c in chat.channels if not c.archived or at < chat.now - timedelta(weeks=1)]
    said = chat.messages.where(channel_id=(channel := chance.choice(live)).id)
    roots = [message for message in said if not message.thread_id][-6:]
    root = chance.choice(roots).id if roots and chance.random() < 0.35 else None
    author, other = (chat.teammates[member] for member in chance.sample(channel.member_ids, 2))
    if channel.kind == "announcement" and not root:
        author = chat.me if channel.your_role == "admin" else chat.teammates[channel.member_ids[0]]
    slots = {name: chance.choice(values) for name, values in WORDS["slots"].items()}
    text = chance.choice(WORDS["replies" if root else "messages"])
    text = text.format(number=chance.randint(2, 96), handle=f"@{other.handle}", **slots)
    fields: dict[str, Any] = {"channel_id": channel.id, "channel_name": channel.name, "text": text}
    fields |= {"author_id": author.id, "author_name": author.name, "thread_id": root}
    if chat.now - timedelta(hours=5) < at < chat.now and chat.me.id in channel.member_ids:
        chat.channels.update(channel.id, unread=channel.unread + (author != chat.me))
    if at < chat.now:
        emoji = chance.sample(get_args(Emoji), chance.choice((0, 0, 1, 2)))
        pins = sum(message.pinned_by is not None for message in said)
        fields["reactions"] = tuple(f"{kind} by {other.name}" for kind in emoji)
        fields["pinned_by"] = author.name if pins < PIN_LIMIT and chance.random() < 0.3 else None
    (chat.messages if at < chat.now else chat.queue).add(at=at, **fields)
