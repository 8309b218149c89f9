"""The mailbox's rules, told on a handful of emails."""

from datetime import timedelta

import pytest

from provegym.kernel import Outcome, Seed, Session
from provegym.servers.email import server
from provegym.servers.email.state import Attachment, Draft, Email, Filter, Mailbox

INES, BO, CEM = "ines.falk@mail.example", "bo.lind@mail.example", "cem.aydin@mail.example"
HOUR = timedelta(hours=1)


class Post:
    """Ines, who acts; Bo, who wrote to her and Cem; Cem, whose mail comes back; a newsletter."""

    def __init__(self) -> None:
        box = Mailbox(Seed(0))
        box.contacts.add(name="Ines Falk", address=INES, me=True)
        box.contacts.add(name="Bo Lind", address=BO)
        box.contacts.add(name="Cem Aydin", address=CEM, bounces=True)
        self.state = box
        self.family = box.labels.add(name="Family")
        self.starred = box.labels.add(name="Starred", system=True)
        self.thread = box.threads.add(subject="Roof", started=box.now - HOUR)
        self.roof = self.mail("Roof", thread_id=self.thread.id, to=(INES, "dora@mail.example"))
        news = box.threads.add(subject="News", started=box.now - HOUR)
        sender = {"sender": "no-reply@news.example", "sender_name": "Daily News"}
        self.news = self.mail("News", thread_id=news.id, **sender)
        self.coming = self.mail("Re: Roof", at=box.now + HOUR, due=box.now + HOUR)
        self.draft = box.drafts.add(subject="Lunch", to=(BO,), body="At noon?")
        self.session = Session.over(server, box)

    def mail(self, subject: str, **fields: object) -> Email:
        """An email from Bo to Ines, an hour old."""
        plan = Attachment("plan.pdf", 900)
        who = {"sender": BO, "sender_name": "Bo Lind", "to": (INES,), "attachments": (plan,)}
        usual = {"body": "Have a look.", "at": self.state.now - HOUR, **who}
        return self.state.emails.add(subject=subject, **(usual | fields))

    def call(self, tool: str, **arguments: object) -> Outcome:
        """Call a tool; the invariants hold after it."""
        outcome = self.session.call(tool, arguments)
        self.session.check()
        return outcome

    def refused(self, tool: str, **arguments: object) -> str:
        """The message of a call that a rule refuses."""
        outcome = self.call(tool, **arguments)
        assert outcome.error == "rejected"
        return str(outcome.value["message"])

    def wait(self, minutes: int) -> None:
        """Let time pass."""
        self.session.advance(minutes)
        self.session.check()

    @property
    def now(self) -> Mailbox:
        """The mailbox as it is in the session."""
        state = self.session.state(server)
        assert isinstance(state, Mailbox)
        return state

    def sent(self) -> list[Email]:
        """What has gone out."""
        return self.now.emails.where(folder="sent")


@pytest.fixture
def post() -> Post:
    return Post()


def draft_of(post: Post, outcome: Outcome) -> Draft:
    return post.now.drafts[outcome.value["id"]]


def test_an_answer_goes_to_the_sender_in_the_same_thread(post: Post) -> None:
    draft = draft_of(post, post.call("reply_to_email", email_id=post.roof.id, body="Fine."))
    assert (draft.to, draft.subject, draft.thread_id) == ((BO,), "Re: Roof", post.thread.id)


def test_an_answer_to_everyone_leaves_out_the_user(post: Post) -> None:
    given = {"email_id": post.roof.id, "body": "Fine.", "everyone": True}
    assert draft_of(post, post.call("reply_to_email", **given)).to == (BO, "dora@mail.example")


def test_no_reply_addresses_are_not_answered(post: Post) -> None:
    message = post.refused("reply_to_email", email_id=post.news.id, body="Stop!")
    assert "reads no answers" in message


def test_a_forward_takes_attachments_along_and_leaves_the_thread(post: Post) -> None:
    given = {"email_id": post.roof.id, "to": [BO], "body": "See below."}
    draft = draft_of(post, post.call("forward_email", **given))
    assert (draft.subject, draft.thread_id) == ("Fwd: Roof", None)
    assert draft.attachments == post.roof.attachments
    assert draft.body == "See below.\n\nBo Lind wrote: Have a look."


