"""The settings of a server: its key, and its limits of size, time and number, whose bounds one table has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from partstream.codec.checks import BOOLEAN, Expectation, check_fields, instance_of, optional
from partstream.upstream.endpoint import Secret

if TYPE_CHECKING:
    from partstream.serving.admission import Admission
    from partstream.serving.authentication import Authenticator
    from partstream.serving.stored_answers import SQLiteAnswers

__all__ = ["SERVING_NUMBERS", "ServingNumber", "ServingSettings"]

_KIBIBYTE: Final = 1024
_MEBIBYTE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ServingNumber:
    """A number among the settings of a server.

    Attributes:
        name: The field of :class:`ServingSettings`.
        default: Its value where nobody sets it.
        least: The smallest value.
        most: The largest value.
        unit: What it counts: `seconds`, `bytes`, or what there are so many of.
        says: What it does, as a phrase.
    """

    name: str
    default: float
    least: float
    most: float
    unit: str
    says: str

    @property
    def is_whole(self) -> bool:
        """Whether only whole numbers are valid."""
        return self.unit != "seconds"

    @property
    def expectation(self) -> Expectation:
        """The values that are valid."""
        kinds = int if self.is_whole else int | float
        what = "a whole number" if self.is_whole else "a number"
        return Expectation(
            f"{what} of {self.unit} from {self.least:,} to {self.most:,}",
            lambda value: isinstance(value, kinds) and not isinstance(value, bool) and self.least <= value <= self.most,
        )


SERVING_NUMBERS: Final = (
    ServingNumber("drain_seconds", 30.0, 0, 3600, "seconds", "How long answers may go on when the server is stopped"),
    ServingNumber("body_bytes", 32 * _MEBIBYTE, _KIBIBYTE, 1024 * _MEBIBYTE, "bytes", "The largest body of a request"),
    ServingNumber(
        "body_seconds", 60.0, 0.01, 3600, "seconds", "How long a client may take to send the body of a request"
    ),
    ServingNumber("concurrent_answers", 1000, 1, 1_000_000, "answers", "How many answers may run at once"),
    ServingNumber(
        "concurrent_requests", 4000, 1, 1_000_000, "requests", "How many requests may be read or answered at once"
    ),
    ServingNumber(
        "head_seconds",
        5.0,
        0,
        60,
        "seconds",
        "How long the status waits for the first part of an answer: until then a failure still is an HTTP status",
    ),
    ServingNumber(
        "keep_alive_seconds", 15.0, 0.01, 3600, "seconds", "How long a stream is silent before a comment is sent"
    ),
    ServingNumber(
        "idle_event_seconds",
        60.0,
        0.01,
        3600,
        "seconds",
        "How long a stream has no event before the wire's own event for a model that works is sent, if it has one",
    ),
    ServingNumber("answer_seconds", 3600.0, 0.01, 86_400, "seconds", "How long one answer may take"),
    ServingNumber(
        "socket_seconds", 3600.0, 0.01, 86_400, "seconds", "How long a WebSocket may be open between answers"
    ),
    ServingNumber(
        "stop_seconds", 5.0, 0, 600, "seconds", "How long a provider may take to stop when its answer is cancelled"
    ),
    ServingNumber(
        "buffer_bytes",
        64 * _KIBIBYTE,
        _KIBIBYTE,
        64 * _MEBIBYTE,
        "bytes",
        "How much of an answer waits for a slow client before the provider waits too",
    ),
    ServingNumber(
        "backlog_bytes",
        16 * _MEBIBYTE,
        _KIBIBYTE,
        1024 * _MEBIBYTE,
        "bytes",
        "How much of an answer waits for a slow client at most, if the provider does not wait",
    ),
    ServingNumber(
        "thinking_bytes",
        32 * _MEBIBYTE,
        0,
        1024 * _MEBIBYTE,
        "bytes",
        "How much state of thinking is remembered for clients of wires that cannot give it back; 0 remembers none",
    ),
    ServingNumber("models_seconds", 300.0, 0, 86_400, "seconds", "How long the list of a provider's models is kept"),
)
"""The numbers among the settings of a server; the command line and the documentation are made from them."""


@dataclass(frozen=True, slots=True)
class ServingSettings:
    """The settings of a server; :data:`SERVING_NUMBERS` says what each number does and where its bounds are.

    Attributes:
        token: The key that requests must carry, as `Authorization: Bearer`, as `x-api-key` or in the header that their
            wire has for it; None for a server that everybody may ask who reaches it.
        authenticate: Finds out who asks, in place of `token`: for several keys, or keys that are kept elsewhere.
        admission: Decides who may have which answer, and learns what it took; None for a server that answers everybody
            who has its key.
        drain_seconds: In seconds.
        body_bytes: In bytes.
        body_seconds: In seconds.
        concurrent_answers: A number of answers.
        concurrent_requests: A number of requests.
        head_seconds: In seconds.
        keep_alive_seconds: In seconds.
        idle_event_seconds: In seconds.
        answer_seconds: In seconds.
        socket_seconds: In seconds.
        stop_seconds: In seconds.
        buffer_bytes: In bytes.
        thinking_bytes: In bytes.
        backlog_bytes: In bytes.
        models_seconds: In seconds.
        raw_reasoning: Whether thinking goes on the channel of raw reasoning, on a wire that has one beside a summary,
            which every known client reads: `response.reasoning.delta` of OpenResponses.
        store: Keeps the answers that clients ask to store; None for a server that stores none.
        state_folder: The folder of what the server keeps; None for one that keeps nothing on disk.

    Raises:
        InvalidArgumentError: A value has another type, or a number is out of its bounds.
    """

    token: Secret | None = None
    authenticate: Authenticator | None = None
    admission: Admission | None = None
    drain_seconds: float = 30.0
    body_bytes: int = 32 * _MEBIBYTE
    body_seconds: float = 60.0
    concurrent_answers: int = 1000
    concurrent_requests: int = 4000
    head_seconds: float = 5.0
    keep_alive_seconds: float = 15.0
    idle_event_seconds: float = 60.0
    answer_seconds: float = 3600.0
    socket_seconds: float = 3600.0
    stop_seconds: float = 5.0
    buffer_bytes: int = 64 * _KIBIBYTE
    thinking_bytes: int = 32 * _MEBIBYTE
    backlog_bytes: int = 16 * _MEBIBYTE
    models_seconds: float = 300.0
    raw_reasoning: bool = False
    store: SQLiteAnswers | None = None
    state_folder: Path | None = None

    def __post_init__(self) -> None:
        check_fields(self, _EXPECTED)


_EXPECTED: Final = {
    "token": optional(instance_of(Secret, "a Secret")),
    "authenticate": optional(Expectation("a function of the headers", callable)),
    **{number.name: number.expectation for number in SERVING_NUMBERS},
    "raw_reasoning": BOOLEAN,
    "state_folder": optional(instance_of(Path, "a pathlib.Path")),
}
