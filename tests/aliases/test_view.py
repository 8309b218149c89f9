"""The boundary: the same calls under other names do the same, and no plain name is ever shown."""

import re
from time import perf_counter
from typing import Literal

import msgspec
import pytest

from aliases.aliased import bare_example, drawn, fuzzed_calls, opened, style, view
from provegym import servers
from provegym.aliases import AliasedView
from provegym.kernel import Record, Seed, Server, State, Table, table
from provegym.rollout import Player
from provegym.toolbox import Toolbox, aliased, plain, under
from provegym.trace import BadFile, Example, Reply, ToolboxSpec, ToolCall

LONG_SEEDS = 40


def names_hidden(seen: AliasedView) -> re.Pattern[str]:
    """The pattern of plain names that must not be shown: tools, arguments, fields, ids.

    An argument of one word is also a word of English, and may stand in a sentence.
    """
    keys = seen.results.keys.shown | seen.arguments.keys.shown
    names = {*seen.tools.shown}
    names |= {name for name, alias in keys.items() if "_" in name and name != alias}
    names -= seen.enums.plain.keys()  # a field and a value of an enum may have the same name
    ids = f"(?:{'|'.join(seen.ids.prefixes)})_[0-9]{{1,6}}(?![0-9])"
    # What stands in a path of a file or after a tilde is what somebody wrote.
    return re.compile(rf"(?<![\w/.~-])(?:{'|'.join(sorted(names, key=len))}|{ids})(?!\w)")


def play_both(example: Example, count: int) -> None:
    """Play fuzzed calls plainly and under other names; compare everything, and look for leaks."""
    seen = Toolbox.of(example).view
    assert isinstance(seen, AliasedView)
    hidden = names_hidden(seen)
    one, other = opened(plain(example)), opened(example)
    shown = msgspec.json.encode(other.toolbox.openai()).decode()
    assert not hidden.search(shown)
    for call in fuzzed_calls(example.server, one, example.id, count):
        asked = seen.show_call(call)
        made, same = one.run(call, 0), other.run(asked, 0)
        assert made == same
        text = other.shown(asked, same)
        assert not hidden.search(text), text
        if same.error is None:
            back = seen.read_result(call.name, text)
            assert msgspec.json.decode(back) == msgspec.json.decode(made.result)
    assert one.session.digest() == other.session.digest()
    assert one.session.diff() == other.session.diff()


@pytest.mark.parametrize("server", servers.names())
def test_calls_do_the_same_under_other_names(server: str) -> None:
    for seed in range(4):
        play_both(drawn(server, seed), 50)


@pytest.mark.long
@pytest.mark.parametrize("server", servers.names())
def test_many_calls_do_the_same_under_other_names(server: str) -> None:
    for seed in range(4, LONG_SEEDS):
        play_both(drawn(server, seed), 150)


def frozen() -> tuple[Player, AliasedView]:
    """A player on a bank under other names, and its view."""
    alias = style(words="synonyms", enums="upper", ids="code", results="envelope")
    player = opened(under(bare_example("banking"), alias))
    seen = player.toolbox.view
    assert isinstance(seen, AliasedView)
    return player, seen


def said(player: Player, name: str, arguments: str) -> str:
    """The error message that a call is answered with."""
    asked = ToolCall(name=name, arguments=arguments)
    made = player.run(asked, 0)
    told = msgspec.json.decode(player.shown(asked, made))
    assert told["status"] == "error"
    assert isinstance(told["message"], str)
    return told["message"]


def test_a_plain_name_is_unknown_in_the_view_and_never_counts_as_one() -> None:
    player, seen = frozen()
    assert "unknown tool 'list_accounts'" in said(player, "list_accounts", "{}")
    made = player.run(ToolCall(name="list_accounts", arguments="{}"), 0)
    assert (made.tool, made.checks.shown, made.error) == ("~list_accounts", False, "not_found")
    shown = seen.tools.show("get_account")
    made = player.run(ToolCall(name=shown, arguments='{"account_id": "acc_1"}'), 0)
    assert made.arguments == {"~account_id": "~acc_1"}
    assert not made.checks.fits
    name = seen.arguments.keys.show("account_id")
    message = said(player, shown, '{"account_id": "acc_1"}')
    assert message == f"unknown argument 'account_id'; known are {name}"


