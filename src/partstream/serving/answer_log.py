"""One line for each answer that is over, for people or as JSON; never a word of a prompt or an answer, and no key.

Names come from clients and models, so what would act on a terminal or begin another line is shown as an escape.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import storable_text
from partstream.codec.json_codec import dumps
from partstream.codec.text import visible
from partstream.server.clients import AnswerKind
from partstream.serving.telemetry_names import error_of
from partstream.settings.kinds import Choice

if TYPE_CHECKING:
    from partstream.server.settings import AnswerObservation

__all__ = ["LogForm", "json_line", "text_line"]

_MOST_CHARACTERS: Final = 120
"""The most characters of a name in a line."""


class LogForm(Choice):
    """The form of the lines."""

    TEXT = "text", "For people"
    JSON = "json", "A JSON object a line, for programs"


def text_line(answer: AnswerObservation) -> str:
    """An answer as a line for people: time, wire, status, how it ended, then what is known, each with its name."""
    facts = _facts(answer)
    head = [str(facts.pop(name)) for name in ("time", "wire", "status", "ended")]
    return " ".join([*head, *(f"{name}={_shown(value)}" for name, value in facts.items())])


def json_line(answer: AnswerObservation) -> str:
    """An answer as a JSON object on one line, whose `type` is `answer`."""
    return visible(dumps({"type": "answer", **_facts(answer)}).decode())


def _facts(answer: AnswerObservation) -> dict[str, Any]:
    """What a line says, in its order; what is not known is left out."""
    usage, client = answer.usage, answer.client
    facts = {
        "time": datetime.fromtimestamp(answer.time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "wire": answer.wire,
        "status": answer.status,
        "ended": _ended(answer),
        "model": answer.model,
        "provider": answer.provider,
        "client": client.name,
        "version": client.version,
        "session": client.session,
        "turn": client.turn,
        "kind": None if client.kind is AnswerKind.TURN else client.kind.value,
        "retry": client.retry or None,
        "caller": answer.caller,
        "input": None if usage is None else usage.input_tokens,
        "cached": None if usage is None else usage.cached_tokens,
        "output": None if usage is None else usage.output_tokens,
        "counted": answer.is_usage_counted or None,
        "first_part_s": _rounded(answer.first_part_after),
        "duration_s": _rounded(answer.duration),
        "bytes": answer.bytes,
        "events": answer.events if answer.is_stream else None,
        "error": error_of(answer),
        "request": answer.request_id,
    }
    return {name: _bounded(value) for name, value in facts.items() if value not in {None, ""}}


def _ended(answer: AnswerObservation) -> str:
    if answer.is_cancelled:
        return "cancelled"
    if answer.outcome is None:
        return "refused"
    return answer.outcome.value if answer.reason is None else answer.reason.unified.value


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


def _bounded(value: Any) -> Any:
    """A value of which a name has no more than some characters, and only such as UTF-8 has."""
    if not isinstance(value, str):
        return value
    short = value if len(value) <= _MOST_CHARACTERS else f"{value[:_MOST_CHARACTERS]}…"
    return storable_text(short)


def _shown(value: Any) -> str:
    """A value in a line for people: in quotes where its end would not be seen."""
    if not isinstance(value, str):
        return "yes" if value is True else str(value)
    text = visible(value).replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return text if text and not any(one in text for one in ' "=') else f'"{text.replace(chr(34), chr(39))}"'
