"""A request of the official types with an object, a list or half a character instead of any value: it is written
for another wire, or refused by a typed error."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from census.fates import DIRECTIONS
from census.fields import fields_of
from census.wires import WIRES
from partstream.errors import LanguageModelError, PartstreamError
from partstream.protocols.protocol import PROTOCOLS
from partstream.protocols.serve import WireRequest
from partstream.server.requests import reading_of

ODD = ([], [0, 0], {"a": 1}, "\ud800")
Place = tuple[str | int, ...]


def _places(value: Any, at: Place = ()) -> Iterator[Place]:
    if at:
        yield at
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in members:
        yield from _places(one, (*at, name))


def _with(value: Any, place: Place, odd: Any) -> Any:
    if not place:
        return odd
    copy: Any = value.copy()
    copy[place[0]] = _with(copy[place[0]], place[1:], odd)
    return copy


def _odd_requests(wire: str) -> Iterator[tuple[str, Any]]:
    """Each place of each part once, however many fields leave it as it is."""
    seen = set[str]()
    for field in fields_of(wire, "request"):
        whole = field.wholes[0]
        for place in _places(whole):
            name = re.sub(r"\d+", "", f"{place} of {field.parent}")
            if name not in seen:
                seen.add(name)
                for odd in ODD:
                    yield f"{place} of {field.path}: {odd!a}", _with(whole, place, odd)


@pytest.mark.parametrize("wire", WIRES)
def test_no_value_of_an_odd_type_is_a_fault_of_the_server(wire: str) -> None:
    faults = []
    factory = PROTOCOLS[wire].read_request
    assert factory is not None
    for what, body in _odd_requests(wire):
        asked = WireRequest(WIRES[wire].path, body)
        try:
            reading_of(factory().read, asked, asked)
            if "\\ud800" not in what:
                DIRECTIONS["request"](body, wire, "openresponses" if wire == "chat-completions" else "chat-completions")
        except (PartstreamError, LanguageModelError):
            pass
        except Exception as error:
            faults.append(f"{what}: {error!r}")
    assert faults == []
