"""The decisions that a host makes once for all its requests: limits, strictness, listeners for providers' mistakes.

Knows no provider and no request.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from partstream.runtime.progress import failing_place

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.lm.contract import CheckMode, Violation

__all__ = [
    "ConsumerLimits",
    "ConsumerSettings",
    "ProviderErrorListener",
    "ViolationListener",
    "ViolationLog",
    "log_provider_error",
]

ViolationListener: TypeAlias = "Callable[[str, str, Violation], object]"
"""Called with the vendor, the model's id and a violation of its provider."""

ProviderErrorListener: TypeAlias = "Callable[[str, Exception], object]"
"""Called with the vendor and an error of its provider that no request can raise."""

_log = logging.getLogger("partstream.consumer")


class ViolationLog:
    """Logs each rule that a provider breaks, once; the default of `on_violation`."""

    def __init__(self) -> None:
        self._logged: set[tuple[str, str]] = set()

    def __call__(self, vendor: str, model_id: str, violation: Violation) -> None:
        """Logs the rule's sentence and the line of the provider's code, if the vendor breaks the rule first now."""
        if (vendor, violation.rule.id) not in self._logged:
            self._logged.add((vendor, violation.rule.id))
            _log.warning("%s/%s broke the rule %s This rule is logged only once.", vendor, model_id, violation)


def log_provider_error(vendor: str, error: Exception) -> None:
    """Logs a provider's error, with the line of its code; the default of `on_provider_error`."""
    place = failing_place(error)
    at = "" if place is None else f" ({place})"
    _log.warning("the provider of %s failed: %s: %s%s", vendor, type(error).__name__, error, at)


@dataclass(frozen=True, slots=True)
class ConsumerLimits:
    """How long a host waits for a provider, in seconds.

    Attributes:
        list_seconds: The wait for the list of models.
        cancel_grace_seconds: The wait for the provider to return after its token was cancelled; then its task is
            cancelled as well. Short, because a provider that blocks on a silent upstream does not look at its token,
            and its connection has to be closed at once all the same.
        cancel_seconds: The wait for the provider to end after its task was cancelled; then it is reported as stuck.

    Example:
        >>> from partstream import ConsumerLimits
        >>> ConsumerLimits(list_seconds=30).cancel_seconds
        5.0
    """

    list_seconds: float = 10.0
    cancel_grace_seconds: float = 0.05
    cancel_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """All decisions of a host.

    Attributes:
        contract_mode: How to treat a part that breaks the contract.
        on_violation: Called with every violation.
        on_provider_error: Called with errors of providers that no request can raise.
        limits: How long to wait for a provider.
    """

    contract_mode: CheckMode
    on_violation: ViolationListener
    on_provider_error: ProviderErrorListener
    limits: ConsumerLimits
