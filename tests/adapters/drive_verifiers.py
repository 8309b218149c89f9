"""Run in .envs/verifiers: play examples against an endpoint, and print what the traces hold.

The chat program is the one of verifiers' harness `null`, run in this process: as a program it takes
seconds to start, once for every user turn.
"""

import asyncio
import json
import sys
import traceback
from pathlib import Path
from types import ModuleType

import verifiers.v1 as vf
from verifiers.v1.harnesses.null import NullHarness
from verifiers.v1.harnesses.utils.launch import CHAT_PROGRAM_SOURCE

PROGRAM = compile(CHAT_PROGRAM_SOURCE, "chat", "exec")


class Here:
    """As much of a runtime as starts a program, without starting one."""

    async def write(self, path, data):
        """Leave a file for the program."""
        Path(path).write_bytes(data)

    async def prepare_uv_script(self, *_, **__):
        """Nothing to prepare."""
        return ["chat"]

    async def run_program(self, command, _):
        """Run it; it reads its arguments before it first waits."""
        program = {"__name__": "chat"}
        exec(PROGRAM, program)
        sys.argv = command
        try:
            await program["main"]()
        except Exception:
            return vf.ProgramResult(exit_code=1, stdout="", stderr=traceback.format_exc())
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")


class Inline(NullHarness):
    """The harness `null` in this process."""

    async def setup(self, runtime):
        """Nothing to install."""

    async def launch(self, ctx, trace, runtime, *rest, **named):
        """Run its program here."""
        return await super().launch(ctx, trace, Here(), *rest, **named)


async def main(data, url, scheme, games):
    """A rollout for every `example=model`, all at once."""
    seat = {"harness": {"id": "inline"}}
    taskset = {"id": "provegym", "data": data, "task": {"scheme": scheme}}
    config = {"taskset": taskset, "agent": seat}
    env = vf.load_environment(vf.resolve_env_config(config))
    client = vf.EvalClientConfig(base_url=url)
    tasks = {task.data.id: task for task in env.taskset}
    async with env.serving():
        episodes = await asyncio.gather(
            *(
                env.run_episode(tasks[name], vf.ModelContext(model=model, client=client))
                for name, model in (game.split("=") for game in games)
            )
        )
    for episode in episodes:
        (trace,) = episode.traces
        told = [node.message.content for node in trace.nodes if node.message.role == "tool"]
        found = {"reward": trace.reward, "metrics": trace.metrics, "info": trace.info}
        problems = [error.message for error in (*trace.errors, *episode.errors)]
        shown = [tool.name for tool in trace.tools]
        print(json.dumps({**found, "told": told, "shown": shown, "problems": problems}))


sys.modules["inline"] = ModuleType("inline")
sys.modules["inline"].__all__ = ["Inline"]
sys.modules["inline"].Inline = Inline
data, url, scheme, *games = sys.argv[1:]
asyncio.run(main(data, url, scheme, games))
