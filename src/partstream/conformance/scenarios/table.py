"""The table of the fixed scenarios, in the order of reports."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from partstream.conformance.scenarios.answers import ANSWERS
from partstream.conformance.scenarios.failures import FAILURES
from partstream.conformance.scenarios.probes import count_tokens, list_models
from partstream.conformance.scenarios.tools import TOOL_SCENARIOS
from partstream.devtools.conformance.checks import Probe, Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.devtools.conformance.scripts import Script

__all__ = ["SCENARIOS", "any_script"]

_PROBES: Final = (
    Probe(
        "model-list",
        "The list of models: silently, twice, and cancelled",
        ("models.listed", "models.same-twice", "models.cancelled", "models.no-change-event"),
        list_models,
    ),
    Probe("token-count", "Token counts of any text", ("tokens.count", "tokens.monotone"), count_tokens),
)

SCENARIOS: Final[Mapping[str, Scenario | Probe]] = MappingProxyType(
    {row.slug: row for row in (*ANSWERS, *TOOL_SCENARIOS, *FAILURES, *_PROBES)}
)
"""Every scenario by its slug."""


def any_script() -> Script:
    """A script for a target that needs one, whatever it is asked."""
    return ANSWERS[0].script
