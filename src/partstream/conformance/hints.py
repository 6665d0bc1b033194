"""What a broken promise looks like and where it usually comes from: one table for reports and the page of the kit."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from partstream.lm.contract import RULE_HINTS, Hint

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["HINTS"]


HINTS: Final[Mapping[str, Hint]] = MappingProxyType(
    {
        **RULE_HINTS,
        "parser.same-parts": Hint(
            "Answers lose words or break, now and then, on some networks.",
            (
                "bytes are decoded piece by piece, so a character that is cut is lost",
                "a line or an event is taken to be whole at the end of a piece",
            ),
        ),
        "parser.whole-calls": Hint(
            "A tool runs with half of its arguments.",
            (
                "arguments that break off are repaired, or taken for empty, instead of refused",
                "calls are handed out at the end of the bytes, whether the answer has ended or not",
            ),
        ),
        "parser.server-shape": Hint(
            "The answers of some servers are empty, lose calls or fail.",
            (
                "the first choice, the role or the index of an event is taken to be there",
                "pieces of text are stripped, or compared with what came before",
                "fields are only read from the first or the last event of their kind",
            ),
        ),
        "parser.recorded-text": Hint("Text is lost or stands twice.", ("the server sends a field that is not read",)),
        "parser.recorded-thinking": Hint("Thinking is lost.", ("each server has its own field for thinking",)),
        "parser.recorded-calls": Hint("Tools are not called, or called wrongly.", ("calls are not put together",)),
        "parser.recorded-tokens": Hint(
            "Token counts are wrong.", ("cached or reasoning tokens are left out, or counted twice",)
        ),
        "parser.recorded-errors": Hint(
            "A failed answer looks complete.", ("an error in the stream, or its early end, is taken for its end",)
        ),
        "stream.ends": Hint(
            "The chat waits for ever.",
            ("a loop waits for an end mark that the server did not send", "a queue has no end"),
        ),
        "stream.resolves": Hint(
            "The chat shows an error instead of the answer.",
            ("an event that is new to the library raises", "a setting or a field of the request is refused"),
        ),
        "text.complete": Hint(
            "Words are missing, or stand there twice.",
            ("a final snapshot is reported after the deltas", "chunks are cut or joined with spaces"),
        ),
        "text.as-received": Hint(
            "The answer comes all at once, after a long wait.",
            ("the answer is collected before it is reported", "the client is called without `stream=True`"),
        ),
        "tool-call.complete": Hint(
            "The agent does not do what it said, or does it twice.",
            ("only the first call of an answer is read", "deltas of several calls are mixed up: use their index"),
        ),
        "usage.as-reported": Hint(
            "The context widget shows 0, or the chat is compacted too late.",
            ("usage is not asked for (`stream_options`), or the usage of several requests is summed up",),
        ),
        "failure.rejects": Hint(
            "Half an answer looks like a whole one.",
            ("an error event is skipped as unknown", "the end of the connection is taken for the end of the answer"),
        ),
        "failure.keeps-parts": Hint(
            "What the person could have read is gone.", ("parts are collected and dropped when an error comes",)
        ),
        "failure.logged": Hint("Nobody can find out why an answer failed.", ("an error is swallowed",)),
        "cancellation.stops-upstream": Hint(
            "The model goes on and is paid for after Stop.",
            ("the connection is not closed: leave the client's stream, or cancel its task",),
        ),
        "request.text-arrives": Hint(
            "The model answers something else.", ("only some messages or parts are translated",)
        ),
        "request.tools-arrive": Hint("The model never calls a tool.", ("`options.tools` is not translated",)),
        "request.images-arrive": Hint(
            "The model does not see the image, although the model information says that it can.",
            ("DataPart is not translated: declare `image_input=False` or send it",),
        ),
        "request.results-arrive": Hint(
            "The model calls the same tool again and again.",
            ("ToolResultPart is not translated, or its text is lost",),
        ),
        "concurrency.no-mixing": Hint(
            "Words of one chat appear in another.", ("the state of a request is kept on the provider object",)
        ),
        "models.listed": Hint("The model is missing in the picker.", ("the list needs a key or a server",)),
        "models.same-twice": Hint("Models come and go in the picker.", ("the list is built from changing state",)),
        "models.cancelled": Hint("The picker hangs.", ("the token of the list is ignored",)),
        "models.no-change-event": Hint(
            "VS Code asks for the list again and again.", ("the event fires inside the listing method",)
        ),
        "tokens.count": Hint(
            "The chat cannot make its prompt: the request fails before it is sent.",
            ("the tokenizer refuses special tokens or half a surrogate pair",),
        ),
        "tokens.monotone": Hint("Prompts are cut where they need not be.", ("the count is a guess per call",)),
    }
)
"""The hint of every promise, by its id."""
