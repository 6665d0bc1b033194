"""The presets: servers that a person can choose by name, each with what it has to be asked for.

Made of two tables: the servers (:mod:`partstream.protocols.known_servers`) and what the folder of each protocol says
of them (:attr:`partstream.protocols.protocol.Protocol.spoken_at`). A server that no protocol of this version speaks to
is no preset. `partstream add` and the extension's *Add Models* offer the same list.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from partstream.errors import CallerError
from partstream.protocols.known_servers import KNOWN_SERVERS, KeyRequirement, KnownServer
from partstream.protocols.protocol import spoken_at
from partstream.settings.kinds import closest_name, shown_name

if TYPE_CHECKING:
    from partstream.protocols.protocol import ServerProtocol

__all__ = ["ANOTHER_ADDRESS", "Preset", "PresetRegion", "UnknownPresetError", "preset_named", "presets"]


class UnknownPresetError(CallerError):
    """No preset has this name.

    Attributes:
        name: The name.
        closest: The name that may be meant, or None.
    """

    def __init__(self, name: str, closest: str | None) -> None:
        hint = f"; did you mean {closest}?" if closest else ""
        super().__init__(f"there is no preset {shown_name(name)!r}{hint}")
        self.name = name
        self.closest = closest


@dataclass(frozen=True, slots=True)
class PresetRegion:
    """A region of a server.

    Attributes:
        title: What a person reads.
        base_url: The base URL there.
    """

    title: str
    base_url: str


@dataclass(frozen=True, slots=True)
class Preset:
    """A server that a person can choose by name.

    Attributes:
        name: What a person types to choose it.
        title: What a person reads.
        base_url: Its base URL; empty where everybody has another address.
        key: Whether it wants a key.
        address_example: What an address looks like that has to be asked for; empty where the base URL is known.
        key_variables: The environment variables that usually hold its key.
        keys_page: Where a person makes a key; empty where there is no such page.
        regions: Its regions, if a person has to choose one.
        is_local: Whether people run it themselves: it is worth a look whether it runs, and its address may be another.
        lacks: What does not get through in the best protocol that it speaks, as a clause; empty where all does.
    """

    name: str
    title: str
    base_url: str
    key: KeyRequirement
    address_example: str = ""
    key_variables: tuple[str, ...] = ()
    keys_page: str = ""
    regions: tuple[PresetRegion, ...] = ()
    is_local: bool = False
    lacks: str = ""

    @property
    def asks_address(self) -> bool:
        """Whether a person has to say where it is."""
        return not self.base_url


ANOTHER_ADDRESS: Final = Preset(
    "address", "Another server, by its address", "", KeyRequirement.OPTIONAL, "https://host.example/v1"
)
"""Any server of which a person has the address."""


@cache
def presets() -> tuple[Preset, ...]:
    """All presets in the order in which they are offered: those of this machine first; the last is any address."""
    known = ((server, spoken_at(server.name)) for server in KNOWN_SERVERS if server.is_offered)
    made = (_preset(server, spoken[0][1]) for server, spoken in known if spoken)
    return (*sorted(made, key=lambda preset: not preset.is_local), ANOTHER_ADDRESS)


def preset_named(name: str) -> Preset:
    """The preset that a name or a title means; case, blanks and punctuation do not matter.

    Raises:
        UnknownPresetError: None does.
    """
    wanted = _letters(name)
    by_letters = {_letters(one.name): one for one in presets()}
    found = by_letters.get(wanted)
    if found is None and wanted:
        titled = [one for one in presets() if wanted in _letters(one.title)]
        found = titled[0] if len(titled) == 1 else None
    if found is None:
        raise UnknownPresetError(name, closest_name(name.lower(), [one.name for one in presets()]))
    return found


def _preset(server: KnownServer, best: ServerProtocol) -> Preset:
    scheme = urlsplit(best.base_url).scheme
    return Preset(
        server.name,
        server.title,
        "" if server.address_example else best.base_url,
        server.key,
        server.address_example,
        server.key_variables,
        server.keys_page,
        tuple(PresetRegion(region.title, best.at(f"{scheme}://{region.host}")) for region in server.regions),
        server.is_local,
        best.reason,
    )


def _letters(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())
