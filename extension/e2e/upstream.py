# ruff: noqa: INP001 - one Python file among JavaScript, no package
"""Runs the replay upstream for the end-to-end checks and prints JSON lines: when it listens, and after each exchange.

A line holds the whole request body, so that a check can look at what VS Code sent. Beside it listen servers at which no
models are: what answers at a mistyped address.
"""

from __future__ import annotations
import asyncio
import json
import ssl
import subprocess
import sys
import tempfile
import time
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partstream.lm.outputs import Finish
from partstream.runtime.translation import frame_answer, read_answer
from partstream_devtools.testing.admission import BASE_PATHS, endpoint_at, scenario_events
from partstream_devtools.testing.upstream import ReplayUpstream

if TYPE_CHECKING:
    from partstream_devtools.testing.replaying import ServedExchange


def write(**fields: Any) -> None:
    """One line, at once: the reader of the file waits for it."""
    sys.stdout.write(json.dumps(fields, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def usage(exchange: ServedExchange) -> dict[str, Any] | None:
    """The token counts that the answer ended with; None where it was no scenario."""
    if exchange.choice is None or exchange.delivery.status != 200:
        return None
    name, _, value = exchange.choice.partition("=")
    request = exchange.request
    events = scenario_events(name, request.body, value, request.path, request.headers)
    protocol = endpoint_at(request.path).protocol
    *_, finish = read_answer(protocol, frame_answer(protocol, events))
    if not isinstance(finish, Finish) or finish.usage is None:
        return None
    used = finish.usage
    return {
        "input_tokens": used.input_tokens,
        "input_tokens_details": {"cached_tokens": used.cached_tokens},
        "output_tokens": used.output_tokens,
        "output_tokens_details": {"reasoning_tokens": used.reasoning_tokens},
        "total_tokens": used.total_tokens,
    }


def report(exchange: ServedExchange) -> None:
    """What came, and how the reply ended; `ended_at` in milliseconds since 1970."""
    write(
        type="exchange",
        path=exchange.request.path,
        headers=dict(exchange.request.headers),
        body=exchange.request.body,
        status=exchange.delivery.status,
        scenario=exchange.choice,
        faults=[str(fault) for fault in exchange.faults],
        events=exchange.delivery.events_sent,
        outcome=str(exchange.delivery.outcome),
        usage=usage(exchange),
        ended_at=time.time() * 1000,
    )


LOGIN = "<!doctype html><title>Sign in to Example Corp</title><form>Name <input> Password <input></form>"


def page(status: str, content_type: str, body: str) -> bytes:
    """One answer of HTTP, whole."""
    head = f"HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {len(body)}\r\nconnection: close"
    return f"{head}\r\n\r\n{body}".encode()


async def listen(answer: bytes, tls: ssl.SSLContext | None = None) -> asyncio.Server:
    """A server that says the same to whatever it is asked."""

    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()
        writer.close()

    return await asyncio.start_server(answered, "127.0.0.1", 0, ssl=tls)


def self_signed() -> ssl.SSLContext:
    """A certificate of no known authority, made anew for each run."""
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = Path(folder, "key.pem"), Path(folder, "certificate.pem")
        making = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        making += ["-keyout", str(key), "-out", str(certificate)]
        subprocess.run(making, check=True, capture_output=True, timeout=30)  # noqa: S603 - nothing of it comes from outside
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        return context


async def main() -> None:
    """Serves until it is ended: everything to everybody, what needs the key, and Chat Completions alone."""
    async with AsyncExitStack() as stack:
        makes = ReplayUpstream(), ReplayUpstream(token=sys.argv[1]), ReplayUpstream(protocols={"chat-completions"})
        upstream, keyed, chat = [await stack.enter_async_context(one) for one in makes]
        for one in (upstream, keyed, chat):
            one.on_did_finish_exchange(report)
        others = {
            "login": await listen(page("200 OK", "text/html", LOGIN)),
            "nothing": await listen(page("404 Not Found", "application/json", '{"detail": "Not Found"}')),
            "encrypted": await listen(page("404 Not Found", "text/plain", "nothing here"), self_signed()),
        }
        write(
            type="listening",
            base_url=upstream.base_url,
            base_urls={protocol: upstream.base_url_of(protocol) for protocol in BASE_PATHS},
            keyed_url=keyed.base_url,
            chat_url=chat.base_url_of("chat-completions"),
            ports={name: server.sockets[0].getsockname()[1] for name, server in others.items()},
        )
        await asyncio.Event().wait()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main())
