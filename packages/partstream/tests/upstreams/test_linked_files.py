"""Files of which a server gives only the address: fetched where a person wants that, within limits, and never from
inside of the network by the word of a model."""

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any

import pytest

from listening import deliver, listening
from partstream.lm.outputs import FileMode, StreamOptions
from partstream.lm.parts import DataPart, TextPart
from partstream.server.loopback import LoopbackRequest, ServerConnection
from partstream.upstream import transport
from partstream.upstream.configuration import Timeouts
from partstream.upstream.endpoint import Secret
from partstream.upstream.transport import is_public
from partstream_devtools.testing.faults import End, Head, Send, Stall, Step, document
from rows import one_test_for
from upstreams.upstreams import ask, configuration, gateway_to, run

PNG = b"\x89PNG\r\n\x1a\n0"
KEY = "planted-key-1234567890"


@asynccontextmanager
async def served(routes: dict[str, Iterable[Step]]) -> AsyncIterator[tuple[str, list[LoopbackRequest]]]:
    """A real server with a reply for each path; yields its URL and the requests that came."""
    requests: list[LoopbackRequest] = []

    async def serve(connection: ServerConnection) -> None:
        while (request := await connection.next_request()) is not None:
            requests.append(request)
            reply = routes.get(request.path, document(404, b"{}"))
            await deliver(connection, request, reply)

    async with listening(serve) as url:
        yield url, requests


def _redirect(location: str) -> tuple[Step, ...]:
    return document(302, b"moved", "text/plain", [("location", location)])


async def _fetched(address: str, base_url: str, **limits: Any) -> Any:
    """What becomes of the address of a file in an answer of an upstream."""
    own = configuration(f"{base_url}/v1", allow_insecure_http=True)
    with pytest.MonkeyPatch.context() as limited:
        for name, value in limits.items():
            limited.setattr(transport, name, value)
        return await transport.fetched_file(own, DataPart.text(address, "text/uri-list"))


def _answer(address: str) -> bytes:
    chunks: list[dict[str, Any]] = [
        {"type": "text-start", "id": "t"},
        {"type": "text-delta", "id": "t", "delta": "See:"},
        {"type": "text-end", "id": "t"},
        {"type": "file", "mediaType": "image/png", "data": {"type": "url", "url": address}},
        {"type": "text-start", "id": "u"},
        {"type": "text-delta", "id": "u", "delta": "That is it."},
        {"type": "text-end", "id": "u"},
        {"type": "finish", "finishReason": "stop"},
    ]
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)


@pytest.mark.parametrize(
    ("mode", "parts"),
    [
        (FileMode.LINK, [TextPart("See:"), TextPart("\n\n[a.png](URL/a.png)\n\n"), TextPart("That is it.")]),
        (FileMode.ADDRESS, [TextPart("See:"), DataPart(b"URL/a.png", "text/uri-list"), TextPart("That is it.")]),
        (FileMode.FETCH, [TextPart("See:"), DataPart(PNG, "image/png"), TextPart("That is it.")]),
    ],
)
def test_a_file_is_in_its_place_as_a_person_wants_it_and_gets_no_key(mode: FileMode, parts: list[Any]) -> None:
    async def test() -> None:
        routes: dict[str, Iterable[Step]] = {"/a.png": document(200, PNG, "image/png")}
        async with served(routes) as (url, requests):
            routes["/v4/ai/language-model"] = document(200, _answer(f"{url}/a.png"), "text/event-stream")
            settings = {"protocol": "ai-gateway", "stream": StreamOptions(files=mode), "api_key": Secret(KEY)}
            async with gateway_to(f"{url}/v4/ai", headers={"x-own": KEY}, **settings) as provider:
                answer = await ask(provider, "Hi")
            assert answer.error is None
            shown = [part for part in answer.parts if not isinstance(part, DataPart) or "/" in part.mime_type]
            assert repr(shown).replace(url, "URL") == repr(parts)
            asked, *fetched = requests
            assert KEY in str(asked.headers)
            assert [request.path for request in fetched] == (["/a.png"] if mode is FileMode.FETCH else [])
            assert all(KEY not in str(request.headers) for request in fetched)

    run(test())


REPLIES: dict[str, tuple[Iterable[Step], dict[str, Any]]] = {
    "too large": (document(200, PNG * 20, "image/png"), {"MOST_FILE_BYTES": 100}),
    "too slow": ((Head(200, (("content-type", "image/png"),)), Send(PNG), Stall()), {"MOST_FILE_SECONDS": 0.1}),
    "a web page": (document(200, b"<html>", "text/html; charset=utf-8"), {}),
    "not there": (document(404, b"no", "text/plain"), {}),
    "compressed": (document(200, b"x", "image/png", [("content-encoding", "gzip")]), {}),
    "redirected to itself": (_redirect("/a.png"), {}),
    "redirected to a file of this machine": (_redirect("file:///etc/passwd"), {}),
    "redirected to another server of this machine": (_redirect("http://127.0.0.1:1/a.png"), {}),
    "redirected to nowhere": (_redirect("http://[broken"), {}),
}