def test_errors_speak_of_what_the_model_gave() -> None:
    player, seen = frozen()
    tool, key = seen.tools.show, seen.arguments.keys.show
    assert said(player, tool("get_account"), "{}") == (
        f"missing required argument {key('account_id')!r}"
    )
    given = msgspec.json.encode({key("kind"): "checking"}).decode()
    assert said(player, tool("list_accounts"), given) == (
        f"argument {key('kind')!r} must be one of CHECKING, FIXED_TERM, SAVINGS; got 'checking'"
    )
    given = msgspec.json.encode({key("limit"): "many"}).decode()
    assert said(player, tool("list_accounts"), given).startswith(f"argument {key('limit')!r}: ")
    unknown = seen.ids.sample("acc")
    given = msgspec.json.encode({key("account_id"): unknown}).decode()
    message = f"no account {unknown!r}; {tool('list_accounts')} shows the ones there are"
    assert said(player, tool("get_account"), given) == message
    given = msgspec.json.encode({key("account_id"): "mine"}).decode()
    assert f"account ids look like {unknown!r}" in said(player, tool("get_account"), given)


def test_an_error_quotes_a_text_of_the_model_as_it_is() -> None:
    """Also a text that is a plain name: models write the name of an argument for its value."""
    player, seen = frozen()
    tool, key = seen.tools.show("get_account"), seen.arguments.keys.show("account_id")
    for text in ("account_id", "list_cards", "fixed_term", key):
        given = msgspec.json.encode({key: text}).decode()
        assert said(player, tool, given).startswith(f"no account {text!r}: account ids look like ")


def test_a_text_that_begins_like_a_plain_id_is_told_what_ids_look_like() -> None:
    player, seen = frozen()
    tool, key = seen.tools.show("get_account"), seen.arguments.keys.show("account_id")
    shown = f"account ids look like {seen.ids.sample('acc')!r}; "
    for text in ("acc_1", "acc_007", "acc_99999999", "acc_x", "foo_1"):
        given = msgspec.json.encode({key: text}).decode()
        assert said(player, tool, given).startswith(f"no account {text!r}: {shown}")


def test_a_list_of_enum_values_in_an_error_is_shown_whole() -> None:
    seen = view("issue_tracker", style(words="synonyms", enums="upper"))
    assert seen.sentences.say("it can go to open, in_review, wont_do") == (
        "it can go to OPEN, IN_REVIEW, WONT_DO"
    )
    told = "the issue is open, and nobody has it"
    assert seen.sentences.say(told) == told


def test_a_malformed_call_is_one_in_the_view_too() -> None:
    player, seen = frozen()
    shown = seen.tools.show("get_account")
    made = player.run(ToolCall(name=shown, arguments="{oops"), 0)
    assert (made.tool, made.arguments, made.error) == ("get_account", None, "malformed")
    assert "{oops" in said(player, shown, "{oops")
    assert player.run(ToolCall(name="", arguments="{}"), 0).error == "malformed"


@pytest.mark.parametrize("depth", [50, 100, 400, 900, 5_000])
def test_arguments_that_are_nested_absurdly_deep_are_an_error_too(depth: int) -> None:
    player, seen = frozen()
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        nested = opening * depth + '"acc_1"' + closing * depth
        given = f'{{"{seen.arguments.keys.show("name")}": {nested}}}'
        made = player.run(ToolCall(name=seen.tools.show("list_accounts"), arguments=given), 0)
        assert made.error in ("invalid_argument", "malformed")
        assert said(player, seen.tools.show("list_accounts"), given)


def test_a_stripped_enum_lists_the_values_of_the_view() -> None:
    example = bare_example("banking")
    spec = msgspec.structs.replace(example.toolbox, stripped=("list_accounts.kind",))
    example = msgspec.structs.replace(example, toolbox=spec)
    toolbox = Toolbox.of(under(example, style(words="synonyms", enums="upper")))
    seen = toolbox.view
    assert isinstance(seen, AliasedView)
    schemas = {name: schema for name, _, schema in toolbox.shown()}
    part = schemas[seen.tools.show("list_accounts")]["properties"][seen.arguments.keys.show("kind")]
    assert "enum" not in part
    assert "One of CHECKING, FIXED_TERM, SAVINGS." in part["description"]


def test_codes_stand_beside_their_meaning() -> None:
    seen = view("banking", style(words="synonyms", enums="codes", descriptions="terse"))
    code = seen.enums.show("frozen")
    status = seen.arguments.keys.show("status")
    assert re.fullmatch(r"code_\d\d", code)
    about = seen.schema("set_card_status")["properties"][status]
    assert code in about["enum"]
    assert f"{code} is frozen" in about["description"]
    assert f"{code} is frozen" in seen.description("list_accounts")
    assert seen.read_reply(f"The account is {code}.") == "The account is frozen."


def test_replies_name_ids_as_the_view_does() -> None:
    seen = view("banking", style(ids="uuid", words="synonyms"))
    reply = seen.show_reply(Reply(text="I paid from acc_4711."))
    assert "acc_4711" not in reply.text
    assert seen.read_reply(reply.text) == "I paid from acc_4711."


