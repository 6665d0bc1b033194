"""What reads what comes from outside, beside streams: bodies on every wire, socket messages, streams
in files, bundles, recordings that grow, and settings.

Of each the same must hold, whatever it is given: it is read, or refused by one of the errors that are named for it; a
server refuses with a status below 500 and a document of JSON; and neither takes more processor time or memory than its
length allows.
"""

from __future__ import annotations
import asyncio
import base64
import gzip
import io
import json
import random
import resource
import tempfile
import time
import zipfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from bundles.made_bundles import FULL
from fuzzing.hostile import damaged_bytes, damaged_json
from partstream import ChatMessage, DataPart, TextPart, ThinkingPart, Tool, ToolCallPart, ToolResultPart
from partstream.cli.client_settings import JsonFile, YamlList, YamlNames
from partstream.codec.settings_files import UnusableTextError
from partstream.config.editing import TomlFile
from partstream.config.loading import load_configuration
from partstream.lm.messages import RequestOptions
from partstream.lm.outputs import InboundRequest
from partstream.runtime.translation import write_question
from partstream.server import app
from partstream.server.settings import ServingSettings
from partstream.server.stored_answers import SQLiteAnswers
from partstream.settings.kinds import ConfigurationError
from partstream_devtools.bundles.archive import write_bundle
from partstream_devtools.bundles.documents import BundleError
from partstream_devtools.bundles.exchange import RedactionLevel
from partstream_devtools.bundles.forms import read_any, write_as
from partstream_devtools.bundles.har import write_har
from partstream_devtools.bundles.partial import PartialRecording
from partstream_devtools.inspector.view import ViewedFile, view_of
from partstream_devtools.redaction.redacting import redact
from partstream_hub.configuration import UnusableHubFileError, read_hub_file
from serving.asgi import ask
from serving.asgi_socket import ENDS, Socket
from serving.providers import Driven
from serving.wires import WIRES

_PACKAGES = Path(__file__).parents[2] / "packages"
_BUNDLES = _PACKAGES / "partstream-devtools/tests/bundles/fixtures"

SECONDS_AT_ALL, SECONDS_A_MEGABYTE = 3.0, 6.0
"""Of processor time, on a machine that others use too: what grows with the square takes a hundred times as much."""
BYTES_AT_ALL, BYTES_A_BYTE = 200_000_000, 60
"""Of resident memory; a file may unpack to 64 MiB."""


@dataclass(frozen=True, slots=True)
class Input:
    """What a target is given.

    Attributes:
        target: The name of the target.
        kind: Which of its readers reads it: a path with a wire, the form of a file.
        pieces: Its bytes: what a smaller input leaves out.
    """

    target: str
    kind: str
    pieces: tuple[bytes, ...]

    @property
    def data(self) -> bytes:
        """All bytes."""
        return b"".join(self.pieces)


@dataclass(frozen=True, slots=True)
class Target:
    """A way in.

    Attributes:
        name: How the command calls it.
        make: Makes the kind and the bytes of an input.
        take: Reads them; what it raises is a fault, unless it is one of these refusals.
        refusals: How it may refuse.
    """

    name: str
    make: Callable[[random.Random], tuple[str, bytes]]
    take: Callable[[str, bytes], None]
    refusals: tuple[type[Exception], ...] = ()


class UnfitReplyError(AssertionError):
    """A server answered otherwise than it may."""


def input_of(target: str, seed: int) -> Input:
    """The input of a seed."""
    kind, data = TARGETS[target].make(random.Random(f"{target} {seed}"))  # noqa: S311 - no secret
    lines = data.splitlines(keepends=True) if len(data) < 100_000 else [data]
    return Input(target, kind, tuple(lines))


def faults_of_input(given: Input) -> list[str]:
    """What does not hold of an input, in words; nothing for one that is read or refused as it must be."""
    target, data = TARGETS[given.target], given.data
    took, peak = time.process_time(), _peak()
    faults = []
    try:
        target.take(given.kind, data)
    except target.refusals:
        pass
    except Exception as error:
        faults.append(f"raised: {type(error).__name__}: {error!s:.300}")
    took, grown = time.process_time() - took, _peak() - peak
    if took > SECONDS_AT_ALL + SECONDS_A_MEGABYTE * len(data) / 1e6:
        faults.append(f"took {took:.1f} s for {len(data):,} bytes")
    if grown > BYTES_AT_ALL + BYTES_A_BYTE * len(data):
        faults.append(f"took {grown:,} bytes of memory for {len(data):,} bytes")
    return faults


