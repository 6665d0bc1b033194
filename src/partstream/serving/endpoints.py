"""The paths where models answer, each with its protocol; knows no socket and no name of a protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from partstream.protocols.protocol import KeyKind
from partstream.protocols.serve import WireRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from partstream.protocols.protocol import Protocol, RequestWriterSpec
    from partstream.protocols.serve import RequestReaderSpec, ResponseWriterSpec

__all__ = ["Endpoint", "endpoints_of"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A path that speaks a protocol.

    Attributes:
        protocol: The protocol.
        base_path: The path of a client's base URL.
        pattern: The path below that, with `{model}` where it names the model.
        asks: The corner that writes requests; it has the header for the key.
        reads: The corner that reads requests.
        writes: The corner that writes responses.
    """

    protocol: Protocol
    base_path: str
    pattern: str
    asks: RequestWriterSpec
    reads: RequestReaderSpec
    writes: ResponseWriterSpec

    @property
    def path(self) -> str:
        """The pattern of the whole path."""
        return self.base_path + self.pattern

    def key_headers(self, key: str, kind: KeyKind = KeyKind.API_KEY) -> dict[str, str]:
        """The headers that carry a key of a kind in this protocol."""
        headers = self.asks.authorize(key, kind)
        return {name: value for name, value in headers.items() if key in value}

    def request(
        self,
        path: str,
        body: Mapping[str, Any],
        headers: Mapping[str, str],
        query: str = "",
        method: str = "POST",
    ) -> WireRequest:
        """A request at the whole path `path` as the corners of this protocol get it."""
        return WireRequest(path.removeprefix(self.base_path), body, headers, query, method, self.base_path)


def endpoints_of(protocols: Iterable[Protocol]) -> dict[str, Endpoint]:
    """The endpoints by path, of the protocols that read requests and write responses.

    If two protocols have the same path, the first one gets it.
    """
    endpoints: dict[str, Endpoint] = {}
    for protocol in protocols:
        asks, reads, writes = protocol.write_request, protocol.read_request, protocol.write_response
        if asks is not None and reads is not None and writes is not None:
            for base_path in writes().base_paths:
                for pattern in reads().paths or (asks().path,):
                    endpoint = Endpoint(protocol, base_path, pattern, asks(), reads(), writes())
                    endpoints.setdefault(endpoint.path, endpoint)
    return endpoints
