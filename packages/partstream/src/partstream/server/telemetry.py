"""What a server records of each response that is over: names and bounds, log lines, the user's ledger, and metrics.

No record holds a word of a prompt or a response, and no key.

* Names are OpenTelemetry's conventions for generative AI. The conventions are in development and are
  being renamed (open-telemetry/semantic-conventions-genai#521, September 2026: `gen_ai.client.inference.*` in place of
  `gen_ai.client.operation.*`). Source of names and bounds: docs/wires/serving.md#metrics-and-traces.
* A log line is text for people or JSON. Names come from clients and models, so a character that would act on a terminal
  or begin another line becomes an escape.
* The ledger is the file that `partstream usage` shows. The event loop never waits for it: responses wait in a bounded
  queue, and a thread writes all that wait in one transaction. The oldest rows go first.
* Metrics have Prometheus' text form, for `GET /metrics`. Its package `prometheus_client`, of the extra `serve`, writes
  them on request. Each server has its own, so that several in one process do not add up.
"""

from __future__ import annotations
import logging
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from partstream._version import __version__
from partstream.codec.checks import LAST_TIME, MOST_DOLLARS, MOST_SECONDS, as_amount, as_count, dataclass, storable_text
from partstream.codec.json_codec import dumps
from partstream.codec.system import DATA, LazyModule
from partstream.codec.text import visible
from partstream.lm.outputs import VALID
from partstream.lm.parts import Usage
from partstream.server.clients import AnswerKind, ClientClass
from partstream.settings.kinds import Choice
from partstream.tokens.ledger import LEDGER_NAME, is_ledger_off
from partstream.tokens.ledger_file import KEEP_ANSWER, FileThread, LedgerFile

if TYPE_CHECKING:
    from pathlib import Path

    import prometheus_client.utils

    from partstream.server.settings import AnswerObservation
else:
    prometheus_client = LazyModule("prometheus_client")  # an extra

# ---- Names ----

OPERATION: Final = "chat"
OURSELVES: Final = "partstream"
"""The provider's name where it has none, or where no provider was asked."""


OPERATION_NAME: Final = "gen_ai.operation.name"
PROVIDER_NAME: Final = "gen_ai.provider.name"
MODEL_NAME: Final = "gen_ai.request.model"
ERROR_NAME: Final = "error.type"
"""Names of attributes of spans and, with underscores, of labels of metrics."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of a response whose distribution is kept, with its name in the conventions, as Prometheus has it.

    `says` is for people, `bounds` are those of its buckets, and `of` returns the number, or None where there is none.
    `kind` says whose tokens are measured under one name (`gen_ai.token.type`).
    """

    name: str
    says: str
    bounds: tuple[float, ...]
    of: Callable[[AnswerObservation], float | None]
    kind: str = ""


def error_of(answer: AnswerObservation) -> str:
    """Why a response did not end well (`error.type`): the class of its error, its status, or ""."""
    if answer.error is not None:
        return answer.error
    if answer.is_cancelled:
        return "cancelled"
    return str(answer.status) if answer.status >= 400 else ""


def _time_per_output_token(answer: AnswerObservation) -> float | None:
    """The seconds for each token after the first; not of a document, and not of tokens that were only counted."""
    tokens = None if answer.usage is None or answer.is_usage_counted else answer.usage.output_tokens
    if tokens is None or tokens < 2 or answer.first_part_after is None or answer.outcome not in VALID:
        return None
    return max(answer.duration - answer.first_part_after, 0.0) / (tokens - 1)


_SECONDS: Final = tuple(0.01 * 2**step for step in range(14))
_FIRST_TOKEN: Final = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
_EACH_TOKEN: Final = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5)
_TOKENS: Final = tuple(float(4**step) for step in range(14))

