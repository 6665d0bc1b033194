"""No command lets other people's text act on a terminal, whatever the text comes from."""

import asyncio
import json
import re
import unicodedata
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

import partstream.cli
from commands import Ended, call, end, run, start, terminal
from partstream_devtools.testing.faults import Send, Step, document, event_stream
from upstreams.upstreams import server_of

HOSTILE = "\x1b]52;c;cHduZWQ=\x07\x1b]0;PWNED\x07\x1b[2J\u202e\x9b31m\u2066\u200b\U000e0041\u2028[bold]"
NAME = HOSTILE.replace("/", "")
CONTROLS = {"Cc", "Cf", "Cs", "Zl", "Zp"}

DONE = {"type": "response.completed", "response": {"id": HOSTILE, "model": HOSTILE}}


def delta(text: str) -> dict[str, object]:
    return {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": text}


def call_of(name: str) -> dict[str, object]:
    item = {"type": "function_call", "call_id": f"c{name}", "name": f"n{name}", "arguments": json.dumps({"a": name})}
    return {"type": "response.output_item.done", "output_index": 0, "item": item}


RECORDINGS: dict[str, list[dict[str, object]]] = {
    "a text": [delta(f"hi {HOSTILE}"), DONE],
    "a reason": [delta("hi"), {"type": "response.incomplete", "response": {"incomplete_details": {"reason": HOSTILE}}}],
    "a type that is unknown": [{"type": HOSTILE}, {"type": f"{HOSTILE}2"}],
    "a type without a part": [delta("hi"), {"type": f"response.{HOSTILE}"}, DONE],
    "a call": [call_of(HOSTILE), DONE],
    "a call twice": [call_of(HOSTILE), call_of(HOSTILE), DONE],
    "a failure": [
        delta("hi"),
        {"type": "response.failed", "response": {"error": {"code": HOSTILE, "message": f"m{HOSTILE}"}}},
    ],
    "thinking": [
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0, "delta": HOSTILE},
        delta("x"),
        DONE,
    ],
    "a source": [
        delta("x"),
        {
            "type": "response.output_text.annotation.added",
            "output_index": 0,
            "content_index": 0,
            "annotation": {"type": "url_citation", "url": f"http://a/{HOSTILE}", "title": HOSTILE},
        },
        DONE,
    ],
    "a field of the wrong type": [delta("x"), {"type": "response.output_text.delta", "delta": {HOSTILE: 1}}],
    "a media type": [
        {"type": "file", "mediaType": f"image/{HOSTILE}", "base64": "aGk="},
        {"type": "text-delta", "id": "1", "text": "hi"},
        {"type": "finish", "finishReason": HOSTILE, "rawFinishReason": HOSTILE, "usage": {}},
    ],
    "half a character": [delta("\ud83d hi"), DONE],
}


def acting(text: str) -> str:
    """The characters of a text that act on a terminal or hide in it."""
    return "".join(one for one in text if unicodedata.category(one) in CONTROLS and one not in "\n\t")


def assert_harmless(ended: Ended) -> None:
    assert ended.output + ended.errors, "the command says nothing"
    assert acting(ended.output) == ""
    assert acting(ended.errors) == ""


def lines(events: list[dict[str, object]]) -> str:
    return "".join(f"{json.dumps(event)}\n" for event in events)


@pytest.mark.parametrize("events", RECORDINGS.values(), ids=RECORDINGS)
def test_of_a_recording(events: list[dict[str, object]], tmp_path: Path):
    async def test() -> None:
        file = tmp_path / f"{NAME}.jsonl"
        file.write_text(lines(events))
        for command, text in (("replay", ()), ("check", ()), ("inspect", ("--text",))):
            for options in (text, ("--json",)):
                assert_harmless(await call(command, str(file), *options))

    run(test())


def test_json_says_the_same_with_escapes():
    async def test() -> None:
        ended = await call("replay", "-", "--json", typed=lines([delta(HOSTILE), DONE]))
        assert acting(ended.output) == ""
        assert json.loads(ended.output.splitlines()[0])["value"] == HOSTILE

    run(test())


