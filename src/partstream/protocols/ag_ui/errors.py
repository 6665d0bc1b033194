"""The errors of agents: what their servers say before a run, and at the end of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.errors import NO_REASON, ErrorBody, Errors, read_error_body
from partstream.protocols.read_response import identifier

if TYPE_CHECKING:
    from partstream.errors import UpstreamFailureError
    from partstream.protocols.read_response import Wire

__all__ = ["ERRORS", "RUN_ERROR", "failure_of"]

RUN_ERROR: Final = "RUN_ERROR"
_MOST_REFUSED: Final = 5


def _read_body(document: Any) -> ErrorBody:
    """Reads the event of an error, what other servers say, and a list of refused fields as pydantic has it.

    pydantic-ai answers a request of the wrong form with `[{"type", "loc", "msg", ...}]`.
    """
    if isinstance(document, list) and document and all(isinstance(one, dict) and "msg" in one for one in document):
        return read_error_body({"detail": document[:_MOST_REFUSED]})
    read = read_error_body(document)
    if isinstance(document, dict) and document.get("type") == RUN_ERROR:
        # The type is that of the event, and no code of the agent's.
        return read._replace(code=identifier(document, "code"), type=None)
    return read


ERRORS: Final = Errors(read_body=_read_body)


def failure_of(event: Wire) -> UpstreamFailureError:
    """The failure that ends a run; its code is of nobody's list."""
    return ERRORS.failure(identifier(event, "message") or NO_REASON, identifier(event, "code"))
