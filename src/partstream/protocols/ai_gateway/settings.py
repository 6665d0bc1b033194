"""The settings of requests that only the AI Gateway has a place for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from partstream.protocols.ai_gateway.context_edits import CONTEXT_MANAGEMENT
from partstream.protocols.ai_gateway.context_management import ContextManagement
from partstream.protocols.protocol import OwnSettings
from partstream.settings.checks import fits_header, json_object, shortened
from partstream.settings.errors import ConfigurationError
from partstream.settings.kinds import Kind, ValueForm, text
from partstream.settings.row import Secrecy, Setting

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OWN_SETTINGS", "SPECIFICATION_VERSIONS", "AIGatewaySettings"]

SPECIFICATION_VERSIONS: Final = (2, 3, 4)
"""The versions of the language model specification."""


@dataclass(frozen=True, slots=True)
class AIGatewaySettings:
    """The request settings of the AI Gateway alone.

    Attributes:
        specification_version: The version of the specification that requests are written in; None for the one that the
            base URL says.
        provider_options: What the providers behind the gateway are told in their own words, by the provider's name.
        context_management: What these providers are asked to take out of conversations that grow long.
        team: In whose name a request is made, where the key is good for several teams; None for the key's own.
    """

    specification_version: int | None = None
    provider_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    context_management: ContextManagement = field(default_factory=ContextManagement)
    team: str | None = None

    def for_model(self, model_id: str, max_input_tokens: int) -> AIGatewaySettings:
        """The settings with the edits that a model knows among its provider's options; options of a person win."""
        asked = self.context_management.provider_options(model_id, max_input_tokens)
        if not asked:
            return self
        added = {name: {**options, **self.provider_options.get(name, {})} for name, options in asked.items()}
        return replace(self, provider_options={**self.provider_options, **added})


def _version(value: Any, where: str) -> int:
    if type(value) is not int or value not in SPECIFICATION_VERSIONS:
        raise ConfigurationError(where, shortened(value), f"one of {', '.join(map(str, SPECIFICATION_VERSIONS))}")
    return value


def _provider_options(value: Any, where: str) -> dict[str, dict[str, Any]]:
    return {name: json_object(options, f"{where}.{name}") for name, options in json_object(value, where).items()}


def _team(value: str, where: str) -> str:
    if not value or not fits_header(value):
        raise ConfigurationError(where, shortened(value), "the id or the name of a team, in printable ASCII")
    return value


OWN_SETTINGS: Final = OwnSettings(
    AIGatewaySettings,
    (
        Setting(
            "specificationVersion",
            Kind(ValueForm.NUMBER, _version, {"type": "integer", "enum": list(SPECIFICATION_VERSIONS)}),
            "The version of the language model specification that requests are written in",
            otherwise="the one that the base URL names, else 4",
        ),
        Setting(
            "providerOptions",
            Kind(ValueForm.OBJECT, _provider_options, {"type": "object", "additionalProperties": {"type": "object"}}),
            "What the providers behind the gateway are told in their own words, by the provider's name",
            secrecy=Secrecy.BODY,
        ),
        Setting(
            "contextManagement",
            CONTEXT_MANAGEMENT,
            "What providers are asked to take out of conversations that grow long: `off`, `on`, or an object with "
            "`edits`; models whose id begins with `anthropic/` know it",
            "on",
        ),
        Setting("team", text(_team), "The team in whose name requests are made, where the key is good for several"),
    ),
    frozenset({"model", "prompt", "stream"}),
)
