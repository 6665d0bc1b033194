"""Requests that Copilot's agent mode sent, recorded by `node extension/e2e/record_requests.js`, as the library's own
values."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from partstream import ChatMessage, RequestOptions
from partstream.vscode.methods import decode_message, decode_options

FOLDER = Path(__file__).parent / "fixtures" / "copilot"


@dataclass(frozen=True, slots=True)
class CopilotRequest:
    """One request: the messages and options as they cross the pipe between the extension and Python."""

    path: Path

    @property
    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.path.read_bytes())
        return document

    @property
    def messages(self) -> list[ChatMessage]:
        messages = self.document["messages"]
        return [decode_message(message, f"messages[{number}]") for number, message in enumerate(messages)]

    @property
    def options(self) -> RequestOptions:
        options = self.document["options"]
        return decode_options(options)


def copilot_requests() -> dict[str, CopilotRequest]:
    """Every recorded request, by the name of its file."""
    return {path.stem: CopilotRequest(path) for path in sorted(FOLDER.glob("*.json"))}
