"""Combines the places of settings: the strongest wins, and a key of one base URL never serves another."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from partstream.configuration.key_settings import LIFETIME
from partstream.configuration.table import KEY_SETTINGS, settings_of
from partstream.protocols.protocol import AUTO
from partstream.settings.kinds import ConfigurationError, SeveralFaultsError, UnknownSettingError
from partstream.settings.row import Setting, SettingSource, holder_of, shown
from partstream.upstream.endpoint import with_scheme

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from partstream.configuration.places import Given, Layer

__all__ = ["Resolved", "Value", "resolve"]

_BASE_URL: Final = "baseUrl"
_PROTOCOL: Final = "protocol"
_KEY_PLACES: Final = tuple(name for name in KEY_SETTINGS if name != LIFETIME)


@dataclass(frozen=True, slots=True)
class Value:
    """A setting in force.

    Attributes:
        row: The setting.
        given: Its value as it stands there, which may be secret.
        value: The same in our own types.
        place: Where it comes from.
        where: The spot there.
    """

    row: Setting = field(repr=False)
    given: Any = field(repr=False)
    value: Any = field(repr=False)
    place: SettingSource
    where: str

    @property
    def shown(self) -> Any:
        """The value without its secrets."""
        return shown(self.row, self.given)


@dataclass(frozen=True, slots=True)
class Resolved:
    """All settings in force.

    Attributes:
        values: By name; what is not among them has its default.
        notes: What a person should know: what is not used and why, in sentences without secrets.
        warnings: What stands in a VS Code group and has no effect, in sentences without secrets.
    """

    values: Mapping[str, Value]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def resolve(layers: Iterable[Layer]) -> Resolved:
    """Reads every layer by itself, then lays them over each other.

    Raises:
        ConfigurationError: A setting is unknown or its value of no use, whether it is in force or not; or one place
            names two sources of the key. A setting of a VS Code group that nobody knows is a warning.
    """
    order = list(SettingSource)
    ordered = sorted(map(_with_scheme, layers), key=lambda layer: order.index(layer.place))
    used = {layer.place for layer in ordered if _speaks_of_the_upstream(layer, ordered)}
    protocol = _protocol(layer for layer in ordered if layer.place in used) or AUTO
    warnings: list[str] = []
    read = {
        layer.place: _read(layer, protocol if layer.place in used else _protocol([layer]), warnings)
        for layer in ordered
    }
    key_place = next(
        (place for place, values in read.items() if place in used and any(name in values for name in _KEY_PLACES)), None
    )
    notes = [note for layer in ordered for note in layer.notes]
    found: dict[str, Value] = {}
    for place, values in read.items():
        for name, value in values.items():
            if value.row.is_bound and place not in used:
                notes.append(
                    f"{value.where} ({place}) is not used: it belongs to another base URL than the one in force"
                )
            elif name in KEY_SETTINGS and place is not key_place:
                continue  # a weaker place, which another source of the key replaces whole
            else:
                found.setdefault(name, value)
    return Resolved(
        {name: found[name] for name in settings_of(protocol) if name in found}, tuple(notes), tuple(warnings)
    )


def _with_scheme(layer: Layer) -> Layer:
    """The layer with the scheme that its base URL lacks, and with a note about it."""
    url = layer.given.get(_BASE_URL)
    if url is None or not isinstance(url.value, str) or (meant := with_scheme(url.value)) == url.value:
        return layer
    note = f"{url.where}: the address has no scheme, {meant} is used"
    return replace(layer, given={**layer.given, _BASE_URL: url._replace(value=meant)}, notes=(*layer.notes, note))


def _protocol(layers: Iterable[Layer]) -> str | None:
    """The protocol that the strongest of some layers names; None if none names one."""
    given = next((layer.given[_PROTOCOL] for layer in layers if _PROTOCOL in layer.given), None)
    if given is None:
        return None
    name: str = settings_of()[_PROTOCOL].read(given.value, given.where)
    return name


def _read(layer: Layer, protocol: str | None, warnings: list[str]) -> dict[str, Value]:
    """Reads a layer by itself, so that a mistake shows before the layer is in force."""
    rows = {
        name: row for name, row in settings_of(protocol).items() if layer.place in {*row.places, SettingSource.DEFAULT}
    }

    def on_unknown(error: ConfigurationError) -> None:
        if layer.place is not SettingSource.GROUP:
            raise error
        warnings.append(str(error))

    values: dict[str, Value] = {}
    faults: list[ConfigurationError] = []
    for name, given in layer.given.items():
        row = rows.get(name)
        try:
            if row is None:
                on_unknown(_unknown(name, given, layer, rows))
            else:
                value = row.read(given.value, given.where, on_unknown)
                values[name] = Value(row, given.value, value, layer.place, given.where)
        except ConfigurationError as error:
            faults.append(error)
    if faults:
        raise faults[0] if len(faults) == 1 else SeveralFaultsError(faults)
    _check_key_sources(values)
    return values


def _unknown(name: str, given: Given, layer: Layer, rows: Mapping[str, Setting]) -> ConfigurationError:
    row = settings_of().get(name)
    if row is None:
        return UnknownSettingError(given.where, name, layer.shown_name, rows, holder_of(name, rows.values()))
    places = ", ".join(place for place in SettingSource if place in row.places)
    return ConfigurationError(
        given.where, f"a setting that cannot stand in {layer.shown_name}", f"it in one of: {places}"
    )


def _check_key_sources(values: Mapping[str, Value]) -> None:
    named = [name for name in _KEY_PLACES if name in values]
    if len(named) > 1:
        raise ConfigurationError(values[named[1]].where, f"a second source of the key beside {named[0]}", "one of them")
    if LIFETIME in values and not named:
        raise ConfigurationError(values[LIFETIME].where, "a lifetime alone", "a source of the key beside it")


def _speaks_of_the_upstream(layer: Layer, ordered: Sequence[Layer]) -> bool:
    """Whether what a layer says of an upstream is about the one in force, so that no key goes to another's server.

    A place that is as strong as that of the base URL speaks of it; a weaker one when it names the same URL. Who gives
    a URL on the command line has the environment of the same shell at hand: it is meant, unless it names another URL.
    """
    home = next((one for one in ordered if _BASE_URL in one.given), None)
    if home is None or ordered.index(layer) <= ordered.index(home):
        return True
    own = layer.given.get(_BASE_URL)
    if own is not None:
        return bool(own.value == home.given[_BASE_URL].value)
    return (home.place, layer.place) == (SettingSource.COMMAND_LINE, SettingSource.ENVIRONMENT)
