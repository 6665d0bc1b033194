"""Reads a response of the gateway: the stream of a provider, or a document for a client that wants no stream.

The gateway passes on the messages of its providers and has no codes of its own for them, so a refusal of reasoning is
found by words. Source: `create-gateway-error.ts` of `@ai-sdk/gateway` 4.0.146, which knows the types of errors below,
and the result of `doGenerate` in `LanguageModelV2` to `V4`.
"""

from __future__ import annotations
from typing import Final

from partstream.conversation.provider_state import Carried
from partstream.errors import UpstreamError, UpstreamHTTPError
from partstream.protocols.ai_sdk.errors import Chunk, identifier, mapping, sequence
from partstream.protocols.ai_sdk.provider_state import PROVIDER
from partstream.protocols.ai_sdk.read_response import ProviderStreamReader
from partstream.protocols.errors import Errors
from partstream.protocols.options import Correction, leave_out, refused_fields
from partstream.protocols.schemas import smallest_schemas

# ---- Errors ----

_REQUEST_IS_WRONG: Final = frozenset({400, 404, 422})

_WORDS: Final = (
    "signature",
    "encrypted content",
    "encrypted_content",
    "blocks in the latest assistant message cannot be",
)
"""The words of refusals of reasoning. Google: "Corrupted thought signature.";
OpenAI: "The encrypted content for item rs_1 could not be verified."; Anthropic: "Invalid `signature` in `thinking`
block", "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified"."""
_MISSING: Final = "missing"


def refuses_reasoning(error: UpstreamError) -> bool:
    """Whether a provider does not take its reasoning back: another account's, a model that was replaced."""
    if isinstance(error, UpstreamHTTPError) and error.http_status not in _REQUEST_IS_WRONG:
        return False
    attempts = error.attempts if isinstance(error, UpstreamHTTPError) else ()
    said = " ".join((error.message, *attempts)).lower()
    if _MISSING in said:  # a signature that was not sent: without the rest there would be even less
        return False
    return any(word in said for word in _WORDS)


_CORRECTIONS: Final = (Correction(*smallest_schemas("tools[].inputSchema")),)

LEAVE_OUT: Final = leave_out((), _CORRECTIONS)
"""For :attr:`partstream.protocols.protocol.RequestWriter.leave_out`."""

ERRORS: Final = Errors(
    refused=lambda error: Carried.REASONING if refuses_reasoning(error) else Carried.NOTHING,
    refused_fields=refused_fields((), _CORRECTIONS),
)


# ---- A document in place of a stream ----

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
