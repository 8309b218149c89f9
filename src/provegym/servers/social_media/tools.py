"""Tools for the network: read feeds and profiles, post, react to posts, follow people."""

from collections import Counter
from datetime import timedelta
from typing import Annotated, Literal

from msgspec import Meta, Struct

from provegym.kernel import Rejected, Time

from .state import DAY, EDIT_WINDOW, Network, Post, Profile, Reason, Visibility, server, tags

Words = Annotated[str, Meta(max_length=500)]
Hours = Annotated[int, Meta(ge=1, le=168)]
Relation = Literal["any", "following", "requested", "muted", "blocked"]

FURTHEST_PUBLICATION = 30 * DAY
EDITS_CAP = 2


class Trend(Struct, frozen=True):
    """A hashtag and how many posts carry it."""

    hashtag: str
    posts: int


@server.read
def get_home_feed(net: Network, /, since: Time | None = None) -> list[Post]:
    """Show the user's social feed, newest first: own posts and those of the profiles they follow.

    Args:
        since: Only posts from this moment on, e.g. "2026-03-02T08:00:00Z".
    """
    authors = {profile.id for profile in net.profiles.where(you_follow="yes", visibility="shown")}
    authors.add(net.me().id)
    posts = [post for post in net.visible() if post.profile_id in authors and post.at <= net.now]
    if since is not None:
        posts = [post for post in posts if post.at >= since]
    return posts


@server.read
def search_posts(net: Network, /, text: str = "", profile_id: str | None = None) -> list[Post]:
    """Find posts on the social network that the user may see, and their own scheduled ones.

    Args:
        text: Only posts that contain this, e.g. "#gardening".
        profile_id: Only posts of this profile, e.g. "prf_310".
    """
    found = [post for post in net.visible() if text.lower() in post.text.lower()]
    if profile_id:
        author = net.profiles[profile_id]
        found = [post for post in found if post.profile_id == author.id]
    return found


@server.read
def get_post_thread(net: Network, /, post_id: str) -> list[Post]:
    """Show a post on the social network and the replies to it, oldest first, with earlier versions.

    Args:
        post_id: The post, e.g. "pst_4711".
    """
    post = net.original(post_id)
    replies = [reply for reply in net.visible() if reply.reply_to_id == post.id]
    return [post, *reversed(replies)]


@server.read
def search_profiles(net: Network, /, name: str = "", relation: Relation = "any") -> list[Profile]:
    """Find profiles on the social network, or those the user has some relation to.

    Args:
        name: Only profiles whose name or handle contains this.
        relation: Only profiles that the user follows, asked to follow, muted or blocked.
    """
    wanted = name.lower().lstrip("@")
    found = net.profiles.where(blocks_you=False)
    found = [p for p in found if wanted in p.name.lower() or wanted in p.handle]
    if relation == "following":
        return [profile for profile in found if profile.you_follow == "yes"]
    if relation == "requested":
        return [profile for profile in found if profile.you_follow == "requested"]
    if relation in ("muted", "blocked"):
        return [profile for profile in found if profile.visibility == relation]
    return found


@server.read
def list_trending_hashtags(net: Network, /, hours: Hours = 48) -> list[Trend]:
    """List the hashtags that most posts on the social network carried lately.

    Args:
        hours: How many hours to look back.
    """
    start = net.now - timedelta(hours=hours)
    recent = [post.text for post in net.visible() if start <= post.at <= net.now]
    counts = Counter(tag for text in recent for tag in tags(text, "#"))
    return [Trend(f"#{tag}", count) for tag, count in counts.most_common(20)]


@server.write
def create_post(net: Network, /, text: Words, publish_at: Time | None = None) -> Post:
    """Publish a post on the user's social profile, now or later; not the same text twice a day.

    Args:
        text: What to say, at most 200 characters.
        publish_at: When, within 30 days, e.g. "2026-03-02T08:00:00Z"; now if left out.
    """
    author = net.me()
    text = net.compose(text)
    at = publish_at or net.now
    if at < net.now or at > net.now + FURTHEST_PUBLICATION:
        raise Rejected(f"it is {net.now:%Y-%m-%dT%H:%MZ}; choose a time within the next 30 days")
    net.refuse_repetition(text, at)
    status = "scheduled" if at > net.now else "published"
    return net.publish(author, text=text, at=at, status=status)


@server.write
def reply_to_post(net: Network, /, post_id: str, text: Words) -> Post:
    """Answer a post on the social network that the user may see and whose author takes replies.

    Args:
        post_id: The post, e.g. "pst_4711".
        text: What to say, at most 200 characters.
    """
    post = net.original(post_id)
    text = net.compose(text)
    if post.replies_off:
        raise Rejected(f"@{post.handle} takes no replies to {post.id}; repost or like it instead")
    return net.publish(net.me(), text=text, reply_to_id=post.id)