_MEASURES: Final = (
    Measure("gen_ai_server_request_duration_seconds", "From the request until the last byte of the answer.", _SECONDS,
        lambda answer: answer.duration),
    Measure("gen_ai_server_time_to_first_token_seconds",
        "From the request until the first part of an answer that ended well.", _FIRST_TOKEN,
        lambda answer: answer.first_part_after if answer.outcome in VALID else None),
    Measure("gen_ai_server_time_per_output_token_seconds",
        "For each token after the first, of an answer that ended well and whose tokens the provider reported.",
        _EACH_TOKEN, _time_per_output_token),
    *(
        Measure("gen_ai_client_token_usage", "The tokens of an answer, by type.", _TOKENS, of, kind)
        for kind, of in (
            ("input", lambda answer: None if answer.usage is None else answer.usage.input_tokens),
            ("output", lambda answer: None if answer.usage is None else answer.usage.output_tokens),
        )
    ),
)  # fmt: skip
"""What is measured of each answer, each at most once an answer."""


# ---- Log lines ----

_LONGEST: Final = 120
"""The most characters of a name in a line."""


class LogForm(Choice):
    """The form of the lines."""

    TEXT = "text", "For people"
    JSON = "json", "A JSON object a line, for programs"


_PLAIN: Final = re.compile(rf"[!#-<>-~]{{1,{_LONGEST}}}")
_UNKNOWN: Final = Usage()
_TURN, _OTHER = AnswerKind.TURN, ClientClass.OTHER  # Python 3.11 is slow to find a member of an enum, and its value


def text_line(answer: AnswerObservation) -> str:
    """An answer as a line for people: time, wire, status, how it ended, then what is known, each with its name."""
    facts = _facts(answer)
    line = [str(value) for _, value in facts[:4]]
    for name, value in facts[4:]:
        if value is None or value == "":
            continue
        if value.__class__ is str and not _PLAIN.fullmatch(value):
            shown = visible(_cut(value)).replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
            if not shown or any(one in shown for one in ' "='):  # without quotes, its end would not be seen
                shown = f'"{shown.replace(chr(34), chr(39))}"'
            line.append(f"{name}={shown}")
        else:
            line.append(f"{name}={'yes' if value is True else value}")
    return " ".join(line)


def json_line(answer: AnswerObservation) -> str:
    """An answer as a JSON object on one line, whose `type` is `answer`."""
    known = {name: _cut(value) for name, value in _facts(answer) if value is not None and value != ""}
    return visible(dumps({"type": "answer", **known}).decode())