def test_of_arguments(tmp_path: Path):
    file = tmp_path / "good.jsonl"
    file.write_text(lines([call_of("f"), DONE]))
    arguments: list[tuple[str, ...]] = [
        (HOSTILE,),
        (f"--{HOSTILE}",),
        ("replay", str(tmp_path / NAME)),
        ("check", str(tmp_path / NAME)),
        ("check", str(file), "--tool", HOSTILE),
        ("check", str(file), "--protocol", HOSTILE),
        ("replay", str(file), "--protocol", HOSTILE),
        ("chat", "hi", "--model", HOSTILE, "--base-url", HOSTILE),
        ("chat", "hi", "--model", HOSTILE, "--base-url", "http://127.0.0.1:9/v1", "--header-env", HOSTILE),
        ("chat", "hi", "--model", HOSTILE, "--base-url", "http://127.0.0.1:9/v1", "--api-key-env", HOSTILE),
        ("models", "--base-url", f"http://127.0.0.1:9/{HOSTILE}"),
        ("upstream", "--scenario", HOSTILE),
        ("upstream", "--fault", HOSTILE),
        ("usage", "--model", HOSTILE),
    ]

    async def test() -> None:
        for words in arguments:
            assert_harmless(await call(*words, PARTSTREAM_DATA=str(tmp_path / "data")))

    run(test())


SETTINGS = {
    "PARTSTREAM_BASE_URL": f"http://127.0.0.1:9/{HOSTILE}",
    "PARTSTREAM_PROTOCOL": HOSTILE,
    "PARTSTREAM_HEADERS": json.dumps({HOSTILE: HOSTILE}),
    "PARTSTREAM_LOG_LEVEL": HOSTILE,
    "PARTSTREAM_CONFIG": f"/nowhere/{NAME}.toml",
    "PARTSTREAM_CALL_ID_PREFIX": HOSTILE,
}


@pytest.mark.parametrize("variable", SETTINGS)
def test_of_settings(variable: str):
    environment = {"PARTSTREAM_BASE_URL": "http://127.0.0.1:9/v1", variable: SETTINGS[variable]}

    async def test() -> None:
        for words in (("config", "show"), ("config", "show", "--json"), ("config", "path"), ("doctor",)):
            assert_harmless(await call(*words, **environment))

    run(test())


def streamed(events: list[dict[str, object]]) -> list[Step]:
    return list(event_stream(Send(f"data: {json.dumps(event)}\n\n".encode()) for event in events))


def listing() -> tuple[Step, ...]:
    models = [{"id": "m", "name": HOSTILE, "description": HOSTILE}, {"id": HOSTILE}, {"id": "\u202egpj.exe"}]
    return tuple(document(200, json.dumps({"data": models}).encode()))


