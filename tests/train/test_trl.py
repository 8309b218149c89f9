"""GRPO with rollouts of ours: what TRL is given, that a run goes on, and that the loop learns."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

import torch

from provegym.models.codec import Codec
from provegym.models.sampler import Sampler
from provegym.players.local import Limits, Trajectory, opening, run
from provegym.trace import Example, Json, read
from provegym.train import engines, trl
from provegym.train.recipe import Data, Grpo, Lora, Model, Recipe
from provegym.train.roller import to_columns, vllm
from provegym.train.run import Run, TrainError
from provegym.train.sft import encode
from provegym.train.start import check, policy
from train.tiny import Script, build_model, build_tokenizer, gold, warm_up

DATA = Path(__file__).parents[1] / "data"
CHOSEN = ("banking/what-is-left", "marketplace/a-cello-after-all")
LIMITS = Limits(prompt=1024, completion=500, reply=72)

pytestmark = pytest.mark.filterwarnings("ignore")


def _shortest(example: Example) -> Example:
    """The example with no tools shown but those it takes."""
    spec = msgspec.structs.replace(example.toolbox, limit=0)
    return msgspec.structs.replace(example, toolbox=spec)


EXAMPLES = {
    each.id: _shortest(each)
    for name in CHOSEN
    for each in read(DATA / f"{name.partition('/')[0]}.jsonl", Example)
    if each.id == name
}


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """A model this small is slower on several."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return build_tokenizer(list(EXAMPLES.values()), 800)


@pytest.fixture(scope="module")
def codec(tokenizer: Any) -> Codec:
    return Codec(tokenizer, LIMITS.prompt)


def corrupted(replies: list[Json]) -> list[Json]:
    """The same words, with one call to a tool that there is not in the place of the right ones."""
    function = {"name": "look_it_up", "arguments": "{}"}
    wrong = {"role": "assistant", "content": "", "tool_calls": [{"function": function}]}
    said = [wrong if each.get("tool_calls") else each for each in replies]
    return [each for at, each in enumerate(said) if at == 0 or each != said[at - 1]]


def half_right(codec: Codec) -> list[Trajectory]:
    """Each example played once right and once wrong."""
    scripts = [[gold(each), corrupted(gold(each))] for each in EXAMPLES.values()]
    script = Script([[codec.say(m) for m in lines] for pair in scripts for lines in pair])
    twice = [each for each in EXAMPLES.values() for _ in range(2)]
    return run(twice, script.generate, codec, LIMITS)


def recipe(**changes: Any) -> Recipe:
    """GRPO on the two examples."""
    settings: Json = {
        "prompts_per_step": 2,
        "rollouts": 8,
        "batch": 16,
        "use_vllm": False,
        "checkpointing": False,
        "report": (),
        **changes,
    }
    return Recipe(model=Model(dtype="float32"), grpo=Grpo(**settings), limits=LIMITS)


def mean_reward(model: Any, codec: Codec) -> float:
    """What a model is paid on the two examples, over many rollouts."""
    sampler = Sampler(model, codec.tokenizer, 1.0, 11)
    many = [each for each in EXAMPLES.values() for _ in range(48)]
    played = run(many, sampler.generate, codec, LIMITS)
    return sum(each.rollout.reward.total for each in played if each.rollout.reward) / len(played)


@pytest.fixture(scope="module")
def warm(codec: Codec, tokenizer: Any) -> Json:
    """The weights of a model that is right about half of the time."""
    model = build_model(tokenizer)
    warm_up(model, half_right(codec), 320, 5e-3)
    return {name: value.clone() for name, value in model.state_dict().items()}


@pytest.mark.long
def test_the_loop_learns(codec: Codec, tokenizer: Any, warm: Json, tmp_path: Path) -> None:
    model = build_model(tokenizer)
    model.load_state_dict(warm)
    before = mean_reward(model, codec)
    assert 0.3 * 1.3 <= before <= 0.7 * 1.3
    settings = recipe(steps=20, lr=2e-4, beta=0.0, save_every=100)
    trl.train(settings, Run(tmp_path, settings), EXAMPLES, model, tokenizer)
    after = mean_reward(model, codec)
    assert after >= before + 0.3, f"{before:.2f} before, {after:.2f} after"


