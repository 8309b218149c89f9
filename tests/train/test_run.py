"""A run's folder: what is recorded, what a resumed run takes back, and how a run gives up."""

from pathlib import Path

import msgspec
import pytest

from examples import pay_example
from files_in_trouble import full_disk
from provegym.files import CannotWrite
from provegym.players.local import Trajectory
from provegym.players.scripted import SCRIPTS
from provegym.rewards import HARDENED
from provegym.rollout import play_script
from provegym.trace import Rollout, read
from provegym.train.plots import draw
from provegym.train.recipe import Grpo, Lora, Model, Recipe, Sft
from provegym.train.run import Run, TrainError, progress, summary
from provegym.verify.complete import complete

GRPO = Recipe(grpo=Grpo(sample_every=2, samples=2, patience=3))
LOGS = {"loss": 0.5, "grad_norm": 1.0, "learning_rate": 1e-6, "kl": 0.1, "unknown": 3.0}


def rolled(*scripts: str) -> list[Trajectory]:
    """Rollouts of one example by these scripts, with three tokens of which two are the model's."""
    example = pay_example()
    rollouts = [play_script(example, SCRIPTS[name]) for name in scripts]
    return [Trajectory(example, [1], [2, 3, 4], [1, 0, 1], [-1.0, 0, -1.0], r) for r in rollouts]


def update(run: Run, number: int, **logs: float) -> None:
    """A step that learns again from rollouts of an earlier one."""
    run.begin()
    run.finish(number, 10, {**LOGS, **logs})


def step(run: Run, number: int, *scripts: str, **logs: float) -> None:
    """One step of a trainer, as the run hears of it."""
    run.begin()
    run.note(number - 1, rolled(*scripts), 0.5, 0.25)
    run.finish(number, 10, {**LOGS, **logs})


def checkpoint(run: Run, number: int, state: str = '{"global_step": 1}') -> Path:
    path = run.checkpoints / f"checkpoint-{number}"
    path.mkdir(parents=True)
    (path / "trainer_state.json").write_text(state, "utf-8")
    return path


def lines(run: Run) -> list[dict[str, object]]:
    text = run.metrics.read_bytes().splitlines()
    return [msgspec.json.decode(line) for line in text]


def test_a_summary_counts_what_happened() -> None:
    rollouts = [each.rollout for each in rolled("oracle", "noop")]
    figures = summary(rollouts)
    assert figures["reward"] == pytest.approx((1.3 + 0) / 2)
    assert figures["reward_std"] == pytest.approx(0.65)
    assert figures["validity"] == 0.5
    assert figures["success"] == 0.5
    assert figures["calls"] == 2
    assert figures["valid_calls"] == 1
    assert figures["equal_groups"] == 0
    assert summary(rollouts[1:] * 2)["equal_groups"] == 1


def test_a_rollout_that_went_wrong_is_paid_nothing() -> None:
    rollout = msgspec.structs.replace(rolled("oracle")[0].rollout, reward=None, ended="server_bug")
    assert summary([rollout])["reward"] == 0


def test_a_step_is_one_line_with_all_its_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path, GRPO, 'toml = "as used"')
    step(run, 1, "oracle", "noop")
    (line,) = lines(run)
    assert line["step"] == 1
    assert line["tokens"] == 4
    assert line["told_tokens"] == 2
    assert line["tokens_per_second"] == 8
    assert (line["generation_seconds"], line["world_seconds"]) == (0.5, 0.25)
    assert {"validity", "coverage", "efficiency", "name", "argument"} <= line.keys()
    assert line["endings"] == {"done": 2}
    assert [line[name] for name in ("success", "state", "answer", "ended")] == [0.5, 0.5, 1, 1]
    assert line["kl"] == 0.1
    assert "unknown" not in line
    said = capsys.readouterr().err
    assert said.startswith("step 1/10  reward 0.650 ± 0.650  validity 0.50")
    assert "left" in said
    assert (tmp_path / "recipe.toml").read_text("utf-8") == 'toml = "as used"'
    assert "python" in msgspec.json.decode((tmp_path / "versions.json").read_bytes())


def test_rollouts_are_sampled_now_and_then(tmp_path: Path) -> None:
    run = Run(tmp_path, GRPO)
    for number in range(1, 5):
        step(run, number, "oracle", "noop", "oracle", "noop")
    files = sorted(path.name for path in (tmp_path / "rollouts").glob("*.jsonl"))
    assert files == ["step-000002.jsonl", "step-000004.jsonl"]
    assert len(list(read(tmp_path / "rollouts" / files[0], Rollout))) == 2