@pytest.mark.parametrize("words", ["synonyms", "abbreviations"])
def test_a_question_may_name_an_argument_as_the_view_does(words: str) -> None:
    seen = view("banking", style(words=words, names="camelCase"))
    shown = seen.arguments.keys.show("payee_name").replace("N", " n")
    assert shown != "payee name"
    assert seen.read_reply(f"Hello. Which {shown} is it?") == (
        f"Hello. Which {shown} is it (payee name)?"
    )
    told = f"The {shown} is Harbour."
    assert seen.read_reply(told) == told
    assert seen.read_reply("Which one is it?") == "Which one is it?"


def test_a_recorded_call_that_is_no_json_stays_as_it_is() -> None:
    seen = view("banking", style(words="synonyms"))
    call = seen.show_call(ToolCall(name="get_account", arguments="{oops"))
    assert call == ToolCall(name=seen.tools.show("get_account"), arguments="{oops")


def test_descriptions_in_four_styles() -> None:
    def told(how: str) -> str:
        seen = view("banking", style(tools="camelCase", descriptions=how))
        return seen.description("list_accounts")

    full, terse, wordy = map(told, ("full", "terse", "wordy"))
    assert full.startswith("List the user's bank accounts with their balances;")
    assert terse == "List the user's bank accounts with their balances."
    assert full in wordy
    assert told("none") == ""


def test_a_view_costs_a_call_less_than_a_millisecond() -> None:
    """A bound that no machine misses; `provegym bench` measures worlds."""
    player, seen = frozen()
    asked = seen.show_call(ToolCall(name="list_accounts", arguments="{}"))
    begun = perf_counter()
    for _ in range(100):
        player.shown(asked, player.run(asked, 0))
    assert (perf_counter() - begun) / 100 < 0.001


class Jar(Record, frozen=True):
    """A jar."""

    id: str
    name: str
    state: Literal["half_full", "empty"] = "empty"


class Cellar(State):
    """Jars."""

    jars: Table[Jar] = table(Jar, "jar", look_up="list_jars")


def test_a_server_that_came_at_run_time_has_aliases_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "_added", {})
    cellar = Server("cellar", Cellar, category="test", about="Jars in a cellar.")

    @cellar.seed
    def draw(seed: Seed) -> Cellar:
        state = Cellar(seed)
        state.jars.add(name="Plums", state="half_full")
        return state

    @cellar.read
    def list_jars(state: Cellar, /, state_now: Literal["half_full", "empty"]) -> list[Jar]:
        """List the jars.

        Args:
            state_now: Only jars like this.
        """
        return state.jars.where(state=state_now)

    servers.add(cellar)
    player = opened(
        under(bare_example("cellar"), style(ids="slug", enums="upper", words="synonyms"))
    )
    seen = player.toolbox.view
    assert isinstance(seen, AliasedView)
    call = ToolCall(name="list_jars", arguments='{"state_now": "half_full"}')
    asked = seen.show_call(call)
    made = player.run(asked, 0)
    text = player.shown(asked, made)
    assert made.arguments == {"state_now": "half_full"}
    assert "HALF_FULL" in asked.arguments
    assert "HALF_FULL" in text
    assert re.search(r"jar-[a-z]+-[a-z]+-\d+", text)
    assert "jar_" not in text
    assert msgspec.json.decode(seen.read_result("list_jars", text)) == msgspec.json.decode(
        made.result
    )


@pytest.mark.parametrize("distractor", ["list_accounts", "list_cards"])
def test_a_tool_whose_name_another_server_has_too_is_shown_as_it_is(
    monkeypatch: pytest.MonkeyPatch, distractor: str
) -> None:
    monkeypatch.setattr(servers, "_added", {})
    cellar = Server("cellar", Cellar, category="test", about="Jars in a cellar.")
    cellar.seed(Cellar)

    @cellar.read
    def list_cards(state: Cellar, /, state_now: Literal["half_full", "empty"]) -> list[Jar]:
        """List the cards on the jars.

        Args:
            state_now: Only jars like this.
        """
        return state.jars.where(state=state_now)

    servers.add(cellar)
    spec = ToolboxSpec(distractors=(distractor,), stripped=("list_cards.state_now",))
    example = msgspec.structs.replace(bare_example("cellar"), toolbox=spec)
    toolbox = Toolbox.of(under(example, style(words="synonyms", enums="upper")))
    seen = toolbox.view
    assert isinstance(seen, AliasedView)
    parts = [schema["properties"] for _, about, schema in toolbox.shown() if "jars" in about]
    part = parts[0][seen.arguments.keys.show("state_now")]
    assert part["description"] == "Only jars like this. One of EMPTY, HALF_FULL."


def test_a_foreign_server_keeps_its_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "_added", {})
    theirs = Server("theirs", Cellar, category="test", about="Somebody's jars.")
    monkeypatch.setattr(theirs, "foreign", True)
    servers.add(theirs)
    with pytest.raises(BadFile, match="theirs is a foreign server, and its tools keep their names"):
        aliased(bare_example("theirs"), 1)
