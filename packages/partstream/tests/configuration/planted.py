"""Every spot of the table of settings that may hold a secret, and settings with a secret planted there."""

from __future__ import annotations
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from partstream.config.table import settings_of
from partstream.protocols.protocol import asked_protocols
from partstream.settings.row import Nesting, Secrecy, Setting, SettingSource

if TYPE_CHECKING:
    from collections.abc import Iterator

URL = "https://planted.example.com/v1"


@dataclass(frozen=True)
class Spot:
    """A row that may hold a secret, and the rows that contain it, from the outermost."""

    protocol: str
    rows: tuple[Setting, ...]

    @property
    def name(self) -> str:
        return ".".join(row.name for row in self.rows)

    @property
    def row(self) -> Setting:
        return self.rows[-1]

    @property
    def places(self) -> frozenset[SettingSource]:
        return self.rows[0].places

    def holding(self, value: Any) -> dict[str, Any]:
        """Settings with a value at this spot."""
        for row in reversed(self.rows):
            value = {row.name: _AROUND[row.contents.nesting](value) if row.contents is not None else value}
        return {"protocol": self.protocol, "baseUrl": URL, **value}

    def planted(self, secret: str) -> dict[str, Any]:
        """Settings of use with a secret at this spot."""
        return self.holding(_FORMS[self.row.secrecy](self.row.name, secret))

    def misspelt(self, secret: str) -> dict[str, Any]:
        """The same, the setting under a name that no setting has."""
        settings = self.planted(secret)
        name = self.rows[0].name
        if len(self.rows) == 1:
            value = settings.pop(name)
            return {"baseUrl": URL, **settings, f"{name}Z": value}
        return self.holding_misspelt(_FORMS[self.row.secrecy](self.row.name, secret))

    def holding_misspelt(self, value: Any) -> dict[str, Any]:
        outer, inner = self.rows[0], self.rows[-1]
        assert outer.contents is not None
        return {
            "protocol": self.protocol,
            "baseUrl": URL,
            outer.name: _AROUND[outer.contents.nesting]({f"{inner.name}Z": value}),
        }


_AROUND = {
    Nesting.OBJECT: lambda fields: fields,
    Nesting.BY_NAME: lambda fields: {"m": fields},
    Nesting.LIST: lambda fields: [{"id": "m", **fields}],
}


def _url(name: str, secret: str) -> str:
    return f"{URL}?key={secret}" if name == "baseUrl" else f"http://me:{secret}@127.0.0.1:1"


_FORMS = {
    Secrecy.WHOLE: lambda _, secret: secret,
    Secrecy.HEADERS: lambda _, secret: {"x-planted": f"Bearer {secret}"},
    Secrecy.BODY: lambda _, secret: {"one": {"two": [{"three": secret}, 3]}},
    Secrecy.URL: _url,
    Secrecy.ARGUMENTS: lambda _, secret: [sys.executable, "-I", "-S", "-c", "print('a-key')", secret],
}


def _spots(protocol: str, rows: tuple[Setting, ...], around: tuple[Setting, ...] = ()) -> Iterator[Spot]:
    for row in rows:
        if row.contents is not None:
            yield from _spots(protocol, row.contents.rows, (*around, row))
        elif row.secrecy is not Secrecy.NOTHING:
            yield Spot(protocol, (*around, row))


def _all_spots() -> dict[str, Spot]:
    found: dict[str, Spot] = {}
    for protocol in asked_protocols():
        for spot in _spots(protocol, tuple(settings_of(protocol).values())):
            found.setdefault(spot.name, spot)
    return found


SPOTS = _all_spots()
