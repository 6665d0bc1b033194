"""The names under which answers are measured: OpenTelemetry's conventions for generative AI, all of them in one place.

The conventions are in development and are being renamed (open-telemetry/semantic-conventions-genai#521, September 2026:
`gen_ai.client.inference.*` in place of `gen_ai.client.operation.*`). Here are the published names; a new set of names
changes this file alone. Source of names and bounds: docs/wires/serving.md#metrics-and-traces.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import choose_encoder

from partstream._version import __version__
from partstream.codec.checks import LAST_TIME, MOST_DOLLARS, MOST_SECONDS, as_amount, as_count, storable_text
from partstream.codec.json_codec import dumps
from partstream.codec.system import DATA
from partstream.codec.text import visible
from partstream.lm.outputs import Outcome
from partstream.server.clients import AnswerKind, ClientClass
from partstream.settings.kinds import Choice
from partstream.tokens.ledger import LEDGER_NAME, is_ledger_off
from partstream.tokens.ledger_file import FORGET_ANSWERS, KEEP_ANSWER, FileThread, LedgerFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from partstream.server.settings import AnswerObservation
    from partstream.tokens.ledger_file import Statement


# ---- telemetry names ----

OPERATION: Final = "chat"
"""The operation that every answer is (`gen_ai.operation.name`)."""

OURSELVES: Final = "partstream"
"""The provider's name where it has none, or where no provider was asked (`gen_ai.provider.name`)."""


class Attribute(StrEnum):
    """The name of an attribute of spans and, with underscores, of a label of metrics."""

    OPERATION = "gen_ai.operation.name"
    PROVIDER = "gen_ai.provider.name"
    MODEL = "gen_ai.request.model"
    TOKEN_TYPE = "gen_ai.token.type"  # noqa: S105 - of a text
    RESPONSE_ID = "gen_ai.response.id"
    FINISH_REASONS = "gen_ai.response.finish_reasons"
    INPUT_TOKENS = "gen_ai.usage.input_tokens"
    OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
    CACHED_TOKENS = "gen_ai.usage.cache_read.input_tokens"
    REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens"
    CONVERSATION = "gen_ai.conversation.id"
    ERROR = "error.type"
    METHOD = "http.request.method"
    ROUTE = "http.route"
    STATUS = "http.response.status_code"
    RESENT = "http.request.resend_count"
    CLIENT = "user_agent.name"
    CLIENT_VERSION = "user_agent.version"
    REQUEST_ID = "partstream.request_id"
    WIRE = "partstream.wire"
    CALLER = "partstream.caller"
    TURN = "partstream.turn"
    KIND = "partstream.answer_kind"
    EVENTS = "partstream.lm.cancellation"
    IS_CANCELLED = "partstream.cancelled_by_client"
    IS_COUNTED = "partstream.usage_is_counted"