def test_where_rollouts_are_learnt_from_twice_they_are_counted_once(tmp_path: Path) -> None:
    run = Run(tmp_path, Recipe(grpo=Grpo(iterations=2, sample_every=2, patience=3)))
    for number in range(1, 9, 2):
        step(run, number, "oracle", "noop")
        update(run, number + 1)
    files = sorted(path.name for path in (tmp_path / "rollouts").glob("*.jsonl"))
    assert files == ["step-000003.jsonl", "step-000007.jsonl"]
    step(run, 9, "noop", "noop")
    update(run, 10)
    step(run, 11, "noop", "noop")
    update(run, 12)
    with pytest.raises(TrainError, match=r"for 5 steps .* train with \[sft\] first"):
        step(run, 13, "noop", "noop")


def test_a_folder_with_a_run_is_not_overwritten(tmp_path: Path) -> None:
    step(Run(tmp_path, GRPO), 1, "oracle", "noop")
    with pytest.raises(TrainError, match="--resume"):
        Run(tmp_path, GRPO)


def test_a_killed_run_goes_on_from_its_last_whole_checkpoint(tmp_path: Path) -> None:
    run = Run(tmp_path, GRPO)
    for number in range(1, 7):
        step(run, number, "oracle", "noop")
    whole = checkpoint(run, 2)
    checkpoint(run, 4, state='{"global_st')
    with run.metrics.open("ab") as out:
        out.write(b'{"step": 7, "rew')
    again = Run(tmp_path, GRPO, resume=True)
    assert again.last() == whole
    assert [line["step"] for line in lines(again)] == [1, 2]
    assert [path.name for path in again.checkpoints.iterdir()] == ["checkpoint-2"]
    assert [path.name for path in (tmp_path / "rollouts").glob("*.jsonl")] == ["step-000002.jsonl"]
    step(again, 3, "oracle", "noop")
    assert [line["step"] for line in lines(again)] == [1, 2, 3]


@pytest.mark.parametrize("bad", [b'"st\xe5p"', b'"stop"', b'"step" ,', b'"step\x00"', b'["step"'])
def test_a_damaged_line_of_metrics_is_named_and_nothing_is_lost(tmp_path: Path, bad: bytes) -> None:
    run = Run(tmp_path, GRPO)
    for number in (1, 2, 3):
        step(run, number, "oracle", "noop")
    checkpoint(run, 3)
    first, second, third, end = run.metrics.read_bytes().split(b"\n")
    damaged = b"\n".join((first, second.replace(b'"step"', bad), third, end))
    run.metrics.write_bytes(damaged)
    with pytest.raises(TrainError, match=r"metrics\.jsonl:2 is damaged; take this line out"):
        Run(tmp_path, GRPO, resume=True)
    assert run.metrics.read_bytes() == damaged


def test_what_a_killed_process_was_writing_is_removed(tmp_path: Path) -> None:
    run = Run(tmp_path, GRPO)
    step(run, 1, "oracle", "noop")
    (tmp_path / "plots").mkdir(exist_ok=True)
    for left in ("plots/reward.png.9accb8fd.part", "recipe.toml.00000000.part"):
        (tmp_path / left).write_bytes(b"half")
    Run(tmp_path, GRPO, resume=True)
    assert list(tmp_path.rglob("*.part")) == []


def test_rollouts_that_are_taken_back_leave_no_checksums(tmp_path: Path) -> None:
    run = Run(tmp_path, GRPO)
    step(run, 1, "oracle", "noop")
    step(run, 2, "oracle", "noop")
    Run(tmp_path, GRPO, resume=True)
    assert list((tmp_path / "rollouts").iterdir()) == []


def test_the_last_checkpoint_is_the_highest_and_not_the_last_by_name(tmp_path: Path) -> None:
    run = Run(tmp_path, GRPO)
    assert run.last() is None
    checkpoint(run, 90)
    highest = checkpoint(run, 100)
    assert run.last() == highest


@pytest.mark.parametrize("name", ["loss", "grad_norm"])
def test_a_number_that_is_none_ends_the_run(tmp_path: Path, name: str) -> None:
    run = Run(tmp_path, GRPO)
    with pytest.raises(TrainError, match=f"{name} is nan at step 1; .* run with a lower lr"):
        step(run, 1, "oracle", "noop", **{name: float("nan")})