@server.write
def update_post(net: Network, /, post_id: str, text: Words) -> Post:
    """Change one of the user's social posts, twice at most, within 15 minutes of publishing it.

    Args:
        post_id: The post, e.g. "pst_4711".
        text: What it is to say instead, at most 200 characters; not what another post of theirs
            says within a day.
    """
    post = net.own_post(post_id)
    text = net.compose(text)
    too_late = net.now - post.at > EDIT_WINDOW
    edited_enough = len(post.earlier_texts) == EDITS_CAP
    if post.repost_of_id or too_late or edited_enough:
        raise Rejected(f"{post_id} is a repost, edited twice or past 15 minutes; delete it instead")
    if text == post.text:
        raise Rejected(f"{post_id} says just that; change the text")
    if post.reply_to_id is None:
        net.refuse_repetition(text, post.at, besides=post_id)
    if post.status == "scheduled":
        return net.posts.update(post_id, text=text)
    earlier = (*post.earlier_texts, post.text)
    return net.posts.update(post_id, text=text, edited_at=net.now, earlier_texts=earlier)


@server.write(destructive=True)
def delete_post(net: Network, /, post_id: str) -> Post:
    """Delete one of the user's social posts, its likes and reposts; replies to it stay.

    Args:
        post_id: The post, e.g. "pst_4711"; a repost is taken back.
    """
    post = net.own_post(post_id)
    for repost in net.posts.where(repost_of_id=post_id):
        net.posts.remove(repost.id)
    net.count(post, -1)
    return net.posts.update(
        post_id,
        status="deleted",
        text="",
        earlier_texts=(),
        liked_by=(),
        repost_of_id=None,
        reposts=0,
    )


@server.write
def like_post(net: Network, /, post_id: str) -> Post:
    """Like a post on the social network that the user may see, once.

    Args:
        post_id: The post, e.g. "pst_4711".
    """
    post = net.original(post_id)
    me = net.me()
    if me.handle in post.liked_by:
        raise Rejected(f"you like {post.id} already")
    return net.posts.update(post.id, liked_by=(*post.liked_by, me.handle))


@server.write
def repost_post(net: Network, /, post_id: str) -> Post:
    """Repost somebody's post to the user's followers, once; not what a private profile said.

    Args:
        post_id: The post, e.g. "pst_4711".
    """
    post = net.original(post_id)
    author = net.profiles[post.profile_id]
    me = net.me()
    if author.own or author.private:
        raise Rejected(
            f"{post.id} is your own or by a private profile; repost others' public posts"
        )
    if net.posts.where(repost_of_id=post.id, profile_id=me.id):
        raise Rejected(f"you have reposted {post.id} already")
    return net.publish(me, text="", repost_of_id=post.id)


@server.write
def report_post(net: Network, /, post_id: str, reason: Reason) -> Post:
    """Report somebody's post to the social network's moderators, once; the user sees it no more.

    Args:
        post_id: The post, e.g. "pst_4711".
        reason: What is wrong with it.
    """
    post = net.original(post_id)
    if post.profile_id == net.me().id:
        raise Rejected(f"{post.id} is your own; delete_post takes it away")
    return net.posts.update(post.id, reported=reason)


@server.write
def follow_account(net: Network, /, profile_id: str) -> Profile:
    """Follow a profile on the social network; a private one is asked and answers in six hours.

    Args:
        profile_id: Whom to follow, e.g. "prf_310"; not somebody the user has blocked.
    """
    profile = net.other(profile_id)
    if profile.visibility == "blocked":
        raise Rejected(f"you blocked @{profile.handle}; set_account_visibility shows them again")
    if profile.you_follow != "no":
        raise Rejected(f"you follow @{profile.handle} already or wait for an answer")
    if profile.private:
        return net.follow(profile, "requested")
    return net.follow(profile, "yes")


@server.write(destructive=True)
def unfollow_account(net: Network, /, profile_id: str) -> Profile:
    """Stop following a profile on the social network, or take back the request to.

    Args:
        profile_id: Whom to unfollow, e.g. "prf_310".
    """
    profile = net.other(profile_id)
    if profile.you_follow == "no":
        raise Rejected(f"you do not follow @{profile.handle}")
    return net.follow(profile, "no")


@server.write
def set_account_visibility(net: Network, /, profile_id: str, visibility: Visibility) -> Profile:
    """Mute a social profile (out of the feed), block it (gone both ways, no follows) or show it.

    Args:
        profile_id: The profile, e.g. "prf_310".
        visibility: How they are to be from now on, unlike now.
    """
    profile = net.other(profile_id)
    if profile.visibility == visibility:
        raise Rejected(f"@{profile.handle} is {visibility} already")
    if visibility == "blocked":
        return net.block(profile)
    return net.profiles.update(profile_id, visibility=visibility)
