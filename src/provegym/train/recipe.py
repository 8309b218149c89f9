"""What a training run is told: frozen settings, a table of the recipe each.

Every setting of a trainer that changes the result is named here with a value of its own, so that a
trainer's default never decides. The defaults are the paper's (§4.1), and verl's where the paper is
silent, because it trained with verl.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from provegym.players.local import Limits
from provegym.rewards import Scheme
from provegym.trace import ExampleKind

Count = Annotated[int, Meta(ge=1)]
Whole = Annotated[int, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Amount = Annotated[float, Meta(ge=0)]
Schedule = Literal["constant", "linear", "cosine"]
LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


class RecipeTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a recipe."""


class Lora(RecipeTable, frozen=True):
    """A low-rank adapter: the only weights that are trained, where there is one."""

    r: Count = 16
    alpha: Count = 32
    dropout: Share = 0.0
    targets: tuple[str, ...] = LINEAR


class Model(RecipeTable, frozen=True):
    """The policy: "embedded", a folder or a hub id, and the adapter it starts from.

    That is a folder, or "shipped": the one that comes with the package.
    `dtype` is what a GPU computes in; weights that are learnt are kept in 32 bits.
    """

    name: str = "embedded"
    adapter: str = ""
    dtype: Literal["bfloat16", "float32"] = "bfloat16"
    lora: Lora | None = None


class Data(RecipeTable, frozen=True):
    """The examples: a corpus, or how many to make; all servers and kinds, if none is named.

    Of a corpus that was not split by servers, `split` leaves out what belongs to the held-out ones.
    `limit` is how many tools are shown, `gold` how many tokens the right answer may take after the
    prompt (GRPO alone asks).
    """

    corpus: str = ""
    size: Count = 13_517
    seed: Whole = 0
    split: Literal["", "servers"] = ""
    servers: tuple[str, ...] = ()
    kinds: tuple[ExampleKind, ...] = ()
    limit: Count | None = None
    gold: Count | None = None
    most: Count | None = None


class Optimiser(RecipeTable, frozen=True):
    """AdamW, how it is paced, how a model computes, and how a run is kept.

    `packed` puts sequences end to end instead of padding them; `compiled` has torch compile layers.
    """

    lr: Positive = 1e-6
    schedule: Schedule = "constant"
    warmup: Whole = 0
    weight_decay: Amount = 0.01
    max_grad_norm: Positive = 1.0
    batch: Count = 8
    checkpointing: bool = True
    packed: bool = False
    compiled: bool = False
    save_every: Count = 10
    keep: Count = 2
    report: tuple[Literal["tensorboard", "trackio", "wandb"], ...] = ("tensorboard",)
    seed: Whole = 0

    @property
    def scheduler(self) -> str:
        """The schedule as transformers calls it: its constant one knows no warm-up."""
        warmed = self.schedule == "constant" and self.warmup
        return "constant_with_warmup" if warmed else self.schedule


class Sft(Optimiser, frozen=True):
    """Learning from transcripts; `together` transcripts per update, `batch` of them at a time."""

    lr: Positive = 1e-5
    schedule: Schedule = "cosine"
    epochs: Positive = 3.0
    together: Count = 32
    max_tokens: Count = 16_384
    save_every: Count = 100


class Grpo(Optimiser, frozen=True):
    """Group-relative policy optimisation: so many rollouts of each prompt, `batch` at a time.

    Rollouts are made anew every `iterations` steps; `sample_every` and `patience` count how often
    they were. `mask_truncated` learns nothing from a rollout that ran out of tokens; turns and
    calls are rules of the game, and a rollout that they end counts.
    """

    steps: Count = 350
    prompts_per_step: Count = 16
    rollouts: Annotated[int, Meta(ge=2)] = 16
    beta: Amount = 0.01
    epsilon: Positive = 0.2
    epsilon_high: Positive = 0.2
    iterations: Count = 1
    loss_type: Literal["grpo", "dapo", "dr_grpo", "bnpo", "cispo"] = "dapo"
    scale_rewards: Literal["group", "batch", "none"] = "group"
    importance_level: Literal["token", "sequence"] = "token"
    unbiased_kl: bool = False
    mask_truncated: bool = False
    temperature: Positive = 1.0
    top_p: Annotated[float, Meta(gt=0, le=1)] = 1.0
    top_k: Whole = 0
    use_vllm: bool = True
    vllm_mode: Literal["colocate", "server"] = "colocate"
    vllm_server: str = ""
    vllm_memory: Annotated[float, Meta(gt=0, lt=1)] = 0.3
    vllm_parallel: Count = 1
    vllm_correction: Literal["none", "token_truncate", "sequence_mask"] = "token_truncate"
    sample_every: Count = 10
    samples: Count = 16
    patience: Count = 10

    @property
    def sequences(self) -> int:
        """Rollouts of one step."""
        return self.prompts_per_step * self.rollouts

    @property
    def generations(self) -> int:
        """How often rollouts are made; a run's steps are a multiple of its iterations."""
        return self.steps // self.iterations


class Recipe(RecipeTable, frozen=True):
    """One run's settings: a warm-up where it has [sft], GRPO where it has [grpo]."""

    model: Model = Model()
    data: Data = Data()
    sft: Sft | None = None
    grpo: Grpo | None = None
    reward: Scheme = Scheme()
    limits: Limits = Limits()
