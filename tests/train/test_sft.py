"""The warm-up: labels are the right replies to the token, and a run that stops goes on."""

from importlib.util import find_spec
from pathlib import Path

import msgspec
import pytest
from rich.progress import Progress

pytest.importorskip("trl")

from examples import pay_example
from files_in_trouble import full_disk
from provegym.cli.training import check_same
from provegym.config import write_recipe
from provegym.corpus.transcript import transcript
from provegym.files import CannotWrite
from provegym.models.codec import Codec
from provegym.models.dialects import hermes
from provegym.models.local import load
from provegym.players.local import Limits, opening
from provegym.trace import Attempt, Example, Provenance, Step, ToolboxSpec, Turn
from provegym.trace import Path as Road
from provegym.trace import Path as Steps
from provegym.train import sft
from provegym.train.data import show
from provegym.train.forecast import forecast
from provegym.train.recipe import Data, Grpo, Lora, Model, Recipe, Sft
from provegym.train.run import Run, TrainError
from provegym.train.start import check, policy, save_adapter, start
from train.tiny import build_model, build_tokenizer

ANY = 1_000_000
WRONG = {"account_id": "acc_1", "payee_id": "nobody", "amount": 20}
SHOWN = ToolboxSpec(limit=4)


def tried() -> Example:
    """An example whose teacher first makes a call in vain."""
    attempt = Attempt(before=2, tool="pay_payee", arguments=WRONG, error="not_found")
    return pay_example(provenance=Provenance(attempts=(attempt,)), toolbox=SHOWN)


def quiet(number: int) -> Example:
    """An example with nothing to call."""
    turns = (Turn(text=f"What is {number} plus {number}?"),)
    return pay_example(
        id=f"quiet-{number}",
        kind="irrelevance",
        turns=turns,
        paths=(Road(),),
        toolbox=ToolboxSpec(limit=1),
    )


@pytest.fixture(scope="module")
def codec() -> Codec:
    return Codec(build_tokenizer([pay_example(), tried()]), ANY)


def learnt(row: sft.SftRow, codec: Codec) -> list[str]:
    """The stretches of labels as text, each to the end of a turn."""
    text = codec.tokenizer.decode([label for label in row.labels if label != sft.IGNORED])
    return text.split(codec.tokenizer.eos_token)[:-1]


@pytest.mark.parametrize(
    "example", [pay_example(), tried(), quiet(2)], ids=["pay", "tried", "quiet"]
)
def test_labels_are_the_replies_to_learn_and_nothing_else(example: Example, codec: Codec) -> None:
    messages, learn = transcript(example)
    right = [message for message, is_right in zip(messages, learn, strict=True) if is_right]
    row = sft.encode(example, codec, ANY)
    replies = [hermes.parse(text) for text in learnt(row, codec)]
    assert len(replies) == len(right)
    for reply, message in zip(replies, right, strict=True):
        assert reply.text == message["content"].strip()
        calls = [call["function"] for call in message.get("tool_calls", ())]
        assert [call.name for call in reply.calls] == [call["name"] for call in calls]
        made, asked = (
            [msgspec.json.decode(arguments) for arguments in side]
            for side in ([c.arguments for c in reply.calls], [c["arguments"] for c in calls])
        )
        assert made == asked


def test_a_failed_attempt_is_read_and_not_learnt(codec: Codec) -> None:
    row = sft.encode(tried(), codec, ANY)
    assert "nobody" in codec.tokenizer.decode(row.input_ids)
    assert "nobody" not in "".join(learnt(row, codec))


def test_a_label_is_its_token(codec: Codec) -> None:
    row = sft.encode(pay_example(), codec, ANY)
    assert len(row.labels) == len(row.input_ids)
    pairs = zip(row.input_ids, row.labels, strict=True)
    assert all(label in (sft.IGNORED, token) for token, label in pairs)
    assert row.labels[-1] == codec.end


def test_a_transcript_that_is_too_long_ends_after_a_whole_reply(codec: Codec) -> None:
    whole = sft.encode(pay_example(), codec, ANY)
    cut = sft.encode(pay_example(), codec, len(whole.input_ids) - 1)
    assert 0 < len(cut.input_ids) < len(whole.input_ids)
    assert cut.input_ids == whole.input_ids[: len(cut.input_ids)]
    assert cut.labels[-1] == codec.end
    assert sft.rows([pay_example()], codec, 10) == []


