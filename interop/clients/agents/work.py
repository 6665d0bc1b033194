"""What coding agents do at a vendor: each job is run through `partstream serve`, and once without it, as a control.

The vendor refuses what the real one refuses, so a request that came through has the form of a real one. A job that does
not work without Partstream is no job: then the vendor here is wrong, or the agent has changed.
"""

from __future__ import annotations
import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from interop.clients.agents.running import TOKEN, AgentNotRunError, ended, environment_of, partstream
from interop.clients.vendors.vendor import Answer, Asked, Item, Say, Vendor, VendorWire, text_in

if TYPE_CHECKING:
    from interop.servers.foreign import Fault

__all__ = ["DONE", "SUMMARY", "Commands", "Job", "Tools", "Way", "Worked", "Worker", "work"]

DONE: Final = "All of this is done."
"""The last words of each answer."""
SUMMARY: Final = "This is about quinces alone."
"""What a conversation is about, in the summaries that the vendor writes."""
_KEY: Final = "key-of-the-vendor"
_LONGEST: Final = 90
_LONGEST_START: Final = 30
FILE: Final = "one.txt"
_PAGE: Final = "https://example.com/quinces"
_SAID_OF_PAGE: Final = f"Quinces are at {_PAGE}."
_FOUND_PAGES: Final = {
    "anthropic-messages": (
        Item({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "quinces"}}),
        Item(
            {
                "type": "web_search_tool_result",
                "tool_use_id": "srvtoolu_1",
                "content": [
                    {
                        "type": "web_search_result",
                        "title": "Quinces",
                        "url": _PAGE,
                        "encrypted_content": "Eo8x",
                        "page_age": None,
                    }
                ],
            }
        ),
        Say(_SAID_OF_PAGE),
    ),
    "openresponses": (
        Item(
            {
                "type": "web_search_call",
                "status": "completed",
                "action": {"type": "search", "query": "quinces", "sources": [{"type": "url", "url": _PAGE}]},
            }
        ),
        Item(
            {
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [
                    {
                        "type": "output_text",
                        "text": _SAID_OF_PAGE,
                        "logprobs": [],
                        "annotations": [
                            {
                                "type": "url_citation",
                                "title": "Quinces",
                                "url": _PAGE,
                                "start_index": 0,
                                "end_index": len(_SAID_OF_PAGE),
                            }
                        ],
                    }
                ],
            }
        ),
    ),
}
"""What vendors say that search the web themselves, by their wires."""


Commands = Sequence[tuple[list[str], str]]
Tools = frozenset[tuple[str, str]]
"""Tools, each with its form."""


@dataclass(frozen=True, slots=True)
class Worked:
    """How a job went.

    Attributes:
        code: The code with which the agent ended.
        output: What it wrote to standard output and error.
        log: What the vendor was asked.
        given: What the vendor signed, by the signature.
        file: What is in the file afterwards.
    """

    code: int
    output: str
    log: Sequence[Asked]
    given: Mapping[str, str]
    file: str

    def tools(self, wire: VendorWire) -> Tools:
        """The tools that the last request for an answer offers."""
        last = [asked.body for asked in self.log if asked.purpose == "answer" and not asked.refused][-1:]
        return frozenset((tool.form, tool.whole_name) for body in last for tool in wire.tools_in(body))

    @property
    def texts(self) -> list[str]:
        """All texts of the last request for an answer."""
        return [*text_in([asked.body for asked in self.log if asked.purpose == "answer"][-1:])]


@dataclass(frozen=True, slots=True)
class Job:
    """A job.

    Attributes:
        answers: What the vendor answers, one after the other, for the path of the file.
        prompts: What the person says, one after the other.
        proof: What has to be in the last request: the result of the job.
        file: What has to be in the file.
        forgets: Whether earlier thinking is gone in the end.
    """

    answers: Callable[[Path], Sequence[Answer]]
    proof: str
    prompts: tuple[str, ...] = ("Do what has to be done.",)
    file: str = "apple\n"
    forgets: bool = False


