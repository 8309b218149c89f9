"""The state of the network: profiles and posts, who may see what, and the invariants."""

import re
from collections import Counter
from datetime import datetime, timedelta
from typing import Any, Literal

from provegym.kernel import Denied, NotFound, Record, Rejected, Server, State, Table, table

Following = Literal["no", "requested", "yes"]
Visibility = Literal["shown", "muted", "blocked"]
Reason = Literal["spam", "harassment", "false_information", "violence"]

DAY = timedelta(days=1)
EDIT_WINDOW = timedelta(minutes=15)
ANSWER_TIME = timedelta(hours=6)
TEXT_CAP = 200


class Profile(Record, frozen=True):
    """Somebody on the network, and how they and the user stand to each other."""

    id: str
    handle: str
    name: str
    bio: str
    followers: int
    following: int
    own: bool = False
    private: bool = False
    you_follow: Following = "no"
    answer_due: datetime | None = None
    follows_you: bool = False
    visibility: Visibility = "shown"
    blocks_you: bool = False

    def apart(self) -> bool:
        """Whether a block stands between them and the user."""
        return self.blocks_you or self.visibility == "blocked"

    def readable(self) -> bool:
        """Whether the user may read what they post."""
        if self.apart():
            return False
        return not self.private or self.own or self.you_follow == "yes"


class Post(Record, frozen=True):
    """Something said, answered or passed on; a deleted one stays, empty, for its replies."""

    id: str
    profile_id: str
    handle: str
    text: str
    at: datetime
    status: Literal["scheduled", "published", "deleted"] = "published"
    reply_to_id: str | None = None
    repost_of_id: str | None = None
    replies: int = 0
    reposts: int = 0
    liked_by: tuple[str, ...] = ()
    replies_off: bool = False
    reported: Reason | None = None
    edited_at: datetime | None = None
    earlier_texts: tuple[str, ...] = ()