def test_one_bad_example_is_left_out_and_named(
    codec: Codec, capsys: pytest.CaptureFixture[str]
) -> None:
    step = Step(turn=0, tool="close_account", arguments={"account_id": "acc_0"}, writes=True)
    broken = pay_example(id="broken", paths=(Steps(steps=(step,)),))
    assert len(sft.rows([broken, pay_example()], codec, 10_000)) == 1
    assert "left out: broken: close_account fails" in capsys.readouterr().err


def test_a_tool_that_is_no_longer_shown_is_not_tried() -> None:
    example = tried()
    attempt = Attempt(before=0, tool="list_disputes", arguments={}, error="rejected")
    provenance = Provenance(attempts=(*example.provenance.attempts, attempt))
    example = msgspec.structs.replace(example, provenance=provenance)
    kept = show(example, 4).provenance.attempts
    assert [each.tool for each in kept] == ["pay_payee"]


RECIPE = Recipe(
    model=Model(lora=Lora(r=2)),
    sft=Sft(epochs=2, together=2, batch=2, save_every=2, lr=1e-2, checkpointing=False),
    limits=Limits(prompt=ANY),
)


class Killed(Exception):
    """Stands for the end of the process."""


def warm_up(folder: Path, resume: bool = False, dies_at: int = 99, recipe: Recipe = RECIPE) -> Run:
    """Four steps of a tiny model, from the same weights each time."""
    examples = {example.id: example for example in map(quiet, range(4))}
    tokenizer = build_tokenizer(list(examples.values()), size=400)
    model_folder = folder / "base"
    if not model_folder.exists():
        build_model(tokenizer, width=16).save_pretrained(model_folder)
        tokenizer.save_pretrained(model_folder)
    run = Run(folder / "run", recipe, resume=resume)
    told = run.finish

    def finish(step: int, steps: int, logs: dict[str, float]) -> None:
        told(step, steps, logs)
        if step == dies_at:
            raise Killed

    run.finish = finish  # type: ignore[method-assign]
    import torch

    torch.manual_seed(0)
    model, tokenizer = policy(msgspec.structs.replace(recipe.model, name=str(model_folder)), "cpu")
    sft.train(recipe, run, examples, model, tokenizer)
    save_adapter(model, run.folder / "adapter")
    return run


@pytest.mark.filterwarnings("ignore")
def test_a_run_that_was_killed_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    straight = warm_up(tmp_path / "straight").history
    with pytest.raises(Killed):
        warm_up(tmp_path / "killed", dies_at=3)
    again = warm_up(tmp_path / "killed", resume=True)
    assert [line["step"] for line in again.history] == [1, 2, 3, 4]
    for one, other in zip(straight, again.history, strict=True):
        assert one["loss"] == pytest.approx(other["loss"], abs=1e-6)
    assert straight[-1]["loss"] < straight[0]["loss"]
    assert {path.name for path in (again.folder / "adapter").iterdir()} == {
        "adapter_config.json",
        "adapter_model.safetensors",
    }
    assert list(again.folder.rglob("events.out.tfevents*"))
    assert (again.folder / "plots" / "loss.png").exists()


def test_a_full_disk_leaves_the_old_adapter(tmp_path: Path) -> None:
    tokenizer = build_tokenizer([quiet(1)], size=400)
    build_model(tokenizer, width=16).save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    model, _ = policy(Model(name=str(tmp_path / "base"), lora=Lora(r=2)), "cpu")
    save_adapter(model, tmp_path / "adapter")
    before = {path: path.read_bytes() for path in (tmp_path / "adapter").iterdir()}
    with full_disk(1_000), pytest.raises(CannotWrite, match="adapter: File too large; "):
        save_adapter(model, tmp_path / "adapter")
    assert {path: path.read_bytes() for path in (tmp_path / "adapter").iterdir()} == before
    assert not list(tmp_path.glob("*.part"))
    config = msgspec.json.decode((tmp_path / "adapter" / "adapter_config.json").read_bytes())
    assert config["target_modules"] == sorted(Lora().targets)


@pytest.mark.filterwarnings("ignore")
def test_end_to_end_or_padded_the_loss_is_the_same(tmp_path: Path) -> None:
    losses = []
    for packed in (False, True):
        settings = Sft(
            epochs=1, together=4, batch=4, lr=1e-2, checkpointing=False, packed=packed, report=()
        )
        recipe = msgspec.structs.replace(RECIPE, sft=settings)
        losses.append(warm_up(tmp_path / str(packed), recipe=recipe).history[0]["loss"])
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)


