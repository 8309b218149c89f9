"""Aliased twins of examples: the whole contract holds, and all is paid as under plain names."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.progress import Progress
from typer.testing import CliRunner

from aliases.aliased import examples, style
from provegym.aliases import ALIAS_STYLES, AliasedView, sentences, view
from provegym.cli import app
from provegym.corpus.corpus import Corpus
from provegym.corpus.exports import FORMS
from provegym.corpus.order import Order
from provegym.corpus.samples import called
from provegym.corpus.transcript import transcript
from provegym.models.dialects import openai
from provegym.players.scripted import SCRIPTS
from provegym.rewards import HARDENED, PAPER, rescore
from provegym.rewards.success import judge, verdict_of
from provegym.rollout import play_replies, play_script
from provegym.toolbox import Toolbox, aliased, example_view, plain, under
from provegym.trace import Attempt, BadFile, Example, Rollout, ToolboxSpec, Turn, line, read
from provegym.verify import verify
from provegym.view.item import show_example, show_rollout

put = msgspec.structs.replace


def told(rollout: Rollout) -> tuple[Any, ...]:
    """What must not depend on names."""
    return rollout.reward, rollout.verdict, rollout.calls, rollout.outcome, rollout.ended


def some(step: int = 7) -> list[Example]:
    """Some of the examples made by hand."""
    return [each for each in examples() if each.server][::step]


def test_the_contract_holds_for_aliased_twins() -> None:
    """All examples made by hand, and half of them under a second alias."""
    twins = [aliased(each, at) for at, each in enumerate(examples())]
    twins += [aliased(each, 1_000 + at) for at, each in enumerate(examples()[::2])]
    assert len(twins) > 200
    assert len({each.server for each in twins}) == 20
    assert [(each.id, found) for each in twins if (found := verify(each))] == []


@pytest.mark.long
def test_the_contract_holds_for_many_aliased_twins() -> None:
    for seed in range(6):
        twins = [aliased(each, 1_000 * seed + at) for at, each in enumerate(examples())]
        assert [(each.id, found) for each in twins if (found := verify(each))] == []


def test_a_twin_is_plain_again_to_the_last_byte() -> None:
    for at, example in enumerate(examples()):
        twin = aliased(example, at)
        assert line(plain(twin)) == line(example)
        assert msgspec.json.decode(line(twin), type=Example) == twin
        assert len(line(twin)) < len(line(example)) + 250


def test_scripts_are_paid_the_same_under_both_schemes() -> None:
    for at, example in enumerate(some()):
        twin = aliased(example, at)
        for scheme in (PAPER, HARDENED):
            for make in SCRIPTS.values():
                own = play_script(twin, make, scheme=scheme)
                assert told(own) == told(play_script(example, make, scheme=scheme))
                assert told(rescore(own, scheme)) == told(own)


def test_transcripts_are_exported_in_the_view_and_are_paid_as_exported() -> None:
    for at, example in enumerate(some(5)):
        twin = aliased(example, at)
        seen = example_view(twin)
        assert isinstance(seen, AliasedView)
        messages, learn = transcript(twin)
        names = {
            call["function"]["name"]
            for message in messages
            for call in message.get("tool_calls") or ()
        }
        assert names <= {name for name, _, _ in Toolbox.of(twin).shown()}
        assert learn == transcript(example).learn
        replies = [openai.parse(each) for each in messages if each["role"] == "assistant"]
        rollout = play_replies(twin, replies, name="exported")
        assert rollout.messages == tuple(messages)
        assert rollout.verdict is not None
        assert rollout.verdict.success
        for form in FORMS.values():
            msgspec.json.encode(form.make(twin, 0, "train"))


def test_a_recorded_transcript_is_translated() -> None:
    tries = (
        Attempt(before=0, tool="get_account", arguments={"account_id": "acc_1"}, error="not_found"),
        Attempt(before=0, tool="get_account", arguments={"id": 1}, error="invalid_argument"),
    )
    example = next(each for each in examples() if each.server == "banking" and each.paths[0].steps)
    example = put(example, provenance=put(example.provenance, attempts=tries))
    messages = tuple(transcript(example).messages)
    recorded = put(example, provenance=put(example.provenance, transcript=messages))
    alias = style(words="synonyms", ids="uuid", results="table", enums="upper")
    assert transcript(under(recorded, alias)).messages == transcript(under(example, alias)).messages


def with_id() -> tuple[Example, str]:
    """An example whose user says an id literally, and that id."""
    example = next(each for each in examples() if each.server == "banking" and each.paths[0].steps)
    key = next(
        value
        for step in example.paths[0].steps
        for value in step.arguments.values()
        if isinstance(value, str) and value.startswith("acc_")
    )
    first, *rest = example.turns
    return put(example, turns=(put(first, text=f"{first.text} It is {key}."), *rest)), key


def test_an_id_that_the_user_says_has_the_form_of_the_view() -> None:
    example, key = with_id()
    twin = aliased(example, 3)
    assert key not in twin.turns[0].text
    assert example_view(twin).show_text(key) in twin.turns[0].text
    assert plain(twin) == example
    assert verify(twin) == verify(example)


def test_a_text_of_the_user_that_looks_like_an_alias_breaks_nothing() -> None:
    example = some()[0]
    alias = style(ids="number")
    odd = example_view(under(example, alias)).show_text("acc_4711")
    first, *rest = example.turns
    said = put(example, turns=(put(first, text=f"{first.text} My number is {odd}."), *rest))
    assert plain(under(said, alias)) == said
    assert verify(under(said, alias)) == verify(said)


@pytest.mark.parametrize("enums", ["codes", "upper", "camelCase"])
def test_a_reply_may_say_enum_values_and_ids_as_the_view_shows_them(enums: str) -> None:
    """A model that repeats what it was shown is judged as one that says it in plain words."""
    judged = 0
    for at, example in enumerate(examples()):
        twin = under(example, style(at, words="synonyms", enums=enums, ids="uuid"))
        seen = example_view(twin)
        assert isinstance(seen, AliasedView)
        rollout = play_script(twin, SCRIPTS["oracle"])
        messages = [{**each} for each in rollout.messages]
        for message in messages:
            if message["role"] == "assistant" and message["content"]:
                for value, code in seen.enums.shown.items():
                    word = f" {value.replace('_', ' ')}."
                    message["content"] = message["content"].replace(word, f" {code}.")
        if messages != list(rollout.messages):
            judged += 1
            changed = put(rollout, messages=tuple(messages), verdict=None)
            assert judge(changed) == verdict_of(rollout)
    assert judged > (0 if enums == "camelCase" else 5)


def test_a_view_that_is_not_faithful_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    example, _ = with_id()
    twin = aliased(example, 3)
    wrong = put(twin, turns=(put(twin.turns[0], text=example.turns[0].text), *twin.turns[1:]))
    assert any("nothing says" in each or "other" in each for each in verify(wrong))
    example = next(each for each in examples() if each.server == "banking" and each.paths[0].steps)
    coded = under(example, style(words="synonyms", enums="codes"))
    view.view_of.cache_clear()
    monkeypatch.setattr(view, "legend", lambda values, enums: "")
    assert any("does not say what code_" in each for each in verify(coded))
    monkeypatch.setattr(view, "legend", sentences.legend)
    view.view_of.cache_clear()
    whole = view.wrap
    monkeypatch.setattr(
        view, "wrap", lambda value, shape: whole({n: value[n] for n in list(value)[:1]}, shape)
    )
    assert any("is not shown whole" in each for each in verify(under(example, style(7))))


def test_an_alias_needs_a_server_of_tables() -> None:
    example = some()[0]
    nowhere = put(example, server="", paths=(), toolbox=ToolboxSpec())
    with pytest.raises(BadFile, match="it has no server"):
        aliased(nowhere, 1)
    twin = put(aliased(example, 1), server="theirs")
    assert verify(twin) == ["its tools have other names, but there is no server 'theirs'"]


def test_the_page_shows_an_aliased_example() -> None:
    for at, example in enumerate(some(20)):
        twin = aliased(example, at)
        assert show_example(twin)["notes"] == show_example(example)["notes"]
        shown = show_rollout(play_script(twin, SCRIPTS["oracle"]), PAPER)
        assert (
            shown["verdict"]
            == show_rollout(play_script(example, SCRIPTS["oracle"]), PAPER)["verdict"]
        )
        msgspec.json.encode(shown)


def test_a_corpus_has_a_share_of_aliases_and_the_rest_is_as_without(tmp_path: Path) -> None:
    made = {}
    for share in (0.0, 0.5):
        out = tmp_path / str(share)
        Corpus(Order(8, 2, out, ("banking", "maps"), aliases=share)).make(Progress(disable=True))
        made[share] = list(read(out, Example))
    twins = [each for each in made[0.5] if each.toolbox.alias is not None]
    assert 0 < len(twins) < len(made[0.5])
    assert all("alias" in each.knobs and not verify(each) for each in twins)
    assert [plain(each) for each in made[0.5]] == made[0.0]


def test_minutes_and_questions_stay_as_they_are() -> None:
    example = put(some()[0], turns=(Turn(text="Hello", minutes=5, asks="amount"),))
    assert aliased(example, 1).turns == example.turns


def test_samples_show_results_of_every_shape() -> None:
    example = some()[0]
    for at, shape in enumerate(ALIAS_STYLES["results"]):
        twin = under(example, style(at, words="synonyms", results=shape))
        played = transcript(twin)
        calls = [n for n, message in enumerate(played.messages) if message.get("tool_calls")]
        assert calls
        assert all(list(called(played, number)) for number in calls)


def test_aliases_are_for_offline_examples_of_our_servers(tmp_path: Path) -> None:
    asked = ["synth", "--size", "2", "--out", str(tmp_path / "out"), "--aliases", "0.5"]
    told = CliRunner().invoke(app, [*asked, "--teacher", "http://127.0.0.1:9/v1"])
    assert told.exit_code != 0
    assert "leave --teacher and --mcp out" in told.output
