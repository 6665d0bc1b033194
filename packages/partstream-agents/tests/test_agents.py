"""The run with coding agents: its pins are those of the lock file, it judges what it sees, and it can fail."""

import asyncio
import json
import re
import sys
from dataclasses import replace
from typing import Any

from interop.clients.agents.agent import FOLDER, Agent
from interop.clients.agents.printed import PRINTED
from interop.clients.agents.running import one_turn, serving
from interop.clients.agents.scripted_model import FAILURE
from interop.clients.agents.table import AGENTS
from interop.clients.agents.trials import TRIALS, Run
from interop.clients.served.packages import FOLDER as SERVED
from partstream.cli.client_settings import CLIENTS
from rows import one_test_for

OF_NAME = {trial.name: trial for trial in TRIALS}
TEXT = "These words are the whole answer."


def _asked(number: int, *results: str, tools: int = 3) -> dict[str, Any]:
    return {"number": number, "event": "asked", "tools": tools, "results": [*results], "roles": []}


def _over(number: int, event: str) -> dict[str, Any]:
    return {"number": number, "event": event}


TITLE = [_asked(9, tools=0), _over(9, "answered")]
ONCE = [_asked(1), _over(1, "answered"), *TITLE]
ROUNDS = [
    *(_asked(1), _over(1, "answered")),
    *(_asked(2, "a"), _over(2, "answered")),
    *(_asked(3, "a", "b"), _over(3, "answered")),
]
TOOLS = "two rounds of a tool"
READ = "I have read apple and pear."


FAILED = [_asked(1), _over(1, "failed")]
CANCELLED = [_asked(1), _over(1, "cancelled")]
JUDGED = [
    ("text", Run(0, TEXT, "", ONCE, True), True, "shown; 1 request, answered, code 0"),
    ("text", Run(1, TEXT, "", ONCE, True), False, "shown; 1 request, answered, code 1"),
    ("text", Run(0, "", TEXT, ONCE, True), False, "not shown; 1 request, answered, code 0"),
    ("text", Run(0, TEXT, "", [*ONCE, *ROUNDS[2:4]], True), True, "shown; 2 requests, answered, code 0"),
    ("text", Run(0, TEXT, "", [*FAILED, *ROUNDS[2:4]], True), False, "shown; 2 requests, failed, answered, code 0"),
    ("usage", Run(0, '{"in": 4321, "out": 8765}', "", ONCE, True), True, "input and output"),
    ("usage", Run(0, '{"in": 14321, "out": 8765}', "", ONCE, True), False, "output only"),
    (TOOLS, Run(0, READ, "", ROUNDS, True), True, "results [0, 1, 2]; 3 requests, answered, code 0"),
    (TOOLS, Run(0, READ, "", ROUNDS[:4], True), False, "results [0, 1]; 2 requests, answered, code 0"),
    ("cancelled", Run(1, "", "", CANCELLED, True), True, "the provider was cancelled; 1 request, cancelled, code 1"),
    ("cancelled", Run(1, "", "", CANCELLED[:1], True), False, "it goes on; 1 request, none over, code 1"),
    ("error", Run(1, "", FAILURE, FAILED * 2, True), True, "shown; 2 requests, failed, code 1"),
    ("error", Run(-9, "", FAILURE, FAILED, False), False, "shown; 1 request, failed, code -9, and it did not end"),
    ("spent budget", Run(1, "", FAILURE, FAILED, True), True, "shown; 1 request, failed, code 1"),
    ("spent budget", Run(1, "", FAILURE, FAILED * 2, True), False, "shown; 2 requests, failed, code 1"),
]


@one_test_for(("trial", "run", "works", "says"), JUDGED)
def test_a_run_is_judged_by_what_was_shown_and_by_what_the_model_saw(trial: str, run: Run, works: bool, says: str):
    assert OF_NAME[trial].judge(run) == (works, says)


PROGRAM = """
import json, os, sys, tomllib, urllib.request
settings = tomllib.loads(open(os.environ["HOME"] + "/.codex/config.toml").read())
provider = settings["model_providers"][settings["model_provider"]]
token = open(provider["auth"]["args"][0]).read().strip()
path = {"type": "object", "properties": {"path": {"type": "string"}}}
body = {"model": settings["model"], "input": [{"role": "user", "content": sys.argv[1]}]}
body["tools"] = [{"type": "function", "name": "cat", "parameters": path}]
while True:
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    request = urllib.request.Request(provider["base_url"] + "/responses", json.dumps(body).encode(), headers)
    output = json.load(urllib.request.urlopen(request))["output"]
    calls = [item for item in output if item["type"] == "function_call"]
    body["input"] += output
    for call in calls:
        content = open(json.loads(call["arguments"])["path"]).read()
        body["input"].append({"type": "function_call_output", "call_id": call["call_id"], "output": content})
    if not calls:
        print(output[-1]["content"][0]["text"])
        break
"""


class Program(Agent):
    """A small agent of our own instead of one that has to be installed."""

    __slots__ = ()

    def command(self, prompt: str) -> list[str]:
        return [sys.executable, "-c", PROGRAM, prompt]


def test_an_agent_is_run_with_the_settings_that_connect_writes():
    agent = Program("codex", "", (), lambda prompt: [prompt], lambda path: ("cat", {"path": path}), {})

    async def run() -> Run:
        async with serving() as served:
            return await one_turn(agent, "responses", OF_NAME[TOOLS], served)

    done = asyncio.run(run())
    works, says = OF_NAME[TOOLS].judge(done)
    assert works, f"{says}\n{done.output}\n{done.errors}"


def test_the_pins_of_the_libraries_are_those_that_are_installed():
    required = "\n".join(file.read_text(encoding="utf-8") for file in (SERVED / "python").glob("*.in"))
    manifest = json.loads((SERVED / "node" / "package.json").read_text(encoding="utf-8"))["dependencies"]
    for library in PRINTED:
        name, _, version = library.package.rpartition(" ")
        assert manifest.get(name) == version or re.search(rf"^{name}(\[[\w,]+\])?=={version}$", required, re.MULTILINE)


def test_every_row_of_the_table_of_agents_fits():
    manifest = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((FOLDER / "package-lock.json").read_text(encoding="utf-8"))
    pinned = {f"{name} {version}" for name, version in manifest["dependencies"].items()}
    assert {agent.package for agent in AGENTS} == pinned
    for agent in AGENTS:
        name, _, version = agent.package.rpartition(" ")
        assert lock["packages"][f"node_modules/{name}"]["version"] == version
        assert {*agent.ways} <= {*CLIENTS[agent.name].wires}
        assert {*agent.falls_back} <= {*agent.ways}
        assert {fault.trial for fault in agent.faults} <= {*OF_NAME}
        assert replace(agent).command("hi")[-1] == "hi"
