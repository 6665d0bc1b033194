"""The rules for a provider's response stream, as data; does not know how they are checked.

Source: "Language Model Provider Stream Semantics", version 1.0 draft of 30 January 2026; every `section` is one of its
sections. :class:`partstream.contract.checker.ContractChecker` enforces every rule of :data:`RULES`. The demands that
no stream of parts can show are in :data:`UNOBSERVABLE`, so that the tables cover the whole document.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RULES", "UNOBSERVABLE", "Evidence", "Level", "Rule", "UnobservablePromise"]


class Level(StrEnum):
    """The requirement level of a rule, as in RFC 2119."""

    MUST = "MUST"
    SHOULD = "SHOULD"


class Evidence(StrEnum):
    """The facts that a checker needs, beside the parts, to judge a rule; the value is the name shown to a person."""

    TOOLS = "the request's tools"
    NAMESPACE = "the provider's namespace"
    POSITIONS = "the parts' positions"
    COMPLETION = "a completed stream"
    CANCELLATION = "a cancelled stream"
    FAILURE = "a failed stream"


@dataclass(frozen=True, slots=True)
class Rule:
    """One promise of a provider about its response stream.

    Attributes:
        id: The stable name, `<subject>.<promise>`.
        section: The section of the document that states the promise.
        level: The requirement level. A broken MUST stops the part; a broken SHOULD is only reported.
        text: The promise as one sentence.
        needs: The facts that a checker needs to judge the rule, or None if the parts are enough.
    """

    id: str
    section: str
    level: Level
    text: str
    needs: Evidence | None = None


@dataclass(frozen=True, slots=True)
class UnobservablePromise:
    """A demand of the document that no checker of parts can judge.

    Attributes:
        bound_to: The side that has to keep the promise, `provider` or `consumer`.
        section: The section of the document that states the promise.
        level: The requirement level.
        text: The promise as one sentence.
        reason: Why a stream of parts does not show whether the promise is kept.
    """

    bound_to: str
    section: str
    level: Level
    text: str
    reason: str


_TABLE: Final = (
    Rule(
        "stream.generation-order",
        "1.1",
        Level.MUST,
        "Parts arrive in the order in which the model generated them.",
        Evidence.POSITIONS,
    ),
    Rule("stream.nothing-after-completion", "1.1", Level.MUST, "No part follows the end of the response."),
    Rule("stream.ends-once", "5.1", Level.MUST, "A response ends once: it either resolves or is rejected."),
    Rule(
        "stream.visible-part",
        "5.3",
        Level.MUST,
        "A completed response holds text, a tool call or data that is no mark of the host: with thinking alone, VS "
        "Code shows 'no response was returned'.",
        Evidence.COMPLETION,
    ),
    Rule(
        # Section 5.2 allows one last text part. Section 1.1 does not, and VS Code drops whatever comes late.
        "cancellation.nothing-after",
        "1.1",
        Level.MUST,
        "No part follows the cancellation of the request.",
        Evidence.CANCELLATION,
    ),
    Rule(
        "cancellation.resolves",
        "5.2",
        Level.SHOULD,
        "A cancelled response resolves and is not rejected.",
        Evidence.CANCELLATION,
    ),
    Rule(
        "failure.language-model-error",
        "5.3",
        Level.SHOULD,
        "A failed response is rejected with a LanguageModelError.",
        Evidence.FAILURE,
    ),
    Rule(
        "part.known-class",
        "1.2",
        Level.MUST,
        "A part is a text part, a thinking part, a tool call part or a data part.",
    ),
    Rule("part.no-tool-result", "1.2", Level.MUST, "A response holds no tool result part."),
    Rule("text.string-value", "2.1", Level.MUST, "The value of a text part is a string."),
    Rule(
        "text.utf-8",
        "2.2",
        Level.SHOULD,
        "The value of a text part can be encoded as UTF-8 (no half of a surrogate pair).",
    ),
    Rule(
        "thinking.string-value", "2.4", Level.MUST, "The value of a thinking part is a string or an array of strings."
    ),
    Rule("thinking.string-id", "2.4", Level.MUST, "The id of a thinking part is a string or absent."),
    Rule("thinking.json-metadata", "2.4", Level.MUST, "The metadata of a thinking part is a JSON object or absent."),
    Rule("tool-call.non-empty-call-id", "3.3", Level.MUST, "The call id of a tool call is a non-empty string."),
    Rule("tool-call.non-empty-name", "3.1", Level.MUST, "The name of a tool call is a non-empty string."),
    Rule(
        "tool-call.known-tool",
        "3.1",
        Level.MUST,
        "The name of a tool call is that of one of the request's tools.",
        Evidence.TOOLS,
    ),
    Rule("tool-call.object-input", "3.1", Level.MUST, "The input of a tool call is a parsed object."),
    Rule("tool-call.json-input", "3.1", Level.MUST, "The input of a tool call holds only JSON values."),
    Rule("tool-call.atomic", "3.2", Level.MUST, "A tool call is one part: no second part completes it."),
    Rule("tool-call.unique-call-id", "3.2", Level.MUST, "No two tool calls of a response share a call id."),
    Rule(
        "tool-call.namespaced-call-id",
        "3.3",
        Level.SHOULD,
        "The call id of a tool call starts with the provider's namespace.",
        Evidence.NAMESPACE,
    ),
    Rule("data.bytes", "4.1", Level.MUST, "The data of a data part is bytes."),
    Rule("data.media-type", "4.1", Level.MUST, "The media type of a data part is a non-empty string."),
)

RULES: Final[Mapping[str, Rule]] = MappingProxyType({rule.id: rule for rule in _TABLE})
"""Every enforced rule by id, in the order of reports."""

UNOBSERVABLE: Final = (
    UnobservablePromise(
        "provider",
        "3.4",
        Level.SHOULD,
        "A tool call is emitted as soon as the model has fully specified it.",
        "The parts do not tell when the model had finished the call.",
    ),
    UnobservablePromise(
        "provider",
        "5.2",
        Level.SHOULD,
        "A cancelled provider stops requesting data from upstream.",
        "Requesting happens on the provider's connection, below the parts.",
    ),
    UnobservablePromise(
        "provider",
        "8.2",
        Level.SHOULD,
        "Text is emitted as it is received.",
        "The parts carry no time, and a short answer may rightly be one part.",
    ),
    UnobservablePromise(
        "provider",
        "8.2",
        Level.SHOULD,
        "Errors of the upstream are logged.",
        "A log is not in the stream; the error itself carries all known facts.",
    ),
    UnobservablePromise(
        "consumer",
        "2.2",
        Level.MUST,
        "Consecutive text parts are joined into one text.",
        "The reader of the parts joins them.",
    ),
    UnobservablePromise(
        "consumer",
        "7.3",
        Level.MUST,
        "Tool calls are executed, and their results sent with the matching call ids in a new request.",
        "Only the next request shows the results.",
    ),
)
"""The document's other demands, and why no checker of parts can judge them."""