def _peak() -> int:
    """The most memory that this process has had so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# ---- The server ----

_TOOLS = [
    Tool("look_up", "Looks a word up.", {"type": "object", "properties": {"word": {"type": "string", "enum": ["a"]}}}),
    Tool("end", "Ends."),
]
_CONVERSATION = (
    ChatMessage.user([TextPart("What is it?"), DataPart(b"\x89PNG\r\n\x1a\n", "image/png")]),
    ChatMessage.assistant([ThinkingPart("Hm."), TextPart("I look."), ToolCallPart("c1", "look_up", {"word": "a"})]),
    ChatMessage.user([ToolResultPart("c1", [TextPart("A letter.")])]),
    ChatMessage.user("And now?"),
)
_OPTIONS = {"max_output_tokens": 50, "temperature": 0.5, "stop": ["end"], "user": "u", "metadata": {"a": "b"}}


async def _say(progress: Any, token: Any) -> None:
    del token
    progress.report(TextPart("hello"))


@cache
def requests_of_wires() -> Mapping[str, tuple[Any, dict[str, str], str]]:
    """By path and wire: the body, the headers and the query of a request with everything, and of what counts it."""
    found: dict[str, tuple[Any, dict[str, str], str]] = {}
    for wire in WIRES:
        path, plain, headers, query = wire.request("m", stream=False)
        asked = InboundRequest("m", _CONVERSATION, RequestOptions(_TOOLS, model_options=_OPTIONS))
        body = {**write_question(wire.protocol, asked).body, **({"stream": False} if "stream" in plain else {})}
        found[f"{path} as {wire.name}"] = (body, headers, query)
        for counted in _COUNTS.get(wire.name, ()):
            found[f"{counted} as {wire.name}"] = (body, headers, query)
    return found


_COUNTS = {
    "openresponses": ("/v1/responses/input_tokens", "/v1/responses/compact"),
    "anthropic-messages": ("/v1/messages/count_tokens",),
    "gemini": ("/v1beta/models/m:countTokens",),
}


@contextmanager
def _serving() -> Iterator[Any]:
    with tempfile.TemporaryDirectory() as folder:
        yield app(Driven(_say), ServingSettings(store=SQLiteAnswers(Path(folder) / "answers.sqlite")))


def _with_server(talk: Callable[[Any], Awaitable[None]]) -> None:
    with _serving() as application:
        asyncio.run(talk(application))  # type: ignore[arg-type] - an async function gives a coroutine


def _make_body(chance: random.Random) -> tuple[str, bytes]:
    kind = chance.choice([*requests_of_wires()])
    body = damaged_json(chance, requests_of_wires()[kind][0])
    if chance.random() < 0.05:
        return f"{kind}, packed", gzip.compress(body, mtime=0)
    return kind, body


def _take_body(kind: str, data: bytes) -> None:
    asked, _, packed = kind.partition(", ")
    path, _, _ = asked.partition(" as ")
    _, headers, query = requests_of_wires()[asked]
    sent = {**headers, "content-type": "application/json", **({"content-encoding": "gzip"} if packed else {})}

    async def talk(application: Any) -> None:
        reply = await ask(application, path, data, headers=sent, query=query)
        if reply.status >= 500 and reply.status not in {501, 503}:
            raise UnfitReplyError(f"status {reply.status}: {reply.body[:300]!r}")
        if reply.status >= 400:
            _check_refusal(reply.json, len(reply.body))
        await _goes_on(application)

    _with_server(talk)


def _check_refusal(document: Any, size: int) -> None:
    if not isinstance(document, dict) or not isinstance(document.get("error", document), dict | str):
        raise UnfitReplyError(f"no error of a wire: {document!r:.300}")
    if size > 20_000:
        raise UnfitReplyError(f"an error of {size:,} bytes repeats what was sent")


async def _goes_on(application: Any) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    if (reply := await ask(application, "/v1/chat/completions", body)).status != 200:
        raise UnfitReplyError(f"the next request got {reply.status}")


def _make_message(chance: random.Random) -> tuple[str, bytes]:
    body, _, _ = next(row for kind, row in requests_of_wires().items() if kind.startswith("/v1/responses as"))
    kind = chance.choice(("response.create",) * 8 + ("response.steer", "response.cancel", "x"))
    extra = chance.choice(({}, {}, {"generate": False}, {"previous_response_id": "resp_1"}, {"store": False}))
    return "/v1/responses", damaged_json(chance, {"type": kind, **body, **extra})


def _take_message(kind: str, data: bytes) -> None:
    async def talk(application: Any) -> None:
        socket = await Socket(application, kind).opened()
        socket.say(data.decode(errors="surrogateescape"))
        event = await socket.event()
        while event["type"] not in ENDS | {"response.steer.failed"}:
            event = await socket.event()
        if event["type"] == "error" and event.get("status", 400) >= 500:
            raise UnfitReplyError(f"an error of the server: {event!r:.300}")
        if (await socket.turn(model="m", input="Hi"))[-1]["type"] != "response.completed":
            raise UnfitReplyError("the next turn was not answered")
        await socket.close()

    _with_server(talk)


# ---- Files of strangers ----


def _partial(body: bytes | None = None) -> bytes:
    appended: list[bytes] = []
    recording = PartialRecording(appended.append, "record", "p")
    for exchange in FULL.exchanges:
        asked = exchange.request
        is_large = body is not None and asked is not None
        recording.begin(replace(exchange, request=replace(asked, body=body)) if is_large else exchange)
        if exchange.head is not None:
            recording.head(exchange.number, exchange.head)
        for chunk in exchange.chunks:
            recording.chunk(exchange.number, chunk)
        recording.end(exchange.number, exchange.end)
    for answer in FULL.answers:
        recording.answer(answer)
    return b"".join(appended)


def _stream() -> bytes:
    chunks = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in ("a", "b")]
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


@cache
def _bundles() -> Mapping[str, bytes]:
    """By name: a bundle of each form that is read."""
    return {
        "a.partstream.zip": write_bundle(FULL),
        "a.har": (_BUNDLES / "chromium.har").read_bytes(),
        "b.har": write_har(FULL),
        "a.mitm": (_BUNDLES / "flows.mitm").read_bytes(),
    }


@cache
def _recordings() -> Mapping[str, bytes]:
    """By name: recordings that grow, of requests of a few bytes and of a large one."""
    return {"a.partstream.part": _partial(), "b.partstream.part": _partial(b"a" * 70_000)}


@cache
def _files() -> Mapping[str, bytes]:
    """By name: a stream of each form that is read."""
    return {
        "a.sse": _stream(),
        "a.sse.gz": gzip.compress(_stream(), mtime=0),
        "a.jsonl": b'{"type":"text-delta","id":"0","text":"Hi"}\n' * 3,
    }


def _make_file(files: Callable[[], Mapping[str, bytes]], chance: random.Random) -> tuple[str, bytes]:
    name = chance.choice([*files()])
    data = files()[name]
    if name.endswith(".har") and chance.random() < 0.8:
        return name, damaged_json(chance, json.loads(data))
    if name.endswith(".zip") and chance.random() < 0.7:
        return name, _damaged_bundle(chance, data)
    if chance.random() < 0.2:
        return name, _wrapped(chance, damaged_bytes(chance, data))
    return name, damaged_bytes(chance, data)


def _damaged_bundle(chance: random.Random, data: bytes) -> bytes:
    """A bundle with another document in it, of which the manifest knows: digests alone keep no attacker out."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    name = chance.choice([*entries])
    entries[name] = (
        damaged_json(chance, json.loads(entries[name]))
        if name.endswith(".json")
        else damaged_bytes(chance, entries[name])
    )
    if name != "manifest.json":
        manifest = json.loads(entries["manifest.json"])
        manifest["files"][name] = sha256(entries[name]).hexdigest()
        entries["manifest.json"] = json.dumps(manifest).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for one, content in entries.items():
            archive.writestr(one, content)
    return packed.getvalue()


