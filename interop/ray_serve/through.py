"""A plugin of pytest: the tests of a server of OpenResponses ask one that runs, in place of an application of theirs.

The server runs `interop/ray_serve/near.py`; what a test's own provider would report is put where that one reads it.
"""

from __future__ import annotations
import asyncio
import os
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx2
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from interop.ray_serve.near import SCRIPT_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["KEY_VARIABLE", "URL_VARIABLE", "Reached"]

URL_VARIABLE: Final = "RAY_SERVE_URL"
KEY_VARIABLE: Final = "RAY_SERVE_KEY"
_SECONDS: Final = 30


class Reached:
    """An application of ASGI that passes each connection on to the server that runs.

    Args:
        provider: The provider of the test; None, or one without outputs of its own, for the built-in model.
    """

    def __init__(self, provider: Any) -> None:
        outputs = getattr(provider, "outputs", None)
        self._script = None if outputs is None else pickle.dumps(outputs)

    async def __call__(self, scope: Any, receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
        """Passes one connection on."""
        script = Path(os.environ[SCRIPT_VARIABLE])
        if self._script is None:
            script.unlink(missing_ok=True)
        else:
            script.write_bytes(self._script)
        headers = [(name.decode(), value.decode()) for name, value in scope["headers"]]
        headers.append(("authorization", f"Bearer {os.environ[KEY_VARIABLE]}"))
        url = os.environ[URL_VARIABLE] + scope["path"]
        if scope["type"] == "http":
            await _ask(scope["method"], url, headers, receive, send)
        else:
            await _speak(url, headers, receive, send)


async def _ask(method: str, url: str, headers: Any, receive: Any, send: Any) -> None:
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    async with (
        httpx2.AsyncClient(trust_env=False, timeout=_SECONDS) as client,
        client.stream(method, url, content=body, headers=headers) as reply,
    ):
        await send({"type": "http.response.start", "status": reply.status_code, "headers": reply.headers.raw})
        async for piece in reply.aiter_raw():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _speak(url: str, headers: Any, receive: Any, send: Any) -> None:
    await receive()
    address = url.replace("http", "ws", 1)
    async with connect(address, additional_headers=headers, proxy=None, max_size=None, open_timeout=_SECONDS) as socket:
        await send({"type": "websocket.accept"})

        async def listen() -> None:
            try:
                async for text in socket:
                    await send({"type": "websocket.send", "text": text})
            except ConnectionClosed:
                await send({"type": "websocket.close", "code": socket.close_code})

        listening = asyncio.create_task(listen())
        while (message := await receive())["type"] == "websocket.receive":
            await socket.send(message["text"])
        listening.cancel()


@pytest.fixture(autouse=True)
def _through_the_server(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(request.module, "app", Reached)
