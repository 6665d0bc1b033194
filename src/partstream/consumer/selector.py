"""The models that a consumer selects, by their properties; knows no provider.

Source: `@types/vscode` 1.140, `LanguageModelChatSelector`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypedDict

from partstream.codec.checks import TEXT, InvalidArgumentError, check_fields, described, optional
from partstream.settings.kinds import closest_name

if TYPE_CHECKING:
    from partstream.lm.provider import LanguageModelChatInformation

__all__ = ["LanguageModelChatSelector", "SelectorFields", "selector_of"]


@dataclass(frozen=True, slots=True)
class LanguageModelChatSelector:
    """Properties that a model must have, compared exactly; the counterpart of `vscode.LanguageModelChatSelector`.

    Attributes:
        vendor: The vendor of the model's provider; None, here and below, matches every value.
        family: The model's family.
        version: The model's version.
        id: The model's id.

    Raises:
        InvalidArgumentError: A property is no text.

    Example:
        >>> from partstream import LanguageModelChatSelector
        >>> LanguageModelChatSelector(vendor="birds", id="parrot").vendor
        'birds'
    """

    vendor: str | None = None
    family: str | None = None
    version: str | None = None
    id: str | None = None

    def __post_init__(self) -> None:
        check_fields(self, _PROPERTIES)

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


class SelectorFields(TypedDict, total=False):
    """The same properties as an object, as VS Code's API takes them."""

    vendor: str | None
    family: str | None
    version: str | None
    id: str | None


def selector_of(given: LanguageModelChatSelector | SelectorFields | None) -> LanguageModelChatSelector:
    """The selector for what a caller gives: a selector, its properties in a mapping, or None for all models.

    Raises:
        InvalidArgumentError: It is none of these, there is no such property, or a property is no text.
    """
    if isinstance(given, LanguageModelChatSelector):
        return given
    if given is None:
        return LanguageModelChatSelector()
    if not isinstance(given, Mapping):
        raise InvalidArgumentError("selector", described(given), f"a mapping with some of {', '.join(_NAMES)}, or None")
    for name in given:
        if name not in _NAMES:
            closest = closest_name(str(name), _NAMES)
            expected = f"one of {', '.join(_NAMES)}" if closest is None else f"{closest!r}"
            raise InvalidArgumentError("selector", f"the unknown property {name!r}", expected)
    return LanguageModelChatSelector(**given)


_PROPERTIES: Final = dict.fromkeys(("vendor", "family", "version", "id"), optional(TEXT))
_NAMES: Final = tuple(_PROPERTIES)
