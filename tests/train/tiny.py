"""A tokenizer and a model small enough to train in a test, and scripts in a model's place."""

import json
from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from provegym.corpus.transcript import transcript
from provegym.models.codec import Codec
from provegym.models.gguf import END, PAD
from provegym.models.local import TEMPLATE
from provegym.models.source import Sampled
from provegym.players.local import Limits, Trajectory, opening, run
from provegym.toolbox import Toolbox
from provegym.trace import Example, Json

OPENS = "<|im_start|>assistant"
LIMITS = Limits(prompt=4096, completion=2048, reply=256)


def build_tokenizer(examples: Sequence[Example], size: int = 1500) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer that knows what these examples say."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        max_token_length=16,
        special_tokens=[PAD, "<|im_start|>", END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    told = [message["content"] for each in examples for message in transcript(each).messages]
    shown = [json.dumps(tool) for each in examples for tool in Toolbox.of(each).openai()]
    core.train_from_iterator([TEMPLATE.read_text("utf-8"), *told, *shown], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token=END,
        pad_token=PAD,
        additional_special_tokens=["<|im_start|>"],
        chat_template=TEMPLATE.read_text("utf-8"),
        name_or_path="tiny",
    )


def build_model(tokenizer: Any, seed: int = 0, width: int = 64) -> LlamaForCausalLM:
    """Two layers of random weights."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=8192,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return LlamaForCausalLM(config)


class Script:
    """Says for each rollout what it is told to, and keeps what it was asked."""

    def __init__(self, replies: Sequence[Sequence[list[int]]]) -> None:
        self.left = [list(lines) for lines in replies]
        self.known: list[list[int]] = [[] for _ in replies]
        self.asked: list[list[list[int]]] = [[] for _ in replies]

    def generate(self, contexts: list[list[int]], most: int) -> list[Sampled]:
        """The next line of each; a context belongs to the rollout whose words it goes on from."""
        free = [at for at, lines in enumerate(self.left) if lines]
        samples = []
        for context in contexts:
            at = next(n for n in free if context[: len(self.known[n])] == self.known[n])
            free.remove(at)
            ids = self.left[at].pop(0)[:most]
            self.asked[at].append(context)
            self.known[at] = context + ids
            samples.append(Sampled(ids, [-0.5] * len(ids)))
        return samples


def few_tools(example: Example) -> Example:
    """The example with no tools shown but those it takes."""
    spec = msgspec.structs.replace(example.toolbox, limit=0)
    return msgspec.structs.replace(example, toolbox=spec)


def gold(example: Example) -> list[Json]:
    """The replies of an assistant that does everything right."""
    return [each for each in transcript(example).messages if each["role"] == "assistant"]


class Doubtful:
    """Says the right thing most of the time; else it calls a wrong tool or gives up."""

    def __init__(self, codec: Codec, examples: list[Example], seed: int) -> None:
        self.codec, self.chance = codec, Random(seed)
        self.right = {tuple(opening(each, codec)): gold(each) for each in examples}

    def generate(self, contexts: list[list[int]], most: int) -> list[Sampled]:
        return [self.answer(context) for context in contexts]

    def answer(self, context: list[int]) -> Sampled:
        right = next(v for k, v in self.right.items() if tuple(context[: len(k)]) == k)
        told = self.codec.tokenizer.decode(context).count(OPENS) - 1
        kind = self.chance.random()
        function = {"name": "look_it_up", "arguments": {"where": told}}
        if kind < 0.7 and told < len(right):
            message: Json = right[told]
        elif kind < 0.85:
            calls = [{"id": "call_0", "type": "function", "function": function}]
            message = {"role": "assistant", "content": "", "tool_calls": calls}
        else:
            message = {"role": "assistant", "content": f"I give up {self.chance.random()}."}
        ids = self.codec.say(message)
        return Sampled(ids, [self.chance.random() - 2 for _ in ids])


def play(
    example: Example, replies: Sequence[Json], codec: Codec, limits: Limits = LIMITS
) -> tuple[Trajectory, Script]:
    """One rollout in which these replies are given."""
    script = Script([[codec.say(each) for each in replies]])
    return run([example], script.generate, codec, limits)[0], script


def warm_up(model: Any, trajectories: list[Trajectory], steps: int, lr: float) -> None:
    """Teach a model these rollouts by heart."""
    width = max(len(each.prompt) + len(each.completion) for each in trajectories)
    ids = torch.zeros(len(trajectories), width, dtype=torch.long)
    labels = torch.full_like(ids, -100)
    for row, each in enumerate(trajectories):
        whole = torch.tensor(each.prompt + each.completion)
        own = torch.tensor([0] * len(each.prompt) + each.mask).bool()
        ids[row, : len(whole)] = whole
        labels[row, : len(whole)] = whole.masked_fill(~own, -100)
    optimiser = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)
    pace = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        model(input_ids=ids, labels=labels).loss.backward()
        optimiser.step()
        pace.step()
        optimiser.zero_grad()