class Network(State):
    """The network on one user's behalf."""

    profiles: Table[Profile] = table(Profile, "prf", look_up="search_profiles")
    posts: Table[Post] = table(Post, "pst", look_up="search_posts")

    def me(self) -> Profile:
        """The user's own profile."""
        return next(profile for profile in self.profiles if profile.own)

    def other(self, profile_id: str) -> Profile:
        """Somebody else who does not hide from the user."""
        profile = self.profiles[profile_id]
        if profile.blocks_you:
            raise NotFound(f"no profile {profile_id!r}; search_profiles shows the ones there are")
        if profile.own:
            raise Rejected("that is your own profile; choose somebody else's")
        return profile

    def visible(self) -> list[Post]:
        """The posts the user may read and has not reported, newest first.

        A repost is visible only if the post that it passes on is.
        """
        authors = {profile.id for profile in self.profiles if profile.readable()}
        found = [post for post in self.posts if post.profile_id in authors]
        found = [post for post in found if post.status != "deleted"]
        unreported = {post.id for post in found if not post.reported}
        found = [post for post in found if (post.repost_of_id or post.id) in unreported]
        return sorted(found, key=lambda post: post.at, reverse=True)

    def original(self, post_id: str) -> Post:
        """A post to react to, if the user may see it; a repost stands for what it passes on."""
        original_id = self.posts[post_id].repost_of_id or post_id
        post = self.posts[original_id]
        author = self.profiles[post.profile_id]
        if post.status != "published" or author.blocks_you:
            raise NotFound(f"no post {post_id!r}; search_posts shows the ones there are")
        if post.reported:
            raise Rejected(f"{post.id} is reported for {post.reported} already; you see it no more")
        if not author.readable():
            why = "is blocked" if author.visibility == "blocked" else "posts for followers only"
            raise Denied(f"@{author.handle} {why}; change that before you react to {post.id}")
        return post

    def own_post(self, post_id: str) -> Post:
        """A post of the user's that is not deleted yet."""
        post = self.posts[post_id]
        if not self.profiles[post.profile_id].own:
            raise Denied(f"@{post.handle} wrote {post_id}; only your own posts can be changed")
        if post.status == "deleted":
            raise Rejected(f"{post_id} is deleted already")
        return post

    def compose(self, text: str) -> str:
        """A text fit to be posted."""
        text = " ".join(text.split())
        if not text or len(text) > TEXT_CAP or not text.isprintable():
            raise Rejected(f"a post has 1 to {TEXT_CAP} printable characters, not {len(text)}")
        blocked = [profile.handle for profile in self.profiles if profile.visibility == "blocked"]
        for handle in tags(text, "@"):
            if handle in blocked:
                raise Rejected(f"@{handle} is blocked; leave the mention out")
        return text

    def refuse_repetition(self, text: str, at: datetime, besides: str = "") -> None:
        """Refuse what the user says in another post within a day of a moment."""
        for post in self.posts.where(profile_id=self.me().id):
            is_same = post.id != besides and post.text.casefold() == text.casefold()
            if is_same and abs(at - post.at) < DAY:
                raise Rejected("you already say just that within a day of then; change the text")

    def publish(
        self, author: Profile, *, text: str, at: datetime | None = None, **fields: Any
    ) -> Post:
        """Add a post and count it at the one it answers or passes on."""
        post = self.posts.add(
            profile_id=author.id, handle=author.handle, text=text, at=at or self.now, **fields
        )
        self.count(post, 1)
        return post

    def count(self, post: Post, step: int) -> None:
        """Count a reply or repost up or down at the post it refers to."""
        parent = self.posts.get(post.reply_to_id or "")
        if parent:
            self.posts.update(parent.id, replies=parent.replies + step)
        source = self.posts.get(post.repost_of_id or "")
        if source:
            self.posts.update(source.id, reposts=source.reposts + step)

    def follow(self, profile: Profile, following: Following) -> Profile:
        """Change whether the user follows somebody, and count it at both ends."""
        me = self.me()
        step = int(following == "yes") - int(profile.you_follow == "yes")
        answer_due = self.now + ANSWER_TIME if following == "requested" else None
        self.profiles.update(me.id, following=me.following + step)
        return self.profiles.update(
            profile.id,
            followers=profile.followers + step,
            you_follow=following,
            answer_due=answer_due,
        )

    def block(self, profile: Profile) -> Profile:
        """End the follows and likes between somebody and the user, and hide them."""
        profile = self.follow(profile, "no")
        me = self.me()
        self.remove_likes(author=me, fan=profile)
        self.remove_likes(author=profile, fan=me)
        lost = int(profile.follows_you)
        self.profiles.update(me.id, followers=me.followers - lost)
        return self.profiles.update(
            profile.id, visibility="blocked", following=profile.following - lost, follows_you=False
        )

    def remove_likes(self, author: Profile, fan: Profile) -> None:
        """Take the likes of one profile off the posts of another."""
        for post in self.posts.where(profile_id=author.id):
            if fan.handle in post.liked_by:
                liked_by = tuple(handle for handle in post.liked_by if handle != fan.handle)
                self.posts.update(post.id, liked_by=liked_by)

    def next_event(self) -> datetime | None:
        """When a private profile answers a request, or a scheduled post is due."""
        due = [post.at for post in self.posts if post.status == "scheduled"]
        due += [profile.answer_due for profile in self.profiles if profile.answer_due]
        return min(due, default=None)

    def happen(self) -> None:
        """Accept the requests and publish the posts whose time has come."""
        for profile in list(self.profiles):
            if profile.answer_due and profile.answer_due <= self.now:
                self.follow(profile, "yes")
        for post in self.posts.where(status="scheduled"):
            if post.at <= self.now:
                self.posts.update(post.id, status="published")

    def check(self) -> None:
        """Counters equal relations, nothing reaches across a block, edits fell in their window."""
        me = self.me()
        assert me.following == len(self.profiles.where(you_follow="yes"))
        assert me.followers == len(self.profiles.where(follows_you=True))
        for profile in self.profiles:
            self._check_profile(profile)
        for post in self.posts:
            self._check_post(post)
        self._check_counts()
        self._check_likes()

    def _check_profile(self, profile: Profile) -> None:
        """An answer is due only to a request, and a block ends the follows both ways."""
        answer_due = profile.answer_due is not None and profile.answer_due > self.now
        assert answer_due == (profile.you_follow == "requested")
        assert not profile.apart() or profile.you_follow == "no"
        assert not profile.apart() or not profile.follows_you
        assert profile.followers >= 0
        assert profile.following >= 0

    def _check_post(self, post: Post) -> None:
        """A post refers to one there is, and its status and edits agree with the clock."""
        assert (post.reply_to_id or post.repost_of_id or post.id) in self.posts
        if post.status != "deleted":
            assert (post.status == "scheduled") == (post.at > self.now)
        if post.edited_at is not None:
            assert post.edited_at - post.at <= EDIT_WINDOW

    def _check_counts(self) -> None:
        """Every post counts the replies to it and its reposts."""
        published = self.posts.where(status="published")
        replies = Counter(post.reply_to_id for post in published)
        reposts = Counter(post.repost_of_id for post in published)
        for post in self.posts:
            assert post.replies == replies[post.id]
            assert post.reposts == reposts[post.id]

    def _check_likes(self) -> None:
        """Nobody likes a post twice or across a block."""
        me = self.me()
        apart = {profile.handle for profile in self.profiles if profile.apart()}
        for post in self.posts:
            assert len(set(post.liked_by)) == len(post.liked_by)
            if post.handle == me.handle:
                assert apart.isdisjoint(post.liked_by)
            if post.handle in apart:
                assert me.handle not in post.liked_by


def tags(text: str, mark: str) -> list[str]:
    """The hashtags or mentions of a text, in lower case and without the mark."""
    return re.findall(rf"(?<!\w){mark}(\w+)", text.lower())


server = Server(
    "social_media",
    Network,
    category="social",
    about="Posts, replies, reposts, follows, blocks and feeds of a social network for one user.",
    version=2,
)