def _wrapped(chance: random.Random, data: bytes) -> bytes:
    """A file in another one."""
    body = chance.choice((data, gzip.compress(data), gzip.compress(bytes(chance.choice((1000, 90_000_000))))))
    entry = json.loads((_BUNDLES / "chromium.har").read_bytes())
    content = {"mimeType": "text/event-stream", "encoding": "base64", "text": base64.b64encode(body).decode()}
    for one in entry["log"]["entries"]:
        one["response"]["content"] = content
    return chance.choice((json.dumps(entry).encode(), gzip.compress(data), body))


def _take_file(kind: str, data: bytes) -> None:
    bundle = read_any(data, kind)
    for level in (RedactionLevel.STRUCTURE, RedactionLevel.KEYS):
        redacted, _ = redact(bundle, level)
        write_bundle(redacted)
    view_of([ViewedFile(kind, "bundle", bundle)])
    for name in ("a.har", "a.partstream.zip"):
        write_as(bundle, name)


# ---- Settings ----

_JSON, _TOML, _LIST, _NAMES = JsonFile(), TomlFile(), YamlList(), YamlNames()
_SETTINGS: Mapping[str, bytes] = {
    "opencode.json": b'{\n  // mine\n  "provider": {"a": {"options": {"x": [1, "b"]}}},\n  "model": "a/m",\n}\n',
    "config.toml": b'# mine\nmodel = "m"\n[p.q]\na = "b"\nc = { d = ["e"] }\n[[t]]\nx = 1979-05-27T07:32:00Z\n',
    "models.yml": b"# mine\n- model_id: x\n  api_base: y\n- model_id: 'p/m'\n  old: 1\n",
    "aider.yml": b"# mine\nmodel: openai/m\na: [b, c]\nd: |\n  e\n",
    "partstream.toml": (
        b'baseUrl = "http://127.0.0.1:1/v1"\nprotocol = "openresponses"\nmodels = ["a"]\n'
        b'[extraHeaders]\nx = "y"\n[profiles.work]\nbaseUrl = "http://127.0.0.1:2/v1"\nidleSeconds = 3.5\n'
    ),
    "hub.toml": (
        b'[models.m]\nupstreams = ["work/gpt=3"]\nprice = {input = 0.25, output = 2.0}\n'
        b'[teams.lab]\nbudgets = ["2M tokens/week", "100 USD/month"]\ntime_zone = "Europe/Berlin"\n'
        b'[people.ana]\nteam = "lab"\nmodels = ["m*"]\nrequests_per_minute = 60\n'
    ),
}
_TOML_VALUES = (
    b"[" * 300 + b"]" * 300, b"[" * 20_000, b"9" * 5000, b"1e999999999", b"nan", b"-inf", b'"""\n\n', b"''",
    b"1979-99-99", b'"\\ud800"', b"0x" + b"f" * 4000, b"[1,", b'"' + b"a" * 100_000 + b'"', b"true", b"{}", b"[[]]",
)  # fmt: skip


