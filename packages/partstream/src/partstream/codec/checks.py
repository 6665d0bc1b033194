"""Classes of fields, and checks of values from outside: numbers, arguments of constructors, our interfaces, and fields
that nothing reads."""

from __future__ import annotations
import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError
from dataclasses import field as field
from dataclasses import fields as fields
from functools import cache, lru_cache, partial
from importlib import import_module
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, TypeVar, dataclass_transform

from partstream.errors import CallerError, UnexpectedValueError

if TYPE_CHECKING:
    from dataclasses import replace as replace  # type checkers know its arguments

T = TypeVar("T")

# ---- Classes of fields ----
# They are what `dataclasses` makes, but their members are made when they are first looked up. A program of
# Partstream imports hundreds of such classes and uses some of them; the standard library compiles up to eight functions
# for each at once, which took a third of the start of `partstream serve`. Here the decorator gives a class its slots,
# and leaves a `_Member` in place of each function: the first instance compiles `__init__`; `__eq__` and `__hash__` wait
# for someone who compares or hashes an instance. For all others they are dataclasses: `fields`, `replace`, `asdict`,
# `match`, `copy`, `pickle`, type checkers and classes that inherit from them see no difference. What no class of ours
# needs (`InitVar`, `order`, `unsafe_hash`) is missing.


class _Factory:
    """Marks an argument that was not given, where a factory makes its value."""

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

    What is wrong with a class, such as a list for a default, shows with its first instance.
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
            "__match_args__": _Member(
                lambda cls: tuple(one.name for one in fields(cls) if one.init and not one.kw_only)
            ),
            "__replace__": _Member(_replace),
            **({"__init__": _Member(_frozen_init if frozen else _init)} if init else {}),
            **({"__repr__": _repr} if repr else {}),
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
    # Without texts for the types, it does not look for `ClassVar` and others of its own in them.
    body = {"__module__": module, "__annotations__": dict.fromkeys(kinds, object), "__doc__": "fields", **given}
    plain: Any = dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(type("", (), body))
    for name, one in getattr(plain, _FIELDS).items():
        one.type = kinds[name]
    read: dict[str, Field[Any]] = {}
    for one in (*cls.__mro__[:0:-1], plain):
        read |= getattr(one, _FIELDS, {})
    return read


class _Member:
    """A member of a class that is not made yet: the first look-up makes it and gets it."""

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


def _compiled(cls: type, name: str, arguments: Iterable[str], lines: Iterable[str], known: dict[str, Any]) -> Any:
    """A function of the class, whose body sees `known` and the names of the module of the class."""
    body = "\n  ".join(lines) or "pass"
    source = f"def make({', '.join(known)}):\n def {name}({', '.join(arguments)}):\n  {body}\n return {name}"
    made: dict[str, Any] = {}
    exec(source, vars(import_module(cls.__module__)), made)  # noqa: S102 - of names of fields alone
    function = made["make"](**known)
    function.__qualname__ = f"{cls.__qualname__}.{name}"
    return function


def _init(cls: Any, *, is_frozen: bool = False) -> Any:
    known: dict[str, Any] = {"_MISSING": _FACTORY}
    by_place: list[str] = []
    by_name: list[str] = []
    lines: list[str] = []
    for one in fields(cls):
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
    function.__annotations__ = {one.name: one.type for one in fields(cls) if one.init} | {"return": None}
    return function


_frozen_init = partial(_init, is_frozen=True)


def _replace(cls: Any) -> Any:
    names = [one.name for one in fields(cls) if one.init]
    values = (f"{name}=self.{name} if {name} is _MISSING else {name}" for name in names)
    arguments = ("self", *["*"] * bool(names), *(f"{name}=_MISSING" for name in names))
    return _compiled(
        cls, "__replace__", arguments, (f"return self.__class__({', '.join(values)})",), {"_MISSING": MISSING}
    )


if not TYPE_CHECKING:

    def replace(instance, /, **changes):
        """That of the standard library in a tenth of its time, for what happens several times an answer."""
        own = vars(instance.__class__)
        if "__replace__" in own or (hasattr(instance, "__replace__") and _FIELDS not in own):
            return instance.__replace__(**changes)
        return dataclasses.replace(instance, **changes)  # of a class that the standard library has made