@pytest.mark.parametrize(("reply", "limits"), REPLIES.values(), ids=REPLIES)
def test_what_cannot_be_had_within_the_limits_is_a_link(reply: Iterable[Step], limits: dict[str, Any]) -> None:
    async def test() -> None:
        async with served({"/a.png": reply}) as (url, _):
            assert await _fetched(f"{url}/a.png", url, **limits) == TextPart(f"\n\n[a.png]({url}/a.png)\n\n")

    run(test())


def test_a_redirect_within_the_server_is_followed_and_the_first_bytes_say_the_type() -> None:
    async def test() -> None:
        routes = {"/a": _redirect("/b/c.png"), "/b/c.png": document(200, PNG, "text/plain")}
        async with served(routes) as (url, _):
            assert await _fetched(f"{url}/a", url) == DataPart(PNG, "image/png")

    run(test())


INSIDE = ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "0"]


@pytest.mark.parametrize("host", INSIDE)
def test_an_address_inside_of_this_machine_is_never_asked_by_whatever_name(host: str) -> None:
    async def test() -> None:
        async with served({"/a.png": document(200, PNG, "image/png")}) as (url, requests):
            address = f"http://{host}:{url.rpartition(':')[2]}/a.png"
            assert isinstance(await _fetched(address, "https://models.example"), TextPart)
            assert requests == []

    run(test())


@pytest.mark.parametrize("address", ["http://user@URL/a.png", "http://user:pass@URL/a.png"])
def test_an_address_with_a_user_is_never_asked(address: str) -> None:
    async def test() -> None:
        async with served({"/a.png": document(200, PNG, "image/png")}) as (url, requests):
            said = address.replace("URL", url.removeprefix("http://"))
            assert isinstance(await _fetched(said, url), TextPart)
            assert requests == []

    run(test())


@one_test_for(
    ("address", "public"),
    [
        ("93.184.215.14", True),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True),
        ("::ffff:93.184.215.14", True),
        ("10.0.0.1", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("127.0.0.1", False),
        ("0.0.0.0", False),  # noqa: S104 - refused
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::", False),
        ("::1", False),
        ("fe80::1", False),
        ("fd00::1", False),
        ("ff02::1", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
        ("::7f00:1", False),
        ("::ffff:0:7f00:1", False),
        ("fec0::1", False),
        ("64:ff9b:1::7f00:1", False),
        ("2001:0:808:808::1", False),
        ("5f00::1", False),
        ("3fff::1", False),
        ("100:0:0:1::1", False),
        ("4000::1", False),
        ("192.88.99.1", False),
        ("168.63.129.16", False),
        ("2400:cb00::5efe:7f00:1", False),
        ("2400:cb00::200:5efe:7f00:1", False),
    ],
)
def test_only_addresses_of_the_public_internet_are_public(address: str, public: bool) -> None:
    assert is_public(ip_address(address)) is public


def test_the_log_names_the_host_and_the_reason_and_not_what_opens_the_file(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with served({}) as (url, _):
            with caplog.at_level("INFO", "partstream.upstreams"):
                await _fetched(f"{url}/secret-path?signature=secret-word", url)
            assert f"{url.removeprefix('http://')}: HTTP 404" in caplog.text
            assert "secret" not in caplog.text

    run(test())


def test_fetching_for_longer_than_the_upstream_may_be_silent_does_not_end_the_answer() -> None:
    async def test() -> None:
        slow = (Head(200, (("content-type", "image/png"),)), Stall(0.7), Send(PNG), End())
        routes: dict[str, Iterable[Step]] = {"/a.png": slow}
        async with served(routes) as (url, _):
            *events, finish = _answer(f"{url}/a.png").split(b"\n\n")[:-1]
            head = Head(200, (("content-type", "text/event-stream"),))
            pieces = (b"\n\n".join(events) + b"\n\n", finish + b"\n\n")
            # The pause only keeps the two pieces from being read as one.
            routes["/v4/ai/language-model"] = (head, Send(pieces[0]), Stall(0.05), Send(pieces[1]), End())
            limits = Timeouts(connect=20.0, first_event=20.0, idle=0.5, total=25.0)
            settings = {"protocol": "ai-gateway", "stream": StreamOptions(files=FileMode.FETCH), "timeouts": limits}
            async with gateway_to(f"{url}/v4/ai", **settings) as provider:
                answer = await ask(provider, "Hi")
            assert answer.error is None
            assert DataPart(PNG, "image/png") in answer.parts
            assert answer.text == "See:That is it."

    run(test())
