"""The settings of requests that only OpenResponses has a place for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from partstream.protocols.protocol import OwnSettings
from partstream.settings.kinds import Choice, choice, whole
from partstream.settings.row import Setting

__all__ = ["OWN_SETTINGS", "EncryptedReasoning", "OpenResponsesSettings", "Truncation"]


class EncryptedReasoning(Choice):
    """Whether a request asks for encrypted reasoning, which later requests send back."""

    AUTO = (
        "auto",
        "When a reasoning effort is chosen, or the conversation holds such reasoning: models without reasoning refuse",
    )
    ON = "on", "Always"
    OFF = "off", "Never"


class Truncation(Choice):
    """The server's behaviour for a conversation that is too long."""

    AUTO = "auto", "It drops items from the middle"
    DISABLED = "disabled", "It refuses the request"


@dataclass(frozen=True, slots=True)
class OpenResponsesSettings:
    """The request settings of OpenResponses alone.

    Attributes:
        encrypted_reasoning: Whether the server is asked for encrypted reasoning.
        truncation: Whether the server drops the middle of a conversation that is too long, or refuses it; None for what
            it does by itself.
        compact_at: From how many input tokens on the server summarises a conversation by itself; None for never. The
            summary comes back with the next request.
    """

    encrypted_reasoning: EncryptedReasoning = EncryptedReasoning.AUTO
    truncation: Truncation | None = None
    compact_at: int | None = None


OWN_SETTINGS: Final = OwnSettings(
    OpenResponsesSettings,
    (
        Setting(
            "encryptedReasoning",
            choice(EncryptedReasoning),
            "Whether the server is asked for its reasoning in encrypted form, to be sent back in later requests",
            "auto",
        ),
        Setting(
            "truncation",
            choice(Truncation),
            "What the server does with a conversation that is too long",
            otherwise="what the server does by itself",
        ),
        Setting(
            "compactAt",
            whole(),
            "The number of input tokens from which on the server summarises a conversation by itself",
            otherwise="never",
        ),
    ),
    frozenset({"model", "input", "stream", "previous_response_id"}),
)
