"""Run in .envs/nemo_gym: play rows with NeMo Gym's agents, all at once, and print what they return.

Its two agents, its model server and our resources server listen each on a port of its own, as
`gym env start` has them, but in one process; behind the model server, scripts answer. The first
argument is the YAML of a user. Jobs come as JSON on standard input: example, policy, agent.
"""

import asyncio
import json
import os
import socket
import sys

import msgspec
import uvicorn
from fastapi import FastAPI
from nemo_gym.config_types import BaseServerConfig
from nemo_gym.server_utils import ServerClient
from omegaconf import OmegaConf
from responses_api_agents.gymnasium_agent.app import GymnasiumAgent
from responses_api_agents.simple_agent.app import SimpleAgent
from responses_api_models.vllm_model.app import VLLMModel
from scripts import POLICIES, examples

from provegym.adapters.episode import success
from provegym.adapters.nemo_gym import GymServer, rows
from provegym.models.dialects import openai
from provegym.rewards import Scheme
from provegym.rollout import play_script

HOST = "127.0.0.1"
KINDS = {
    "provegym": GymServer,
    "gymnasium_agent": GymnasiumAgent,
    "simple_agent": SimpleAgent,
    "vllm_model": VLLMModel,
}


class Endpoint:
    """Chat completions by scripts; each conversation is known by its system text."""

    def __init__(self):
        self.scripts = {}

    async def complete(self, body: dict) -> dict:
        """Play the script as far as it has come, and answer with its next message."""
        messages = [{**each, "content": _text(each["content"])} for each in body["messages"]]
        script = self.scripts[messages[0]["content"]]()
        for at, message in enumerate(messages):
            if message["role"] == "assistant":
                await script.reply(messages[:at], [])
        reply = await script.reply(messages, [])
        calls = [
            msgspec.structs.replace(call, id=f"call_{len(messages)}_{at}")
            for at, call in enumerate(reply.calls)
        ]
        said = openai.message(msgspec.structs.replace(reply, calls=tuple(calls)))
        choice = {"index": 0, "message": said, "finish_reason": "stop"}
        usage = {"prompt_tokens": 0, "completion_tokens": 1, "total_tokens": 1}
        kind = {"id": "x", "object": "chat.completion", "created": 0, "model": "script"}
        return {**kind, "choices": [choice], "usage": usage}


def _text(content):
    if isinstance(content, list):
        return "".join(part["text"] for part in content)
    return content


def free_port():
    """A port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        return taken.getsockname()[1]


async def serve(app, port):
    """Listen until the process ends."""
    server = uvicorn.Server(uvicorn.Config(app, HOST, port, log_level="critical"))
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    return task


def configure(user, endpoint):
    """The user's servers, the plain agent beside theirs and a model, with hosts and ports."""
    known = OmegaConf.to_container(OmegaConf.create(user))
    agent = known["provegym_agent"]["responses_api_agents"]["gymnasium_agent"]
    known["simple"] = {"responses_api_agents": {"simple_agent": dict(agent)}}
    model = {
        "entrypoint": "app.py",
        "base_url": f"http://{HOST}:{endpoint}/v1",
        "api_key": "none",
        "model": "script",
        "return_token_id_information": False,
        "uses_reasoning_parser": False,
    }
    known["policy_model"] = {"responses_api_models": {"vllm_model": model}}
    for servers in known.values():
        for settings in next(iter(servers.values())).values():
            settings |= {"host": HOST, "port": free_port()}
    return known


async def start(user, endpoint):
    """All servers; the client that knows them by name, and what keeps them running."""
    port = free_port()
    known = configure(user, port)
    os.environ["NEMO_GYM_CONFIG_DICT"] = json.dumps(known)
    head = BaseServerConfig(host=HOST, port=1)
    client = ServerClient(head_server_config=head, global_config_dict=OmegaConf.create(known))
    tasks = []
    for name, servers in known.items():
        ((kind, settings),) = next(iter(servers.values())).items()
        made = KINDS[kind].model_fields["config"].annotation
        config = made.model_validate({**settings, "name": name})
        server = KINDS[kind](config=config, server_client=client)
        app = server.setup_webserver()
        server.setup_exception_middleware(app)
        tasks.append(await serve(app, settings["port"]))
    app = FastAPI()
    app.post("/v1/chat/completions")(endpoint.complete)
    return client, [*tasks, await serve(app, port)]


def prepare(jobs, endpoint):
    """A row for each job, with a system text of its own."""
    for at, (name, policy, agent) in enumerate(jobs):
        example = examples()[name]
        (row,) = rows([example], agent)
        system = row["responses_create_params"]["input"][0]
        system["content"] += f" [{at}]"
        endpoint.scripts[system["content"]] = lambda make=POLICIES[policy], e=example: make(e)
        yield row


async def look_apart(client, example):
    """Two sessions of one example by hand: what each reads before and after one of them writes."""
    (row,) = rows([example])
    cookies = []
    for _ in range(2):
        answer = await client.post("provegym", "/seed_session", json=row)
        cookies.append(answer.cookies)

    async def call(at, tool, arguments):
        answer = await client.post("provegym", f"/{tool}", json=arguments, cookies=cookies[at])
        return await answer.json()

    reads = [step for step in example.paths[0].steps if not step.writes]
    before = [[await call(at, step.tool, step.arguments) for step in reads] for at in range(2)]
    for step in example.paths[0].steps:
        await call(0, step.tool, step.arguments)
    after = [[await call(at, step.tool, step.arguments) for step in reads] for at in range(2)]
    return {"before": before, "after": after}


async def main():
    """Everything, side by side."""
    endpoint = Endpoint()
    client, _tasks = await start(sys.argv[1], endpoint)

    async def run(row):
        answer = await client.post(row["agent_ref"]["name"], "/run", json=row)
        return {"status": answer.status, "said": await answer.json()}

    user = OmegaConf.create(sys.argv[1])
    scheme = Scheme(scheme=user.provegym.resources_servers.provegym.get("scheme", "paper"))
    jobs = json.load(sys.stdin)
    played = await asyncio.gather(*map(run, prepare(jobs, endpoint)))
    for (name, policy, _), got in zip(jobs, played, strict=True):
        # Python adds floats up differently since 3.12: our own reward is computed here as well.
        own = play_script(examples()[name], POLICIES[policy], scheme=scheme)
        got["own"] = {**msgspec.to_builtins(own.reward), "verdict": success(own)}
    example = examples()["shopping/gift-and-address"]
    apart = await look_apart(client, example)
    (row,) = rows([example])
    lost = await client.post("provegym", "/list_accounts", json={})
    wrong = await client.post("provegym", "/seed_session", json={**row, "example": {"id": 1}})
    told = [[each.status, (await each.json())["detail"]] for each in (lost, wrong)]
    print("FOUND", json.dumps({"played": played, "apart": apart, "told": told}))
    sys.stdout.flush()
    os._exit(0)


asyncio.run(main())