def _cut(value: Any) -> Any:
    """A value whose text is short, and fit for UTF-8."""
    if not isinstance(value, str):
        return value
    return storable_text(value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…")


def _facts(answer: AnswerObservation) -> tuple[tuple[str, Any], ...]:
    """The facts of a line, in its order; None or "" where one is unknown."""
    usage, client = answer.usage or _UNKNOWN, answer.client
    first_part = answer.first_part_after
    second, thousandths = divmod(round(answer.time * 1e6) // 1000, 1000)
    return (
        ("time", f"{_said_second(second)}.{thousandths:03}Z"),
        ("wire", answer.wire),
        ("status", answer.status),
        ("ended", _ended(answer) if answer.reason is None or answer.is_cancelled else str(answer.reason.unified)),
        ("model", answer.model),
        ("provider", answer.provider),
        ("client", client.name),
        ("version", client.version),
        ("session", client.session),
        ("turn", client.turn),
        ("kind", None if client.kind is _TURN else str(client.kind)),
        ("retry", client.retry or None),
        ("caller", answer.caller),
        ("input", usage.input_tokens),
        ("cached", usage.cached_tokens),
        ("output", usage.output_tokens),
        ("counted", answer.is_usage_counted or None),
        ("first_part_s", None if first_part is None else round(first_part, 3)),
        ("duration_s", round(answer.duration, 3)),
        ("bytes", answer.bytes),
        ("events", answer.events if answer.is_stream else None),
        ("error", error_of(answer)),
        ("request", answer.request_id),
    )


@lru_cache(maxsize=8)  # to write a time takes longer than all other facts of a line
def _said_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat()[:19]


def _ended(answer: AnswerObservation) -> str:
    """How a response ended, in a word."""
    if answer.is_cancelled:
        return "cancelled"
    return "refused" if answer.outcome is None else str(answer.outcome)


# ---- The ledger ----

_logger = logging.getLogger("partstream.serving")

_FULL: Final = 1_000
"""The answers that wait for others; with more, they are written at once."""
_MOST_BYTES: Final = 2**53


def open_answer_ledger(folder: Path | None = None) -> AnswerLedger | None:
    """The ledger of a folder, by default of the user's data folder; None with `PARTSTREAM_LEDGER=false`."""
    return None if is_ledger_off() else AnswerLedger((folder or DATA.path()) / LEDGER_NAME)


class AnswerLedger:
    """Writes responses into the ledger's file, which is made with the first one."""

    def __init__(self, path: Path) -> None:
        self._file = LedgerFile(path)
        self._thread = FileThread(self, self._file, "partstream-answers", self._file.write)

    def observe(self, answer: AnswerObservation) -> None:
        """Enters a response that is over; returns at once.

        A request for which no provider was asked took no tokens. If it were entered, clients without a key could fill
        the table, from which the oldest responses go.
        """
        if not self._thread.is_open or not (answer.provider or answer.outcome is not None):
            return
        waiting = self._file.add([(KEEP_ANSWER, [_parameters(answer)])])
        self._thread.write_soon(is_full=waiting >= _FULL)

    def close(self) -> None:
        """Writes what waits and closes the file; waits for a limited time, then lets the thread end when it can."""
        self._thread.close()


def _parameters(answer: AnswerObservation) -> tuple[Any, ...]:
    """A response in the order of the table's columns; an impossible number is unknown."""
    usage, client = answer.usage or _UNKNOWN, answer.client
    return (
        as_amount(answer.time, LAST_TIME),
        storable_text(answer.model),
        as_count(usage.input_tokens),
        as_count(usage.output_tokens),
        as_count(usage.cached_tokens),
        as_count(usage.reasoning_tokens),
        as_amount(answer.cost, MOST_DOLLARS),
        storable_text(answer.provider),
        answer.wire,
        storable_text(client.name),
        storable_text(client.version),
        str(client.of_class),
        client.session,
        client.turn,
        str(client.kind),
        client.retry,
        storable_text(answer.caller),
        storable_text(answer.request_id),
        answer.status,
        None if answer.outcome is None and not answer.is_cancelled else _ended(answer),
        storable_text(error_of(answer)),
        as_amount(answer.first_part_after, MOST_SECONDS),
        as_amount(answer.duration, MOST_SECONDS),
        as_count(answer.bytes, _MOST_BYTES),
        answer.is_usage_counted,
        answer.is_usage_kept,
    )


# ---- Metrics ----

_NO_MODEL: Final = "unknown"
"""The label of a model that is not served: a name that a client invents must not become a series."""
_MOST_FIELDS: Final = 256
_MOST_FIELDS_OF_ONE: Final = 64
"""The most of them that one caller is the first to send."""
_OTHER_FIELD: Final = "other"
_FIELD: Final = re.compile(r"[A-Za-z_][\w-]{0,39}(?![\w-])", re.ASCII)


class _Distribution:
    """The numbers of one series of a histogram: how many are in each bucket, and their sum."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0


_COUNTERS: Final = {
    "partstream_answers": (
        "Answers that are over, by wire, client and outcome.", ("wire", "client", "kind", "outcome"),
    ),
    "partstream_sent_bytes": ("Bytes of answers.", ("wire",)),
    "partstream_repeated_requests": ("Requests that a client says to have sent before.", ("client",)),
    "partstream_dropped_fields": (
        "Requests with a field that reached no model, by wire and the field at the top of its path.", ("wire", "field"),
    ),
    "partstream_unsaid_fields": (
        "Answers with a field that the client did not get, by wire and the field at the top of its path.",
        ("wire", "field"),
    ),
}  # fmt: skip
"""The counters: what they say, and their labels."""


class ServingMetrics:
    """The metrics of one server; `open_answers` returns the number of responses that run now.

    They are plain numbers: the objects of Prometheus' package take five times as long to count an answer. It is loaded,
    and writes them, on request.
    """

    def __init__(self, open_answers: Callable[[], int]) -> None:
        self._open_answers = open_answers
        self._distributions: dict[tuple[str, str, str, str], _Distribution] = {}
        self._series: dict[tuple[str, str, str], list[tuple[Measure, _Distribution]]] = {}  # by provider, model, error
        self._counts: dict[str, Counter[tuple[str, ...]]] = {name: Counter() for name in _COUNTERS}
        self._dropped_fields: dict[str, str] = {}  # by whom each was sent first
        self._registry: prometheus_client.CollectorRegistry | None = None

    def observe(self, answer: AnswerObservation) -> None:
        """Counts an answer that is over."""
        provider, model = (answer.provider, answer.model) if answer.provider else (OURSELVES, _NO_MODEL)
        error = error_of(answer)
        series = self._series.get((provider, model, error))
        if series is None:  # the tokens of a kind are one series, whatever became of the answers
            labels = [(one.name, provider, model, one.kind or error) for one in _MEASURES]
            series = self._series[provider, model, error] = [
                (one, self._distributions.setdefault(said, _Distribution(one.bounds)))
                for one, said in zip(_MEASURES, labels, strict=True)
            ]
        for measure, found in series:
            if (number := measure.of(answer)) is not None:
                found.counts[bisect_left(found.bounds, number)] += 1
                found.total += number
        counts, wire = self._counts, answer.wire
        client = "other" if answer.client.of_class is _OTHER else answer.client.name
        ended = _ended(answer)
        ended = "failed" if ended == "refused" and answer.status >= 500 else ended
        counts["partstream_answers"][wire, client, str(answer.client.kind), ended] += 1
        counts["partstream_sent_bytes"][wire,] += answer.bytes
        if answer.client.retry:
            counts["partstream_repeated_requests"][client,] += 1
        lost = (("dropped", answer.dropped), ("unsaid", answer.unsaid)) if answer.dropped or answer.unsaid else ()
        for counter, names in lost:
            for field in {self._label_of(name, answer.caller) for name in names}:
                counts[f"partstream_{counter}_fields"][wire, field] += 1

    def _label_of(self, name: str, caller: str) -> str:
        """The field at the top of a path; `other` where clients invent more of them than there are series."""
        found = _FIELD.match(name)
        field = _OTHER_FIELD if found is None else found[0]
        known = self._dropped_fields
        if field not in known:
            if len(known) >= _MOST_FIELDS or list(known.values()).count(caller) >= _MOST_FIELDS_OF_ONE:
                return _OTHER_FIELD
            known[field] = caller
        return field

    def page(self, accept: str = "") -> tuple[str, bytes]:
        """The content type and the body of `GET /metrics`; Prometheus asks for OpenMetrics in the header `accept`."""
        if self._registry is None:
            self._registry = prometheus_client.CollectorRegistry()
            self._registry.register(self)
            prometheus_client.ProcessCollector(registry=self._registry)
        encode, content_type = prometheus_client.exposition.choose_encoder(accept)
        return content_type, encode(self._registry)

    def collect(self) -> Iterator[prometheus_client.Metric]:
        """All series, in the form of Prometheus' package, which asks for them."""
        families = prometheus_client.metrics_core
        for name, measure in {one.name: one for one in _MEASURES}.items():
            label = "gen_ai.token.type" if measure.kind else ERROR_NAME
            names = [one.replace(".", "_") for one in (OPERATION_NAME, PROVIDER_NAME, MODEL_NAME, label)]
            histogram = families.HistogramMetricFamily(name, measure.says, labels=names)
            for (of, *labels), numbers in self._distributions.items():
                if of == name and any(numbers.counts):
                    bounds = [*map(prometheus_client.utils.floatToGoString, numbers.bounds), "+Inf"]
                    buckets = [*zip(bounds, accumulate(numbers.counts), strict=True)]
                    histogram.add_metric([OPERATION, *labels], buckets, numbers.total)
            yield histogram
        for name, (says, labels_of) in _COUNTERS.items():
            counter = families.CounterMetricFamily(name, says, labels=labels_of)
            for series, count in self._counts[name].items():
                counter.add_metric(series, count)
            yield counter
        yield families.GaugeMetricFamily(
            "partstream_open_answers", "Answers that are being given now.", self._open_answers()
        )
        version = families.GaugeMetricFamily("partstream_build_info", "The version that runs.", labels=["version"])
        version.add_metric([__version__], 1)
        yield version