REPLIES: dict[str, Callable[[], object]] = {
    **{f"{name} in a stream": lambda events=events: streamed(events) for name, events in RECORDINGS.items()},
    "a refusal": lambda: document(401, json.dumps({"error": {"message": HOSTILE, "code": HOSTILE}}).encode()),
    "a text": lambda: document(400, HOSTILE.encode(), "text/plain"),
    "a page": lambda: document(200, f"<html><title>{HOSTILE}</title></html>".encode(), "text/html"),
    "a list": listing,
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_of_a_server(reply: Callable[[], object], tmp_path: Path):
    async def test() -> None:
        async with server_of(reply()) as (url, _):
            settings = {"PARTSTREAM_LOG_LEVEL": "debug", "PARTSTREAM_DATA": str(tmp_path)}
            upstream = ("--base-url", url)
            assert_harmless(await call("chat", "hi", "--model", "m", *upstream, **settings))
            if reply in (REPLIES["a refusal"], REPLIES["a page"], REPLIES["a list"]):
                for words in (("models",), ("models", "--json"), ("doctor",), ("doctor", "--json")):
                    assert_harmless(await call(*words, *upstream, **settings))

    run(test())


async def used(folder: Path) -> None:
    """A ledger in a folder that holds the usage of a model with a hostile name."""
    async with server_of(streamed([delta("hi"), USED])) as (url, _):
        await call("chat", "hi", "--model", HOSTILE, "--base-url", url, PARTSTREAM_DATA=str(folder))


USED = {"type": "response.completed", "response": {"usage": {"input_tokens": 3, "output_tokens": 1}}}


def test_of_the_ledger(tmp_path: Path):
    async def test() -> None:
        await used(tmp_path)
        for options in ((), ("--json",)):
            ended = await call("usage", *options, PARTSTREAM_DATA=str(tmp_path))
            assert_harmless(ended)
            assert "cHduZWQ=\\u0007" in ended.output

    run(test())


@asynccontextmanager
async def upstream_process(*options: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    process = await start("upstream", *options)
    assert process.stdout is not None
    try:
        line = (await process.stdout.readline()).decode()
        yield process, line
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def test_of_clients_of_the_replay_upstream(tmp_path: Path):
    file = tmp_path / f"{NAME}.jsonl"
    file.write_text(lines([delta("hi"), DONE]))

    async def test() -> None:
        async with upstream_process("--json", "--replay", str(file)) as (process, line):
            port = int(re.search(r"127\.0\.0\.1:(\d+)", line)[1])
            body = json.dumps({"model": HOSTILE, "input": HOSTILE, "stream": True}).encode()
            for path in (b"/v1/responses", b"/%1b]0;PWNED"):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                head = b"POST %s HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
                writer.write(head % (path, len(body)) + body)
                await reader.read()
                writer.close()
            said = [(await process.stdout.readline()).decode() for _ in range(2)]
            assert acting(line + "".join(said)) == ""
            assert json.loads(said[0])["scenario"] == file.name

    run(test())


FORGED = "no\r\nfine    forged\nkept      forged\n::error::forged"


def begins_a_line(shown: str) -> bool:
    return any(line.strip().startswith(("fine    forged", "kept      forged", "::")) for line in shown.splitlines())


def test_what_a_recording_says_begins_no_line_of_a_report(tmp_path: Path):
    """Scripts, people and runners of workflows take such a line for one of ours."""
    failed = {"type": "response.failed", "response": {"error": {"code": FORGED, "message": FORGED}}}
    files = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    for file in files:
        file.write_text(lines([{"type": FORGED}, call_of(FORGED), failed]))

    async def test() -> None:
        for words in (
            ("check",),
            ("check", str(files[1])),
            ("inspect", "--text"),
            ("inspect", "--text", str(files[1])),
        ):
            ended = await call(*words, str(files[0]))
            assert "forged" in ended.output
            assert not begins_a_line(ended.output)
        assert "\n\nAnswers " in ended.output

    run(test())


def test_what_a_recording_names_begins_no_line_of_what_is_left_out_and_of_errors(tmp_path: Path):
    chunk = {"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]}
    stream = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n"
    answer = {"status": 200, "headers": [], "content": {"mimeType": "text/event-stream", "text": stream}}
    entries = [
        {
            "startedDateTime": "2026-01-01T00:00:00Z",
            "request": {"method": method, "url": f"http://h/v1/{path}", "headers": []},
            "response": answer,
        }
        for method, path in ((FORGED, "files"), ("POST", "chat/completions"))
    ]
    missing, file, many = (tmp_path / name for name in (FORGED, "one.har", f"{FORGED}.har"))
    file.write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}))
    many.write_text(json.dumps({"log": {"version": "1.2", "entries": [entries[1], entries[1]]}}))

    async def test() -> None:
        for command, path in (("check", file), ("check", missing), ("replay", missing), ("replay", many)):
            ended = await call(command, str(path))
            assert "forged" in ended.errors
            assert not begins_a_line(ended.errors)

    run(test())