@dataclass(frozen=True, slots=True)
class Way:
    """A way to a vendor.

    Attributes:
        name: What it is called.
        vendor: The wire of the vendor.
        model: The model.
        wire: What `partstream connect --wire` calls the wire of the agent; empty where no row of it fits.
        carries_thinking: Whether thinking goes back to the vendor under its signature.
        beside: Further models that the agent asks by itself.
        is_translated: Whether the vendor speaks another wire than the agent, which cannot ask it alone then.
    """

    name: str
    vendor: type[VendorWire]
    model: str
    wire: str
    carries_thinking: bool = True
    beside: tuple[str, ...] = ()
    is_translated: bool = False


@dataclass(frozen=True, slots=True)
class Worker:
    """A coding agent at work.

    Attributes:
        name: Its name among the results.
        agent: What `partstream connect` calls it.
        package: Its package and version.
        commands: Its commands, each with what goes to its standard input, for the prompts and its home.
        ways: The ways that are tried.
        jobs: The jobs, by their names, for a way.
        prepare: Tells it of the server of tools, in its home, and gives further variables.
        alone: How it asks the vendor without Partstream: writes to its home, and gives the variables; gets the address
            and the way.
        is_aside: Whether a request is for a summary of the conversation.
        faults: What it is known to do otherwise; `protocols` of a fault are the names of ways here.
    """

    name: str
    agent: str
    package: str
    commands: Callable[[Sequence[str], Path], Commands]
    ways: Sequence[Way]
    jobs: Callable[[Way], Mapping[str, Job]]
    prepare: Callable[[Path], Mapping[str, str]]
    alone: Callable[[Path, str, Way], Mapping[str, str]]
    is_aside: Callable[[Asked], bool]
    faults: tuple[Fault, ...] = ()


async def work(worker: Worker, way: Way, job: Job, *, alone: bool = False) -> tuple[bool, str, Tools]:
    """Has a job done; whether it was, what was seen, and the tools that the vendor was offered in the end.

    Args:
        worker: The agent.
        way: The way to the vendor.
        job: The job.
        alone: Whether the agent asks the vendor without Partstream.

    Raises:
        AgentNotRunError: The server or `partstream connect` fails.
    """
    with TemporaryDirectory(prefix="agent-work-") as name:
        folder = Path(name)
        home = folder / "home"
        home.mkdir()
        place = home / "work"
        place.mkdir()
        file = place / FILE
        file.write_text("apple\n", encoding="utf-8")
        answers = iter(job.answers(file))
        vendor = Vendor(
            way.vendor(), (way.model, *way.beside), lambda asked: _said(worker, way.vendor.name, asked, answers)
        )
        async with vendor.listening():
            environment = environment_of(home)
            if alone:
                environment |= worker.alone(home, vendor.url, way)
                done = await _turn(worker, job, home, {**environment, **worker.prepare(home)}, vendor)
            else:
                async with _served(vendor, folder) as url:
                    environment |= await _told(worker, way, url, home)
                    done = await _turn(worker, job, home, {**environment, **worker.prepare(home)}, vendor)
        return *_judged(way, job, done), done.tools(vendor.wire)


def _said(worker: Worker, wire: str, asked: Asked, answers: Iterator[Answer]) -> Answer:
    """What the vendor answers: the next answer of the job, or what a request beside the turn needs."""
    items = asked.body.get("input")
    last = items[-1] if isinstance(items, list) and items else {}
    if last.get("type") == "compaction_trigger" or asked.purpose == "compaction":
        return Answer([Item({"type": "compaction", "encrypted_content": SUMMARY})])
    if worker.is_aside(asked) or "Summarise the conversation above" in "".join(text_in(last or asked.body)):
        return Answer([Say(f"<summary>{SUMMARY}</summary>")])
    tools = asked.body.get("tools") or [{}]
    if len(tools) == 1 and str(tools[0].get("type")).startswith("web_search"):
        return Answer(_FOUND_PAGES[wire])
    if asked.purpose != "answer" or not has_tools(asked):
        return Answer([Say("A title")])
    return next(answers, Answer([Say("There is nothing more to do.")]))