def test_addresses_must_be_addresses_that_take_mail(post: Post) -> None:
    for address in ("bo", "bo@", "@mail.example", "bo lind@mail.example", "a@b@mail.example"):
        message = post.refused("create_email_draft", to=[address], subject="Hi")
        assert "no email address" in message
    assert "comes back" in post.refused("forward_email", email_id=post.roof.id, to=[CEM])


def test_attachments_have_a_limit(post: Post) -> None:
    files = [{"name": f"{part}.zip", "kilobytes": 13_000} for part in "ab"]
    message = post.refused("update_email_draft", draft_id=post.draft.id, files=files)
    assert "at most 25000 kB" in message
    assert post.call("update_email_draft", draft_id=post.draft.id, files=files[:1]).ok


def test_a_draft_without_recipient_stays(post: Post) -> None:
    draft = post.call("create_email_draft", to=[], subject="Later").value
    assert "no recipient" in post.refused("send_email_draft", draft_id=draft["id"])


def test_a_sent_draft_goes_out_after_five_minutes(post: Post) -> None:
    reply = post.call("reply_to_email", email_id=post.roof.id, body="Fine.").value
    post.call("send_email_draft", draft_id=reply["id"])
    post.wait(4)
    assert post.sent() == []
    post.wait(1)
    (email,) = post.sent()
    assert (email.to, email.thread_id, email.body) == ((BO,), post.thread.id, "Fine.")
    assert reply["id"] not in post.now.drafts


def test_sending_can_be_undone_until_it_is_due(post: Post) -> None:
    given = {"draft_id": post.draft.id}
    assert "does not wait" in post.refused("cancel_email_send", **given)
    post.call("send_email_draft", **given)
    post.call("cancel_email_send", **given)
    post.wait(60)
    assert post.sent() == []
    assert post.draft.id in post.now.drafts


def test_mail_can_be_sent_later_but_not_earlier(post: Post) -> None:
    given = {"draft_id": post.draft.id}
    message = post.refused("send_email_draft", send_at=post.now.now - HOUR, **given)
    assert "within a year" in message
    post.call("send_email_draft", send_at=post.now.now + 24 * HOUR, **given)
    post.wait(24 * 60)
    assert [email.subject for email in post.sent()] == ["Lunch"]


def test_what_waits_to_be_sent_cannot_be_changed(post: Post) -> None:
    post.call("send_email_draft", draft_id=post.draft.id)
    for tool in ("update_email_draft", "discard_email_draft", "send_email_draft"):
        assert "cancel that first" in post.refused(tool, draft_id=post.draft.id)
    post.call("cancel_email_send", draft_id=post.draft.id)
    assert post.call("discard_email_draft", draft_id=post.draft.id).ok


def test_mail_that_has_not_arrived_cannot_be_seen(post: Post) -> None:
    assert post.call("get_email", email_id=post.coming.id).error == "not_found"
    assert post.call("search_emails").value["total"] == 2


def test_arriving_mail_joins_its_thread_and_meets_filters(post: Post) -> None:
    post.call("create_email_filter", label_id=post.family.id, sender="bo lind", archive=True)
    post.call("create_email_filter", label_id=post.starred.id, subject="roof")
    post.wait(60)
    email = post.now.emails[post.coming.id]
    assert (email.thread_id, email.folder, email.unread) == (post.thread.id, "archive", True)
    assert email.label_ids == (post.family.id, post.starred.id)
    assert post.call("search_emails", thread_id=post.thread.id).value["total"] == 2


def test_filters_need_a_condition_of_their_own(post: Post) -> None:
    given = {"label_id": post.family.id}
    assert "needs a sender" in post.refused("create_email_filter", **given)
    for name in ("a", "b", "c", "d"):
        post.call("create_email_filter", sender=name, **given)
    assert "already" in post.refused("create_email_filter", sender="a", archive=True, **given)
    assert "4 filters" in post.refused("create_email_filter", sender="e", **given)


