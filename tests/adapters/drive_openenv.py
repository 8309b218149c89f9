"""Run in .envs/openenv: play examples with OpenEnv's clients, all at once, and print what they get.

Jobs come as JSON on standard input: example, policy, and how calls are made: in a whole `message`,
as `step` of one call each, or as requests over `mcp` by OpenEnv's own client.
"""

import asyncio
import json
import sys
from functools import partial
from pathlib import Path

import msgspec
from openenv.core.env_server.mcp_types import CallToolAction
from openenv.core.mcp_client import MCPToolClient
from scripts import POLICIES, examples

from provegym.adapters.openenv import OVER, AssistantAction, Client, app
from provegym.trace import BadFile


async def play(url, example, policy, how):
    """One episode; what was shown, told and paid."""
    script = POLICIES[policy](example)
    async with (MCPToolClient if how == "mcp" else Client)(url) as env:
        got = await env.reset(example=example.id)
        said = list(got.observation.messages)
        shown = [[tool.name, tool.input_schema] for tool in await env.list_tools()]
        while not got.done:
            reply = await script.reply(said, [])
            said.append({"role": "assistant"})
            if how == "message" or not reply.calls:
                calls = [{"name": call.name, "arguments": call.arguments} for call in reply.calls]
                got = await env.step(AssistantAction(text=reply.text, calls=calls))
                said += got.observation.messages
                continue
            (call,) = reply.calls
            arguments = msgspec.json.decode(call.arguments)
            if how == "step":
                action = CallToolAction(tool_name=call.name, arguments=arguments)
                got = await env.step(action)
                text = got.observation.result
            else:
                text = await over_mcp(env, call.name, arguments)
                if text == OVER:
                    got = await env.step(AssistantAction())
                    break
            said.append({"role": "tool", "content": text})
        again = await env.step(AssistantAction(text="Is anybody there?"))
    told = [[m["role"], m["content"]] for m in said if "content" in m]
    ends = [[end.reward, end.metadata, end.done] for end in (got, again)]
    return {"shown": shown, "told": told, "ends": ends}


async def over_mcp(env, name, arguments):
    """The text of a call's result: `call_tool` of the client takes no argument called `name`."""
    params = {"name": name, "arguments": arguments, "session_id": env._production_session_id}
    answer = (await env._production_mcp_request("tools/call", params))["result"]
    text = answer["content"][0]["text"]
    assert answer["data"] == json.loads(text)
    return text


async def look_apart(url, example):
    """Two sessions of one example: what each reads before and after the first has played."""
    script = POLICIES["oracle"](example)
    async with Client(url) as one, Client(url) as other:
        said = list((await one.reset(example=example.id)).observation.messages)
        await other.reset(example=example.id)
        before = [await one.call_tool("list_accounts"), await other.call_tool("list_accounts")]
        reply = await script.reply(said, [])
        while reply.calls:
            (call,) = reply.calls
            text = await one.call_tool(call.name, **json.loads(call.arguments))
            said += [{"role": "assistant"}, {"role": "tool", "content": text}]
            reply = await script.reply(said, [])
        after = [await one.call_tool("list_accounts"), await other.call_tool("list_accounts")]
    return {"before": before, "after": after}


async def complain(url):
    """What a client is told that does not know how."""
    told = []
    async with Client(url) as env:
        asks = (
            env.message("Hello."),
            env.reset(example="banking/pay-and-freze"),
            env.reset(exampel="banking/pay-and-freeze"),
        )
        for ask in asks:
            try:
                await ask
            except RuntimeError as problem:
                told.append(str(problem))
        fourth = await env.reset(seed=3)
        told.append(fourth.observation.messages[-1]["content"])
    for wrong in (partial(app, Path("/dev/null")), Client("http://127.0.0.1:1").connect):
        try:
            await wrong()
        except (BadFile, ConnectionError) as problem:
            told.append(str(problem))
    return told


async def main(url):
    """Everything, side by side."""
    known = examples()
    jobs = [play(url, known[name], *rest) for name, *rest in json.load(sys.stdin)]
    apart = look_apart(url, known["banking/pay-and-freeze"])
    *played, looked, told = await asyncio.gather(*jobs, apart, complain(url))
    print(json.dumps({"played": played, "apart": looked, "told": told}))


asyncio.run(main(sys.argv[1]))