@pytest.mark.parametrize("is_terminal", [False, True], ids=["a file", "a terminal"])
def test_what_a_server_says_begins_no_finding(is_terminal: bool, tmp_path: Path):
    async def test() -> None:
        said = FORGED.replace("::", f"fine    forged {'x' * 200}\n::")
        async with server_of(document(401, json.dumps({"error": {"message": said}}).encode())) as (url, _):
            words, settings = ("doctor", "--base-url", url), {"PARTSTREAM_DATA": str(tmp_path)}
            if is_terminal:
                async with terminal(*words, **settings) as screen:
                    await screen.ended()
                    shown = screen.plain
            else:
                shown = (await call(*words, **settings)).output
        assert "forged" in shown
        assert not begins_a_line(shown)

    run(test())


@pytest.mark.parametrize("words", ["models --base-url URL", "chat hi --model m --base-url URL", "add URL"])
def test_an_error_of_a_server_is_one_line(words: str, tmp_path: Path):
    async def test() -> None:
        async with server_of(document(400, json.dumps({"error": {"message": FORGED}}).encode())) as (url, _):
            ended = await call(*words.replace("URL", url).split(), PARTSTREAM_DATA=str(tmp_path))
        assert "forged" in ended.errors
        assert not begins_a_line(ended.errors)

    run(test())


def test_what_a_server_says_begins_no_line_of_the_recorder(tmp_path: Path):
    async def test() -> None:
        refusal = document(400, json.dumps({"error": {"message": FORGED}}).encode())
        async with server_of(refusal) as (url, _), httpx2.AsyncClient() as client:
            process = await start("record", "--to", url, "--port", "0", PARTSTREAM_DATA=str(tmp_path))
            try:
                async with asyncio.timeout(30):
                    await process.stdout.readline()
                    base_url = (await process.stdout.readline()).decode().split(" to ")[1].split(";")[0]
                    await process.stdout.readline()
                    await client.post(f"{base_url}/responses", json={"model": "m", "input": "hi"})
                    said = (await process.stdout.readline()).decode()
            finally:
                process.terminate()
                ended = await end(process, None)
        assert "forged" in said
        assert not begins_a_line(said + ended.output)

    run(test())


def test_of_nobody_in_the_demo():
    async def test() -> None:
        assert_harmless(await call("demo", "--fast"))

    run(test())


def test_in_a_terminal_only_the_commands_own_colours_are_left(tmp_path: Path):
    file = tmp_path / "call.jsonl"
    file.write_text(lines([delta(HOSTILE), call_of(HOSTILE), *RECORDINGS["a failure"]]))

    async def test() -> None:
        async with terminal("replay", str(file)) as shown:
            await shown.ended()
            await shown.until("failed")
        colours = re.findall(r"\x1b\[[0-9;]*m", shown.shown)
        assert colours
        assert not {"\x1b[31m", "\x1b[2J"} & {*re.findall(r"\x1b\[[0-9;]*[A-Za-ln-z]", shown.shown)}
        assert acting(re.sub(r"\x1b\[[0-9;]*m", "", shown.shown).replace("\r\n", "\n")) == ""
        assert "[bold]" in shown.plain

    run(test())


def test_an_error_that_nobody_expected_is_harmless_too(tmp_path: Path):
    async def test() -> None:
        # A folder where the configuration is a folder, under a hostile name: whatever becomes of it passes the gate.
        folder = tmp_path / NAME
        folder.mkdir()
        process = await start("config", "show", PARTSTREAM_CONFIG=str(folder))
        assert_harmless(await end(process))

    run(test())


BESIDE_THE_GATE = re.compile(
    r"\bConsole\(|\bsys\.__std|\bos\.write\(|\.secho\(|click\.style\(|\bprint_json\(|\bprint\("
)
"""What would write beside the gate, or styles text that then meets the gate with its styles."""


def test_no_command_writes_beside_the_gate():
    folder = Path(partstream.cli.__file__).parent
    offences = [
        f"{path.name}:{number}: {line.strip()}"
        for path in sorted(folder.glob("*.py"))
        if path.name != "console.py"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if BESIDE_THE_GATE.search(line.replace(".print(", ""))
    ]
    assert offences == []