class TokenType(StrEnum):
    """Whose tokens are measured (`gen_ai.token.type`)."""

    INPUT = "input"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of an answer of which the distribution is kept.

    Attributes:
        name: The name in the conventions.
        unit: Its unit, as the conventions write it: `s`, or `{token}`.
        says: What it is, for people.
        bounds: The upper bounds of its buckets.
        of: Gives the number of an answer, or None where it has none.
    """

    name: str
    unit: str
    says: str
    bounds: tuple[float, ...]
    of: Callable[[AnswerObservation], float | None]


def error_of(answer: AnswerObservation) -> str:
    """Why an answer did not end well (`error.type`): the class of its error, its status, or ""."""
    if answer.error is not None:
        return answer.error
    if answer.is_cancelled:
        return "cancelled"
    return str(answer.status) if answer.status >= 400 else ""


def as_prometheus(name: str, unit: str = "") -> str:
    """A name as Prometheus has it: underscores for dots, and the word of the unit behind it."""
    return name.replace(".", "_") + {"s": "_seconds"}.get(unit, "")


def _is_good(answer: AnswerObservation) -> bool:
    return answer.outcome in {Outcome.COMPLETED, Outcome.INCOMPLETE}


def _first_part_after(answer: AnswerObservation) -> float | None:
    return answer.first_part_after if _is_good(answer) else None


def _time_per_output_token(answer: AnswerObservation) -> float | None:
    """The seconds for each token behind the first; not of a document, and not of tokens that were only counted."""
    tokens = None if answer.usage is None or answer.is_usage_counted else answer.usage.output_tokens
    if tokens is None or tokens < 2 or answer.first_part_after is None or not _is_good(answer):
        return None
    return max(answer.duration - answer.first_part_after, 0.0) / (tokens - 1)


def _input_tokens(answer: AnswerObservation) -> float | None:
    return None if answer.usage is None else answer.usage.input_tokens


def _output_tokens(answer: AnswerObservation) -> float | None:
    return None if answer.usage is None else answer.usage.output_tokens


_SECONDS: Final = tuple(0.01 * 2**step for step in range(14))
_FIRST_TOKEN: Final = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
_EACH_TOKEN: Final = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5)
_TOKENS: Final = tuple(float(4**step) for step in range(14))

MEASURES: Final = (
    Measure(
        "gen_ai.server.request.duration",
        "s",
        "From the request until the last byte of the answer.",
        _SECONDS,
        lambda answer: answer.duration,
    ),
    Measure(
        "gen_ai.server.time_to_first_token",
        "s",
        "From the request until the first part of an answer that ended well.",
        _FIRST_TOKEN,
        _first_part_after,
    ),
    Measure(
        "gen_ai.server.time_per_output_token",
        "s",
        "For each token behind the first, of an answer that ended well and whose tokens the provider reported.",
        _EACH_TOKEN,
        _time_per_output_token,
    ),
)
"""What is measured of each answer, each at most once an answer."""

TOKENS: Final = {
    kind: Measure("gen_ai.client.token.usage", "{token}", "The tokens of an answer, by type.", _TOKENS, number)
    for kind, number in ((TokenType.INPUT, _input_tokens), (TokenType.OUTPUT, _output_tokens))
}
"""The tokens that are measured of each answer, under one name."""


# ---- answer log ----
# One line for each answer that is over, for people or as JSON; never a word of a prompt or an answer, and no key.
#
# Names come from clients and models, so what would act on a terminal or begin another line is shown as an escape.

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


# ---- answer ledger ----
# Enters served answers into the user's ledger, which `partstream usage` shows: who asked, what it took, no word of
# it.
#
# The event loop never waits for the file. Answers wait in a bounded queue; a thread writes all that wait in one
# transaction, so that under load a transaction holds many. Rows are only added; the oldest go when the table is full
# or they are older than :data:`MOST_DAYS` days.

_logger = logging.getLogger("partstream.serving")

MOST_DAYS: Final = 400
"""The days for which an answer is kept: a year, and the month to compare with."""

_MOST_WAITING: Final = 10_000
"""The most answers that wait for the thread; the oldest of more are dropped, and the log says how many."""
_MOST_BYTES: Final = 2**53
_DAY: Final = 86_400


def open_answer_ledger(folder: Path | None = None) -> AnswerLedger | None:
    """The ledger of a folder, by default of the user's data folder; None with `PARTSTREAM_LEDGER=false`."""
    return None if is_ledger_off() else AnswerLedger((folder or DATA.path()) / LEDGER_NAME)


class AnswerLedger:
    """Writes answers into the ledger's file.

    Args:
        path: The path of the file, which is made with the first answer.
    """

    def __init__(self, path: Path) -> None:
        self._rows: _Waiting = _Waiting()
        self._file = LedgerFile(path)
        self._thread = FileThread(self, self._file, "partstream-answers")

    def observe(self, answer: AnswerObservation) -> None:
        """Enters an answer that is over; returns at once.

        A request for which no provider was asked took nothing. If it were entered, whoever has no token could fill the
        table, from which the oldest answers go.
        """
        is_answer = answer.outcome is not None or bool(answer.provider)
        if not (self._thread.is_open and is_answer):
            return
        self._rows.add(_parameters(answer))
        if self._rows.is_idle:
            self._rows.is_idle = False
            self._thread.submit(_write, self._rows, self._file)

    def close(self) -> None:
        """Writes what waits and closes the file; waits for a limited time, then lets the thread end when it can."""
        self._thread.close()


class _Waiting:
    """The rows that wait for the thread.

    Attributes:
        is_idle: Whether nobody has asked the thread for them; set by the thread before it looks for the last time, so
            that a row either is seen by it or asks anew.
        tidied_at: When old rows were last deleted, in seconds since 1970.
    """

    def __init__(self) -> None:
        self._rows: deque[tuple[Any, ...]] = deque(maxlen=_MOST_WAITING)
        self._dropped = 0
        self.is_idle = True
        self.tidied_at = 0.0

    def add(self, row: tuple[Any, ...]) -> None:
        self._dropped += len(self._rows) == _MOST_WAITING
        self._rows.append(row)

    def take(self) -> list[tuple[Any, ...]]:
        """All rows that wait; the log says if some were dropped."""
        rows: list[tuple[Any, ...]] = []
        with suppress(IndexError):
            while len(rows) < _MOST_WAITING:
                rows.append(self._rows.popleft())
        dropped, self._dropped = self._dropped, 0
        if dropped:
            _logger.warning("%d answers were not entered into the ledger: its disk is too slow", dropped)
        return rows


def _write(waiting: _Waiting, file: LedgerFile) -> None:
    """Writes in the thread, where nobody would see an error, until nothing waits."""
    try:
        while True:
            if not (rows := waiting.take()):
                waiting.is_idle = True
                if not (rows := waiting.take()):
                    return
            statements: list[Statement] = [(KEEP_ANSWER, rows)]
            now = time.time()
            if now - waiting.tidied_at > _DAY:
                waiting.tidied_at = now
                statements.append((FORGET_ANSWERS, [(now - MOST_DAYS * _DAY,)]))
            file.write(statements)
    except Exception:
        waiting.is_idle = True
        _logger.exception("answers were not entered into the ledger")


