"""TRL's own loop over our environments, with scripts in the place of what a model samples."""

import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

import torch
import trl
from transformers.utils import get_json_schema
from trl.chat_template_utils import qwen3_chat_template

from provegym import servers
from provegym.adapters.trl import environments, first_turn, reward, row
from provegym.players.plan import tool_call
from provegym.players.scripted import noop, oracle
from provegym.rewards import HARDENED
from provegym.rollout import play_replies, play_script
from provegym.toolbox import Toolbox
from provegym.trace import Example, Json, Reply, ToolCall, read, write
from provegym.verify import verify
from train.tiny import Script, build_model, build_tokenizer

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "adapters" / "trl.md"
TEN = (
    *("banking/pay-and-freeze", "banking/open-and-fill", "banking/what-is-left"),
    *("calendar/whose-preview", "filesystem/how-long-is-it", "maps/how-long-by-tram"),
    *("maps/tidy-the-lists", "payments/two-new-invoices", "shopping/gift-and-address"),
    "team_chat/join-and-greet",
)

pytestmark = pytest.mark.filterwarnings("ignore")


def example(name: str) -> Example:
    """An example of the tests' data."""
    found = read(ROOT / "tests" / "data" / f"{name.partition('/')[0]}.jsonl", Example)
    return next(each for each in found if each.id == name)


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    """Ten examples of one user turn, of several servers and with several knobs."""
    return [each for name in TEN if (each := first_turn(example(name)))]


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """A model this small is slower on several."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def replies(example: Example, policy: Callable[[Example], Any], tokenizer: Any) -> list[list[int]]:
    """What a policy says in an example, as a Qwen model would write it."""
    said = [m for m in play_script(example, policy).messages if m["role"] == "assistant"]
    texts = [
        "\n".join(
            '<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'.format(
                **call["function"]
            )
            for call in message.get("tool_calls", ())
        )
        or message["content"]
        for message in said
    ]
    return [[*tokenizer.encode(text), tokenizer.eos_token_id] for text in texts]


def trainer_of(examples: list[Example]) -> type[trl.GRPOTrainer]:
    """TRL's trainer with a tiny model: of each example two rollouts are right, and one is idle."""
    tokenizer = build_tokenizer(examples)
    tokenizer.chat_template = qwen3_chat_template
    rollouts = [(each, policy) for each in examples for policy in (oracle, oracle, noop)]
    script = Script([replies(each, policy, tokenizer) for each, policy in rollouts])

    class Scripted(trl.GRPOTrainer):
        def __init__(self, *, model: str, **rest: Any) -> None:
            model = build_model(tokenizer, width=16)
            super().__init__(model=model, processing_class=tokenizer, **rest)

        def _generate_single_turn(self, prompt_ids: list[list[int]], *_: Any, **__: Any) -> Any:
            said = script.generate(prompt_ids, 1000)
            return [each.ids for each in said], [each.logprobs for each in said]

        def _calculate_rewards(self, inputs: Any, prompts: Any, completions: Any, ids: Any) -> Any:
            self.completions = completions
            self.paid = super()._calculate_rewards(inputs, prompts, completions, ids)
            return self.paid

    return Scripted


