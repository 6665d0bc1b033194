"""Puts together what the places say: the strongest wins, and what belongs to one base URL never serves another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from partstream.configuration.key_settings import LIFETIME
from partstream.configuration.places import Layer, Place
from partstream.configuration.settings import KEY_SETTINGS, SETTINGS
from partstream.upstreams.checks import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Resolved", "Value", "resolve"]

_BASE_URL: Final = "baseUrl"
_KEY_PLACES: Final = tuple(name for name in KEY_SETTINGS if name != LIFETIME)


@dataclass(frozen=True, slots=True)
class Value:
    """A setting that is in force.

    Attributes:
        name: The setting.
        value: Its value, which may be secret.
        place: Where it comes from.
        where: The spot there.
    """

    name: str
    value: Any = field(repr=False)
    place: Place = Place.DEFAULT
    where: str = ""

    @property
    def shown(self) -> Any:
        """The value without what is secret in it."""
        return SETTINGS[self.name].shown(self.value)


@dataclass(frozen=True, slots=True)
class Resolved:
    """All settings that are in force.

    Attributes:
        values: By name; what is not among them has its default.
        notes: What a person should know: what is not used and why, in sentences without secrets.
    """

    values: Mapping[str, Value]
    notes: tuple[str, ...] = ()


def resolve(layers: Iterable[Layer]) -> Resolved:
    """Checks every layer by itself and lays them over each other.

    Raises:
        ConfigurationError: A setting is unknown or its value of no use, whether it is in force or not; or one place
            names two sources of the key.
    """
    order = list(Place)
    ordered = sorted(layers, key=lambda layer: order.index(layer.place))
    for layer in ordered:
        _check(layer)
    notes = [note for layer in ordered for note in layer.notes]
    used = {layer.place for layer in ordered if _speaks_of_the_upstream(layer, ordered)}
    key_layer = next(
        (layer for layer in ordered if layer.place in used and any(name in layer.given for name in _KEY_PLACES)), None
    )
    values: dict[str, Value] = {}
    for layer in ordered:
        for name, given in layer.given.items():
            if SETTINGS[name].is_bound and layer.place not in used:
                notes.append(f"{given.where} ({layer.place}) is not used: the base URL in force stands elsewhere")
            elif name in KEY_SETTINGS and layer is not key_layer:
                continue  # a weaker place, which another source of the key replaces whole
            elif name not in values:
                values[name] = Value(name, given.value, layer.place, given.where)
    return Resolved({name: values[name] for name in SETTINGS if name in values}, tuple(notes))


def _check(layer: Layer) -> None:
    for name, given in layer.given.items():
        setting = SETTINGS.get(name)
        if setting is None:
            raise ConfigurationError(given.where, "a setting that there is not", f"one of {', '.join(SETTINGS)}")
        setting.check(given.value, given.where)
    named = [name for name in _KEY_PLACES if name in layer.given]
    if len(named) > 1:
        where = layer.given[named[1]].where
        raise ConfigurationError(where, f"a second source of the key beside {named[0]}", "one of them")
    if LIFETIME in layer.given and not named:
        raise ConfigurationError(layer.given[LIFETIME].where, "a lifetime alone", "a source of the key beside it")


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
    return (home.place, layer.place) == (Place.COMMAND_LINE, Place.ENVIRONMENT)
