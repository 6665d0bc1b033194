"""The licences of what is bundled and of what an installation brings: permissive ones only, and all of them known.

What only an extra brings may have another one, if there is a reason to use it all the same.
"""

from __future__ import annotations
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Final

from license_expression import AND, ExpressionError, ExpressionParseError, LicenseSymbol, Licensing
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from interop.servers.environments import PACKAGES
from tools.release.pythons import SUPPORTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = [
    "ALLOWED",
    "EXCEPTIONS",
    "LEFT_OUT_EXTRAS",
    "LicenceException",
    "Package",
    "extras_of",
    "fault_of_licence",
    "fault_of_optional_licence",
    "licence_of",
    "required_packages",
]

ALLOWED: Final = frozenset(
    {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "PSF-2.0", "Python-2.0", "Unlicense"}
)
"""What asks of a user for no more than to keep its text, by SPDX."""


@dataclass(frozen=True, slots=True)
class LicenceException:
    """A package of an extra whose licence asks for more than to keep its text.

    Attributes:
        licence: The licence that it may have, by SPDX; with another one the exception is over.
        reason: Why the package is used all the same.
    """

    licence: str
    reason: str


_LGPL: Final = LicenceException(
    "LGPL-3.0-only",
    "the driver of Postgres, which a hub on several machines needs; imported as it is, and everybody can exchange it",
)
EXCEPTIONS: Final[Mapping[str, LicenceException]] = {
    "certifi": LicenceException(
        "MPL-2.0", "the list of certificate authorities, which comes with `requests`; unchanged"
    ),
    "hypothesis": LicenceException(
        "MPL-2.0", "makes up conversations in tests; unchanged, and no part of what is served"
    ),
    "psycopg": _LGPL,
    "psycopg-binary": _LGPL,
}
"""The exceptions, by package. None is bundled, and none comes without an extra that a user asks for."""

LEFT_OUT_EXTRAS: Final[Mapping[str, str]] = {
    "local": "a hundred megabytes of llama.cpp, so it is not installed where the check runs; its licence is MIT",
    "ray": "half a gigabyte, so it is not installed where the check runs",
}
"""Extras whose packages are not looked at, each with the reason."""

_NAMED: Final = ALLOWED | {exception.licence for exception in EXCEPTIONS.values()}
"""What packages say by SPDX in the older field `License` too."""

_SPOKEN: Final[Mapping[str, str]] = {
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "3-Clause BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: ISC License (ISCL)": "ISC",
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "License :: OSI Approved :: Python Software Foundation License": "PSF-2.0",
    "MIT License": "MIT",
}
"""What packages say that name no SPDX expression. The classifier of BSD is missing: it does not say which."""

_IN_ITS_TEXT: Final[Mapping[str, str]] = {"agent-client-protocol": "Apache-2.0"}
"""The licences of packages whose metadata names none, as the text of the licence beside the metadata has it."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package that is bundled or required.

    Attributes:
        name: Its name, in lower case with hyphens.
        version: Its version.
        licence: Its own name for its licence, an SPDX expression if that is known.
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


def fault_of_optional_licence(package: Package) -> str:
    """Says what is wrong with the licence of a package that only an extra brings; nothing if it may be used.

    Args:
        package: The package.
    """
    exception = EXCEPTIONS.get(package.name)
    if exception is None:
        return fault_of_licence(package.licence)
    if package.licence == exception.licence:
        return ""
    return f"its licence is {package.licence or 'missing'}, the exception is for {exception.licence}"


def extras_of(name: str) -> list[str]:
    """The extras of a package that is installed here, sorted.

    Args:
        name: The package.
    """
    return sorted(metadata.metadata(name).get_all("Provides-Extra", []))


def licence_of(headers: Mapping[str, Iterable[str]]) -> str:
    """What the metadata of a package says of its licence: the expression, else what is known by another name.

    Args:
        headers: `License-Expression`, `License` and `Classifier`, each with its values.
    """
    for expression in headers.get("License-Expression", ()):
        return expression
    said = [*headers.get("License", ()), *headers.get("Classifier", ())]
    for one in said:
        known = _SPOKEN.get(one, one if one in _NAMED else "")
        if known:
            return known
    # A whole text in place of a name says nothing here.
    return next((one for one in said if "icense" in one and "\n" not in one), "")


def required_packages(requirements: Iterable[str]) -> list[Package]:
    """Packages that are installed here, and all that they require on any supported Python, sorted by name.

    Our own packages are left out of the answer.

    Args:
        requirements: What to start from, with extras if wanted, such as `partstream[serve]`.

    Raises:
        LookupError: One of them is not installed here.
    """
    found: dict[str, Package] = {}
    seen: set[tuple[str, str]] = set()
    left = [Requirement(one) for one in requirements]
    while left:
        requirement = left.pop()
        name = canonicalize_name(requirement.name)
        for extra in {"", *requirement.extras} - {of for one, of in seen if one == name}:
            seen.add((name, extra))
            distribution = _distribution(name)
            licence = licence_of(_headers(distribution)) or _IN_ITS_TEXT.get(name, "")
            found[name] = Package(name, distribution.version, licence)
            left += _required(distribution, extra)
    return [found[name] for name in sorted(found) if name not in PACKAGES]


def _distribution(name: str) -> metadata.Distribution:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError as error:
        message = f"{name} is required and not installed here: make setup"
        raise LookupError(message) from error


def _headers(distribution: metadata.Distribution) -> dict[str, list[str]]:
    return {key: distribution.metadata.get_all(key, []) for key in ("License-Expression", "License", "Classifier")}


def _required(distribution: metadata.Distribution, extra: str) -> Iterator[Requirement]:
    for line in distribution.requires or ():
        requirement = Requirement(line)
        if requirement.marker is None or any(requirement.marker.evaluate(each) for each in _environments(extra)):
            yield requirement


@cache
def _environments(extra: str) -> tuple[dict[str, str], ...]:
    return tuple({"python_version": one, "python_full_version": f"{one}.0", "extra": extra} for one in SUPPORTED)


def _is_allowed(parsed: object) -> bool:
    if isinstance(parsed, LicenseSymbol):
        return parsed.key in ALLOWED
    sides = [_is_allowed(side) for side in getattr(parsed, "args", ())]
    return bool(sides) and (all(sides) if isinstance(parsed, AND) else any(sides))
