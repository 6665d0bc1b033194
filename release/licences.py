"""The licences of what is bundled and of what an installation brings: permissive ones only, and all of them known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Final

from license_expression import AND, ExpressionError, ExpressionParseError, LicenseSymbol, Licensing
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from release.pythons import SUPPORTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["ALLOWED", "Package", "fault_of_licence", "licence_of", "required_packages"]

ALLOWED: Final = frozenset(
    {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "PSF-2.0", "Python-2.0", "Unlicense"}
)
"""What asks of a user for no more than to keep its text, by SPDX."""

_SPOKEN: Final[Mapping[str, str]] = {
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: ISC License (ISCL)": "ISC",
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: Python Software Foundation License": "PSF-2.0",
    "MIT License": "MIT",
}
"""What packages say that name no SPDX expression. The classifier of BSD is missing: it does not say which."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package that is bundled or required.

    Attributes:
        name: Its name, in lower case with hyphens.
        version: Its version.
        licence: What it says of its licence, an SPDX expression if that is known.
    """

    name: str
    version: str
    licence: str


def fault_of_licence(licence: str) -> str:
    """Says what is wrong with a licence; nothing if it is allowed.

    Args:
        licence: An SPDX expression, such as `MIT OR GPL-2.0-only`, of which one side suffices.
    """
    if not licence:
        return "names no licence"
    try:
        parsed = Licensing().parse(licence)
    except (ExpressionError, ExpressionParseError):
        return f"its licence is no SPDX expression: {licence}"
    return "" if _is_allowed(parsed) else f"its licence is not allowed: {licence}"


def licence_of(headers: Mapping[str, Iterable[str]]) -> str:
    """What the metadata of a package says of its licence: the expression, else what is known by another name.

    Args:
        headers: `License-Expression`, `License` and `Classifier`, each with its values.
    """
    for expression in headers.get("License-Expression", ()):
        return expression
    said = [*headers.get("License", ()), *headers.get("Classifier", ())]
    for one in said:
        known = _SPOKEN.get(one, one if one in ALLOWED else "")
        if known:
            return known
    # A whole text in place of a name says nothing here.
    return next((one for one in said if "icense" in one and "\n" not in one), "")


def required_packages(names: Iterable[str]) -> list[Package]:
    """Packages that are installed here, and all that they require on any supported Python, sorted by name.

    Args:
        names: The packages to start from; the one of them that is this project is left out of the answer.

    Raises:
        LookupError: One of them is not installed here.
    """
    found: dict[str, Package] = {}
    left: list[str] = [canonicalize_name(name) for name in names]
    while left:
        name = left.pop()
        if name in found:
            continue
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError as error:
            message = f"{name} is required and not installed here: make setup"
            raise LookupError(message) from error
        headers = {
            key: distribution.metadata.get_all(key, []) for key in ("License-Expression", "License", "Classifier")
        }
        found[name] = Package(name, distribution.version, licence_of(headers))
        left += _required(distribution)
    found.pop("partstream", None)
    return [found[name] for name in sorted(found)]


def _required(distribution: metadata.Distribution) -> Iterator[str]:
    for line in distribution.requires or ():
        requirement = Requirement(line)
        if requirement.marker is None or any(requirement.marker.evaluate(each) for each in _environments()):
            yield canonicalize_name(requirement.name)


@cache
def _environments() -> tuple[dict[str, str], ...]:
    return tuple({"python_version": one, "python_full_version": f"{one}.0", "extra": ""} for one in SUPPORTED)


def _is_allowed(parsed: object) -> bool:
    if isinstance(parsed, LicenseSymbol):
        return parsed.key in ALLOWED
    sides = [_is_allowed(side) for side in getattr(parsed, "args", ())]
    return bool(sides) and (all(sides) if isinstance(parsed, AND) else any(sides))
