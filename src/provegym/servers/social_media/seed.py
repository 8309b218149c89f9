"""Draws a network: profiles that stand differently to the user, and a week of posts."""

from datetime import datetime, timedelta
from random import Random
from typing import Any, get_args

from provegym.kernel import Seed
from provegym.servers import people, words

from .state import Network, Profile, Reason, server

WORDS = words("social_media")
STANDINGS: dict[str, dict[str, Any]] = {
    "stranger": {},
    "friend": {"you_follow": "yes"},
    "closed friend": {"you_follow": "yes", "private": True},
    "muted": {"you_follow": "yes", "visibility": "muted"},
    "asked": {"you_follow": "requested", "private": True},
    "closed": {"private": True},
    "blocked": {"visibility": "blocked"},
    "hidden": {"blocks_you": True},
}
DECK = ["stranger"] * 11 + ["friend"] * 9 + ["closed"] * 4 + [*STANDINGS] + ["blocked", "asked"]


@server.seed
def draw(seed: Seed) -> Network:
    """Thirty-four people besides the user, and what they said lately."""
    net, chance, user = Network(seed), seed.random, people.acting_user(seed)
    crowd = [(None, user), *zip(DECK, people.others(seed, len(DECK)), strict=True)]
    chance.shuffle(crowd)
    handles = [first + last for first in WORDS["firsts"] for last in WORDS["lasts"]]
    for handle, (standing, person) in zip(chance.sample(handles, len(crowd)), crowd, strict=True):
        counts = {"followers": chance.randrange(20, 900), "following": chance.randrange(20, 400)}
        fields: dict[str, Any] = dict(STANDINGS[standing]) if standing else {"own": True}
        if fields.get("you_follow") == "requested":
            fields["answer_due"] = seed.now + timedelta(minutes=chance.randrange(5, 350))
        if standing not in (None, "blocked", "hidden"):
            fields["follows_you"] = chance.random() < 0.4
        bio = f"{chance.choice(WORDS['bios'])}. Joined {chance.randint(2012, 2025)}."
        net.profiles.add(handle=handle, name=person.name, bio=bio, **counts, **fields)
    following = len(net.profiles.where(you_follow="yes"))
    followers = len(net.profiles.where(follows_you=True))
    net.profiles.update(net.me().id, following=following, followers=followers)
    _fill(net, chance)
    return net


def _fill(net: Network, chance: Random) -> None:
    """A week of posts, some of the user's minutes old, and two that are yet to come."""
    voices = [*net.profiles, *[net.me()] * 8]
    for age in sorted((chance.randrange(20, 9_000) for _ in range(125)), reverse=True):
        _speak(net, chance, chance.choice(voices), net.now - timedelta(minutes=age))
    for age in sorted(chance.sample(range(1, 14), 3), reverse=True):
        net.publish(net.me(), text=_text(chance), at=net.now - timedelta(minutes=age))
    for _ in range(2):
        later = net.now + timedelta(minutes=chance.randrange(30, 6_000))
        net.publish(net.me(), text=_text(chance), at=later, status="scheduled")


def _text(chance: Random) -> str:
    topic = chance.choice(list(WORDS["topics"]))
    mood, end = chance.choice(WORDS["moods"]), chance.choice(WORDS["ends"])
    return f"{mood} {chance.choice(WORDS['topics'][topic])} {end}. #{topic}"


def _speak(net: Network, chance: Random, author: Profile, at: datetime) -> None:
    """A post, or an answer to or repost of what somebody visible said before."""
    dice, me = chance.random(), net.me()
    heard = [p for p in net.posts if net.profiles[p.profile_id].readable() and not p.repost_of_id]
    heard = [post for post in heard if not post.replies_off and post.profile_id != author.id][-25:]
    fans = [p.handle for p in net.profiles if not (author.own and p.apart())]
    fans = [handle for handle in fans if handle != me.handle or not author.apart()]
    liked = {"at": at, "liked_by": tuple(chance.sample(fans, chance.randrange(6)))}
    if heard and dice < 0.3:
        said, answer = chance.choice(heard), chance.choice(WORDS["answers"])
        net.publish(author, text=f"@{said.handle} {answer}", reply_to_id=said.id, **liked)
        return
    shared = net.posts.where(profile_id=author.id)
    passed = [post.repost_of_id for post in shared]
    open_posts = [p for p in heard if not net.profiles[p.profile_id].private and p.id not in passed]
    if open_posts and dice < 0.4:
        net.publish(author, text="", repost_of_id=chance.choice(open_posts).id, at=at)
        return
    reason = chance.choice(get_args(Reason)) if dice > 0.97 and not author.own else None
    extra: dict[str, Any] = {"replies_off": chance.random() < 0.15, "reported": reason}
    if chance.random() < 0.1:
        extra |= {
            "edited_at": at + timedelta(minutes=chance.randint(1, 15)),
            "earlier_texts": (_text(chance),),
        }
    net.publish(author, text=_text(chance), **liked, **extra)