def test_a_recipe_without_transcripts_that_fit_is_refused(tmp_path: Path) -> None:
    example = quiet(1)
    tokenizer = build_tokenizer([example], size=400)
    recipe = msgspec.structs.replace(RECIPE, limits=Limits(prompt=5))
    with pytest.raises(TrainError, match=r"raise limits.prompt \(now 5\)"):
        sft.train(recipe, Run(tmp_path, recipe), {"quiet-1": example}, None, tokenizer)


def test_what_is_not_there_is_named_before_a_corpus_is_made(tmp_path: Path) -> None:
    gone = msgspec.structs.replace(RECIPE, model=Model(adapter=str(tmp_path / "gone")))
    with pytest.raises(TrainError, match=r"model.adapter: there is no .*gone"):
        start(gone, tmp_path / "run", "", False, Progress())
    assert not (tmp_path / "run").exists()
    if find_spec("vllm") is None:
        with pytest.raises(TrainError, match="vLLM is not installed"):
            start(Recipe(grpo=Grpo()), tmp_path / "run", "", False, Progress())


def test_a_forecast_says_what_fits_and_what_a_step_is(tmp_path: Path) -> None:
    examples = [quiet(1), quiet(2), pay_example()]
    tokenizer = build_tokenizer(examples)
    tokenizer.save_pretrained(tmp_path / "base")
    length = len(opening(quiet(1), Codec(tokenizer, ANY)))
    recipe = Recipe(
        model=Model(name=str(tmp_path / "base")),
        data=Data(corpus="given"),
        grpo=Grpo(steps=10, use_vllm=False),
        limits=Limits(prompt=length, completion=100),
    )
    table = forecast(recipe, Run(tmp_path / "run", recipe), examples).table
    assert table["tokenizer"] == "the model's own"
    assert table["too long, left out"] == "33.3% of 3 measured"
    assert table["a step"].startswith("16 prompts of 16 rollouts = 256 sequences, in 32 passes")
    assert table["tokens of a step"] == f"at most {256 * (length + 100):,}"
    assert table["steps"] == "10: 160 prompts, 80.00 epochs"
    recipe = msgspec.structs.replace(recipe, limits=Limits(prompt=3))
    with pytest.raises(TrainError, match=r"no prompt fits: the shortest has"):
        forecast(recipe, Run(tmp_path / "run", recipe), examples)


def test_a_run_is_not_resumed_by_another_recipe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        check_same(Recipe(grpo=Grpo()), tmp_path)
    assert "holds no run" in capsys.readouterr().err
    begun = Recipe(grpo=Grpo(steps=5))
    (tmp_path / "recipe.toml").write_text(write_recipe(begun), "utf-8")
    check_same(Recipe(grpo=Grpo(steps=9, batch=1, vllm_memory=0.1)), tmp_path)
    with pytest.raises(SystemExit):
        check_same(Recipe(grpo=Grpo(steps=5, lr=1e-3)), tmp_path)
    assert "begun by another recipe (grpo.lr was 1e-6, is 0.001)" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        check_same(Recipe(grpo=Grpo(steps=5), data=Data(gold=9)), tmp_path)
    assert "begun by another recipe (data.gold was not set, is 9)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("begun", "change"),
    [
        (Grpo(loss_type="bnpo"), {"batch": 1}),
        (Grpo(schedule="cosine"), {"steps": 9}),
        (Grpo(schedule="linear"), {"steps": 9}),
    ],
)
def test_what_changes_what_a_step_learns_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], begun: Grpo, change: dict[str, int]
) -> None:
    (tmp_path / "recipe.toml").write_text(write_recipe(Recipe(grpo=begun)), "utf-8")
    with pytest.raises(SystemExit):
        check_same(Recipe(grpo=msgspec.structs.replace(begun, **change)), tmp_path)
    ((name, value),) = change.items()
    assert f"(grpo.{name} was {getattr(begun, name)}, is {value})" in capsys.readouterr().err


