"""The mailbox's rules, told on a handful of emails."""

from datetime import timedelta

import pytest

from provegym.kernel import Seed
from provegym.servers.email import server
from provegym.servers.email.state import Attachment, Draft, Email, Filter, Mailbox
from servers.desk import Desk

INES, BO, CEM = "ines.falk@mail.example", "bo.lind@mail.example", "cem.aydin@mail.example"
HOUR = timedelta(hours=1)


class Post(Desk[Mailbox]):
    """Ines, who acts; Bo, who wrote to her and Cem; Cem, whose mail comes back; a newsletter."""

    def __init__(self) -> None:
        super().__init__(server, Mailbox(Seed(0)))
        box = self.world
        box.contacts.add(name="Ines Falk", address=INES, me=True)
        box.contacts.add(name="Bo Lind", address=BO)
        box.contacts.add(name="Cem Aydin", address=CEM, bounces=True)
        self.family = box.labels.add(name="Family")
        self.starred = box.labels.add(name="Starred", system=True)
        self.thread = box.threads.add(subject="Roof", started=box.now - HOUR)
        self.roof = self.mail("Roof", thread_id=self.thread.id, to=(INES, "dora@mail.example"))
        news = box.threads.add(subject="News", started=box.now - HOUR)
        sender = {"sender": "no-reply@news.example", "sender_name": "Daily News"}
        self.news = self.mail("News", thread_id=news.id, **sender)
        self.coming = self.mail("Re: Roof", at=box.now + HOUR, due=box.now + HOUR)
        self.draft = box.drafts.add(subject="Lunch", to=(BO,), body="At noon?")
        self.start()

    def mail(self, subject: str, **fields: object) -> Email:
        """An email from Bo to Ines, an hour old."""
        plan = Attachment("plan.pdf", 900)
        who = {"sender": BO, "sender_name": "Bo Lind", "to": (INES,), "attachments": (plan,)}
        usual = {"body": "Have a look.", "at": self.world.now - HOUR, **who}
        return self.world.emails.add(subject=subject, **(usual | fields))

    def drafted(self, tool: str, **arguments: object) -> Draft:
        """The draft that a call has made."""
        return self.state.drafts[self.done(tool, **arguments)["id"]]

    def sent(self) -> list[Email]:
        """What has gone out."""
        return self.state.emails.where(folder="sent")


@pytest.fixture
def post() -> Post:
    return Post()


def test_an_answer_goes_to_the_sender_in_the_same_thread(post: Post) -> None:
    draft = post.drafted("reply_to_email", email_id=post.roof.id, body="Fine.")
    assert (draft.to, draft.subject, draft.thread_id) == ((BO,), "Re: Roof", post.thread.id)


def test_an_answer_to_everyone_leaves_out_the_user(post: Post) -> None:
    given = {"email_id": post.roof.id, "body": "Fine.", "everyone": True}
    assert post.drafted("reply_to_email", **given).to == (BO, "dora@mail.example")


def test_no_reply_addresses_are_not_answered(post: Post) -> None:
    post.rejected("reply_to_email", "reads no answers", email_id=post.news.id, body="Stop!")


def test_a_forward_takes_attachments_along_and_leaves_the_thread(post: Post) -> None:
    given = {"email_id": post.roof.id, "to": [BO], "body": "See below."}
    draft = post.drafted("forward_email", **given)
    assert (draft.subject, draft.thread_id) == ("Fwd: Roof", None)
    assert draft.attachments == post.roof.attachments
    assert draft.body == "See below.\n\nBo Lind wrote: Have a look."


def test_addresses_must_be_addresses_that_take_mail(post: Post) -> None:
    for address in ("bo", "bo@", "@mail.example", "bo lind@mail.example", "a@b@mail.example"):
        post.rejected("create_email_draft", "no email address", to=[address], subject="Hi")
    post.rejected("forward_email", "comes back", email_id=post.roof.id, to=[CEM])
    post.rejected("forward_email", "comes back", email_id=post.roof.id, to=[CEM.upper()])
    draft = post.drafted("create_email_draft", to=[BO, BO.upper()], subject="Roof")
    assert draft.to == (BO,)


