"""The network's rules, told on a circle of five."""

from datetime import timedelta
from typing import Any

import pytest

from provegym.kernel import Seed
from provegym.servers.social_media.state import Network, Post, Profile, server
from servers.desk import Desk

NOW = Seed(0).now


class Circle(Desk[Network]):
    """The user, a friend, a stranger, a private profile and one who blocks the user."""

    def __init__(self) -> None:
        super().__init__(server, Network(Seed(0)))
        self.me = self.join("ada", own=True, followers=2, following=1)
        self.friend = self.join("bea", you_follow="yes", follows_you=True)
        self.stranger = self.join("cem", follows_you=True)
        self.closed = self.join("dov", private=True)
        self.hidden = self.join("eve", blocks_you=True)
        self.mine = self.said(self.me, "Old news #books", minutes=60, liked_by=("bea", "cem"))
        self.fresh = self.said(self.me, "Fresh bread #baking", minutes=5)
        self.theirs = self.said(self.friend, "Beans are up #gardening", minutes=30)
        self.other = self.said(self.stranger, "Rain again #books", minutes=20, liked_by=("ada",))
        self.secret = self.said(self.closed, "For friends only", minutes=10)
        self.unseen = self.said(self.hidden, "You cannot see this", minutes=10)
        self.mute = self.said(self.friend, "No answers please", minutes=8, replies_off=True)
        self.start()

    def join(self, handle: str, **fields: Any) -> str:
        """A profile with that handle."""
        known = {"name": handle.title(), "bio": "", "followers": 10, "following": 10}
        return self.world.profiles.add(handle=handle, **{**known, **fields}).id

    def said(self, profile_id: str, text: str, minutes: int, **fields: Any) -> str:
        """A post so many minutes old."""
        author, at = self.world.profiles[profile_id], NOW - timedelta(minutes=minutes)
        return self.world.publish(author, text=text, at=at, **fields).id

    def profile(self, profile_id: str) -> Profile:
        """Somebody as they are now."""
        return self.state.profiles[profile_id]

    def post(self, post_id: str) -> Post:
        """A post as it is now."""
        return self.state.posts[post_id]

    def feed(self) -> list[str]:
        """The ids in the home feed."""
        return [post["id"] for post in self.done("get_home_feed")["items"]]


@pytest.fixture
def circle() -> Circle:
    return Circle()


def test_the_feed_has_own_posts_and_those_of_whom_one_follows_newest_first(circle: Circle) -> None:
    assert circle.feed() == [circle.fresh, circle.mute, circle.theirs, circle.mine]


def test_private_and_hidden_posts_are_not_found(circle: Circle) -> None:
    found = [post["id"] for post in circle.done("search_posts")["items"]]
    assert circle.secret not in found
    assert circle.unseen not in found
    assert circle.other in found
    circle.denied("like_post", "followers only", post_id=circle.secret)
    circle.not_found("like_post", post_id=circle.unseen)


def test_a_public_profile_is_followed_at_once(circle: Circle) -> None:
    circle.done("follow_account", profile_id=circle.stranger)
    assert circle.profile(circle.stranger).followers == 11
    assert circle.profile(circle.me).following == 2
    assert circle.other in circle.feed()
    circle.rejected("follow_account", "already", profile_id=circle.stranger)


def test_a_private_profile_answers_in_six_hours(circle: Circle) -> None:
    circle.done("follow_account", profile_id=circle.closed)
    assert circle.profile(circle.closed).followers == 10
    assert circle.secret not in circle.feed()
    circle.wait(6 * 60 - 1)
    assert circle.profile(circle.closed).you_follow == "requested"
    circle.wait(1)
    assert circle.profile(circle.closed).followers == 11
    assert circle.secret in circle.feed()


def test_nobody_follows_themselves_or_one_who_hides(circle: Circle) -> None:
    circle.rejected("follow_account", "your own profile", profile_id=circle.me)
    circle.not_found("follow_account", profile_id=circle.hidden)
    assert circle.done("search_profiles", name="eve")["total"] == 0