@pytest.mark.parametrize("packed", [False, True])
def test_trl_scores_the_tokens_that_were_sampled(
    codec: Codec, tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    from trl import GRPOTrainer

    seen: list[Json] = []
    compute = GRPOTrainer._compute_loss

    def spy(self: Any, model: Any, inputs: Json) -> Any:
        ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
        mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)
        width = inputs["completion_ids"].size(1)
        with torch.no_grad():
            scored, _, _ = self._get_per_token_logps_and_entropies(model, ids, mask, width)
        seen.append({**inputs, "scored": scored})
        return compute(self, model, inputs)

    monkeypatch.setattr(GRPOTrainer, "_compute_loss", spy)
    played: list[Trajectory] = []

    class Noting(Run):
        """A run that keeps its rollouts."""

        def note(self, step: int, trajectories: Any, *seconds: float) -> dict[str, float]:
            played.extend(trajectories)
            return super().note(step, trajectories, *seconds)

    # The loss `grpo` also counts rollouts without advantage, so none is left out.
    drawn: Json = {"steps": 1, "rollouts": 4, "batch": 8, "temperature": 0.8, "beta": 0.0}
    settings = recipe(**drawn, packed=packed, loss_type="grpo")
    model = build_model(tokenizer, seed=5)
    trl.train(settings, Noting(tmp_path, settings), EXAMPLES, model, tokenizer)
    (batch,) = seen
    own = (batch["completion_mask"] * batch["tool_mask"]).bool()
    assert torch.allclose(batch["scored"][own], batch["sampling_per_token_logps"][own], atol=1e-4)
    assert int(own.sum()) == sum(sum(each.mask) for each in played)
    groups = [played[:4], played[4:]]
    assert [{each.example.id for each in group} for group in groups] in (
        [{CHOSEN[0]}, {CHOSEN[1]}],
        [{CHOSEN[1]}, {CHOSEN[0]}],
    )
    assert all(len({tuple(each.prompt) for each in group}) == 1 for group in groups)


@pytest.mark.long
@pytest.mark.parametrize("branches", [0, 2])
def test_each_reply_has_its_own_advantage(
    tokenizer: Any, warm: Json, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, branches: int
) -> None:
    from trl import GRPOTrainer

    seen: list[Json] = []
    compute = GRPOTrainer._compute_loss

    def spy(self: Any, model: Any, inputs: Json) -> Any:
        seen.append(inputs)
        return compute(self, model, inputs)

    monkeypatch.setattr(GRPOTrainer, "_compute_loss", spy)
    drawn: Json = {"steps": 2, "rollouts": 4, "batch": 8, "temperature": 0.8, "beta": 0.0}
    settings = recipe(**drawn, packed=True, credit="turn", branches=branches)
    model = build_model(tokenizer)
    model.load_state_dict(warm)
    run = Run(tmp_path, settings)
    trl.train(settings, run, EXAMPLES, model, tokenizer)
    for batch in seen:
        own = (batch["completion_mask"] * batch["tool_mask"]).bool()
        assert batch["advantages"].shape == batch["completion_ids"].shape
        assert batch["advantages"][own].abs().sum() > 0
    assert all("credit_slope" in line for line in run.history)
    assert all(("branch_spread" in line) == bool(branches) for line in run.history)
    assert run.last_figure("credit_slope") == run.history[-1]["credit_slope"]


@pytest.mark.long
@pytest.mark.parametrize(("lag", "branches"), [(0, 0), (1, 0), (1, 2)])
def test_engines_play_in_processes_of_their_own(
    tokenizer: Any, warm: Json, tmp_path: Path, lag: int, branches: int
) -> None:
    model = build_model(tokenizer)
    model.load_state_dict(warm)
    model.save_pretrained(tmp_path / "tiny")
    tokenizer.save_pretrained(tmp_path / "tiny")
    settings = recipe(
        steps=3,
        rollouts=4,
        batch=8,
        lr=1e-3,
        beta=0.0,
        packed=True,
        engines=2,
        lag=lag,
        credit="turn" if branches else "rollout",
        branches=branches,
        loss_type="cispo",
        epsilon_high=2.0,
    )
    settings = msgspec.structs.replace(settings, model=Model(name=str(tmp_path / "tiny")))
    run = Run(tmp_path / "run", settings)
    trl.train(settings, run, EXAMPLES, model, tokenizer)
    shares = [line["effective_samples"] for line in run.history]
    # The first batch is sampled with the weights that learn from it, the next ones if lag is 0.
    assert shares[0] > 0.999
    assert (min(shares[1:]) > 0.999) == (lag == 0)
    assert all(0 < share <= 1.0001 for share in shares)