@pytest.mark.parametrize(
    ("model", "key"), [(Model(lora=Lora()), "model.adapter"), (Model(), "model.name")]
)
def test_another_run_starts_from_the_last_weights_that_are_numbers(
    tmp_path: Path, model: Model, key: str
) -> None:
    run = Run(tmp_path, Recipe(model=model, grpo=Grpo()))
    step(run, 1, "oracle", "noop")
    kept = checkpoint(run, 1)
    with pytest.raises(TrainError) as caught:
        step(run, 2, "oracle", "noop", loss=float("nan"))
    assert f"another run from the last good weights by --set {key}={kept}," in str(caught.value)


def test_groups_without_a_difference_end_the_run_after_a_while(tmp_path: Path) -> None:
    run = Run(tmp_path, GRPO)
    step(run, 1, "noop", "noop")
    step(run, 2, "noop", "noop")
    step(run, 3, "noop", "oracle")
    step(run, 4, "noop", "noop")
    step(run, 5, "noop", "noop")
    with pytest.raises(TrainError, match=r"for 3 steps .* train with \[sft\] first"):
        step(run, 6, "noop", "noop")


def test_a_leap_of_kl_is_doubted_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path, GRPO)
    seen = []
    for number, kl in enumerate((0.0, 0.03, 0.006, 0.05, 6.1, 0.02, 0.09, 0.2), 1):
        step(run, number, "oracle", "noop", kl=kl)
        seen.append("probability near zero" in capsys.readouterr().err)
    assert seen == [False] * 4 + [True] + [False] * 3


@pytest.mark.parametrize(
    ("recipe", "sentence"),
    [
        (GRPO, r"lower grpo.batch \(now 8\) or grpo.vllm_memory .*--resume.*limits.completion"),
        (Recipe(sft=Sft(batch=4)), r"lower sft.batch \(now 4\) and --resume.*sft.max_tokens"),
        (
            Recipe(grpo=Grpo(loss_type="bnpo")),
            r"lower grpo.vllm_memory .*--resume.* another run with a lower grpo.batch \(now 8\) or",
        ),
        (
            Recipe(grpo=Grpo(loss_type="bnpo", use_vllm=False)),
            r"step 0; begin another run with a lower grpo.batch \(now 8\) or limits.completion",
        ),
    ],
)
def test_running_out_of_memory_says_what_to_lower(
    tmp_path: Path, recipe: Recipe, sentence: str
) -> None:
    run = Run(tmp_path, recipe)
    with pytest.raises(TrainError, match=sentence), run.guard():
        raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
    with pytest.raises(RuntimeError, match="another"), run.guard():
        raise RuntimeError("another problem")


PICTURES = ("reward", "parts", "success", "calls", "loss")


def test_counts_in_the_metrics_of_older_runs_are_not_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    history = [{"step": 1, "ended": {"done": 2}, "loss": 0.5}, {"step": 2, "ended": 1.0}]
    assert {path.stem for path in draw(history, tmp_path)} == {"success", "loss"}


def test_a_full_disk_leaves_the_old_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    history = [{"step": 1, "loss": 0.5}]
    before = {path: path.read_bytes() for path in draw(history, tmp_path)}
    with full_disk(1_000), pytest.raises(CannotWrite, match=r"loss\.png: File too large"):
        draw([*history, {"step": 2, "loss": 0.4}], tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_hardened_reward_has_its_own_parts_in_the_metrics() -> None:
    example = complete(pay_example())
    scripts = (SCRIPTS[name] for name in ("oracle", "noop"))
    rollouts = [play_script(example, script, scheme=HARDENED) for script in scripts]
    figures = summary(rollouts)
    assert (figures["progress"], figures["waste"], figures["success"]) == (0.5, 0, 0.5)
    assert "validity" not in figures
    told = progress({**figures, "step": 1, "tokens_per_second": 1, "loss": 0, "seconds": 1}, 2, 1)
    assert told.count("success") == 1


def test_curves_are_drawn_for_what_was_recorded(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run = Run(tmp_path, GRPO)
    for number in range(1, 4):
        step(run, number, "oracle", "noop")
    run.plot()
    names = {path.name for path in (tmp_path / "plots").iterdir()}
    assert names == {f"{name}.{form}" for name in PICTURES for form in ("png", "svg")}
