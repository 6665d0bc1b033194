"""A key that an upstream repeats, in any form and in any place that it has, is found nowhere afterwards."""

import asyncio
import json
import traceback
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import pytest

import partstream
from partstream import CancellationTokenSource, Finish, LanguageModelError
from partstream.codec.redaction import Redactor
from partstream.errors import UpstreamError
from partstream.tokens.ledger import open_ledger
from partstream.upstream.configuration import RetryPolicy
from partstream.upstream.discovery import ModelList
from partstream.upstream.endpoint import FixedKey, Secret
from partstream.upstream.http import UpstreamHTTP
from partstream.upstream.http_errors import redacted_error
from partstream.upstream.provider import GatewayProvider
from secret_forms import FORMS, finds
from upstreams.upstreams import Answer, ask, configuration, gateway_to, respond, run

KEY = "sk-PLAN/TED+key&<0123>/456789abcdef=="
PACKAGE = str(Path(partstream.__file__).parent)

_HEAD = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
_EMPTY = "content-length: 0\r\nconnection: close\r\n\r\n"


def _events(*events: object) -> str:
    return _HEAD + "".join(f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n" for event in events)


def _event(kind: str, rest: str) -> str:
    return f'{{"type":"{kind}",{rest}}}'


_DELTA = _event("response.output_text.delta", '"output_index":0,"content_index":0,"delta":"Hello"')


def _document(status: int, body: str, kind: str = "application/json") -> str:
    head = f"HTTP/1.1 {status} No\r\ncontent-type: {kind}\r\ncontent-length: {len(body.encode())}\r\nconnection: close"
    return f"{head}\r\n\r\n{body}"


PLACES: dict[str, Callable[[str], str]] = {
    "the message of an error": lambda key: _document(401, f'{{"error":{{"message":"bad key {key}"}}}}'),
    "the code of an error": lambda key: _document(400, f'{{"error":{{"message":"no","code":"{key}"}}}}'),
    "another field of an error": lambda key: _document(500, f'{{"error":{{"message":"no"}},"generationId":"{key}"}}'),
    "the blamed field of an error": lambda key: _document(
        400, f'{{"error":{{"message":"no","param":"{key}","type":"{key}"}}}}'
    ),
    "the error of a provider behind a gateway": lambda key: _document(
        502,
        json.dumps({"error": {"message": "no", "code": 502, "metadata": {"raw": f"bad {key}", "provider_name": key}}}),
    ),
    "the refusal of a field": lambda key: _document(
        400, f'{{"error":{{"message":"Unknown parameter: \'tool_choice\' {key}","param":"tool_choice"}}}}'
    ),
    "a text": lambda key: _document(403, f"no {key}", "text/plain"),
    "a page": lambda key: _document(200, f"<html>{key}</html>", "text/html"),
    "a document that is no answer": lambda key: _document(200, f'["{key}"]'),
    "the list of models": lambda key: _document(200, f'{{"data":[{{"id":"m","name":"{key}","description":"{key}"}}]}}'),
    "a failure in the stream": lambda key: _events(
        _DELTA, _event("error", f'"error":{{"code":"{key}","message":"no {key}"}}')
    ),
    "a failed response": lambda key: _events(
        _DELTA, _event("response.failed", f'"response":{{"error":{{"code":"{key}","message":"{key}"}}}}')
    ),
    "data that is no JSON": lambda key: _events(_DELTA, f"invalid key {key}"),
    "data that is no JSON and is cut off": lambda key: _events(_DELTA, f"{'-' * 50} {key}"),
    "a field of the wrong type": lambda key: _events(
        _DELTA, _event("response.output_text.delta", f'"delta":{{"{key}":"{key}"}}')
    ),
    "the arguments of a call": lambda key: _events(
        _event(
            "response.output_item.done",
            f'"output_index":0,"item":{{"type":"function_call","call_id":"c","name":"f","arguments":"bad {key}"}}',
        ),
        _event("response.completed", '"response":{}'),
    ),
    "the name of a call": lambda key: _events(
        _event(
            "response.output_item.done",
            f'"output_index":0,"item":{{"type":"function_call","call_id":"c","name":"{key}","arguments":"-"}}',
        ),
        _event("response.completed", '"response":{}'),
    ),
    "why an answer was cut": lambda key: _events(
        _DELTA, _event("response.incomplete", f'"response":{{"incomplete_details":{{"reason":"{key}"}}}}')
    ),
    "the names of an answer": lambda key: _events(
        _DELTA, _event("response.completed", f'"response":{{"id":"{key}","model":"{key}","usage":{{"{key}":"{key}"}}}}')
    ),
    "the type of an event": lambda key: _events(
        _DELTA, _event(f"response.{key}", '"x":1'), _event("response.completed", '"response":{}')
    ),
    "an input that is too long": lambda key: _events(
        _event("error", f'"error":{{"code":"context_length_exceeded","message":"maximum context length is 9 {key}"}}')
    ),
    "the status line": lambda key: f"HTTP/1.1 401 {key}\r\n{_EMPTY}",
    "a status line that is none": lambda key: f"HTTP/9.9 {key} x\r\n\r\n",
    "a header that is none": lambda key: f"HTTP/1.1 200 OK\r\n{key}\r\n\r\n",
    "the size of a chunk": lambda key: (
        f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n{key}\r\n"
    ),
    "a header": lambda key: f"HTTP/1.1 429 No\r\nx-request-id: {key}\r\nretry-after: {key}\r\n{_EMPTY}",
    "where it points": lambda key: f"HTTP/1.1 307 Go\r\nlocation: http://127.0.0.1:9/{key}?{key}\r\n{_EMPTY}",
    "where to sign in": lambda key: f'HTTP/1.1 401 No\r\nwww-authenticate: Bearer error="{key}"\r\n{_EMPTY}',
    "the media type": lambda key: _document(200, "x", f"text/html; {key}"),
    "a body that is not compressed": lambda key: _HEAD.replace("\r\n\r\n", f"\r\ncontent-encoding: gzip\r\n\r\n{key}"),
}
"""By name: a whole answer of an upstream that repeats a key."""

CHAT_PLACES: dict[str, Callable[[str], str]] = {
    "an error beside choices": lambda key: _events(
        f'{{"choices":[],"error":{{"code":429,"message":"no {key}","param":"{key}","type":"{key}"}}}}', "[DONE]"
    ),
    "a field of an error that nothing reads": lambda key: _events(
        f'{{"error":{{"message":"no","code":"tool_use_failed","failed_generation":"{key}"}}}}'
    ),
    "a document instead of a stream": lambda key: _document(
        200, f'{{"base_resp":{{"status_code":1004,"status_msg":"{key}"}}}}'
    ),
}
"""The same in Chat Completions."""


@asynccontextmanager
async def _answering(answer: Callable[[], str]) -> AsyncIterator[str]:
    """A server that answers everything with whatever `answer` gives, good HTTP or not."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        size = int(head.partition("content-length: ")[2].partition("\r\n")[0] or 0)
        await reader.readexactly(size)
        writer.write(answer().encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


@dataclass
class _Told(Answer):
    """A progress that hears the end too."""

    finish_: Finish | None = field(default=None)

    def finish(self, finish: Finish) -> None:
        self.finish_ = finish


def _traces(error: BaseException | None) -> Iterator[str]:
    """An error and its causes with every variable of ours that a traceback can show, and all of its fields."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield repr(error) + str(error) + repr(vars(error))
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename.startswith(PACKAGE):
                yield repr(trace.tb_frame.f_locals)
            trace = trace.tb_next
        yield "".join(traceback.format_exception(error))
        error = error.__cause__ or error.__context__


async def _see(provider: GatewayProvider) -> AsyncIterator[str]:
    """Everything that a person may see of an answer and of a list of models."""
    answer = _Told()
    try:
        await respond(provider, "Hi", answer)
    except LanguageModelError as error:
        for text in _traces(error):
            yield text
    yield repr(answer.finish_)
    try:
        await provider.provide_language_model_chat_information(True, CancellationTokenSource().token)
    except LanguageModelError as error:
        for text in _traces(error):
            yield text


async def _ask_for_each_form(
    place: Callable[[str], str], forms: Iterable[str], folder: Path, **settings_of_place: str
) -> list[str]:
    said: list[str] = []
    current = [""]
    ledger = open_ledger(folder)
    async with _answering(lambda: current[0]) as url:
        changes = {
            "models": (),
            "retry": RetryPolicy(attempts=1),
            "cache_folder": folder / "cache",
            **settings_of_place,
        }
        settings = configuration(url, api_key=Secret(KEY), **changes)
        for name in forms:
            current[0] = place(FORMS[name](KEY))
            async with aclosing(GatewayProvider(settings, ledger=ledger)) as provider:
                said += [text async for text in _see(provider)]
    await asyncio.to_thread(ledger.close)
    return said


def _files(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.read_bytes().decode("latin-1")


FEW = ("plain", "JSON of PHP", "every letter for JSON", "a URL", "base64 behind one byte")
CASES = [(name, FEW) for name in PLACES] + [("the message of an error", tuple(FORMS))]


@pytest.mark.parametrize(("place", "forms"), CASES)
def test_it_is_in_no_error_no_log_no_end_no_trace_and_no_file(
    place: str, forms: Iterable[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    seen: list[str] = []

    async def test() -> None:
        seen.extend(await _ask_for_each_form(PLACES[place], forms, tmp_path))

    with caplog.at_level(1, "partstream"):
        run(test(), 50)
    ours = {record.getMessage() for record in caplog.records if record.name.startswith("partstream")}
    assert seen
    assert ours
    for text in {*seen, *ours, *_files(tmp_path)}:
        assert finds(KEY, text) == [], text


@pytest.mark.parametrize("place", CHAT_PLACES)
def test_it_is_in_nothing_that_is_read_of_chat_completions(
    place: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    seen: list[str] = []

    async def test() -> None:
        seen.extend(await _ask_for_each_form(CHAT_PLACES[place], FEW, tmp_path, protocol="chat-completions"))

    with caplog.at_level(1, "partstream"):
        run(test(), 50)
    assert any("fail" in text or "HTTP" in text for text in seen)
    for text in {*seen, *(record.getMessage() for record in caplog.records), *_files(tmp_path)}:
        assert finds(KEY, text) == [], text


class Renewing:
    """A key that is another one after it was refused."""

    async def get(self) -> Secret:
        return Secret(KEY)

    async def refresh(self, refused: Secret) -> Secret:
        return Secret("sk-another-0123456789")


def test_a_key_from_before_is_hidden_too(caplog: pytest.LogCaptureFixture):
    async def test() -> None:
        refused = _document(401, f'{{"error":{{"message":"no longer good: {KEY}"}}}}')
        async with _answering(lambda: refused) as url, gateway_to(url, credentials=Renewing()) as provider:
            answer = await ask(provider, "Hi")
            assert "no longer good: ***" in str(answer.error)
            assert finds(KEY, "".join(_traces(answer.error))) == []

    with caplog.at_level(1, "partstream"):
        run(test())
    assert "sending the request again with a new key" in caplog.text
    assert finds(KEY, caplog.text) == []


def test_the_password_of_a_proxy_of_the_environment_is_hidden(monkeypatch: pytest.MonkeyPatch):
    password = "planted/0123456789"  # noqa: S105 - it opens nothing
    encoded = b64encode(f"me:{password}".encode()).decode()
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)

    async def test() -> None:
        async with _answering(lambda: f"HTTP/1.1 407 Basic {encoded}\r\n{_EMPTY}") as proxy:
            address = proxy.removeprefix("http://").removesuffix("/v1")
            monkeypatch.setenv("HTTPS_PROXY", f"http://me:{quote(password, safe='')}@{address}")
            async with gateway_to("https://models.example/v1", retry=RetryPolicy(attempts=1)) as provider:
                answer = await ask(provider, "Hi")
            said = "".join(_traces(answer.error))
            assert "407" in said or "refuses" in said
            assert finds(password, said) == []
            assert encoded not in said

    run(test())


@pytest.mark.parametrize("key", ["sk-planted\n0123456789", "sk-plänted-0123456789", "sk-planted\x000123456789", ""])
def test_a_key_that_no_header_can_hold_is_not_shown(key: str):
    async def test() -> None:
        async with _answering(lambda: _document(200, "{}")) as url:
            given = {"credentials": FixedKey(Secret(key)), "retry": RetryPolicy(attempts=1)}
            async with gateway_to(url, **given) as provider:
                answer = await ask(provider, "Hi")
            assert answer.error is not None
            said = "".join(_traces(answer.error))
            assert "0123456789" not in said
            assert "planted" not in said

    run(test())


def test_notes_on_an_error_are_redacted():
    error = UpstreamError("no")
    error.add_note(f"the key was {KEY}")
    assert redacted_error(error, Redactor([KEY])).__notes__ == ["the key was ***"]


@pytest.mark.parametrize("form", FEW)
def test_a_list_of_models_is_stored_without_the_key_that_it_repeats(form: str, tmp_path: Path):
    async def test() -> None:
        answer = PLACES["the list of models"](FORMS[form](KEY))
        async with _answering(lambda: answer) as url:
            settings = configuration(url, api_key=Secret(KEY), models=(), cache_folder=tmp_path)
            async with (
                aclosing(UpstreamHTTP(settings)) as http,
                aclosing(ModelList(settings, http.fetch, lambda: None)) as models,
            ):
                [model] = await models.information()
                await models.settle()
                assert model.name == "***"

    run(test())
    [stored] = _files(tmp_path)
    assert "***" in stored
    assert finds(KEY, stored) == []