@pytest.mark.long
@pytest.mark.parametrize("lag", [0, 1])
def test_an_engine_with_workers_gives_the_same_run(
    tokenizer: Any, warm: Json, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lag: int
) -> None:
    """Weights, rollouts and metrics that tell no time."""
    build_model(tokenizer).save_pretrained(tmp_path / "tiny")
    tokenizer.save_pretrained(tmp_path / "tiny")
    drawn: Json = {
        "steps": 2,
        "rollouts": 4,
        "batch": 8,
        "lr": 1e-3,
        "beta": 0.0,
        "sample_every": 1,
    }
    credit: Json = {"credit": "turn", "branches": 2, "packed": True, "loss_type": "cispo"}
    settings = recipe(**drawn, **credit, engines=1, lag=lag, epsilon_high=2.0)
    settings = msgspec.structs.replace(settings, model=Model(name=str(tmp_path / "tiny")))

    def outcome(workers: int) -> tuple[Any, Any]:
        monkeypatch.setattr(engines, "count_workers", lambda cores: workers)
        model = build_model(tokenizer)
        model.load_state_dict(warm)
        folder = tmp_path / f"{workers}"
        run = Run(folder, settings)
        trl.train(settings, run, EXAMPLES, model, tokenizer)
        timeless = [
            {name: value for name, value in line.items() if "second" not in name}
            for line in run.history
        ]
        rollouts = [path.read_bytes() for path in sorted(folder.glob("rollouts/*.jsonl"))]
        assert len(timeless) == len(rollouts) == drawn["steps"]
        return {n: v.clone() for n, v in model.state_dict().items()}, (timeless, rollouts)

    weights, told = outcome(0)
    for workers in (1, 3):
        there, same = outcome(workers)
        assert same == told
        assert all(torch.equal(weights[name], value) for name, value in there.items())


@pytest.mark.parametrize("more", [{}, {"credit": "turn", "branches": 2, "packed": True}])
def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(
    tokenizer: Any, tmp_path: Path, more: Json
) -> None:
    from peft import LoraConfig, get_peft_model

    def trained(folder: str, steps: int, resume: bool = False) -> tuple[Any, Run]:
        model = build_model(tokenizer, seed=5)
        lora = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
        torch.manual_seed(9)
        model = get_peft_model(model, lora)
        # A run that goes on may take fewer sequences at a time.
        fewer = {"steps": steps, "rollouts": 4, "batch": 4 if resume else 8}
        settings = recipe(**fewer, **more, lr=1e-2, beta=0.01, save_every=2, schedule="constant")
        run = Run(tmp_path / folder, settings, resume=resume)
        trl.train(settings, run, EXAMPLES, model, tokenizer)
        return model, run

    whole, straight = trained("straight", 4)
    trained("broken", 2)
    again, broken = trained("broken", 4, resume=True)
    # TRL's KL is a mean of each pass's mean, so it depends on the passes; the loss does not.
    figures = ("step", "reward", "tokens", "loss")
    assert [[line[name] for name in figures] for line in broken.history] == [
        [pytest.approx(line[name], abs=1e-5) for name in figures] for line in straight.history
    ]
    assert straight.history[-1]["kl"] > 0
    one, two = whole.state_dict(), again.state_dict()
    moved = [name for name in one if "lora" in name and ".default." in name]
    kept = [name for name in one if "lora" in name and ".ref." in name]
    assert moved
    assert kept
    assert all(torch.allclose(one[name], two[name], atol=1e-5) for name in [*moved, *kept])
    assert any(
        not torch.equal(one[name], one[name.replace(".default.", ".ref.")]) for name in moved
    )


def test_a_run_that_learns_twice_from_its_rollouts_goes_on_as_if_it_had_not_been_stopped(
    tokenizer: Any, tmp_path: Path
) -> None:
    def trained(folder: str, steps: int, resume: bool = False) -> Run:
        settings = recipe(
            steps=steps,
            iterations=2,
            save_every=2,
            sample_every=2,
            rollouts=4,
            batch=8,
            lr=1e-2,
            beta=0.0,
        )
        run = Run(tmp_path / folder, settings, resume=resume)
        trl.train(settings, run, EXAMPLES, build_model(tokenizer, seed=5), tokenizer)
        return run

    straight = trained("straight", 4).history
    trained("broken", 2)
    again = trained("broken", 4, resume=True).history
    assert ["reward" in line for line in straight] == [True, False, True, False]
    assert (tmp_path / "straight" / "rollouts" / "step-000003.jsonl").exists()
    assert [(line["loss"], line.get("tokens")) for line in again] == [
        (pytest.approx(line["loss"], abs=1e-5), line.get("tokens")) for line in straight
    ]


def test_a_checkpoint_is_an_adapter_to_start_from(tokenizer: Any, tmp_path: Path) -> None:
    base = build_model(tokenizer, seed=5)
    base.save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    lora = Lora(r=2, alpha=4, targets=("q_proj",))
    model = Model(name=str(tmp_path / "base"), dtype="float32", lora=lora)
    settings = recipe(steps=1, rollouts=4, batch=8, lr=1e-2, beta=0.01, save_every=1)
    settings = msgspec.structs.replace(settings, model=model)
    trained, _ = policy(model, "cpu")
    for name, value in trained.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(value)
    run = Run(tmp_path / "run", settings)
    trl.train(settings, run, EXAMPLES, trained, tokenizer)
    further = msgspec.structs.replace(model, adapter=str(run.last()))
    check(msgspec.structs.replace(settings, model=further))
    again = policy(further, "cpu")[0].state_dict()
    learnt = {name: value for name, value in trained.state_dict().items() if ".default." in name}
    assert learnt.keys() <= again.keys()
    assert all(torch.equal(value, again[name]) for name, value in learnt.items())
    assert any(value.any() for name, value in learnt.items() if "lora_B" in name)