def test_snoozed_mail_comes_back_unread(post: Post) -> None:
    until = post.now.now + 2 * HOUR
    post.call("snooze_email", email_id=post.roof.id, until=until)
    post.wait(119)
    assert post.now.emails[post.roof.id].folder == "snoozed"
    post.wait(1)
    email = post.now.emails[post.roof.id]
    assert (email.folder, email.due, email.unread) == ("inbox", None, True)


def test_nothing_is_snoozed_into_the_past_or_out_of_the_trash(post: Post) -> None:
    given = {"email_id": post.roof.id}
    assert "within a year" in post.refused("snooze_email", until=post.now.now, **given)
    post.call("update_email", folder="trash", **given)
    message = post.refused("snooze_email", until=post.now.now + HOUR, **given)
    assert "only received mail" in message


def test_trash_can_be_restored_for_thirty_days(post: Post) -> None:
    given = {"email_id": post.news.id}
    post.call("update_email", folder="trash", **given)
    assert "already" in post.refused("update_email", folder="trash", **given)
    post.wait(29 * 24 * 60)
    post.call("update_email", folder="inbox", **given)
    post.call("update_email", folder="trash", **given)
    post.wait(30 * 24 * 60)
    assert post.call("get_email", **given).error == "not_found"
    assert post.news.thread_id not in post.now.threads


def test_an_answer_outlives_its_emptied_thread(post: Post) -> None:
    reply = post.call("reply_to_email", email_id=post.roof.id, body="Fine.").value
    post.wait(60)
    for email_id in (post.roof.id, post.coming.id):
        post.call("update_email", email_id=email_id, folder="trash")
    post.call("send_email_draft", draft_id=reply["id"], send_at=post.now.now + 31 * 24 * HOUR)
    post.wait(31 * 24 * 60)
    assert post.now.threads[str(post.sent()[0].thread_id)].subject == "Roof"


def test_sent_mail_only_goes_to_the_trash_and_back(post: Post) -> None:
    post.call("send_email_draft", draft_id=post.draft.id)
    post.wait(5)
    (email,) = post.sent()
    message = post.refused("update_email", email_id=email.id, folder="archive")
    assert "sent mail" in message
    post.call("update_email", email_id=email.id, folder="trash")
    post.call("update_email", email_id=email.id, folder="inbox")
    assert post.sent() == [email]


def test_a_label_goes_on_once_and_comes_off(post: Post) -> None:
    given = {"email_id": post.roof.id, "label_id": post.family.id}
    assert "already" in post.refused("update_email", remove=True, **given)
    post.call("update_email", **given)
    assert "already" in post.refused("update_email", **given)
    assert post.call("search_emails", label_id=post.family.id).value["total"] == 1
    assert post.call("update_email", remove=True, **given).value.get("label_ids") is None


def test_an_email_has_six_labels_at_most(post: Post) -> None:
    for number in range(6):
        label = post.call("create_email_label", name=f"Pile {number}").value
        post.call("update_email", email_id=post.roof.id, label_id=label["id"])
    message = post.refused("update_email", email_id=post.roof.id, label_id=post.family.id)
    assert "six labels" in message


def test_deleting_a_label_takes_it_off_every_email(post: Post) -> None:
    post.call("update_email", email_id=post.roof.id, label_id=post.family.id)
    post.call("create_email_filter", label_id=post.family.id, sender="Bo")
    post.call("delete_email_label", label_id=post.family.id)
    assert post.now.emails[post.roof.id].label_ids == ()
    post.wait(60)
    assert post.now.emails[post.coming.id].label_ids == ()


def test_system_labels_and_names_are_protected(post: Post) -> None:
    assert "system label" in post.refused("delete_email_label", label_id=post.starred.id)
    assert "already" in post.refused("create_email_label", name="family")


def test_search_looks_at_sender_text_and_folder(post: Post) -> None:
    found = post.call("search_emails", sender="bo", text="LOOK", folder="inbox").value["items"]
    assert [email["subject"] for email in found] == ["Roof"]
    assert post.call("search_emails", folder="trash").value["total"] == 0


def test_a_filter_fits_parts_of_names(post: Post) -> None:
    assert Filter("lind", "roo").fits(post.roof)
    assert not Filter("lind", "news").fits(post.roof)
