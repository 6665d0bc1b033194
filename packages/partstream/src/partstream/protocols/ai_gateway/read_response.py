"""Reads a response of the gateway: the stream of a provider, or a document for a client that wants no stream.

Source: the result of `doGenerate` in `LanguageModelV2` to `V4`.
"""

from __future__ import annotations
from typing import Final

from partstream.protocols.ai_sdk.errors import Chunk, identifier, mapping, sequence
from partstream.protocols.ai_sdk.provider_state import PROVIDER
from partstream.protocols.ai_sdk.read_response import ProviderStreamReader

_BLOCKS: Final = ("text", "reasoning")


class GatewayReader(ProviderStreamReader):
    """One response of the gateway."""

    has_documents = True

    @classmethod
    def events_of(cls, document: Chunk) -> list[Chunk]:
        """The chunks of a document.

        What is neither an answer nor an error comes out as it is, for the adapter to refuse.
        """
        if identifier(document, ("type",)) is not None or not isinstance(document.get("content"), list):
            failed: list[Chunk] = [{"type": "error", "error": document}, {"type": "finish", "finishReason": "error"}]
            return failed if document.get("error") and "type" not in document else [document]
        chunks: list[Chunk] = [{"type": "stream-start", "warnings": sequence(document, ("warnings",))}]
        for place, part in enumerate(sequence(document, ("content",))):
            if not isinstance(part, dict):
                part = {"type": "content", "value": part}  # noqa: PLW2901 - counted as what it is
            chunks += _block(part, str(place)) if part.get("type") in _BLOCKS else [part]
        chunks.append({**mapping(document, ("response",)), "type": "response-metadata"})
        end = {name: document[name] for name in ("finishReason", "usage", "providerMetadata") if name in document}
        return [*chunks, {"type": "finish", **end}]


def _block(part: Chunk, block_id: str) -> list[Chunk]:
    kind = part["type"]
    said = dict(mapping(part, ("providerMetadata",)))
    own = mapping(said, (PROVIDER,))
    thought_id = identifier(own, ("id",))
    if thought_id is not None:
        said[PROVIDER] = {name: value for name, value in own.items() if name != "id"}
    metadata = {name: value for name, value in said.items() if value}
    beside = {"providerMetadata": metadata} if metadata else {}
    name = thought_id or block_id
    return [
        {"type": f"{kind}-start", "id": name, **beside},
        {"type": f"{kind}-delta", "id": name, "delta": part.get("text")},
        {"type": f"{kind}-end", "id": name, **{one: part[one] for one in ("citations",) if one in part}},
    ]
