"""Classes of fields as `dataclasses` makes them, whose members are made when somebody first looks them up.

A program of Partstream imports hundreds of such classes and uses some of them. The standard library compiles up to
eight functions for each of them at once, which took a third of the start of `partstream serve`. Here the decorator
gives a class its slots, and leaves a :class:`_Member` in place of each function: the first instance compiles
`__init__`; `__eq__` and `__hash__` wait for someone who compares or hashes an instance.

For all others they are dataclasses: `fields`, `replace`, `asdict`, `match`, `copy`, `pickle`, type checkers and classes
that inherit from them see no difference. The standard library reads the fields themselves; what no class of ours needs
(`InitVar`, `order`, `unsafe_hash`) is missing.
"""

from __future__ import annotations
import dataclasses
import sys
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, FrozenInstanceError, asdict, astuple, field, fields
from functools import partial
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, Final, TypeVar, dataclass_transform

if TYPE_CHECKING:
    from dataclasses import replace  # whose arguments type checkers know

__all__ = ["asdict", "astuple", "dataclass", "field", "fields", "replace"]

T = TypeVar("T")


class _Factory:
    """Stands for an argument that was not given, where a factory makes its value."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY: Final = _Factory()
_FIELDS: Final = "__dataclass_fields__"
_PARAMS: Final = "__dataclass_params__"


@dataclass_transform(field_specifiers=(field,))
def dataclass(
    *,
    frozen: bool = False,
    slots: bool = False,
    init: bool = True,
    repr: bool = True,  # noqa: A002 - its name
    eq: bool = True,
    kw_only: bool = False,
    weakref_slot: bool = False,
) -> Callable[[type[T]], type[T]]:
    """The decorator of the standard library; the arguments are explained there.

    What is wrong with a class, such as a list for a default, is found out with its first instance.
    """

    def made(cls: type[T]) -> type[T]:
        own = dict(vars(cls))
        names = [name for name, kind in own.get("__annotations__", {}).items() if not kind.startswith("ClassVar")]
        given = {name: own.pop(name) for name in names if name in own}
        kinds = {name: own["__annotations__"][name] for name in names}

        def parameters(_: type) -> Any:
            same: Any = dataclasses.dataclass(init=init, repr=repr, eq=eq, frozen=frozen)(
                type("", (), {"__doc__": "none"})
            )
            return getattr(same, _PARAMS)

        members: dict[str, Any] = {
            _FIELDS: _Member(partial(_read_fields, cls.__module__, kinds, given, kw_only)),
            _PARAMS: _Member(parameters),
            "__match_args__": _Member(_match_args),
            "__replace__": _Member(_replace),
            **({"__init__": _Member(_frozen_init if frozen else _init)} if init else {}),
            **({"__repr__": _shown} if repr else {}),
            **({"__eq__": _Member(_eq)} if eq else {}),
            **(_OF_FROZEN if frozen else {}),
        }
        members = {name: one for name, one in members.items() if name not in own}
        if eq and (own.get("__hash__") is None and ("__hash__" not in own or "__eq__" in own)):
            members["__hash__"] = _Member(_hash) if frozen else None
        if slots:
            return _with_slots(cls, names, weakref_slot, {**own, **members})
        for name, one in given.items():
            if isinstance(one, Field):
                delattr(cls, name)
        for name, one in members.items():
            setattr(cls, name, one)
            if isinstance(one, _Member):
                one.__set_name__(cls, name)
        return cls

    return made


def _with_slots(cls: type[T], names: Iterable[str], has_weakref: bool, body: dict[str, Any]) -> type[T]:
    """The class made again, because slots are made with a class."""
    inherited = {name for base in cls.__mro__[1:] for name in getattr(base, "__slots__", ())}
    body["__slots__"] = (*(name for name in names if name not in inherited), *["__weakref__"] * has_weakref)
    body.pop("__dict__", None)
    body.pop("__weakref__", None)
    kind: Any = type(cls)
    made: type[T] = kind(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return made


def _read_fields(
    module: str, kinds: dict[str, str], given: dict[str, Any], kw_only: bool, cls: type
) -> dict[str, Field[Any]]:
    """The fields of the classes that a class inherits from, and its own, as the standard library reads them."""
    # Without a text for people, the standard library would make one of the signature, which takes longer than the rest.
    body = {"__module__": module, "__annotations__": kinds, "__doc__": "fields", **given}
    plain: Any = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(type("", (), body))
    read: dict[str, Field[Any]] = {}
    for one in (*cls.__mro__[:0:-1], plain):
        read |= getattr(one, _FIELDS, {})
    return read


class _Member:
    """A member of a class that is not made yet: whoever looks it up makes it, and gets it."""

    __slots__ = ("_make", "_name", "_owner")

    def __init__(self, make: Callable[[type], Any]) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: object, cls: type) -> Any:
        # Two threads may both make it: they make the same, and the later one stays.
        member = self._make(self._owner)
        type.__setattr__(self._owner, self._name, member)
        return member.__get__(instance, cls) if hasattr(member, "__get__") else member


def _fields(cls: Any) -> tuple[Field[Any], ...]:
    return fields(cls)


def _match_args(cls: type) -> tuple[str, ...]:
    return tuple(one.name for one in _fields(cls) if one.init and not one.kw_only)


def _compiled(cls: type, name: str, arguments: Iterable[str], lines: Iterable[str], known: dict[str, Any]) -> Any:
    """A function of the class, whose body sees `known` and the names of the module of the class."""
    body = "\n  ".join(lines) or "pass"
    source = f"def make({', '.join(known)}):\n def {name}({', '.join(arguments)}):\n  {body}\n return {name}"
    made: dict[str, Any] = {}
    exec(source, vars(sys.modules[cls.__module__]), made)  # noqa: S102 - of names of fields alone
    function = made["make"](**known)
    function.__qualname__ = f"{cls.__qualname__}.{name}"
    return function


def _init(cls: type, *, is_frozen: bool = False) -> Any:
    known: dict[str, Any] = {"_MISSING": _FACTORY}
    by_place: list[str] = []
    by_name: list[str] = []
    lines: list[str] = []
    for one in _fields(cls):
        name, usual, make = one.name, f"_usual_{one.name}", f"_make_{one.name}"
        has_usual, has_make = one.default is not MISSING, one.default_factory is not MISSING
        if has_usual:
            known[usual] = one.default
        elif has_make:
            known[make] = one.default_factory
        if one.init:
            (by_name if one.kw_only else by_place).append(
                f"{name}={usual}" if has_usual else f"{name}=_MISSING" if has_make else name
            )
            value = f"{make}() if {name} is _MISSING else {name}" if has_make else name
        elif has_usual or has_make:
            value = f"{make}()" if has_make else usual
        else:
            continue
        if not is_frozen:
            lines.append(f"self.{name} = {value}")
        elif isinstance(slot := getattr(cls, name, None), MemberDescriptorType):
            known[f"_set_{name}"] = slot.__set__
            lines.append(f"_set_{name}(self, {value})")
        else:
            known["_set"] = object.__setattr__
            lines.append(f"_set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    function = _compiled(cls, "__init__", ("self", *by_place, *["*"] * bool(by_name), *by_name), lines, known)
    function.__annotations__ = {one.name: one.type for one in _fields(cls) if one.init} | {"return": None}
    return function


_frozen_init = partial(_init, is_frozen=True)


def _replace(cls: type) -> Any:
    names = [one.name for one in _fields(cls) if one.init]
    values = (f"{name}=self.{name} if {name} is _MISSING else {name}" for name in names)
    arguments = ("self", *["*"] * bool(names), *(f"{name}=_MISSING" for name in names))
    return _compiled(
        cls, "__replace__", arguments, (f"return self.__class__({', '.join(values)})",), {"_MISSING": MISSING}
    )


if not TYPE_CHECKING:

    def replace(instance, /, **changes):
        """A copy with other values in some fields; that of the standard library, in a fraction of its time."""
        own = vars(instance.__class__)
        if not hasattr(instance, "__replace__") or (_FIELDS in own and "__replace__" not in own):
            # A class that the standard library has made.
            return dataclasses.replace(instance, **changes)
        return instance.__replace__(**changes)


def _values(of: str, taken: Iterable[Field[Any]]) -> str:
    return f"({''.join(f'{of}.{one.name},' for one in taken)})"


def _eq(cls: type) -> Any:
    taken = [one for one in _fields(cls) if one.compare]
    same = f"{_values('self', taken)} == {_values('other', taken)}"
    line = f"return {same} if other.__class__ is self.__class__ else NotImplemented"
    return _compiled(cls, "__eq__", ("self", "other"), (line,), {})


def _hash(cls: type) -> Any:
    taken = [one for one in _fields(cls) if (one.compare if one.hash is None else one.hash)]
    return _compiled(cls, "__hash__", ("self",), (f"return hash({_values('self', taken)})",), {})


@recursive_repr()
def _shown(self: Any) -> str:
    words = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({', '.join(words)})"


def _refuse_to_set(self: Any, name: str, value: object) -> None:
    if _PARAMS in vars(type(self)) or name in getattr(self, _FIELDS):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_to_delete(self: Any, name: str) -> None:
    if _PARAMS in vars(type(self)) or name in getattr(self, _FIELDS):
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for one, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)


_OF_FROZEN: Final = {
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__getstate__": _state,
    "__setstate__": _set_state,
}
