"""The models that a consumer selects, by their properties; knows no provider.

Source: `@types/vscode` 1.140, `LanguageModelChatSelector`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from partstream.provider import LanguageModelChatInformation

__all__ = ["LanguageModelChatSelector"]


@dataclass(frozen=True, slots=True)
class LanguageModelChatSelector:
    """Properties that a model must have, compared exactly; the counterpart of `vscode.LanguageModelChatSelector`.

    Attributes:
        vendor: The vendor of the model's provider; None, here and below, matches every value.
        family: The model's family.
        version: The model's version.
        id: The model's id.
    """

    vendor: str | None = None
    family: str | None = None
    version: str | None = None
    id: str | None = None

    def matches(self, information: LanguageModelChatInformation) -> bool:
        """Whether the model has the selected properties; does not compare its vendor."""
        return (
            self.family in {None, information.family}
            and self.version in {None, information.version}
            and self.id in {None, information.id}
        )

    def matches_vendor(self, vendor: str) -> bool:
        """Whether the selector includes models of `vendor`."""
        return self.vendor in {None, vendor}
