"""Draws a network: profiles that stand differently to the user, and a week of posts."""

from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple, get_args

from provegym.kernel import Seed
from provegym.servers import people, words
from provegym.servers.people import Person

from .state import Following, Network, Post, Profile, Reason, Visibility, server

WORDS = words("social_media")


class Standing(NamedTuple):
    """How a profile and the user stand to each other."""

    own: bool = False
    you_follow: Following = "no"
    private: bool = False
    visibility: Visibility = "shown"
    blocks_you: bool = False


OWN = Standing(own=True)
STRANGER = Standing()
FRIEND = Standing(you_follow="yes")
PRIVATE_FRIEND = Standing(you_follow="yes", private=True)
MUTED = Standing(you_follow="yes", visibility="muted")
ASKED = Standing(you_follow="requested", private=True)
PRIVATE = Standing(private=True)
BLOCKED = Standing(visibility="blocked")
BLOCKING = Standing(blocks_you=True)

# The standings of everybody besides the user: most are strangers and friends, and each occurs.
OTHERS = [
    *[STRANGER] * 11,
    *[FRIEND] * 9,
    *[PRIVATE] * 4,
    *[STRANGER, FRIEND, PRIVATE_FRIEND, MUTED, ASKED, PRIVATE, BLOCKED, BLOCKING],
    *[BLOCKED, ASKED],
]


@server.seed
def draw(seed: Seed) -> Network:
    """Thirty-four people besides the user, and what they said lately."""
    net = Network(seed)
    chance = seed.random
    crowd = [(people.acting_user(seed), OWN)]
    crowd += zip(people.others(seed, len(OTHERS)), OTHERS, strict=True)
    chance.shuffle(crowd)
    handles = [first + last for first in WORDS["firsts"] for last in WORDS["lasts"]]
    for handle, (person, standing) in zip(chance.sample(handles, len(crowd)), crowd, strict=True):
        _add_profile(net, chance, handle, person, standing)
    net.profiles.update(
        net.me().id,
        following=len(net.profiles.where(you_follow="yes")),
        followers=len(net.profiles.where(follows_you=True)),
    )
    _write_posts(net, chance)
    return net


def _add_profile(
    net: Network, chance: Random, handle: str, person: Person, standing: Standing
) -> None:
    """The profile of somebody with this standing to the user."""
    followers = chance.randrange(20, 900)
    following = chance.randrange(20, 400)
    answer_due = None
    if standing.you_follow == "requested":
        answer_due = net.now + timedelta(minutes=chance.randrange(5, 350))
    follows_you = False
    if standing not in (OWN, BLOCKED, BLOCKING):
        follows_you = chance.random() < 0.4
    net.profiles.add(
        handle=handle,
        name=person.name,
        bio=f"{chance.choice(WORDS['bios'])}. Joined {chance.randint(2012, 2025)}.",
        followers=followers,
        following=following,
        own=standing.own,
        private=standing.private,
        you_follow=standing.you_follow,
        answer_due=answer_due,
        follows_you=follows_you,
        visibility=standing.visibility,
        blocks_you=standing.blocks_you,
    )


def _write_posts(net: Network, chance: Random) -> None:
    """A week of posts, three of the user's that are minutes old, and two that are yet to come."""
    me = net.me()
    authors = [*net.profiles, *[me] * 8]
    ages = [chance.randrange(20, 9_000) for _ in range(125)]
    for age in sorted(ages, reverse=True):
        author = chance.choice(authors)
        _speak(net, chance, author, net.now - timedelta(minutes=age))
    for age in sorted(chance.sample(range(1, 14), 3), reverse=True):
        net.publish(me, text=_text(chance), at=net.now - timedelta(minutes=age))
    for _ in range(2):
        later = net.now + timedelta(minutes=chance.randrange(30, 6_000))
        net.publish(me, text=_text(chance), at=later, status="scheduled")


def _text(chance: Random) -> str:
    """What a post says, with a hashtag at its end."""
    topic = chance.choice(list(WORDS["topics"]))
    mood = chance.choice(WORDS["moods"])
    end = chance.choice(WORDS["ends"])
    thing = chance.choice(WORDS["topics"][topic])
    return f"{mood} {thing} {end}. #{topic}"


def _speak(net: Network, chance: Random, author: Profile, at: datetime) -> None:
    """A reply to or a repost of what somebody said before, or else a new post."""
    dice = chance.random()
    fans = _possible_fans(net, author)
    liked_by = tuple(chance.sample(fans, chance.randrange(6)))
    heard = _recent_posts(net, author)

    if heard and dice < 0.3:
        post = chance.choice(heard)
        text = f"@{post.handle} {chance.choice(WORDS['answers'])}"
        net.publish(author, text=text, at=at, reply_to_id=post.id, liked_by=liked_by)
        return

    shareable = _shareable_posts(net, author, heard)
    if shareable and dice < 0.4:
        post = chance.choice(shareable)
        net.publish(author, text="", at=at, repost_of_id=post.id)
        return

    reported = None
    if dice > 0.97 and not author.own:
        reported = chance.choice(get_args(Reason))
    replies_off = chance.random() < 0.15
    edited_at = None
    earlier_texts: tuple[str, ...] = ()
    if chance.random() < 0.1:
        edited_at = at + timedelta(minutes=chance.randint(1, 15))
        earlier_texts = (_text(chance),)
    net.publish(
        author,
        text=_text(chance),
        at=at,
        liked_by=liked_by,
        replies_off=replies_off,
        reported=reported,
        edited_at=edited_at,
        earlier_texts=earlier_texts,
    )


def _possible_fans(net: Network, author: Profile) -> list[str]:
    """The handles of those who may like the author's posts: no block stands between them."""
    handles = []
    for profile in net.profiles:
        blocked = (author.own and profile.apart()) or (profile.own and author.apart())
        if not blocked:
            handles.append(profile.handle)
    return handles


def _recent_posts(net: Network, author: Profile) -> list[Post]:
    """The newest posts of others that the author may answer; the user may read them, too."""
    found = [post for post in net.posts if net.profiles[post.profile_id].readable()]
    found = [post for post in found if not post.repost_of_id and not post.replies_off]
    found = [post for post in found if post.profile_id != author.id]
    return found[-25:]


def _shareable_posts(net: Network, author: Profile, posts: list[Post]) -> list[Post]:
    """Those of the posts that are public and that the author has not passed on yet."""
    passed_on = [post.repost_of_id for post in net.posts.where(profile_id=author.id)]
    public = [post for post in posts if not net.profiles[post.profile_id].private]
    return [post for post in public if post.id not in passed_on]
