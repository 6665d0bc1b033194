"""A conversation as VS Code's agent host keeps it between two requests.

Observed in VS Code 1.139 (code-server): an answer becomes a list of texts, thinking and calls; data parts are gone. Of
the metadata of thinking one text is left, and an id that does not begin with `rs` is replaced. Everything comes back in
every later request, in its order. After an edit, and for another model, the thinking before it comes back no more.
"""

from __future__ import annotations
from typing import Any

_KEPT = ("encrypted_content", "encrypted")


class AgentHostConversation:
    """One session in the Copilot harness, in the shapes of the sidecar's pipe."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = [_message(3, _text("You are an AI assistant using Copilot SDK."))]

    def ask(self, text: str) -> None:
        stamp = "<current_datetime>2026-11-28T09:00:00.000+01:00</current_datetime>"
        self.messages.append(_message(1, _text(f"{stamp}\n\n{text}")))

    def answer(self, parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Keeps an answer; returns its calls."""
        kept: list[dict[str, Any]] = []
        for part in parts:
            last = kept[-1] if kept else None
            if part["type"] == "text" and last is not None and last["type"] == "text":
                last["value"] += part["value"]
            elif part["type"] == "thinking" and last is not None and last.get("from") == (part["id"],):
                last["value"] += part["value"]
                last["metadata"] |= _metadata(part)
            elif part["type"] == "thinking":
                kept.append({**part, "metadata": _metadata(part), "from": (part["id"],)})
            elif part["type"] != "data":
                kept.append(dict(part))
        for number, part in enumerate(kept):
            if part["type"] == "thinking":
                part["id"] = part.pop("from")[0] or ""
                part["id"] = part["id"] if part["id"].startswith("rs") else f"rs_byok_{len(self.messages)}_{number}"
        self.messages.append(_message(2, *kept))
        return [part for part in kept if part["type"] == "tool_call"]

    def give(self, calls: list[dict[str, Any]]) -> None:
        """Gives a result for each call."""
        for call in calls:
            result = {"type": "tool_result", "callId": call["callId"], "content": [_text("a result")], "isError": False}
            self.messages.append(_message(1, result))

    def edit(self, turns: int, text: str) -> None:
        """Edits the message that began a turn before the current one; what came after it is gone."""
        begins = [number for number, one in enumerate(self.messages) if _is_asked(one)]
        del self.messages[begins[-1 - turns] :]
        self.forget_thinking()
        self.ask(text)

    def forget_thinking(self) -> None:
        """Another model is chosen, or a message was edited."""
        for message in self.messages:
            message["content"] = [part for part in message["content"] if part["type"] != "thinking"]


def _message(role: int, *content: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(content), "name": None}


def _text(value: str) -> dict[str, Any]:
    return {"type": "text", "value": value}


def _metadata(part: dict[str, Any]) -> dict[str, str]:
    given = part["metadata"] or {}
    found = next((given[name] for name in _KEPT if isinstance(given.get(name), str)), None)
    return {} if found is None else {"encrypted_content": found}


def _is_asked(message: dict[str, Any]) -> bool:
    return message["role"] == 1 and message["content"][0]["type"] == "text"
