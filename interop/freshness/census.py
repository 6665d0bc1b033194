"""The types of each wire as its official package has them: what the census of tests/census walks.

A row is a wire, its package and the types at which it begins. `make interop TRY=freshness` reads them from the newest
package and compares them with the file of the wire in `interop/freshness/fields`, so that no field is new there without
a fate in tests/census.
"""

from __future__ import annotations
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["CENSUS", "FIELDS", "CensusWire", "field_changes", "kept", "read_kept"]

FIELDS: Final = Path(__file__).resolve().parent / "fields"
"""Where the files are, one for each wire."""


@dataclass(frozen=True, slots=True)
class CensusWire:
    """A wire, and the types of a package that say what it is.

    Attributes:
        name: The name of the protocol.
        package: The package of PyPI.
        roots: The types at which it begins, each as `module:Name`.
        not_sent: Fields of these types that are not in a body, each with the reason: `Type.field`.
    """

    name: str
    package: str
    roots: Mapping[str, str]
    not_sent: Mapping[str, str] = field(default_factory=dict)


_HEADER: Final = "a header"
_PYTHON: Final = "of the package itself, which sends nothing for it"

CENSUS: Final = (
    CensusWire(
        "openresponses",
        "openai",
        {
            "request": "openai.types.responses.response_create_params:ResponseCreateParamsNonStreaming",
            "answer": "openai.types.responses:Response",
            "event": "openai.types.responses:ResponseStreamEvent",
        },
    ),
    CensusWire(
        "chat-completions",
        "openai",
        {
            "request": "openai.types.chat.completion_create_params:CompletionCreateParamsNonStreaming",
            "answer": "openai.types.chat:ChatCompletion",
            "event": "openai.types.chat:ChatCompletionChunk",
        },
    ),
    CensusWire(
        "anthropic-messages",
        "anthropic",
        {
            "request": "anthropic.types.beta.message_create_params:MessageCreateParamsNonStreaming",
            "answer": "anthropic.types.beta:BetaMessage",
            "event": "anthropic.types.beta:BetaRawMessageStreamEvent",
        },
        {
            "MessageCreateParamsNonStreaming.betas": _HEADER,
            "MessageCreateParamsNonStreaming.user_profile_id": _HEADER,
            "MessageCreateParamsNonStreaming.workspace_id": _HEADER,
        },
    ),
    CensusWire(
        "gemini",
        "google-genai",
        {
            "request": "google.genai.types:GenerateContentConfig",
            "contents": "google.genai.types:Content",
            "tools": "google.genai.types:Tool",
            "generationConfig": "google.genai.types:GenerationConfig",
            "answer": "google.genai.types:GenerateContentResponse",
            "event": "google.genai.types:GenerateContentResponse",
        },
        {
            "GenerateContentConfig.httpOptions": _PYTHON,
            "GenerateContentConfig.shouldReturnHttpResponse": _PYTHON,
            "GenerateContentConfig.automaticFunctionCalling": _PYTHON,
            "GenerateContentConfig.automaticContinuation": _PYTHON,
            "GenerateContentResponse.sdkHttpResponse": _PYTHON,
            "GenerateContentResponse.automaticFunctionCallingHistory": _PYTHON,
            "GenerateContentResponse.parsed": _PYTHON,
        },
    ),
    CensusWire(
        "ollama",
        "ollama",
        {
            "request": "ollama._types:ChatRequest",
            "answer": "ollama._types:ChatResponse",
            "event": "ollama._types:ChatResponse",
        },
    ),
)
"""The wires whose fields are counted."""


def kept(wire: CensusWire, version: str, said: Mapping[str, Any]) -> str:
    """What the file of a wire holds: a line for each type, so that a new field is a changed line.

    Args:
        wire: The wire.
        version: That of its package.
        said: What `workers/python_fields.py` says of its types.
    """
    types = {
        name: {
            "required": [one for one in entry["required"] if f"{name}.{one}" not in wire.not_sent],
            "fields": {one: kind for one, kind in entry["fields"].items() if f"{name}.{one}" not in wire.not_sent},
        }
        for name, entry in sorted(said["types"].items())
    }
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in types.items())
    head = {"wire": wire.name, "package": wire.package, "version": version, "roots": said["roots"]}
    return json.dumps(head)[:-1] + f', "types": {{\n{lines}\n}}}}\n'


def read_kept(name: str) -> dict[str, Any]:
    """The types of a wire that were looked at last; empty before the first look."""
    path = FIELDS / f"{name}.json"
    said: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"types": {}}
    return said


def field_changes(seen: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The fields that are new, gone or of another type, and how, of two contents of a file."""
    for name in sorted({*seen["types"], *now["types"]}):
        was, said = (side["types"].get(name, {"fields": {}})["fields"] for side in (seen, now))
        for one in sorted({*was, *said}):
            if one not in was or one not in said:
                yield f"{name}.{one}", "new" if one in said else "gone"
            elif was[one] != said[one]:
                yield f"{name}.{one}", "changed"