def _values(of: str, taken: Iterable[Field[Any]]) -> str:
    return f"({''.join(f'{of}.{one.name},' for one in taken)})"


def _eq(cls: Any) -> Any:
    taken = [one for one in fields(cls) if one.compare]
    same = f"{_values('self', taken)} == {_values('other', taken)}"
    line = f"return {same} if other.__class__ is self.__class__ else NotImplemented"
    return _compiled(cls, "__eq__", ("self", "other"), (line,), {})


def _hash(cls: Any) -> Any:
    taken = [one for one in fields(cls) if (one.compare if one.hash is None else one.hash)]
    return _compiled(cls, "__hash__", ("self",), (f"return hash({_values('self', taken)})",), {})


@recursive_repr()
def _repr(self: Any) -> str:
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

# ---- Numbers ----
# Upstreams, providers, settings and files may hold any number: JSON allows `1e999`, Python reads `NaN` too, and headers
# hold any text. A number that is not finite or not within its limits is unknown. Beyond these limits floats overflow,
# SQLite refuses integers (64 bits) and the JSON-RPC peer refuses the whole message. Callers report dropped values.

MOST_TOKENS: Final = 10**9
"""The most tokens of a request, an answer or a limit; servers without a limit report larger numbers."""

MOST_TAKEN: Final = 2**27
"""The most tokens that one answer can take: 64 calls of a model, each with the largest context window that there is."""

MOST_DOLLARS: Final = 10**6
"""The most US dollars of an answer, or of a million tokens."""

MOST_SECONDS: Final = 10**9
"""The most seconds of a wait or a time limit: about 31 years."""

LAST_TIME: Final = 32_503_680_000
"""The latest point in time, in seconds since 1970: the year 3000, with which the calendar of Windows ends."""

_MOST_CHARACTERS: Final = 1_000
_MOST_DEPTH: Final = 6
_MOST_FOUND: Final = 10


def as_count(value: object, most: int = MOST_TOKENS) -> int | None:
    """A whole number from 0 to `most`, or None. A whole float counts: JavaScript has one type of number."""
    if value.__class__ is int:
        return value if 0 <= value <= most else None  # the usual case, first
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        return None
    return int(value) if value == int(value) else None


def as_amount(value: object, most: float) -> float | None:
    """A number from 0 to `most`, whole or not, or None; never NaN or infinite."""
    if value.__class__ is float:
        return value if 0 <= value <= most else None  # the usual case, first
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        return None
    return float(value)


def storable_text(text: str) -> str:
    """The first thousand characters in a form that UTF-8 can represent: half of a surrogate pair becomes `?`."""
    short = text[:_MOST_CHARACTERS]
    return short if short.isascii() else short.encode(errors="replace").decode()


def unusable_counts(reported: Mapping[str, object]) -> tuple[str, ...]:
    """The token counts in an upstream's report of an answer that cannot be, each as `path: value`; at most ten.

    Args:
        reported: The upstream's own object. Numbers in fields whose path names tokens are counts.
    """
    found: list[str] = []
    _find_unusable(reported, "", found, 0)
    return tuple(found[:_MOST_FOUND])


def _find_unusable(reported: Mapping[str, object], prefix: str, found: list[str], depth: int) -> None:
    for name, value in reported.items():
        if (value.__class__ is int and 0 <= value <= MOST_TAKEN) or as_count(value, MOST_TAKEN) is not None:
            continue
        path = f"{prefix}{name}"
        if isinstance(value, int | float):  # whether something is a mapping takes longer to find out
            if "token" in path.lower():
                found.append(f"{path:.80}: {_shown(value)}")
        elif isinstance(value, Mapping) and depth < _MOST_DEPTH:
            _find_unusable(value, f"{path}.", found, depth + 1)
        if len(found) >= _MOST_FOUND:
            return


def _shown(number: float) -> str:
    """A number as text, also one with more digits than Python converts (`sys.set_int_max_str_digits`)."""
    return f"an integer of {number.bit_length()} bits" if isinstance(number, int) and number >= 2**64 else f"{number}"


# ---- Arguments: an error names the value, its place, and the expected value ----


_MAX_SHOWN: Final = 60


class InvalidArgumentError(UnexpectedValueError, CallerError, TypeError, ValueError):
    """A function or a constructor got an argument that it cannot use; `where` is the argument, as `TextPart.value`.

    Also a `TypeError` and a `ValueError`, which Python's own functions raise for such arguments.
    """


