"""Everybody who hears of each answer that `partstream serve` has given: the screen, the ledger, metrics and spans."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from partstream.cli.serve_options import variable_of
from partstream.cli.terminal import echo_while_read
from partstream.server.telemetry import LogForm, json_line, open_answer_ledger, text_line
from partstream.server.tracing import start_tracing
from partstream.settings.kinds import Choice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from partstream.server.application import ServingApp
    from partstream.server.settings import AnswerObservation
    from partstream.server.tracing import Tracing

__all__ = ["METRICS_PATH", "MetricsAccess", "Observers", "observer_options"]

METRICS_PATH: Final = "/metrics"


class MetricsAccess(Choice):
    """Who may read the metrics."""

    TOKEN = "token", "Who has the token"
    OPEN = "open", "Everybody who reaches the server"
    OFF = "off", "Nobody: nothing is measured"


def observer_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds to a command the options of :class:`Observers`."""
    function = click.option(
        "--otlp",
        metavar="URL",
        help="Send spans to this OpenTelemetry collector, such as http://127.0.0.1:4318. "
        "Default: where OTEL_EXPORTER_OTLP_ENDPOINT says.",
    )(function)
    function = click.option(
        "--metrics",
        type=click.Choice([one.value for one in MetricsAccess]),
        default=MetricsAccess.TOKEN.value,
        envvar=variable_of("metrics"),
        show_default=True,
        help=f"Who may read {METRICS_PATH}, in the form of Prometheus.",
    )(function)
    return click.option(
        "--log",
        type=click.Choice([*(one.value for one in LogForm), "off"]),
        default=LogForm.TEXT.value,
        envvar=variable_of("log"),
        show_default=True,
        help="The form of the line that is printed for each answer.",
    )(function)


@dataclass(frozen=True, slots=True)
class Observers:
    """Who hears of answers.

    Attributes:
        log: The form of the lines, or `off`.
        metrics: Who may read the metrics.
        tracing: The spans, or None.
        as_json: Whether everything that is printed is JSON.
        keeps_ledger: Whether the answers are entered into the ledger of whoever runs the command.
    """

    log: str
    metrics: MetricsAccess
    tracing: Tracing | None
    as_json: bool
    keeps_ledger: bool = True

    @classmethod
    def of_options(
        cls, log: str, metrics: str, otlp: str | None, *, as_json: bool, keeps_ledger: bool = True
    ) -> Observers:
        """Those that the options name.

        Raises:
            CallerError: The address of the collector is none, or a package is missing.
        """
        return cls(log, MetricsAccess(metrics), start_tracing(otlp, is_of_program=True), as_json, keeps_ledger)

    @contextmanager
    def of(self, application: ServingApp) -> Iterator[None]:
        """Lets them hear of the answers of an application until the block ends, which writes what is left."""
        with ExitStack() as stack:
            if (line := self._line()) is not None:
                application.on_did_finish_answer(lambda answer: echo_while_read(line(answer)))
            if self.keeps_ledger and (ledger := open_answer_ledger()) is not None:
                stack.callback(ledger.close)
                application.on_did_finish_answer(ledger.observe)
            if self.metrics is not MetricsAccess.OFF:
                from partstream.server.telemetry import ServingMetrics  # noqa: PLC0415 - of an extra

                measured = ServingMetrics(lambda: application.open_answers)
                application.on_did_finish_answer(measured.observe)
                application.add_page(METRICS_PATH, measured.page, is_open=self.metrics is MetricsAccess.OPEN)
            if self.tracing is not None:
                stack.callback(self.tracing.close)
                application.trace_answers(self.tracing.start_trace)
            yield

    def _line(self) -> Callable[[AnswerObservation], str] | None:
        if self.log == "off":
            return None
        return json_line if self.as_json or self.log == LogForm.JSON.value else text_line