def _parameters(answer: AnswerObservation) -> tuple[Any, ...]:
    """An answer in the order of the table's columns; a number that cannot be is unknown."""
    usage, client = answer.usage, answer.client
    return (
        as_amount(answer.time, LAST_TIME),
        storable_text(answer.model),
        None if usage is None else as_count(usage.input_tokens),
        None if usage is None else as_count(usage.output_tokens),
        None if usage is None else as_count(usage.cached_tokens),
        None if usage is None else as_count(usage.reasoning_tokens),
        as_amount(answer.cost, MOST_DOLLARS),
        storable_text(answer.provider),
        answer.wire,
        storable_text(client.name),
        storable_text(client.version),
        client.of_class.value,
        client.session,
        client.turn,
        client.kind.value,
        client.retry,
        storable_text(answer.caller),
        storable_text(answer.request_id),
        answer.status,
        "cancelled" if answer.is_cancelled else None if answer.outcome is None else answer.outcome.value,
        storable_text(error_of(answer)),
        as_amount(answer.first_part_after, MOST_SECONDS),
        as_amount(answer.duration, MOST_SECONDS),
        as_count(answer.bytes, _MOST_BYTES),
        answer.is_usage_counted,
        answer.is_usage_kept,
    )


# ---- metrics ----
# The metrics of a server, in Prometheus' text form: what `GET /metrics` answers.
#
# Needs the package `prometheus_client`, of the extra `serve`; whoever wants no metrics does not import this module.
# Each server has a registry of its own, so that several in one process do not add up. An answer is observed once,
# when it is over: its events cost nothing (measured: a histogram with labels takes 1.4 us).

_OF_ANSWER: Final = (Attribute.OPERATION, Attribute.PROVIDER, Attribute.MODEL)
_NO_MODEL: Final = "unknown"
"""The label of a model that is not served: what clients make up must not become a series."""


class ServingMetrics:
    """The metrics of one server.

    Args:
        open_answers: Gives the number of answers that are being given now.
    """

    def __init__(self, open_answers: Callable[[], int]) -> None:
        self.registry = CollectorRegistry()
        labels = [as_prometheus(name) for name in (*_OF_ANSWER, Attribute.ERROR)]
        self._measures = [
            (
                one,
                Histogram(
                    as_prometheus(one.name, one.unit), one.says, labels, registry=self.registry, buckets=one.bounds
                ),
            )
            for one in MEASURES
        ]
        self._tokens = _token_histogram(self.registry)
        self._answers = Counter(
            "partstream_answers",
            "Answers that are over, by wire, client and outcome.",
            ["wire", "client", "kind", "outcome"],
            registry=self.registry,
        )
        self._bytes = Counter("partstream_sent_bytes", "Bytes of answers.", ["wire"], registry=self.registry)
        self._repeated = Counter(
            "partstream_repeated_requests",
            "Requests that a client says to have sent before.",
            ["client"],
            registry=self.registry,
        )
        is_open = Gauge("partstream_open_answers", "Answers that are being given now.", registry=self.registry)
        is_open.set_function(open_answers)
        version = Gauge("partstream_build_info", "The version that runs.", ["version"], registry=self.registry)
        version.labels(__version__).set(1)
        ProcessCollector(registry=self.registry)

    def observe(self, answer: AnswerObservation) -> None:
        """Counts an answer that is over."""
        provider, model = (answer.provider, answer.model) if answer.provider else (OURSELVES, _NO_MODEL)
        of_answer, error = (OPERATION, provider, model), error_of(answer)
        for measure, histogram in self._measures:
            if (number := measure.of(answer)) is not None:
                histogram.labels(*of_answer, error).observe(number)
        for kind, measure in TOKENS.items():
            if (number := measure.of(answer)) is not None:
                self._tokens.labels(*of_answer, kind.value).observe(number)
        client = "other" if answer.client.of_class is ClientClass.OTHER else answer.client.name
        self._answers.labels(answer.wire, client, answer.client.kind.value, _metrics_ended(answer)).inc()
        self._bytes.labels(answer.wire).inc(answer.bytes)
        if answer.client.retry:
            self._repeated.labels(client).inc()

    def page(self, accept: str = "") -> tuple[str, bytes]:
        """The content type and the body of `GET /metrics`.

        Args:
            accept: The header `accept` of the request: Prometheus asks for OpenMetrics where it can read it.
        """
        encode, content_type = choose_encoder(accept)
        return content_type, encode(self.registry)


def _token_histogram(registry: CollectorRegistry) -> Histogram:
    measure = TOKENS[TokenType.INPUT]
    labels = [as_prometheus(name) for name in (*_OF_ANSWER, Attribute.TOKEN_TYPE)]
    return Histogram(
        as_prometheus(measure.name, measure.unit), measure.says, labels, registry=registry, buckets=measure.bounds
    )


def _metrics_ended(answer: AnswerObservation) -> str:
    """How an answer ended, in one word."""
    if answer.is_cancelled:
        return "cancelled"
    if answer.outcome is not None:
        return answer.outcome.value
    return "refused" if answer.status < 500 else "failed"