def test_unfollowing_takes_follow_or_request_back(circle: Circle) -> None:
    circle.done("unfollow_account", profile_id=circle.friend)
    assert circle.profile(circle.me).following == 0
    assert circle.theirs not in circle.feed()
    circle.rejected("unfollow_account", "do not follow", profile_id=circle.friend)
    circle.done("follow_account", profile_id=circle.closed)
    circle.done("unfollow_account", profile_id=circle.closed)
    circle.wait(hours=7)
    assert circle.profile(circle.closed).you_follow == "no"


def test_a_block_ends_follows_and_likes_both_ways(circle: Circle) -> None:
    circle.done("set_account_visibility", profile_id=circle.stranger, visibility="blocked")
    assert circle.profile(circle.me).followers == 1
    assert not circle.profile(circle.stranger).follows_you
    assert circle.post(circle.mine).liked_by == ("bea",)
    assert circle.post(circle.other).liked_by == ()
    assert {change.table for change in circle.session.diff()} == {"profiles", "posts"}
    assert circle.done("search_posts", text="rain")["total"] == 0
    circle.denied("reply_to_post", "is blocked", post_id=circle.other, text="Hello")
    circle.rejected("follow_account", "blocked @cem", profile_id=circle.stranger)
    circle.rejected("create_post", "@cem is blocked", text="Hello @cem!")
    circle.done("set_account_visibility", profile_id=circle.stranger, visibility="shown")
    assert not circle.profile(circle.stranger).follows_you


def test_muting_only_keeps_posts_out_of_the_feed(circle: Circle) -> None:
    circle.done("set_account_visibility", profile_id=circle.friend, visibility="muted")
    assert circle.theirs not in circle.feed()
    assert circle.done("search_posts", text="beans")["total"] == 1
    assert circle.done("search_profiles", relation="muted")["items"][0]["handle"] == "bea"
    circle.rejected(
        "set_account_visibility", "already", profile_id=circle.friend, visibility="muted"
    )


def test_a_post_is_short_and_printable(circle: Circle) -> None:
    circle.rejected("create_post", "1 to 200", text="x" * 201)
    circle.rejected("create_post", "1 to 200", text="  ")
    circle.rejected("create_post", "1 to 200", text="bell \x07")
    assert circle.done("create_post", text="  two\n lines ")["text"] == "two lines"


def test_the_same_is_not_said_twice_in_a_day(circle: Circle) -> None:
    circle.rejected("create_post", "change the text", text="Old news #books")
    circle.wait(days=1)
    circle.done("create_post", text="Old news #books")


def test_a_scheduled_post_appears_when_it_is_due(circle: Circle) -> None:
    later = (NOW + timedelta(hours=2)).isoformat()
    post = circle.done("create_post", text="See you at eight", publish_at=later)
    assert post["status"] == "scheduled"
    assert post["id"] not in circle.feed()
    assert circle.done("search_posts", text="at eight")["total"] == 1
    circle.done("update_post", post_id=post["id"], text="See you at nine")
    circle.wait(120)
    assert circle.feed()[0] == post["id"]
    assert circle.post(post["id"]).edited_at is None


def test_posts_are_scheduled_within_thirty_days(circle: Circle) -> None:
    for days in (-1, 31):
        at = (NOW + timedelta(days=days)).isoformat()
        circle.rejected("create_post", "30 days", text="Hm", publish_at=at)


def test_an_edit_keeps_what_was_said_before(circle: Circle) -> None:
    circle.done("update_post", post_id=circle.fresh, text="Fresh rolls #baking")
    assert circle.post(circle.fresh).earlier_texts == ("Fresh bread #baking",)
    circle.done("update_post", post_id=circle.fresh, text="Fresh buns #baking")
    circle.rejected("update_post", "edited twice", post_id=circle.fresh, text="Fresh tea")


def test_an_edit_repeats_no_other_post_of_the_day(circle: Circle) -> None:
    edit = {"post_id": circle.fresh}
    circle.rejected("update_post", "within a day", text="old news #books", **edit)
    circle.rejected("update_post", "says just that", text="Fresh bread  #baking", **edit)
    circle.done("update_post", text="FRESH bread #baking", **edit)


