"""Whether an object has what an interface asks for: as `isinstance` says it."""

from types import SimpleNamespace
from typing import Any

from partstream.codec.checks import narrow
from partstream.lm.outputs import EndingStream, FastPathWriter, PausingStream, ReportingStream, StreamOptions
from partstream.lm.provider import DrainingProgress, FinishingProgress, WaitingProgress
from partstream.protocols.protocol import PROTOCOLS
from rows import one_test_for

KINDS = (
    DrainingProgress, FinishingProgress, WaitingProgress, EndingStream, PausingStream, ReportingStream, FastPathWriter,
)  # fmt: skip


class Drains:
    def report(self, part: Any) -> None: ...
    async def drain(self) -> None: ...


VALUES = {
    "nothing": object(),
    "a progress that drains": Drains(),
    "a progress of functions": SimpleNamespace(report=print, finish=print, wait=print),
    "half a progress": SimpleNamespace(drain=print),
    **{f"the adapter of {name}": row.read_response()(StreamOptions()) for name, row in PROTOCOLS.items()},
}


@one_test_for("value", VALUES.values(), ids=VALUES)
def test_an_object_has_what_isinstance_finds(value: object) -> None:
    for kind in KINDS:
        assert (narrow(value, kind) is value) is isinstance(value, kind), kind