def test_the_example_of_the_page_plays_ten_examples(
    examples: list[Example], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rollouts of an example go side by side; what each is told is what it is told alone."""
    assert len(examples) == 10
    few = {"per_device_train_batch_size": 1, "generation_batch_size": 30, "num_generations": 3}
    here = {"use_cpu": True, "bf16": False, "report_to": [], "disable_tqdm": True}
    once = {"max_steps": 1, "save_strategy": "no", "shuffle_dataset": False}
    config = partial(trl.GRPOConfig, output_dir=str(tmp_path), **few, **here, **once)
    monkeypatch.setattr(trl, "GRPOConfig", config)
    monkeypatch.setattr(trl, "GRPOTrainer", trainer_of(examples))
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "examples.jsonl", map(example, TEN))
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    page: dict[str, Any] = {}
    exec(code, page)

    trainer = page["trainer"]
    assert trainer.paid.flatten().tolist() == pytest.approx([1.3, 1.3, 0] * 10)
    for at, each in enumerate(examples):
        alone = [m["content"] for m in play_script(each, oracle).messages if m["role"] == "tool"]
        for said in trainer.completions[3 * at : 3 * at + 2]:
            assert [m["content"] for m in said if m["role"] == "tool"] == alone
        shown = {method.__name__ for method in trainer._env_tools[row(each)["environment"]]}
        assert shown == Toolbox.of(each).tools.keys()
    logged = {name for entry in trainer.state.log_history for name in entry}
    parts = ("validity", "coverage", "efficiency", "name", "argument")
    parts += ("success", "state", "answer", "ended")
    assert logged >= {f"provegym/{part}" for part in parts}


def test_first_turns_are_verified(examples: list[Example]) -> None:
    for each in examples:
        assert verify(each) == []
        assert len(each.turns) == 1
    assert first_turn(example("banking/ask-for-the-amount")) is None


def test_writes_of_one_session_do_not_show_in_another(examples: list[Example]) -> None:
    each = examples[1]
    made = environments([each])[row(each)["environment"]]
    one, other = made(), made()
    one.reset(**row(each))
    other.reset(**row(each))
    before = other.list_accounts()
    for call in play_script(each, oracle).calls:
        assert getattr(one, call.tool)(**call.arguments) == call.result
    assert other.list_accounts() == before != one.list_accounts()
    one.reset(**row(each))
    assert one.list_accounts() == before


@pytest.mark.parametrize("server", servers.names())
def test_schemas_say_what_ours_say(server: str) -> None:
    tools = servers.load(server).tools
    each = msgspec.structs.replace(example("banking/what-is-left"), server=server, paths=())
    each = msgspec.structs.replace(each, toolbox=type(each.toolbox)())
    built = environments([each])[server]()
    for name, tool in tools.items():
        shown = get_json_schema(getattr(built, name))["function"]
        assert (shown["name"], shown["description"]) == (name, tool.description)
        ours = tool.input_schema
        assert shown["parameters"].get("required", []) == ours["required"]
        for argument, part in ours["properties"].items():
            told = shown["parameters"]["properties"].pop(argument)
            assert told["description"].startswith(part.get("description", ""))
            assert told.get("enum") == part.get("enum")
            nullable = told.pop("nullable", False)
            assert _kinds(told) | ({"null"} if nullable else set()) == _kinds(part)
        assert not shown["parameters"]["properties"]


def _kinds(schema: Json) -> set[str]:
    """The JSON types that a schema allows."""
    if "anyOf" in schema:
        return {kind for option in schema["anyOf"] for kind in _kinds(option)}
    return {schema["type"]} if isinstance(schema["type"], str) else set(schema["type"])


def test_what_trl_does_not_pass_on_is_paid_all_the_same(examples: list[Example]) -> None:
    each = examples[0]
    wrong: list[Json] = [
        {"role": "assistant", "content": "", "tool_calls": [_native("open_sesame", {})]},
        {"role": "tool", "name": "open_sesame", "content": "{'error': 'Tool not found.'}"},
        {"role": "assistant", "content": '<tool_call>\n{"name": "list_accounts", \n</tool_call>'},
    ]
    unread = ToolCall(name="", arguments='{"name": "list_accounts",')
    same = [Reply(calls=(tool_call("open_sesame", {}),)), Reply(calls=(unread,))]
    own = play_replies(each, same, name="same")
    assert [call.error for call in own.calls] == ["not_found", "malformed"]
    assert own.ended == "tokens"
    paid = reward([wrong], [row(each)["example"]], [], lambda *_: None)
    assert own.reward is not None
    assert paid == [own.reward.total]


def test_the_hardened_scheme_reads_the_replies_too(examples: list[Example]) -> None:
    each = examples[0]
    said = [m for m in play_script(each, oracle).messages[2:] if m["role"] == "assistant"]
    mute = [*said[:-1], {"role": "assistant", "content": ""}]
    logged: dict[str, float] = {}
    paid = reward([said, mute], [row(each)["example"]] * 2, [], logged.__setitem__, scheme=HARDENED)
    assert paid[0] == pytest.approx(1.3)
    assert paid[1] is not None
    assert paid[1] < 0.6
    assert logged["provegym/success"] == 0.5


def _native(name: str, arguments: Json) -> Json:
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


def test_several_user_turns_are_refused_in_one_line() -> None:
    says = (
        "banking/pay-and-freeze has 2 user turns, and TRL's environment_factory plays one:"
        " leave it out, or train with `provegym train`"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(says)}$"):
        row(example("banking/pay-and-freeze"))
    whole = msgspec.json.encode(example("banking/pay-and-freeze")).decode()
    made = environments([example("banking/pay-and-freeze")])["banking"]
    with pytest.raises(ValueError, match="has 2 user turns"):
        made().reset(example=whole)


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (None, "trl is missing: pip install 'trl==1.16.*'"),
        ("1.15.2", "this adapter is for trl 1.16, not 1.15.2: pip install 'trl==1.16.*'"),
    ],
    ids=["missing", "older"],
)
def test_another_trl_is_one_line(
    found: str | None, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(package: str) -> str:
        if found is None:
            raise PackageNotFoundError(package)
        return found

    monkeypatch.setattr("provegym.adapters.episode.version", version)
    monkeypatch.delitem(sys.modules, "provegym.adapters.trl")
    with pytest.raises(ImportError, match=f"^{re.escape(says)}$"):
        import_module("provegym.adapters.trl")
