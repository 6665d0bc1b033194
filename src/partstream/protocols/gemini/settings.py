"""The settings of requests that only Gemini has a place for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from partstream.protocols.protocol import OwnSettings
from partstream.settings.checks import strings
from partstream.settings.errors import ConfigurationError
from partstream.settings.kinds import BOOLEAN, Choice, Kind, ValueForm, choice, whole
from partstream.settings.row import Setting

__all__ = ["MOST_FILE_MEGABYTES", "OWN_SETTINGS", "REQUEST_FIELDS", "SERVER_TOOLS", "GeminiSettings", "ToolSchemas"]

SERVER_TOOLS: Final = ("googleSearch", "urlContext", "codeExecution", "googleMaps", "enterpriseWebSearch")
"""The tools that the server runs itself and that need no further word."""
MOST_FILE_MEGABYTES: Final = 20
"""What every server takes; the Gemini API itself has taken 100 since 2026 (docs/wires/gemini.md#contents)."""
REQUEST_FIELDS: Final = frozenset({"contents"})


class ToolSchemas(Choice):
    """The form in which the parameters of tools are sent."""

    JSON_SCHEMA = "json-schema", "JSON Schema, in `parametersJsonSchema`"
    OPENAPI = "openapi", "The subset of OpenAPI that every server and proxy takes, in `parameters`"


@dataclass(frozen=True, slots=True)
class GeminiSettings:
    """The request settings of Gemini alone.

    Attributes:
        include_thoughts: Whether the server is asked for summaries of the model's thoughts.
        tool_schemas: The form in which the parameters of tools are sent.
        validates_calls: Whether the server keeps the model to the schemas of tools.
        server_tools: The tools that the server runs itself, by its names.
        most_file_megabytes: The most megabytes of all files of a request, in base64; the oldest give way to words.
    """

    include_thoughts: bool = True
    tool_schemas: ToolSchemas = ToolSchemas.JSON_SCHEMA
    validates_calls: bool = False
    server_tools: tuple[str, ...] = ()
    most_file_megabytes: int = MOST_FILE_MEGABYTES


def _server_tools(value: Any, where: str) -> tuple[str, ...]:
    named = strings(value, where)
    for name in named:
        if name not in SERVER_TOOLS:
            raise ConfigurationError(where, repr(name), f"names of {', '.join(SERVER_TOOLS)}")
    return named


_NAMES_OF_TOOLS: Final = Kind(
    ValueForm.LIST, _server_tools, {"type": "array", "items": {"type": "string", "enum": list(SERVER_TOOLS)}}
)

OWN_SETTINGS: Final = OwnSettings(
    GeminiSettings,
    (
        Setting(
            "includeThoughts",
            BOOLEAN,
            "Whether the server is asked for summaries of the model's thoughts; without being asked, it gives none",
            default=True,
        ),
        Setting("toolSchemas", choice(ToolSchemas), "The form of the parameters of tools", "json-schema"),
        Setting(
            "validatesCalls",
            BOOLEAN,
            "Whether the server keeps the model's calls to the schemas of the tools",
            default=False,
        ),
        Setting(
            "serverTools",
            _NAMES_OF_TOOLS,
            "The tools that the server runs itself, such as `googleSearch`. Models before Gemini 3 get them only where "
            "a request has no other tools",
            otherwise="none",
        ),
        Setting(
            "mostFileMegabytes",
            whole(),
            "The most megabytes of images and files in one request; words take the place of the oldest ones",
            otherwise=f"{MOST_FILE_MEGABYTES}, which every server takes",
        ),
    ),
    REQUEST_FIELDS,
)
