"""Says whether VS Code's Copilot harness offers the models of extensions, and what helps if not; reads no settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from partstream.configuration.findings import CheckStatus, Finding

__all__ = ["ALLOWS_SIGNED_OUT", "LISTS_MODELS", "HarnessFacts", "finding_on_harness"]

LISTS_MODELS: Final = "chat.agentHost.byokModels.enabled"
"""The setting of VS Code with which the agent host lists the models of extensions."""
ALLOWS_SIGNED_OUT: Final = "chat.agentHost.allowSignedOutWhenUsable"
"""The setting of VS Code with which the agent host answers without an account."""
_WRITES_THEM: Final = "Partstream: Use a Model Everywhere… sets both"


@dataclass(frozen=True, slots=True)
class HarnessFacts:
    """What decides whether the Copilot harness of a VS Code offers the models of extensions.

    Attributes:
        is_remote: Whether the window is a remote one, or is in a browser.
        lists_models: Whether :data:`LISTS_MODELS` is on.
        allows_signed_out: Whether :data:`ALLOWS_SIGNED_OUT` is on.
    """

    is_remote: bool
    lists_models: bool
    allows_signed_out: bool


def finding_on_harness(facts: HarnessFacts, subject: str = "Copilot harness") -> Finding:
    """Whether the models are there, and what helps if not. Nobody needs that harness, so nothing of it is a problem.

    Args:
        facts: What is known.
        subject: How the finding calls the harness.
    """
    if facts.is_remote:
        says = "offers no models of extensions in a remote window and in a browser"
        return Finding(subject, CheckStatus.FINE, says, "choose Local below the box of the chat")
    if not facts.lists_models:
        advice = f"set it, and for use without an account also {ALLOWS_SIGNED_OUT}; {_WRITES_THEM}"
        return Finding(subject, CheckStatus.FINE, f"offers no models of extensions: {LISTS_MODELS} is off", advice)
    if not facts.allows_signed_out:
        advice = f"set it for use without an account; {_WRITES_THEM}"
        says = f"offers the models only to a person who is signed in at GitHub: {ALLOWS_SIGNED_OUT} is off"
        return Finding(subject, CheckStatus.FINE, says, advice)
    return Finding(subject, CheckStatus.FINE, "offers the models, with an account and without one")
