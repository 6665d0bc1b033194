"""The trace that a request to an upstream belongs to, in the headers of W3C Trace Context.

Where the program has loaded OpenTelemetry and a span is current, as below `partstream serve --otlp`, the upstream may
go on with its trace. Baggage stays here: whoever set it did not mean it for other people's servers.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["trace_headers"]

_MODULE: Final = "opentelemetry.trace.propagation.tracecontext"
"""Loaded with the API of OpenTelemetry; never loaded from here."""


def trace_headers() -> Mapping[str, str]:
    """The headers `traceparent` and, if there is one, `tracestate`; none without a current span."""
    loaded = sys.modules.get(_MODULE)
    headers: dict[str, str] = {}
    if loaded is not None:
        loaded.TraceContextTextMapPropagator().inject(headers)
    return headers
