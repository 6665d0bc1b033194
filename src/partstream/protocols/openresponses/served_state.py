"""What a server of OpenResponses remembers of its responses; see :mod:`partstream.protocols.serve`."""

from __future__ import annotations

from typing import Final

from partstream.protocols.openresponses.served_record import ResponseRecord
from partstream.protocols.openresponses.served_requests import join, keeps, refuse, unkept, wanted, whole
from partstream.protocols.openresponses.served_routes import ROUTES, items_of, unknown, unstreamed
from partstream.protocols.serve import ServedState

__all__ = ["STATE"]

STATE: Final = ServedState(
    refuse=refuse,
    wanted=wanted,
    join=join,
    keeps=keeps,
    unkept=unkept,
    record=ResponseRecord,
    items=items_of,
    whole=whole,
    unknown=unknown,
    unstreamed=unstreamed,
    routes=ROUTES,
    fields=frozenset({"previous_response_id", "store"}),
)
