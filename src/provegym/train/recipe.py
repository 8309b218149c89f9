"""Hyperparameters of a training run: one frozen struct for each table of a TOML recipe.

Every setting of a trainer that changes the result has a value here, so no result depends on a
trainer's default. The defaults are the paper's (§4.1). Where the paper does not name a value, they
are verl's, because the paper trained with verl.
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
    """A LoRA adapter. If there is one, only its weights are trained."""

    r: Count = 16
    alpha: Count = 32
    dropout: Share = 0.0
    targets: tuple[str, ...] = LINEAR


class Model(RecipeTable, frozen=True):
    """The policy: "embedded", a folder, a GGUF file or a hub id, and the adapter it starts from.

    `adapter` is a folder, or "shipped": the adapter that comes with the package.
    `dtype` is the type a GPU computes in, `cpu_dtype` the type a CPU computes in. Trained weights
    are kept in 32 bits. 16 bits are faster only on CPUs that multiply them (AVX512-BF16, AMX).
    `positions` stretches those of a model that has fewer (YaRN); for SFT of all weights.
    """

    name: str = "embedded"
    adapter: str = ""
    dtype: Literal["bfloat16", "float32"] = "bfloat16"
    cpu_dtype: Literal["bfloat16", "float32"] = "float32"
    positions: Whole = 0
    lora: Lora | None = None

    def is_narrow(self, device: str) -> bool:
        """Whether a device ("cuda" or "cpu") computes in 16 bits."""
        return {"cuda": self.dtype, "cpu": self.cpu_dtype}.get(device) == "bfloat16"


class Data(RecipeTable, frozen=True):
    """The examples: a corpus, or how many to make; all servers and kinds if none is named.

    `split` removes held-out servers from a corpus that was not split. `limit` is the number of
    tools shown. `gold` is the most tokens that the gold transcript may have after the prompt; only
    GRPO uses it. `most` is the most examples.
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
    """Settings that SFT and GRPO share: AdamW, its schedule, memory, checkpoints and reports.

    `packed` turns on sequence packing instead of padding. `compiled` turns on torch.compile.
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
        """The schedule's name in transformers, whose "constant" has no warm-up."""
        warmed = self.schedule == "constant" and self.warmup
        return "constant_with_warmup" if warmed else self.schedule


class Sft(Optimiser, frozen=True):
    """Supervised fine-tuning on transcripts: `together` per update, in micro-batches of `batch`."""

    lr: Positive = 1e-5
    schedule: Schedule = "cosine"
    epochs: Positive = 3.0
    together: Count = 32
    max_tokens: Count = 16_384
    save_every: Count = 100


class Grpo(Optimiser, frozen=True):
    """Group-relative policy optimisation: `rollouts` per prompt, in micro-batches of `batch`.

    New rollouts are made every `iterations` steps; `sample_every` and `patience` count these
    generations. `mask_truncated` masks the loss of a rollout that ran out of tokens. A rollout that
    ended by the limit of turns or calls is not masked. `credit` says what an advantage belongs to:
    the whole rollout, or each of its replies. `credit_reach` is then the weight of what can still
    be reached against what is paid already. With `branches`, some rollouts of a group leave others
    where these went wrong: as many from each of `forks` replies.

    With `engines`, rollouts are played in as many processes, for models whose weights are all
    trained. With a `lag` of 1 they play the next batch while this one is learnt from; take the loss
    `cispo` then, which truncates importance weights at `epsilon_high`.
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
    credit: Literal["rollout", "turn"] = "rollout"
    credit_reach: Share = 0.5
    branches: Whole = 0
    forks: Count = 1
    temperature: Positive = 1.0
    top_p: Annotated[float, Meta(gt=0, le=1)] = 1.0
    top_k: Whole = 0
    use_vllm: bool = True
    vllm_mode: Literal["colocate", "server"] = "colocate"
    vllm_server: str = ""
    vllm_memory: Annotated[float, Meta(gt=0, lt=1)] = 0.3
    vllm_parallel: Count = 1
    engines: Whole = 0
    lag: Literal[0, 1] = 0
    vllm_correction: Literal["none", "token_truncate", "sequence_mask"] = "token_truncate"
    sample_every: Count = 10
    samples: Count = 16
    patience: Count = 10

    @property
    def sequences(self) -> int:
        """The number of rollouts of one step."""
        return self.prompts_per_step * self.rollouts

    @property
    def trunks(self) -> int:
        """The number of rollouts of a group that are played from the start."""
        return self.rollouts - self.forks * self.branches

    @property
    def generations(self) -> int:
        """How often rollouts are made. The steps of a run are a multiple of its iterations."""
        return self.steps // self.iterations


class Recipe(RecipeTable, frozen=True):
    """The settings of one run: SFT if it has a table [sft], GRPO if it has [grpo]."""

    model: Model = Model()
    data: Data = Data()
    sft: Sft | None = None
    grpo: Grpo | None = None
    reward: Scheme = Scheme()
    limits: Limits = Limits()