def test_attachments_have_a_limit(post: Post) -> None:
    files = [{"name": f"{part}.zip", "kilobytes": 13_000} for part in "ab"]
    post.rejected("update_email_draft", "at most 25000 kB", draft_id=post.draft.id, files=files)
    post.done("update_email_draft", draft_id=post.draft.id, files=files[:1])


def test_a_draft_without_recipient_stays(post: Post) -> None:
    draft = post.done("create_email_draft", to=[], subject="Later")
    post.rejected("send_email_draft", "no recipient", draft_id=draft["id"])


def test_a_sent_draft_goes_out_after_five_minutes(post: Post) -> None:
    reply = post.done("reply_to_email", email_id=post.roof.id, body="Fine.")
    post.done("send_email_draft", draft_id=reply["id"])
    post.wait(4)
    assert post.sent() == []
    post.wait(1)
    (email,) = post.sent()
    assert (email.to, email.thread_id, email.body) == ((BO,), post.thread.id, "Fine.")
    assert reply["id"] not in post.state.drafts


def test_sending_can_be_undone_until_it_is_due(post: Post) -> None:
    given = {"draft_id": post.draft.id}
    post.rejected("cancel_email_send", "does not wait", **given)
    post.done("send_email_draft", **given)
    post.done("cancel_email_send", **given)
    post.wait(60)
    assert post.sent() == []
    assert post.draft.id in post.state.drafts


def test_mail_can_be_sent_later_but_not_earlier(post: Post) -> None:
    given = {"draft_id": post.draft.id}
    post.rejected("send_email_draft", "within a year", send_at=post.state.now - HOUR, **given)
    post.done("send_email_draft", send_at=post.state.now + 24 * HOUR, **given)
    post.wait(days=1)
    assert [email.subject for email in post.sent()] == ["Lunch"]


def test_what_waits_to_be_sent_cannot_be_changed(post: Post) -> None:
    post.done("send_email_draft", draft_id=post.draft.id)
    for tool in ("update_email_draft", "discard_email_draft", "send_email_draft"):
        post.rejected(tool, "cancel that first", draft_id=post.draft.id)
    post.done("cancel_email_send", draft_id=post.draft.id)
    post.done("discard_email_draft", draft_id=post.draft.id)


def test_mail_that_has_not_arrived_cannot_be_seen(post: Post) -> None:
    post.not_found("get_email", email_id=post.coming.id)
    assert post.done("search_emails")["total"] == 2


def test_arriving_mail_joins_its_thread_and_meets_filters(post: Post) -> None:
    post.done("create_email_filter", label_id=post.family.id, sender="bo lind", archive=True)
    post.done("create_email_filter", label_id=post.starred.id, subject="roof")
    post.wait(60)
    email = post.state.emails[post.coming.id]
    assert (email.thread_id, email.folder, email.unread) == (post.thread.id, "archive", True)
    assert email.label_ids == (post.family.id, post.starred.id)
    assert post.done("search_emails", thread_id=post.thread.id)["total"] == 2


def test_filters_need_a_condition_of_their_own(post: Post) -> None:
    given = {"label_id": post.family.id}
    post.rejected("create_email_filter", "needs a sender", **given)
    for name in ("a", "b", "c", "d"):
        post.done("create_email_filter", sender=name, **given)
    post.rejected("create_email_filter", "already", sender="a", archive=True, **given)
    post.rejected("create_email_filter", "already", sender="A", **given)
    post.rejected("create_email_label", "already a label", name=" family")
    post.rejected("create_email_filter", "4 filters", sender="e", **given)