def _make_settings(chance: random.Random) -> tuple[str, bytes]:
    name = chance.choice([*_SETTINGS])
    data = _SETTINGS[name]
    if name.endswith(".json") and chance.random() < 0.5:
        return name, damaged_json(chance, {"provider": {"a": {"options": {"x": [1, "b"]}}}, "model": "a/m"})
    if chance.random() < 0.6:
        lines = data.split(b"\n")
        place = chance.randrange(len(lines))
        head, separator, _ = lines[place].partition(chance.choice((b"= ", b": ", b"[")))
        lines[place] = head + separator + chance.choice(_TOML_VALUES)
        if chance.random() < 0.3:
            lines.insert(place, chance.choice(lines))
        return name, b"\n".join(lines)
    return name, damaged_bytes(chance, data)


def _take_settings(kind: str, data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / kind
        path.write_bytes(data)
        if kind == "partstream.toml":
            load_configuration(environment={"PARTSTREAM_CONFIG": str(path)})
            return
    text = data.decode(errors="replace")
    if kind == "hub.toml":
        read_hub_file(text)
        return
    form, key, value = _FORMS[kind]
    form.with_value(text, key, value)
    form.without(text, key)


_FORMS: Mapping[str, tuple[Any, Sequence[str], Any]] = {
    "opencode.json": (_JSON, ("provider", "a", "options", "y"), {"x": 1}),
    "config.toml": (_TOML, ("p", "q"), {"x": 1}),
    "models.yml": (_LIST, ("model_id", "p/m"), {"model_id": "p/m"}),
    "aider.yml": (_NAMES, ("model",), "openai/m"),
}
_UNUSABLE = (UnusableTextError, ConfigurationError, UnusableHubFileError)

TARGETS: dict[str, Target] = {
    one.name: one
    for one in (
        Target("bodies", _make_body, _take_body),
        Target("sockets", _make_message, _take_message),
        Target("files", partial(_make_file, _files), _take_file, (BundleError,)),
        Target("bundles", partial(_make_file, _bundles), _take_file, (BundleError,)),
        Target("recordings", partial(_make_file, _recordings), _take_file, (BundleError,)),
        Target(
            "settings", _make_settings, _take_settings, (UnusableTextError, ConfigurationError, UnusableHubFileError)
        ),
    )
}
"""By name, in the order in which the command goes round."""
