"""Requirement sets: the checks that count, frozen with each version of the kit's requirements."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from partstream.errors import CallerError

__all__ = ["CONTRACT_VERSION", "LATEST", "RequirementSet", "load"]

CONTRACT_VERSION: Final = "1.0"
"""The version of the document that the rules are from."""

LATEST: Final = "1.0"
"""The name of the newest requirement set."""


@dataclass(frozen=True, slots=True)
class RequirementSet:
    """The checks that count.

    Attributes:
        name: The version of the set.
        contract: The version of the contract.
        checks: The ids of the checks that count; all others are shown and do not count.
    """

    name: str
    contract: str
    checks: frozenset[str]


def load(name: str = LATEST) -> RequirementSet:
    """The requirement set of that name.

    Raises:
        CallerError: There is none.
    """
    place = files("partstream.devtools.conformance").joinpath("requirements", f"{name}.json")
    if not place.is_file():
        raise CallerError(f"requirements: got {name!r}, expected {LATEST}")
    value = json.loads(place.read_text(encoding="utf-8"))
    return RequirementSet(name, value["contract"], frozenset(value["checks"]))