def has_tools(asked: Asked) -> bool:
    """Whether a request offers tools, in whatever field."""
    items = asked.body.get("input")
    later = any(item.get("type") == "additional_tools" for item in (items if isinstance(items, list) else ()))
    return bool(asked.body.get("tools")) or later


def _judged(way: Way, job: Job, done: Worked) -> tuple[bool, str]:
    refused = next((asked.refused for asked in done.log if asked.refused), "")
    wrong = {
        f"refused: {refused}": bool(refused),
        f"the file holds {done.file!r}": done.file != job.file,
        f"nothing of {job.proof!r} came back": not any(job.proof in done.given.get(text, text) for text in done.texts),
        "no thinking came back": way.carries_thinking and not job.forgets and done.given.keys().isdisjoint(done.texts),
        "the last words are not shown": DONE not in done.output,
        f"code {done.code}": done.code != 0,
    }
    found = [said for said, is_so in wrong.items() if is_so]
    return not found, "; ".join(found[:2]) or f"{len(done.log)} requests"


async def _turn(worker: Worker, job: Job, home: Path, environment: Mapping[str, str], vendor: Vendor) -> Worked:
    shown, code = "", 0
    for command, said in worker.commands(job.prompts, home):
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=home / "work",
            env=environment,
            stdin=asyncio.subprocess.PIPE if said else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        output, errors, _ = await ended(process, _LONGEST, said.encode())
        shown += output + errors
        code = code or process.returncode or 0
    file = (home / "work" / FILE).read_text(encoding="utf-8")
    return Worked(code, shown, vendor.log, vendor.given, file)


@asynccontextmanager
async def _served(vendor: Vendor, folder: Path) -> AsyncIterator[str]:
    """`partstream serve` with the vendor as its upstream."""
    profile = {"baseUrl": vendor.url, "protocol": vendor.wire.name, "apiKey": _KEY}
    models = [{"id": one, "maxInputTokens": 200_000, "toolCalling": True, "imageInput": True} for one in vendor.models]
    lines = ["[retry]", "attempts = 1", "[profiles.vendor]", "discover = false"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in profile.items()]
    for model in models:
        lines += ["[[profiles.vendor.models]]", *(f"{name} = {json.dumps(value)}" for name, value in model.items())]
    (folder / "partstream.toml").write_text("\n".join(lines), encoding="utf-8")
    environment = environment_of(
        folder / "server", PARTSTREAM_CONFIG=str(folder / "partstream.toml"), PARTSTREAM_SERVE_TOKEN=TOKEN
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "partstream", "serve", "--profile", "vendor", "--port", "0", "--json", "--log", "off"),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    if process.stdout is None or process.stderr is None:
        raise AgentNotRunError("the server has no pipes")
    try:
        async with asyncio.timeout(_LONGEST_START):
            line = await process.stdout.readline()
        if not line:
            raise AgentNotRunError((await process.stderr.read()).decode().strip())
        yield json.loads(line)["url"]
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await asyncio.wait_for(process.communicate(), _LONGEST_START)


async def _told(worker: Worker, way: Way, url: str, home: Path) -> dict[str, str]:
    """The variables that tell an agent of the server, beside the files that `partstream connect` writes."""
    if not way.wire:
        return {**worker.alone(home, f"{url}/v1", way)}
    token = {"PARTSTREAM_SERVE_TOKEN": TOKEN}
    asked = ("connect", worker.agent, "--wire", way.wire, "--url", url, "--model", way.model)
    said = json.loads(await partstream(home, *asked, "--json", **token))
    if said["files"]:
        await partstream(home, *asked, "--write", **token)
    if said["files"] and said["isEnvironmentEnough"]:
        return token
    return token | {name: value if isinstance(value, str) else TOKEN for name, value in said["environment"].items()}
