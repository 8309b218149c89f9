"""The agent loop for verl: plays one rollout, with the same code as for TRL.

verl passes a row of the dataset and a server that generates tokens. The loop returns tokens, a
response mask (the tokens that the model wrote) and the reward.
"""

from collections.abc import Mapping
from functools import lru_cache
from time import perf_counter
from typing import Any
from uuid import uuid4

import msgspec
from omegaconf import OmegaConf
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput

from provegym.models.codec import Codec
from provegym.models.local import show_tools
from provegym.models.source import Sampled
from provegym.players.local import Limits, Playing, Trajectory
from provegym.rewards import COMPONENTS, Scheme
from provegym.trace import Example, Json


class Loop(AgentLoopBase):  # type: ignore[misc]
    """Plays an example. `limits` and `reward` are tables of the recipe.

    The agent file registers this class. verl's decorator `register` must not: it would replace the
    file's entry, limits and reward included, when a worker first imports this module.
    """

    def __init__(self, *given: Any, limits: Any, reward: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.limits = msgspec.convert(_plain(limits), Limits)
        self.scheme = msgspec.convert(_plain(reward), Scheme)
        # verl makes a loop for every rollout. All loops share one codec and its token cache.
        self.codec = _codec(self.tokenizer, self.limits.prompt)

    async def run(self, sampling_params: Mapping[str, Any], **row: Any) -> Any:
        """Play the example of a row of the dataset."""
        began, waited = perf_counter(), 0.0
        example = msgspec.json.decode(row["extra_info"]["example"], type=Example)
        playing = Playing(example, self.codec, self.limits, self.scheme)
        said: list[Any] = []
        request = uuid4().hex
        ended = playing.go_on()
        while ended is None:
            context, most = playing.question
            asked = perf_counter()
            said.append(
                await self.server_manager.generate(
                    request_id=request,
                    prompt_ids=context,
                    sampling_params={**sampling_params, "max_tokens": most},
                )
            )
            waited += perf_counter() - asked
            ended = playing.go_on(_sampled(said[-1]))
        metrics = AgentLoopMetrics(
            generate_sequences=waited,
            tool_calls=perf_counter() - began - waited,
            num_preempted=_preempted(said),
        )
        return self._output(ended, said, metrics)

    def _output(self, done: Trajectory, said: list[Any], metrics: Any) -> Any:
        """A rollout as verl expects it. An empty completion becomes one masked end token.

        A rollout that a bug of a server ended has reward 0 and is masked.
        """
        reward = done.rollout.reward
        whole = bool(done.completion)
        mask = done.mask if reward else [0] * len(done.mask)
        logprobs = done.logprobs if whole else [0.0]
        parts = reward.parts if reward else {}
        paid = [part for part in COMPONENTS if self.scheme.weight(part)]
        return AgentLoopOutput(
            prompt_ids=done.prompt or [self.codec.end],
            response_ids=done.completion if whole else [self.codec.end],
            response_mask=mask if whole else [0],
            response_logprobs=logprobs if None not in [each.log_probs for each in said] else None,
            reward_score=reward.total if reward else 0.0,
            num_turns=len(done.rollout.messages) - 1,
            metrics=metrics,
            extra_fields={
                **_versions(said),
                "reward_extra_info": {part: parts.get(part) for part in paid},
                "ended": done.rollout.ended,
            },
        )


def _sampled(output: Any) -> Sampled:
    """A reply of verl's server; log-probabilities are 0 if they were not requested."""
    ids = list(output.token_ids)
    return Sampled(ids, list(output.log_probs or [0.0] * len(ids)))


def _versions(said: list[Any]) -> Json:
    """The weight versions of the first and last reply; verl drops rollouts that are too old."""
    if not said:
        return {}
    last = said[-1].extra_fields.get("max_global_steps")
    return {**said[0].extra_fields, "max_global_steps": last}


def _preempted(said: list[Any]) -> int:
    """How often vLLM preempted a reply; -1 if unknown."""
    counts = [each.num_preempted for each in said]
    return -1 if None in counts or not counts else sum(counts)


def _plain(settings: Any) -> Json:
    """A table of the agent file as a plain dict; hydra passes it as an OmegaConf object."""
    plain: Json = OmegaConf.to_container(OmegaConf.create(settings), resolve=True)
    return plain


@lru_cache(maxsize=1)
def _codec(tokenizer: Any, max_prompt: int) -> Codec:
    return Codec(show_tools(tokenizer), max_prompt)
