"""Which models a consumer asks for; knows no provider.

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
    """What a model must be, exactly; stands for `vscode.LanguageModelChatSelector`. None matches everything.

    Attributes:
        vendor: The vendor of its provider.
        family: Its family.
        version: Its version.
        id: Its identifier.
    """

    vendor: str | None = None
    family: str | None = None
    version: str | None = None
    id: str | None = None

    def matches(self, information: LanguageModelChatInformation) -> bool:
        """Whether the model has all that is asked for, its vendor aside."""
        return (
            self.family in {None, information.family}
            and self.version in {None, information.version}
            and self.id in {None, information.id}
        )

    def matches_vendor(self, vendor: str) -> bool:
        """Whether models of `vendor` are asked for."""
        return self.vendor in {None, vendor}