def test_what_is_missing_is_said_before_any_work() -> None:
    check(RECIPE)
    with pytest.raises(TrainError, match=r"neither \[sft\] nor \[grpo\]"):
        check(Recipe())
    with pytest.raises(TrainError, match=r"pip install trackio, or take it out"):
        check(Recipe(grpo=Grpo(report=("tensorboard", "trackio"))))
    with pytest.raises(
        TrainError, match=r"^model\.lora\.dropout \(0\.1\) has no effect on \[grpo\]"
    ):
        check(Recipe(model=Model(lora=Lora(dropout=0.1)), grpo=Grpo()))
    check(Recipe(model=Model(lora=Lora(dropout=0.1)), sft=Sft()))


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe(model=Model(positions=9), grpo=Grpo(use_vllm=False)),
        Recipe(model=Model(positions=9, lora=Lora()), sft=Sft()),
    ],
)
def test_positions_are_stretched_only_where_they_are_saved(recipe: Recipe) -> None:
    with pytest.raises(TrainError, match=r"^model\.positions is for \[sft\] of all weights"):
        check(recipe)
    check(Recipe(model=Model(positions=9), sft=Sft()))


@pytest.mark.filterwarnings("ignore")
def test_the_trained_model_has_the_positions_of_the_recipe(tmp_path: Path) -> None:
    recipe = msgspec.structs.replace(RECIPE, model=Model(positions=10_000))
    run = warm_up(tmp_path, recipe=recipe)
    model, _ = load(run.folder / "model", None, "cpu")
    assert model.config.max_position_embeddings == 10_000
    assert model.config.rope_parameters["rope_type"] == "yarn"


@pytest.mark.parametrize("changes", [{"save_every": 3}, {"steps": 9}])
def test_checkpoints_come_when_rollouts_are_learnt_from(changes: dict[str, int]) -> None:
    grpo = Grpo(iterations=2, save_every=4, steps=8)
    check(Recipe(grpo=grpo))
    ((name, value),) = changes.items()
    with pytest.raises(TrainError, match=rf"grpo.{name} \({value}\) must be a multiple of grpo.it"):
        check(Recipe(grpo=msgspec.structs.replace(grpo, **changes)))


def test_processes_share_what_an_update_learns_from() -> None:
    assert sft.passes(Sft(together=32, batch=4), 8) == 1
    assert sft.passes(Sft(together=32, batch=1), 8) == 4
    with pytest.raises(
        TrainError, match=r"sft.together \(16\) .* sft.batch \(16\) times 8 processes"
    ):
        sft.passes(Sft(together=16, batch=16), 8)


def test_a_constant_rate_is_warmed_up_too(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(RECIPE.sft, schedule="constant", warmup=2)
    recipe = msgspec.structs.replace(RECIPE, sft=settings)
    args = sft.arguments(recipe, Run(tmp_path, recipe), "cpu")
    assert args.lr_scheduler_type == "constant_with_warmup"


def test_on_a_cpu_only_labels_are_scored_with_the_same_result() -> None:
    import torch
    from trl.trainer.utils import add_fused_lm_head

    tokenizer = build_tokenizer([pay_example()])
    ids = torch.arange(24).reshape(2, 12)
    labels = ids.masked_fill(torch.arange(12) % 3 == 1, sft.IGNORED)
    labels[1, :] = sft.IGNORED
    labels[1, 5] = ids[1, 5]
    told = []
    for is_ours in (False, True):
        model = build_model(tokenizer)
        model.config.logits_scaling = 3.0  # as Granite has it
        add_fused_lm_head(model, outputs=("log_probs", "entropy", "is_top1"))
        if is_ours:
            sft.score_learnt(model)
        out = model(input_ids=ids, labels=labels, fused_lm_head=True)
        out.log_probs.sum().backward()
        gradients = [weights.grad for weights in model.parameters()]
        told.append((out, gradients))
    (theirs, wanted), (ours, got) = told
    for name in ("log_probs", "entropy"):
        torch.testing.assert_close(ours[name], theirs[name])
    assert ours.is_top1.tolist() == theirs.is_top1.tolist()
    assert ours.label_mask.tolist() == theirs.label_mask.tolist()
    torch.testing.assert_close(got, wanted)


def test_without_labels_the_model_answers_as_before() -> None:
    import torch

    model = build_model(build_tokenizer([pay_example()]))
    ids = torch.arange(12)[None]
    wanted = model(input_ids=ids).logits
    sft.score_learnt(model)
    torch.testing.assert_close(model(input_ids=ids).logits, wanted)
