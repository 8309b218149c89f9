"""What the network knows, who may see what, and what is always true."""

from collections import Counter
from datetime import datetime, timedelta
from typing import Any, Literal

from provegym.kernel import Denied, NotFound, Record, Rejected, Server, State, Table, table

Following = Literal["no", "requested", "yes"]
Visibility = Literal["shown", "muted", "blocked"]
Reason = Literal["spam", "harassment", "false_information", "violence"]
EDIT_WINDOW, ANSWER_TIME, TEXT_CAP = timedelta(minutes=15), timedelta(hours=6), 200


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
        return not self.apart() and (not self.private or self.own or self.you_follow == "yes")


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
        """The posts the user may read and has not reported, newest first."""
        authors = {profile.id for profile in self.profiles if profile.readable()}
        found = [p for p in self.posts if p.profile_id in authors and p.status != "deleted"]
        known = {post.id for post in found if not post.reported}
        found = [post for post in found if (post.repost_of_id or post.id) in known]
        return sorted(found, key=lambda post: post.at, reverse=True)

    def original(self, post_id: str) -> Post:
        """A post to react to, if the user may see it; a repost stands for what it passes on."""
        post = self.posts[self.posts[post_id].repost_of_id or post_id]
        author = self.profiles[post.profile_id]
        if post.status != "published" or author.blocks_you:
            raise NotFound(f"no post {post_id!r}; search_posts shows the ones there are")
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
        if named := [handle for handle in tags(text, "@") if handle in blocked]:
            raise Rejected(f"@{named[0]} is blocked; leave the mention out")
        return text

    def publish(self, author: Profile, **fields: Any) -> Post:
        """Add a post and count it at the one it answers or passes on."""
        who = {"profile_id": author.id, "handle": author.handle, "at": self.now}
        post = self.posts.add(**{**who, **fields})
        self.count(post, 1)
        return post

    def count(self, post: Post, step: int) -> None:
        """Count a reply or repost up or down at the post it refers to."""
        if parent := self.posts.get(post.reply_to_id or ""):
            self.posts.update(parent.id, replies=parent.replies + step)
        if source := self.posts.get(post.repost_of_id or ""):
            self.posts.update(source.id, reposts=source.reposts + step)

    def follow(self, profile: Profile, following: Following) -> Profile:
        """Change whether the user follows somebody, and count it at both ends."""
        step, me = (following == "yes") - (profile.you_follow == "yes"), self.me()
        self.profiles.update(me.id, following=me.following + step)
        due = self.now + ANSWER_TIME if following == "requested" else None
        change = {"you_follow": following, "answer_due": due}
        return self.profiles.update(profile.id, followers=profile.followers + step, **change)

    def block(self, profile: Profile) -> Profile:
        """End the follows and likes between somebody and the user, and hide them."""
        profile, me = self.follow(profile, "no"), self.me()
        for author, fan in ((me, profile), (profile, me)):
            for post in self.posts.where(profile_id=author.id):
                if fan.handle in post.liked_by:
                    left = tuple(handle for handle in post.liked_by if handle != fan.handle)
                    self.posts.update(post.id, liked_by=left)
        self.profiles.update(me.id, followers=me.followers - profile.follows_you)
        change = {"following": profile.following - profile.follows_you, "follows_you": False}
        return self.profiles.update(profile.id, visibility="blocked", **change)

    def next_event(self) -> datetime | None:
        """A private profile answers a request, or a scheduled post is due."""
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
        me, hidden = self.me(), {p.handle for p in self.profiles if p.apart()}
        assert me.following == len(self.profiles.where(you_follow="yes"))
        assert me.followers == len(self.profiles.where(follows_you=True))
        for profile in self.profiles:
            due, state = profile.answer_due, profile.you_follow
            assert (state == "requested") == (due is not None and due > self.now)
            assert not profile.apart() or (state, profile.follows_you) == ("no", False)
            assert min(profile.followers, profile.following) >= 0
        published = self.posts.where(status="published")
        replies = Counter(post.reply_to_id for post in published)
        reposts = Counter(post.repost_of_id for post in published)
        for post in self.posts:
            assert (post.replies, post.reposts) == (replies[post.id], reposts[post.id])
            assert (post.reply_to_id or post.repost_of_id or post.id) in self.posts
            assert post.status == "deleted" or (post.status == "scheduled") == (post.at > self.now)
            assert post.edited_at is None or post.edited_at - post.at <= EDIT_WINDOW
            assert len(set(post.liked_by)) == len(post.liked_by)
            assert post.handle != me.handle or hidden.isdisjoint(post.liked_by)
            assert post.handle not in hidden or me.handle not in post.liked_by


def tags(text: str, mark: str) -> list[str]:
    """The hashtags or mentions of a text, in lower case and without the mark."""
    found = [word[1:].rstrip(".,;:!?").lower() for word in text.split() if word[0] == mark]
    return [word for word in found if word]


about = "Posts, replies, reposts, follows, blocks and feeds of a social network for one user."
server = Server("social_media", Network, category="social", about=about)