def test_snoozed_mail_comes_back_unread(post: Post) -> None:
    until = post.state.now + 2 * HOUR
    post.done("snooze_email", email_id=post.roof.id, until=until)
    post.wait(119)
    assert post.state.emails[post.roof.id].folder == "snoozed"
    post.wait(1)
    email = post.state.emails[post.roof.id]
    assert (email.folder, email.due, email.unread) == ("inbox", None, True)


def test_nothing_is_snoozed_into_the_past_or_out_of_the_trash(post: Post) -> None:
    given = {"email_id": post.roof.id}
    post.rejected("snooze_email", "within a year", until=post.state.now, **given)
    post.done("update_email", folder="trash", **given)
    post.rejected("snooze_email", "only received mail", until=post.state.now + HOUR, **given)


def test_trash_can_be_restored_for_thirty_days(post: Post) -> None:
    given = {"email_id": post.news.id}
    post.done("update_email", folder="trash", **given)
    post.rejected("update_email", "already", folder="trash", **given)
    post.wait(days=29)
    post.done("update_email", folder="inbox", **given)
    post.done("update_email", folder="trash", **given)
    post.wait(days=30)
    post.not_found("get_email", **given)
    assert post.news.thread_id not in post.state.threads


def test_an_answer_outlives_its_emptied_thread(post: Post) -> None:
    reply = post.done("reply_to_email", email_id=post.roof.id, body="Fine.")
    post.wait(60)
    for email_id in (post.roof.id, post.coming.id):
        post.done("update_email", email_id=email_id, folder="trash")
    post.done("send_email_draft", draft_id=reply["id"], send_at=post.state.now + 31 * 24 * HOUR)
    post.wait(days=31)
    assert post.state.threads[str(post.sent()[0].thread_id)].subject == "Roof"


def test_sent_mail_only_goes_to_the_trash_and_back(post: Post) -> None:
    post.done("send_email_draft", draft_id=post.draft.id)
    post.wait(5)
    (email,) = post.sent()
    post.rejected("update_email", "sent mail", email_id=email.id, folder="archive")
    post.done("update_email", email_id=email.id, folder="trash")
    post.done("update_email", email_id=email.id, folder="inbox")
    assert post.sent() == [email]


def test_a_label_goes_on_once_and_comes_off(post: Post) -> None:
    given = {"email_id": post.roof.id, "label_id": post.family.id}
    post.rejected("update_email", "already", remove=True, **given)
    post.done("update_email", **given)
    post.rejected("update_email", "already", **given)
    assert post.done("search_emails", label_id=post.family.id)["total"] == 1
    assert post.done("update_email", remove=True, **given).get("label_ids") is None


def test_an_email_has_six_labels_at_most(post: Post) -> None:
    for number in range(6):
        label = post.done("create_email_label", name=f"Pile {number}")
        post.done("update_email", email_id=post.roof.id, label_id=label["id"])
    post.rejected("update_email", "six labels", email_id=post.roof.id, label_id=post.family.id)


def test_deleting_a_label_takes_it_off_every_email(post: Post) -> None:
    post.done("update_email", email_id=post.roof.id, label_id=post.family.id)
    post.done("create_email_filter", label_id=post.family.id, sender="Bo")
    post.done("delete_email_label", label_id=post.family.id)
    assert post.state.emails[post.roof.id].label_ids == ()
    post.wait(60)
    assert post.state.emails[post.coming.id].label_ids == ()


def test_system_labels_and_names_are_protected(post: Post) -> None:
    post.rejected("delete_email_label", "system label", label_id=post.starred.id)
    post.rejected("create_email_label", "already", name="family")


def test_search_looks_at_sender_text_and_folder(post: Post) -> None:
    found = post.done("search_emails", sender="bo", text="LOOK", folder="inbox")["items"]
    assert [email["subject"] for email in found] == ["Roof"]
    assert post.done("search_emails", folder="trash")["total"] == 0


def test_a_filter_fits_parts_of_names(post: Post) -> None:
    assert Filter("lind", "roo").fits(post.roof)
    assert not Filter("lind", "news").fits(post.roof)