@dataclass(frozen=True, slots=True)
class Expectation:
    """The values that an argument may have, with a description for the error, such as `a text (str)`; and classes of
    which each value fits, which are asked first."""

    description: str
    fits: Callable[[object], bool]
    usual: tuple[type, ...] = ()


# `kind.__instancecheck__` is `isinstance` for one class, without a call in Python: each answer checks dozens of fields.
TEXT: Final = Expectation("a text (str)", str.__instancecheck__, (str,))
FILLED_TEXT: Final = Expectation("a text (str) that is not empty", lambda value: isinstance(value, str) and value != "")
BOOLEAN: Final = Expectation("True or False", bool.__instancecheck__)
COUNT: Final = Expectation(
    "a whole number above 0", lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 0
)
NUMBER: Final = Expectation("a number", lambda value: isinstance(value, int | float) and not isinstance(value, bool))
MAPPING: Final = Expectation("a mapping, such as a dict", lambda value: isinstance(value, Mapping), (dict,))


def optional(expectation: Expectation) -> Expectation:
    """The same values, or None."""
    fits, usual = expectation.fits, (type(None), *expectation.usual)
    return Expectation(f"{expectation.description}, or None", lambda value: value is None or fits(value), usual)


def instance_of(kind: type, description: str = "") -> Expectation:
    """The instances of a class."""
    return Expectation(description or f"a {kind.__name__}", kind.__instancecheck__, (kind,))


def refuse(where: str, value: object, expected: str) -> NoReturn:
    """Raises the error for a value."""
    raise InvalidArgumentError(where, described(value), expected)


def check(where: str, value: object, expectation: Expectation) -> None:
    """Checks one argument; an InvalidArgumentError if the value does not fit."""
    if value.__class__ not in expectation.usual and not expectation.fits(value):
        refuse(where, value, expectation.description)


def check_fields(instance: object, expectations: Mapping[str, Expectation]) -> None:
    """Checks fields of a new object, by their names; an InvalidArgumentError for the first that does not fit."""
    for name, expectation in expectations.items():
        value = getattr(instance, name)
        if value.__class__ not in expectation.usual and not expectation.fits(value):
            refuse(f"{type(instance).__name__}.{name}", value, expectation.description)


def sequence_of(where: str, values: Iterable[T], classes: type | tuple[type, ...], expected: str) -> tuple[T, ...]:
    """The values as a tuple, each an instance of one of the classes.

    Args:
        values: A list, a tuple or another iterable; no text, no bytes and no mapping.

    Raises:
        InvalidArgumentError: `values` cannot be iterated over, or one of them has another class.
    """
    is_usual = values.__class__ is tuple or values.__class__ is list  # classes of `collections.abc` are asked slowly
    if not is_usual and (isinstance(values, str | bytes | bytearray | Mapping) or not isinstance(values, Iterable)):
        refuse(where, values, f"a list or a tuple, each item {expected}")
    kept = tuple(values)
    for index, value in enumerate(kept):
        if not isinstance(value, classes):
            refuse(f"{where}[{index}]", value, expected)
    return kept


def described(value: object) -> str:
    """A value in a few words, for a message: `'5' (str)`, `list`. Contents of containers are not shown: they may be
    long, and may hold a key."""
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, bytes | bytearray):
        return f"{len(value):,} bytes"
    if isinstance(value, str):
        shown = repr(value) if len(value) <= _MAX_SHOWN else f"{value[:_MAX_SHOWN]!r}..."
        return f"{shown} ({type(value).__name__})"
    return f"{value!r} ({type(value).__name__})" if isinstance(value, int | float) else type(value).__name__


# ---- Interfaces, checked fast because each response checks some ----

_Kind = TypeVar("_Kind")


def narrow(value: object, kind: type[_Kind]) -> _Kind | None:
    """The object, if it has all that an interface asks for; else None.

    `isinstance` says the same of a `typing.Protocol` and takes 10 to 30 µs for it until Python 3.12. What the class of
    an object has, the object has.
    """
    for name in _own_members(kind, value.__class__):  # type: ignore[arg-type]  # a class is hashable
        if not hasattr(value, name):
            return None
    return value  # type: ignore[return-value]


