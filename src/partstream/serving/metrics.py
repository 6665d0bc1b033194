"""The metrics of a server, in Prometheus' text form: what `GET /metrics` answers.

Needs the package `prometheus_client`, of the extra `serve`; whoever wants no metrics does not import this module. Each
server has a registry of its own, so that several in one process do not add up. An answer is observed once, when it is
over: its events cost nothing (measured: a histogram with labels takes 1.4 us).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import choose_encoder

from partstream._version import __version__
from partstream.server.clients import ClientClass
from partstream.serving.telemetry_names import (
    MEASURES,
    OPERATION,
    OURSELVES,
    TOKENS,
    Attribute,
    TokenType,
    as_prometheus,
    error_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.server.settings import AnswerObservation

__all__ = ["ServingMetrics"]

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
        self._answers.labels(answer.wire, client, answer.client.kind.value, _ended(answer)).inc()
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


def _ended(answer: AnswerObservation) -> str:
    """How an answer ended, in one word."""
    if answer.is_cancelled:
        return "cancelled"
    if answer.outcome is not None:
        return answer.outcome.value
    return "refused" if answer.status < 500 else "failed"