def cut(codec: Codec) -> list[Trajectory]:
    """A rollout that is whole, one without room to hear what its call gave, one cut in a reply."""
    example = EXAMPLES[CHOSEN[0]]
    lines = [codec.say(reply) for reply in gold(example)]
    rooms = (LIMITS.completion, len(lines[0]) + 1, len(lines[0]) - 1)
    return [
        run([example], Script([lines]).generate, codec, Limits(LIMITS.prompt, room, 72))[0]
        for room in rooms
    ]


def test_what_ran_out_of_tokens_can_be_masked(codec: Codec) -> None:
    played = cut(codec)
    assert [each.rollout.ended for each in played] == ["done", "tokens", "tokens"]
    assert [each.completion[-1] == codec.end for each in played] == [True, True, False]
    assert [any(mask) for mask in to_columns(played, codec.end)["env_mask"]] == [True] * 3
    masked = to_columns(played, codec.end, masked=True)["env_mask"]
    assert [any(mask) for mask in masked] == [True, False, False]
    assert [len(mask) for mask in masked] == [len(each.completion) for each in played]


def test_trl_gets_what_it_can_take(codec: Codec) -> None:
    good, *_ = half_right(codec)
    empty = Trajectory(
        good.example, [], [], [], [], msgspec.structs.replace(good.rollout, reward=None)
    )
    given = to_columns([good, empty], codec.end)
    assert given["prompt_ids"] == [good.prompt, [codec.end]]
    assert given["completion_ids"] == [good.completion, [codec.end]]
    assert given["env_mask"] == [good.mask, [0]]
    assert given["logprobs"] == [good.logprobs, [0.0]]
    assert given["paid"] == [good.rollout.reward and good.rollout.reward.total, None]


def test_vllm_is_sampled_turn_by_turn() -> None:
    class Backend:
        """TRL's vLLM, as far as it is used."""

        max_completion_length = 0

        def generate(self, prompts: Any, images: Any, num_generations: int) -> Any:
            assert (images, num_generations, self.max_completion_length) == (None, 1, 7)
            return prompts, [(1, 2), (3,)], [[[-0.1], [None]], [[-0.3]]], None

    first, second = vllm(Backend())([[9], [8, 8]], 7)
    assert first.ids == [1, 2]
    assert first.logprobs[0] == -0.1
    assert first.logprobs[1] != first.logprobs[1]
    assert (second.ids, second.logprobs) == ([3], [-0.3])


def test_examples_whose_right_answer_is_too_long_are_left_out(codec: Codec) -> None:
    lengths = {each.id: len(encode(each, codec, 10**6).labels) for each in EXAMPLES.values()}
    starts = {each.id: len(opening(each, codec)) for each in EXAMPLES.values()}
    gold = {each: lengths[each] - starts[each] for each in lengths}
    shorter = min(gold, key=lambda each: gold[each])
    settings = msgspec.structs.replace(recipe(), data=Data(gold=gold[shorter]))
    assert list(trl._rows(settings, codec, EXAMPLES)) == [shorter]


def test_what_leaves_too_many_out_is_named(codec: Codec) -> None:
    settings = msgspec.structs.replace(recipe(), data=Data(gold=5))
    with pytest.raises(TrainError) as caught:
        trl.choose(settings, codec, EXAMPLES)
    assert str(caught.value) == (
        "0 of 2 examples have prompts of at most 1024 tokens and right answers of at most 5, and a"
        " step takes 2: raise data.gold, or lower grpo.prompts_per_step"
    )
    with pytest.raises(TrainError, match=r"a step takes 3: lower grpo.prompts_per_step"):
        trl.choose(recipe(prompts_per_step=3, batch=24), codec, EXAMPLES)


def test_too_few_examples_are_said_to_be_too_few(tokenizer: Any, tmp_path: Path) -> None:
    settings = msgspec.structs.replace(recipe(), limits=Limits(prompt=10))
    with pytest.raises(TrainError, match="0 of 2 examples have prompts of at most 10 tokens"):
        trl.train(settings, Run(tmp_path, settings), EXAMPLES, build_model(tokenizer), tokenizer)


@pytest.mark.parametrize("change", [{"top_p": 0.9}, {"compiled": True}], ids=str)
def test_the_plain_sampler_says_what_it_cannot_do(change: Json, tmp_path: Path) -> None:
    settings = recipe(**change)
    with pytest.raises(TrainError, match=r"needs? grpo\.use_vllm"):
        trl.arguments(settings, Run(tmp_path, settings), "cpu")
