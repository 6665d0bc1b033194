"""What a host decides once about its requests: limits, strictness and who is told of a provider's mistakes.

It knows no provider and no request.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.contract.checker import CheckMode, Violation

__all__ = [
    "ConsumerLimits",
    "ConsumerSettings",
    "ProviderErrorListener",
    "ViolationListener",
    "ViolationLog",
    "log_provider_error",
]

ViolationListener: TypeAlias = "Callable[[str, str, Violation], object]"
"""Called with the vendor, the model's id and the rule that its provider broke."""

ProviderErrorListener: TypeAlias = "Callable[[str, Exception], object]"
"""Called with the vendor and an error of its provider that no request can raise."""

_log = logging.getLogger("partstream.consumer")


class ViolationLog:
    """Logs each rule that a provider breaks, once: what happens unless the host wants to be told."""

    def __init__(self) -> None:
        self._logged: set[tuple[str, str]] = set()

    def __call__(self, vendor: str, model_id: str, violation: Violation) -> None:
        """Logs the rule with its sentence and the line of the provider's code, if it is the vendor's first of it."""
        if (vendor, violation.rule.id) not in self._logged:
            self._logged.add((vendor, violation.rule.id))
            _log.warning("%s/%s broke the rule %s It is logged once.", vendor, model_id, violation)


def log_provider_error(vendor: str, error: Exception) -> None:
    """Logs a provider's error: what happens unless the host wants to be told."""
    _log.warning("the provider of %s failed: %s: %s", vendor, type(error).__name__, error)


@dataclass(frozen=True, slots=True)
class ConsumerLimits:
    """How long a provider is waited for, in seconds.

    Attributes:
        list_seconds: For the list of its models.
        cancel_grace_seconds: For it to return after its token was cancelled; then its task is cancelled as well.
            Short, because a provider that blocks on a silent upstream does not look at its token, and its
            connection has to be closed at once all the same.
        cancel_seconds: For it to end after its task was cancelled; then it is reported as stuck.
    """

    list_seconds: float = 10.0
    cancel_grace_seconds: float = 0.05
    cancel_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """Everything that a host decides, in one value.

    Attributes:
        contract_mode: What becomes of a part that breaks the contract.
        on_violation: Told of every broken rule.
        on_provider_error: Told of errors that reach nobody else.
        limits: How long a provider is waited for.
    """

    contract_mode: CheckMode
    on_violation: ViolationListener
    on_provider_error: ProviderErrorListener
    limits: ConsumerLimits
