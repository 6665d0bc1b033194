"""Counts the rules of the contract that a hosted provider breaks, and logs each rule the first time."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from partstream.lm.contract import Violation
    from partstream.vscode import rpc_types as wire

__all__ = ["BrokenRules"]

_logger = logging.getLogger("partstream.hosts.vscode")

# By the value of a level: the contract itself is not loaded before the first answer.
_LOG_LEVELS = {"MUST": logging.WARNING, "SHOULD": logging.INFO}


@dataclass(slots=True)
class _Broken:
    first: Violation
    count: int = 0


class BrokenRules:
    """The rules that one version of a provider has broken so far, in all its answers.

    Args:
        provider: The provider's name in the log.
    """

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._broken: dict[str, _Broken] = {}

    def note(self, violation: Violation) -> None:
        """Counts a violation; logs it if it is the first one of its rule."""
        known = self._broken.get(violation.rule.id)
        if known is None:
            known = self._broken[violation.rule.id] = _Broken(violation)
            self._log(violation)
        known.count += 1

    def result(self) -> list[wire.BrokenRule]:
        """All broken rules, in the order of their first violations; without the content of parts."""
        return [
            {
                "provider": self._provider,
                "rule": broken.first.rule.id,
                "level": broken.first.rule.level.value,
                "sentence": broken.first.rule.text,
                "count": broken.count,
                "place": None if broken.first.place is None else str(broken.first.place),
            }
            for broken in self._broken.values()
        ]

    def _log(self, violation: Violation) -> None:
        level = violation.rule.level.value
        is_dropped = level == "MUST" and violation.index is not None
        _logger.log(
            _LOG_LEVELS[level],
            "the provider %s broke the rule %s%s This rule is logged only once; the debug information counts it.",
            self._provider,
            violation,
            " The part was dropped." if is_dropped else "",
        )