@lru_cache(512)
def _own_members(kind: type, of: type) -> tuple[str, ...]:
    """The names that an interface asks for and a class lacks."""
    return tuple(name for name in _members(kind) if not hasattr(of, name))


@cache
def _members(kind: type) -> tuple[str, ...]:
    names: set[str] = set()
    for base in kind.__mro__:
        if getattr(base, "_is_protocol", False):
            names |= {*vars(base), *vars(base).get("__annotations__", ())}
    return tuple(sorted(name for name in names if not name.startswith("_")))


# ---- Fields of JSON objects that nothing reads ----

Places: TypeAlias = Mapping[str, Mapping[str, str | None]]
"""The fields that are read of each object in an event, each with the place of the objects in it; None for one that is
read as a whole, or whose objects the reader itself counts. See :func:`places`."""


def places(table: Mapping[str, str]) -> Places:
    """Makes the places of a table whose texts name the fields that are read of the objects at each path.

    The path `choices[].delta` is that of the object, or of the objects in the list, in that field; the empty one is
    that of the whole, of which nothing is left out where the table has none. `content[text|thinking]` is that of
    objects of these types or roles, `[|text]` also of those without a type; one of another type is
    left out, because its reader counts it, unless the table has the path without types. Blanks separate paths of the
    same row. In its text, `item=output[]` says that the object in a field is like those at another path, and is named
    so, and `*` that the reader counts the other fields itself.
    """
    found: dict[str, dict[str, str | None]] = {}
    for path, said in ((path, said) for paths, said in table.items() for path in paths.split() or [""]):
        place, is_typed, types = path.replace("[]", "").rstrip("]").partition("[")
        named = [one.partition("=") for one in said.split()]
        given = {name: other if equals else None for name, equals, other in named}
        found |= {f"{place}[{kind}]" if is_typed else place: dict(given) for kind in types.split("|")}
    heads = {place.partition("[")[0] for place in found}
    found.setdefault("", {"*": None, **{head.partition(".")[0]: None for head in heads}})
    for place, known in found.items():
        above = place.partition("[")[0]
        for name, other in known.items():
            inner = f"{above}.{name}".lstrip(".") if other is None else other
            known[name] = inner if inner.replace("[]", "") in heads else None
    return found


def find_unread(
    fields: Mapping[str, Any],
    read: Places,
    found: Callable[[str], object],
    says: Callable[[object], bool],
    spelled: Callable[[dict[str, Any]], Mapping[str, Any]] | None = None,
    place: str = "",
    at: str = "",
    kinds: Mapping[str, tuple[type, ...]] | None = None,
) -> None:
    """Gives the path of each field below an object that says something and is not read, without its value.

    Args:
        says: Whether a value says something.
        spelled: Gives the object with the names of the table; None where they are the same.
        place: The place of the object in `read`.
        at: What is before its fields in a path.
        kinds: By its name, the classes of the values of a field that are read; of another class, and in place of an
            object of the table, a value is not. None where the reader itself refuses such values.
    """
    known = read[place]
    for name, value in fields.items():
        if name not in known:
            if "*" not in known and says(value):
                found(f"{at}{name}")
            continue
        inner = known[name]
        if inner is None or not value:
            if kinds is not None and value.__class__ not in kinds.get(name, (value.__class__,)) and says(value):
                found(f"{at}{name}")
            continue
        is_list = value.__class__ is list
        path = inner.replace("[]", "")
        shown = inner if path is not inner or not inner else f"{at}{name}[]" if is_list else f"{at}{name}"
        for one in value if is_list else (value,):
            if one.__class__ is dict:
                where = _place_of(one, path, read)
                if where in read:
                    said = one if spelled is None else spelled(one)
                    find_unread(said, read, found, says, spelled, where, f"{shown}." if shown else "", kinds)
            elif kinds is not None and says(one):
                found(shown)


DATE: Final = re.compile(r"_\d{8}$")
"""The date at the end of a type."""


def _place_of(one: dict[str, Any], path: str, read: Places) -> str:
    if kind := one.get("type"):
        typed = f"{path}[{DATE.sub('', str(kind))}]"
    elif "role" not in one or (typed := f"{path}[{one['role']}]") not in read:
        typed = f"{path}[]"
    return typed if typed in read else path
