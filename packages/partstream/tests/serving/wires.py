"""Every wire that a server speaks, as a client of it asks and reads: by our own corners."""

from __future__ import annotations
import json
from dataclasses import dataclass
from typing import Any

from partstream import ChatMessage
from partstream.lm.messages import RequestOptions
from partstream.lm.outputs import Finish, InboundRequest, StreamOptions
from partstream.protocols.protocol import KeyKind, Protocol, loadable_protocols
from partstream.runtime.translation import read_answer, read_document, write_question

PLAIN = StreamOptions(call_id_prefix="")


@dataclass(frozen=True)
class Wire:
    """A protocol with the corners of a server."""

    protocol: Protocol

    @property
    def name(self) -> str:
        return self.protocol.name

    @property
    def base_path(self) -> str:
        return self.protocol.base_paths[0]

    def request(
        self, model: str, text: str = "Hi", *, stream: bool = True, options: RequestOptions | None = None
    ) -> tuple[str, dict[str, Any], dict[str, str], str]:
        """Path, body, headers and query of a request."""
        asked = InboundRequest(model, (ChatMessage.user(text),), options or RequestOptions())
        wire = write_question(self.protocol, asked)
        body, path, headers, query = (
            wire.body
            | {name: {**wire.body.get(name, {}), **value} for name, value in SHOWN.get(self.name, {}).items()},
            wire.path,
            dict(wire.headers),
            wire.query,
        )
        path, _, in_path = path.partition("?")
        if not stream:
            if "stream" in body:
                body["stream"] = False
            path = path.replace(":streamGenerateContent", ":generateContent")
            headers = {name: "false" if name.endswith("streaming") else value for name, value in headers.items()}
            headers["accept"] = "application/json"
            in_path = in_path.replace("alt=sse", "")
        return self.base_path + path, body, headers, query or in_path

    @property
    def key_kind(self) -> KeyKind:
        return KeyKind.API_KEY

    def asking(self, model: str, text: str = "Hi", **more: Any) -> tuple[tuple[str, Any], dict[str, Any]]:
        """A request as the arguments of :func:`serving.asgi.call`."""
        path, body, headers, query = self.request(model, text, **more)
        return (path, body), {"headers": headers, "query": query}

    def read(self, body: bytes, *, stream: bool = True) -> tuple[list[Any], Finish]:
        """The parts of an answer, and its end."""
        *parts, finish = (read_answer if stream else read_document)(self.protocol, body, PLAIN)
        assert isinstance(finish, Finish)
        return parts, finish

    def document(self, value: Any) -> bytes:
        return json.dumps(value).encode()


SHOWN: dict[str, dict[str, Any]] = {
    "anthropic-messages": {"thinking": {"type": "adaptive"}},
    "gemini": {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}},
}
"""What a request needs, so that its client gets the thinking that comes."""


WIRES = tuple(
    Wire(one)
    for one in loadable_protocols()[0].values()
    if None not in {one.write_request, one.read_request, one.write_response}
)
