"""A row of the matrix of requests: what a host asks, a wire and a server, and the JSON that goes out."""

from __future__ import annotations
import json
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from partstream import ChatMessage, LanguageModelChatInformation, RequestOptions, Tool
from partstream.conversation.preparation import ASKED_IN, Preparation, RequestSettings, prepare
from partstream.conversation.provider_state import Carried, Origin
from partstream.protocols.protocol import PROTOCOLS, RequestWriter
from partstream.settings.known_servers import server_at

if TYPE_CHECKING:
    from collections.abc import Mapping

NOWHERE: Final = "https://models.example/v1"
"""The address of an unknown server."""
HI: Final = (ChatMessage.user("Hi"),)


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One shape of a kind, asked of one server.

    Attributes:
        shape: The shape, in a few words that are the same on every wire.
        wire: The protocol.
        expected: By a place in the body, such as `tools.0.function.parameters`, the value there; ABSENT for none.
        url: The base URL of the server.
        model: The model that is asked.
        schema: The schema of the one tool; NO_TOOL for a request without tools.
        options: The options of the request.
        asked_in: The wire of the client, whose words the options are in; empty for the words of a program.
        messages: The conversation.
        notes: Words that each note for the owner of the request holds, in order; no other note is made.
        own: Changes of the settings.
        source: Where it was seen, such as a report; empty for a shape of our own.
    """

    shape: str
    wire: str
    expected: Mapping[str, Any]
    url: str = NOWHERE
    model: str = "m"
    schema: Any = "no tool"
    options: Mapping[str, Any] = field(default_factory=dict)
    asked_in: str = ""
    messages: tuple[ChatMessage, ...] = HI
    notes: tuple[str, ...] = ()
    own: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""

    @property
    def corner(self) -> RequestWriter:
        """What writes the request."""
        write = PROTOCOLS[self.wire].write_request
        assert write is not None
        return write()

    def prepared(self) -> Preparation:
        """The request as it is before its wire."""
        known = LanguageModelChatInformation(self.model, self.model, self.model, "1", 1000, 1000)
        chosen = replace(RequestSettings(), **self.own)
        settings = self.corner.complete_settings(chosen, self.url, known, server_at(self.url))
        tools = () if self.schema == NO_TOOL else (Tool("f", "Does f.", self.schema),)
        options = dict(self.options) | ({ASKED_IN: self.asked_in} if self.asked_in else {})
        rules = self.corner.conversation_rules(settings, self.model)
        asked = RequestOptions(model_options=options, tools=tools)
        return prepare(Origin("u", self.model), self.messages, asked, settings, rules=rules)

    def body(self) -> dict[str, Any]:
        """The JSON that goes out."""
        request = self.prepared().request(Carried.EVERYTHING & self.corner.carries)
        body: dict[str, Any] = json.loads(json.dumps(self.corner.write(request).body))
        return body


NO_TOOL: Final = "no tool"
ABSENT: Final = "(absent)"

SCHEMA_PLACES: Final = {
    "chat-completions": "tools.0.function.parameters",
    "openresponses": "tools.0.parameters",
    "anthropic-messages": "tools.0.input_schema",
    "gemini": "tools.0.functionDeclarations.0.parametersJsonSchema",
    "gemini-interactions": "tools.0.parameters",
    "ollama": "tools.0.function.parameters",
    "ai-gateway": "tools.0.inputSchema",
    "ag-ui": "tools.0.parameters",
}
"""Where the schema of the first tool is in a body."""


def value_at(body: Any, place: str) -> Any:
    """The value at a place; ABSENT where there is none."""
    for step in place.split("."):
        if isinstance(body, dict) and step in body:
            body = body[step]
        elif isinstance(body, list) and step.isdigit() and int(step) < len(body):
            body = body[int(step)]
        else:
            return ABSENT
    return body


def kinds_of_requests() -> dict[str, tuple[str, tuple[RequestRow, ...]]]:
    """The kinds by the names of their modules, each with its sentence and its rows."""
    modules = sorted(path.stem for path in Path(__file__).parent.glob("request_rows_*.py"))
    loaded = {name.removeprefix("request_rows_"): import_module(f"matrix.{name}") for name in modules}
    return {name: (module.KIND, tuple(module.ROWS)) for name, module in loaded.items()}
