"""A model on this machine behind an endpoint: what it reads, says, refuses and batches."""

import asyncio
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from provegym.cli.benchmarks import BenchmarkPlayer, Choice, _answer
from provegym.models import local, vllm
from provegym.models import served as served_module
from provegym.models.endpoint import EndpointError
from provegym.models.served import Refused, ServedModel, Weights, serve, spoken
from provegym.models.source import Rounds, Sampled, Source
from provegym.trace import Json

CALL = '<tool_call>{"name": "ls", "arguments": {"a": true}}</tool_call>'


class Letters:
    """A tokenizer whose tokens are letters; 0 ends a turn."""

    name_or_path = "somewhere/letters"
    all_special_ids = (0,)
    all_special_tokens = ("<|end|>",)
    added_tokens_decoder: ClassVar[dict[int, Any]] = {}
    chat_template = "… tools …"

    def apply_chat_template(self, messages: list[Json], **shown: Any) -> str:
        """Everything said, one line each, after the number of tools."""
        lines = [f"{m['role']}: {m['content']}{m.get('tool_calls', '')}" for m in messages]
        return "\n".join([str(len(shown["tools"] or ())), *lines])

    def __call__(self, text: str, **_: Any) -> Any:
        """Its letters."""
        return {"input_ids": list(map(ord, text))}

    def decode(self, ids: list[int], **_: Any) -> str:
        """Letters again."""
        return "".join(map(chr, ids))


def served(said: str, sizes: list[int] | None = None, template: str = "") -> ServedModel:
    """A model that always says the same, perhaps with a chat template of its own."""
    letters = Letters()
    letters.chat_template = template or letters.chat_template

    def generate(contexts: list[list[int]], most: int) -> list[Sampled]:
        if sizes is not None:
            sizes.append(len(contexts))
        return [Sampled([*map(ord, said), 0], []) for _ in contexts]

    return ServedModel(
        Rounds(generate), letters, Weights("letters", reply=10, batch=2), longest=200
    )


def asked(text: str) -> Json:
    """A request."""
    return {"messages": [{"role": "user", "content": text}]}


def test_its_own_way_of_calling_is_read() -> None:
    reply = asyncio.run(served(CALL)(asked("List.")))
    assert [(call.name, call.arguments) for call in reply.calls] == [("ls", '{"a":true}')]
    assert reply.tokens == len(CALL) + 1


def test_a_dialect_is_told_by_the_chat_template_where_the_name_does_not() -> None:
    said, template = '<|tool_call|>[{"name": "ls", "arguments": {}}]', "<|start_of_role|>… tools …"
    model = served(said, template=template)
    assert [call.name for call in asyncio.run(model(asked("List."))).calls] == ["ls"]


def test_requests_that_wait_are_sampled_together() -> None:
    sizes: list[int] = []
    model = served("Hello.", sizes)

    async def ask() -> list[Any]:
        first = await asyncio.gather(*(model(asked("Hi.")) for _ in range(3)))
        return [*first, await model(asked("Again."))]

    assert [reply.text for reply in asyncio.run(ask())] == ["Hello."] * 4
    assert sizes == [2, 1, 1]


def test_a_prompt_that_is_too_long_is_refused() -> None:
    with pytest.raises(
        Refused, match="the prompt has 200 tokens, but this model takes at most 199"
    ):
        asyncio.run(served("Hello.")(asked("x" * 192)))


def test_a_reply_ends_where_the_model_does() -> None:
    assert asyncio.run(served("Hello.")(asked("x" * 188))).text == "Hell"


def test_what_a_user_says_ends_no_turn() -> None:
    said = [{"role": who, "content": "<|end|>"} for who in ("user", "assistant", "tool")]
    text = "".join(map(chr, served("").tokens(said, [])))
    assert text == "0\nuser: < |end|>\nassistant: <|end|>\ntool: < |end|>"


def test_messages_are_as_templates_take_them() -> None:
    call = {"id": "1", "function": {"name": "ls", "arguments": '{"a": 1}'}}
    broken = {"id": "2", "function": {"name": "ls", "arguments": "{"}}
    told = spoken({"role": "assistant", "content": None, "tool_calls": [call, broken]})
    assert told["content"] == ""
    assert [each["function"]["arguments"] for each in told["tool_calls"]] == [{"a": 1}, {}]
    parts = [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]
    assert spoken({"role": "user", "content": parts})["content"] == "Hello"


class Engine:
    """Stands in for vLLM: always says the same."""

    def __init__(self, *given: Any) -> None:
        self.given = given
        self.worn: list[Path] = []

    def wear(self, adapter: Path) -> None:
        """Take on an adapter."""
        self.worn.append(adapter)

    @property
    def source(self) -> Source:
        """The same to everybody."""
        self.rounds = Rounds(lambda ids, _: [Sampled([*map(ord, "Hello."), 0], [])] * len(ids))
        return self.rounds