def test_punctuation_hides_no_mention_of_somebody_blocked(circle: Circle) -> None:
    circle.done("set_account_visibility", profile_id=circle.stranger, visibility="blocked")
    for text in ("(@cem) look", "ada,@CEM look", "@cem's"):
        circle.rejected("create_post", "@cem is blocked", text=text)
    circle.done("create_post", text="mail to ada@cem.example")


def test_edits_fall_within_fifteen_minutes(circle: Circle) -> None:
    circle.rejected("update_post", "15 minutes", post_id=circle.mine, text="New news")
    circle.wait(11)
    circle.rejected("update_post", "15 minutes", post_id=circle.fresh, text="Stale bread")


def test_only_own_posts_are_changed(circle: Circle) -> None:
    circle.denied("update_post", "@bea wrote", post_id=circle.theirs, text="Ha")
    circle.denied("delete_post", "@bea wrote", post_id=circle.theirs)


def test_replies_make_a_thread_and_are_counted(circle: Circle) -> None:
    reply = circle.done("reply_to_post", post_id=circle.theirs, text="Mine too")
    thread = circle.done("get_post_thread", post_id=circle.theirs)["items"]
    assert [post["id"] for post in thread] == [circle.theirs, reply["id"]]
    assert circle.post(circle.theirs).replies == 1
    circle.rejected("reply_to_post", "no replies", post_id=circle.mute, text="But")
    circle.done("delete_post", post_id=reply["id"])
    assert circle.post(circle.theirs).replies == 0


def test_a_repost_stands_for_the_original(circle: Circle) -> None:
    repost = circle.done("repost_post", post_id=circle.other)
    assert circle.post(circle.other).reposts == 1
    circle.rejected("repost_post", "already", post_id=circle.other)
    circle.done("reply_to_post", post_id=repost["id"], text="Bring a coat")
    assert circle.post(circle.other).replies == 1
    circle.rejected("update_post", "is a repost", post_id=repost["id"], text="Sun")
    circle.done("delete_post", post_id=repost["id"])
    assert circle.post(circle.other).reposts == 0


def test_own_and_private_posts_are_not_reposted(circle: Circle) -> None:
    circle.rejected("repost_post", "your own", post_id=circle.mine)
    circle.done("follow_account", profile_id=circle.closed)
    circle.wait(hours=6)
    circle.rejected("repost_post", "private", post_id=circle.secret)


def test_deleting_empties_a_post_and_takes_its_reposts() -> None:
    circle = Circle()
    state = circle.state
    repost = state.publish(state.profiles[circle.friend], text="", repost_of_id=circle.mine)
    reply = state.publish(state.profiles[circle.friend], text="Indeed", reply_to_id=circle.mine)
    circle.done("delete_post", post_id=circle.mine)
    gone = circle.post(circle.mine)
    assert (gone.status, gone.text, gone.liked_by, gone.reposts) == ("deleted", "", (), 0)
    assert repost.id not in state.posts
    assert circle.post(reply.id).reply_to_id == circle.mine
    circle.rejected("delete_post", "deleted already", post_id=circle.mine)


def test_a_post_is_liked_once(circle: Circle) -> None:
    assert circle.done("like_post", post_id=circle.theirs)["liked_by"] == ["ada"]
    circle.rejected("like_post", "already", post_id=circle.theirs)


def test_a_reported_post_is_seen_no_more(circle: Circle) -> None:
    circle.done("report_post", post_id=circle.theirs, reason="spam")
    assert circle.theirs not in circle.feed()
    circle.rejected("report_post", "for spam already", post_id=circle.theirs, reason="violence")
    circle.rejected("get_post_thread", "see it no more", post_id=circle.theirs)
    circle.rejected("like_post", "see it no more", post_id=circle.theirs)
    circle.rejected("report_post", "your own", post_id=circle.mine, reason="spam")


def test_trends_count_what_is_visible(circle: Circle) -> None:
    trends = circle.done("list_trending_hashtags")["items"]
    assert trends[0] == {"hashtag": "#books", "posts": 2}
    circle.done("set_account_visibility", profile_id=circle.stranger, visibility="blocked")
    trends = circle.done("list_trending_hashtags")["items"]
    assert {"hashtag": "#books", "posts": 1} in trends
