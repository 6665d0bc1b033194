"""A server's stored answers about its models, which need not be requested again; knows no file and no network."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from partstream.codec.checks import LAST_TIME, as_amount

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Answers", "CachedAnswer", "answers_from_json", "answers_to_json"]

_FORMAT: Final = 1
_MAX_ANSWERS: Final = 2000


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """One answer.

    Attributes:
        document: The JSON value; None if the server has no document there (HTTP 404), which is a useful fact too.
        fetched_at: The time of the last confirmation, in seconds since 1970.
        etag: The entity tag with which to ask the server for changes, or None.
    """

    document: Any
    fetched_at: float
    etag: str | None = None

    def is_fresh(self, now: float, seconds: float) -> bool:
        """Whether the answer is younger than `seconds`; False for an answer from the future."""
        return 0 <= now - self.fetched_at < seconds


Answers = dict[str, CachedAnswer]
"""Answers by the keys of their questions."""


def answers_to_json(answers: Mapping[str, CachedAnswer]) -> dict[str, Any]:
    """The JSON value of the newest 2,000 answers."""
    newest = sorted(answers.items(), key=lambda item: item[1].fetched_at)[-_MAX_ANSWERS:]
    return {"format": _FORMAT, "answers": {key: asdict(answer) for key, answer in newest}}


def answers_from_json(value: Any) -> Answers:
    """The answers in a JSON value from :func:`answers_to_json`.

    Raises:
        ValueError: `value` has another form.
    """
    if not isinstance(value, dict) or value.get("format") != _FORMAT or not isinstance(value.get("answers"), dict):
        raise ValueError(f"got {value!r:.60}, expected answers of format {_FORMAT}")
    return {key: _answer(key, answer) for key, answer in value["answers"].items()}


def _answer(key: str, value: Any) -> CachedAnswer:
    match value:
        case {"document": document, "fetched_at": time, "etag": str() | None as etag}:
            fetched_at = as_amount(time, LAST_TIME)
            if fetched_at is not None:
                return CachedAnswer(document, fetched_at, etag)
    raise ValueError(f"{key:.80}: got {value!r:.60}, expected an answer")