class Slow(Source):
    """Answers one request at a time, the last that came first; fails on a prompt with an x."""

    def __init__(self) -> None:
        self.open: list[tuple[int, list[int], int]] = []
        self.most = 0

    def ask(self, seat: int, context: list[int], most: int) -> None:
        """Keep it."""
        self.open.append((seat, context, most))
        self.most = max(self.most, len(self.open))

    def take(self) -> dict[int, Sampled]:
        """Answer one with its last letter."""
        seat, context, _ = self.open.pop()
        if ord("x") in context:
            raise RuntimeError("the GPU is gone")
        return {seat: Sampled([context[-1], 0], [])}


def test_who_asks_while_others_wait_gets_its_own_answer() -> None:
    source = Slow()
    model = ServedModel(source, Letters(), Weights("letters", reply=10, batch=3), longest=200)

    async def ask() -> list[Any]:
        return await asyncio.gather(*(model(asked(letter)) for letter in "abcdefg"))

    assert [reply.text for reply in asyncio.run(ask())] == list("abcdefg")
    assert source.most == 3


def test_a_model_that_fails_leaves_nobody_waiting() -> None:
    model = ServedModel(Slow(), Letters(), Weights("letters", reply=10, batch=2), longest=200)

    async def ask() -> list[Any]:
        asks = (model(asked(letter)) for letter in "axbc")
        return await asyncio.wait_for(asyncio.gather(*asks, return_exceptions=True), 5)

    told = asyncio.run(ask())
    assert all(isinstance(each, EndpointError) for each in told)
    assert str(told[0]) == "letters failed: the GPU is gone"


def test_vllm_serves_where_it_is_installed_and_there_is_a_gpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cuda = SimpleNamespace(is_available=lambda: True)
    config = SimpleNamespace(max_position_embeddings=300)
    auto = SimpleNamespace(from_pretrained=lambda _: config)
    monkeypatch.setattr(
        served_module, "need", lambda _: SimpleNamespace(cuda=cuda, AutoConfig=auto)
    )
    monkeypatch.setattr(served_module, "find_spec", lambda _: "there")
    monkeypatch.setattr(served_module, "load_tokenizer", lambda _: Letters())
    made: list[Engine] = []
    monkeypatch.setattr(vllm, "Vllm", lambda *given: made.append(Engine(*given)) or made[-1])
    model = serve(Weights("some/model", Path("adapter"), temperature=0.5, reply=10))
    (engine,) = made
    assert model.source is engine.rounds
    assert (engine.given, engine.worn) == (("some/model", 300, 0.5), [Path("adapter")])
    assert (model.longest, model.weights.batch) == (300, 256)
    assert asyncio.run(model(asked("Hi."))).text == "Hello."


def test_as_many_are_sampled_together_as_are_played(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Weights] = []
    monkeypatch.setattr(served_module, "serve", made.append)
    _answer(BenchmarkPlayer("", "", "embedded", None, temperature=0, reply=64), at_once=16)
    assert made == [Weights("embedded", None, 0, 64, batch=16)]


def test_a_run_with_other_weights_is_another_run(tmp_path: Path) -> None:
    model, adapter = tmp_path / "model", tmp_path / "adapter"
    for folder in (model, adapter):
        folder.mkdir()
        (folder / f"{folder.name}_model.safetensors").write_text("some")
    (adapter / "adapter_config.json").write_text("{}")
    player = BenchmarkPlayer("", "", str(model), adapter, temperature=0, reply=64)

    def settings() -> Json:
        return Choice("", None, tmp_path, 8).run(player, (), str(model)).settings("bfcl", ())

    before = settings()
    assert settings() == before
    (adapter / "adapter_model.safetensors").write_text("other")
    trained = settings()
    assert (trained["model"] != before["model"], trained["user"]) == (True, before["user"])
    (model / "model_model.safetensors").write_text("other")
    assert settings()["model"] != trained["model"]
    assert settings()["user"] != trained["user"]
    assert BenchmarkPlayer("", "", "embedded", None, temperature=0, reply=64).name == "embedded"


def test_an_adapter_that_was_not_shipped_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(local, "ADAPTER", tmp_path)
    player = BenchmarkPlayer("", "", "embedded", Path("shipped"), temperature=0, reply=64)
    with pytest.raises(SystemExit):
        Choice("", None, tmp_path, 8).run(player, ())
    assert "came without its adapter" in capsys.readouterr().err


def test_a_report_names_the_software_that_sampled() -> None:
    here = BenchmarkPlayer("", "", "embedded", None, temperature=0, reply=64)
    assert here.how()["software"]["transformers"] == version("transformers")
    assert (
        "software"
        not in BenchmarkPlayer("http://there", "m", "", None, temperature=0, reply=64).how()
    )
