"""What a broken rule of the contract looks like in VS Code and where it usually comes from; for whoever shows one."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RULE_HINTS", "Hint"]


@dataclass(frozen=True, slots=True)
class Hint:
    """What helps a person with a broken promise.

    Attributes:
        seen: What a person sees in VS Code.
        causes: What is usually wrong in the provider; the likeliest first.
    """

    seen: str
    causes: tuple[str, ...]


RULE_HINTS: Final[Mapping[str, Hint]] = MappingProxyType(
    {
        "stream.generation-order": Hint(
            "The answer reads in the wrong order: a tool runs before the text that explains it.",
            (
                "parts of several kinds are collected and reported kind by kind",
                "calls are reported in the order in which they became complete, not in that of the model",
            ),
        ),
        "stream.nothing-after-completion": Hint(
            "The end of the answer is missing: VS Code drops what comes after the method has returned.",
            (
                "a task that reports is not awaited before the method returns",
                "a callback of a library reports after its stream has closed",
            ),
        ),
        "stream.ends-once": Hint(
            "A failed answer looks complete, or a complete one shows an error.",
            (
                "an error is caught and only logged behind `progress.finish(...)`",
                "an error path reports the end and then runs on into the normal end",
            ),
        ),
        "stream.visible-part": Hint(
            "The chat shows 'no response was returned'.",
            (
                "the model only thought, or the server sent an empty answer: raise an error that says so",
                "a text that came in an unknown event was dropped",
            ),
        ),
        "cancellation.nothing-after": Hint(
            "Words appear after the person has pressed Stop, or in the next answer.",
            (
                "the token is looked at before the request only, not before each part",
                "what was buffered is flushed when the stream is closed",
            ),
        ),
        "cancellation.resolves": Hint(
            "Pressing Stop shows an error in the chat.",
            ("the error of the closed connection, or CancelledError, leaves the method",),
        ),
        "failure.language-model-error": Hint(
            "The chat shows a stack trace or 'unknown error' instead of a reason.",
            ("an exception of the library is raised as it is: wrap it in LanguageModelError",),
        ),
        "part.known-class": Hint(
            "The part is missing in the chat.",
            ("a chunk of a library, a string or a dict is reported instead of a part",),
        ),
        "part.no-tool-result": Hint(
            "The part is missing in the chat; tools seem to have no result.",
            ("an agent's own tool results are reported: show them as text or thinking",),
        ),
        "text.string-value": Hint(
            "The text is missing in the chat, or reads `[object Object]`.",
            ("a delta that is None or an object is put into a TextPart",),
        ),
        "text.utf-8": Hint(
            "A replacement character stands where an emoji should be.",
            ("bytes are decoded chunk by chunk; use an incremental decoder",),
        ),
        "thinking.string-value": Hint(
            "The thinking is missing.", ("a summary that is an object, or None, is put into a ThinkingPart",)
        ),
        "thinking.string-id": Hint(
            "The thinking is missing, or is no longer sent back to the model.",
            ("an index is used as the id: make it a string",),
        ),
        "thinking.json-metadata": Hint(
            "The thinking is missing, or its signature is lost in the next round.",
            ("an object of a library, or bytes, is put into the metadata: keep JSON values",),
        ),
        "tool-call.non-empty-call-id": Hint(
            "The tool's result never reaches the model.",
            ("the server sends the id in the first delta only, and a later one is used", "the server sends no id"),
        ),
        "tool-call.non-empty-name": Hint(
            "The tool call fails at once.",
            ("the name stands in the first delta only", "a server's own tool has no name and is passed on as a call"),
        ),
        "tool-call.known-tool": Hint(
            "The chat says that the tool does not exist, and the agent stops or starts over.",
            (
                "names that were changed for the server are not changed back",
                "tools of the server or of an inner agent are passed on as calls",
            ),
        ),
        "tool-call.object-input": Hint(
            "The tool runs without arguments, or fails.",
            ("the arguments are passed on as the JSON text that the server sent", "empty arguments become None"),
        ),
        "tool-call.json-input": Hint(
            "The tool call is lost on its way to VS Code.",
            ("the input holds objects of Python, such as dates, sets or NaN",),
        ),
        "tool-call.atomic": Hint(
            "The tool runs with half of its arguments.",
            ("a call is reported for every delta: report it once, when it is complete",),
        ),
        "tool-call.unique-call-id": Hint(
            "The tool runs twice.",
            ("a final snapshot is handed out after the deltas", "ids count from 0 in each step of an inner loop"),
        ),
        "tool-call.namespaced-call-id": Hint(
            "In a conversation with several providers, a result may reach the wrong call.",
            ("the id of the server is passed on without the prefix",),
        ),
        "data.bytes": Hint("The data are missing.", ("a string, or base64, is put into a DataPart: decode it",)),
        "data.media-type": Hint("The data are missing.", ("the media type of the server was empty",)),
    }
)
"""The hint of each rule, by its id."""
