"""Every field of a wire's requests, answers and events, each with a value of its type, in the smallest whole around it.

The types are those of `interop/freshness/fields`, which the official packages say. Each field has a path in the words
of the wire: `tools[function].function.strict` is the field `strict` of a function in a tool of the type `function`. A
field is asked for with two wholes that differ in it alone, so that everything that differs afterwards comes from it.

The walk is bounded: no type holds itself, and a type that occurs at many places is opened at the first
:data:`_MOST_PLACES` of them, shallow ones first.
"""

from __future__ import annotations
import json
from base64 import b64encode
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from census.wires import WIRES
from interop.freshness.census import read_kept

if TYPE_CHECKING:
    from census.wires import Whole, Wire

__all__ = ["Field", "fields_of"]

_MOST_PLACES: Final[Mapping[str, int]] = {"request": 3, "answer": 2, "event": 1}


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a wire.

    Attributes:
        path: Its place, in the words of the wire.
        parent: The path of the part that it is in, whose fate it shares where that does not arrive; empty for none.
        probe: A text that is in its value and nowhere else; empty for a value that cannot hold one.
        without: The whole without it, or with another value of it where its object needs it.
        wholes: The wholes with it: one for each word that it may be, else a single one.
        is_required: Whether its object needs it: then its probe must arrive.
    """

    path: str
    parent: str
    probe: str
    without: Any
    wholes: tuple[Any, ...]
    is_required: bool = False


_Put: TypeAlias = "Callable[[Any], Any]"
"""Puts a value into a whole; None leaves it out."""


def fields_of(wire: str, direction: str) -> list[Field]:
    """All fields of the requests, answers or events of a wire, in the order of its types.

    Args:
        wire: The name of the protocol.
        direction: `request`, `answer` or `event`.
    """
    kept, hints = read_kept(wire), WIRES[wire]
    whole: Whole = getattr(hints, direction)
    walk = _Walk(hints, kept["types"], _MOST_PLACES[direction])
    root = kept["roots"][direction]
    return list(walk.all(walk.events(root, whole) if whole.events else walk.whole(root["is"], whole)))


class _Walk:
    """A walk over the types of a wire."""

    def __init__(self, wire: Wire, types: Mapping[str, Any], most_places: int) -> None:
        self._wire = wire
        self._types = types
        self._most_places = most_places
        self._places: Counter[str] = Counter()
        self._later: deque[Iterator[Field]] = deque()

    def all(self, first: Iterator[Field]) -> Iterator[Field]:
        """The fields of a walk, and then those below them."""
        self._later.append(first)
        while self._later:
            yield from self._later.popleft()

    def whole(self, root: str, whole: Whole) -> Iterator[Field]:
        """The fields of a document."""
        own = {
            one.removeprefix(f"{root}."): kind for one, kind in self._wire.kinds.items() if one.startswith(f"{root}.")
        }
        inner = self._types[whole.inner]["fields"] if whole.inner else {}
        for name, kind in {**own, **self._types[root]["fields"], **own}.items():
            if name in whole.fixed or (name in inner and name not in own):
                continue
            if name in whole.parts:
                self._later.append(self._value(kind, name, "", whole.say, (root,)))
                continue
            place = whole.moved.get(name, name)
            base = {**whole.body, **whole.beside.get(name, {})}

            def put(value: Any, place: str = place, base: Mapping[str, Any] = base) -> dict[str, Any]:
                return _with(base, place, value)

            yield from self._one(kind, place, "", base, put, (root,), is_required=name in whole.body)

    def events(self, root: Any, whole: Whole) -> Iterator[Field]:
        """The fields of the events of a stream, each instead of its like, or before the last ones."""
        stream = list(whole.events)
        types = [event.get("type") for event in stream]
        kinds = [one["is"] for one in root.get("one", [root])]
        for kind in kinds:
            label = self._label(kind, []) if len(kinds) > 1 else ""
            number = types.index(label) if label in types else whole.at
            is_there = not label or label in types
            given = stream[number] if is_there else {"type": label}
            before = stream[:number] if is_there else stream[: -whole.last]
            after = stream[number + 1 :] if is_there else stream[-whole.last :]

            def put(
                value: Any,
                given: Mapping[str, Any] = given,
                before: list[Any] = before,
                after: list[Any] = after,
            ) -> list[Any]:
                return [*before, *([] if value is None else [given | value]), *after]

            if not is_there:
                yield Field(label, "", "", stream, (put(self._least(kind, label)),))
            parent = "" if is_there else label
            self._later.append(self._object(kind, label, parent, put, (), given))

    # ---- below a value ----

    def _value(self, kind: Any, path: str, parent: str, put: _Put, above: tuple[str, ...]) -> Iterator[Field]:
        """The fields below a value, which `put` puts into a whole."""
        match kind:
            case {"is": name}:
                yield from self._object(name, path, parent, put, above)
            case {"list": inner}:
                yield from self._list(inner, path, parent, put, above)
            case {"map": dict() as inner}:
                yield from self._value(inner, f"{path}.*", parent, lambda value: put({"probe": value}), above)
            case {"one": several}:
                for one in self._distinct(several):
                    if not (isinstance(one, dict) and "is" in one):
                        yield from self._value(one, path, parent, put, above)
                        continue
                    at = f"{path}[{self._label(one['is'], several)}]"
                    yield Field(at, parent, "", put(None), tuple(map(put, self._examples(one, at))))
                    self._later.append(self._value(one, at, at, put, above))

    def _list(self, inner: Any, path: str, parent: str, put: _Put, above: tuple[str, ...]) -> Iterator[Field]:
        members = self._distinct(inner["one"] if isinstance(inner, dict) and "one" in inner else [inner])
        for one in members:
            if not (isinstance(one, dict) and "is" in one):
                continue
            variants = self._wire.variants.get(one["is"], {})
            if not variants and len(members) == 1:
                yield from self._object(one["is"], f"{path}[]", parent, lambda value: put([value]), above)
                continue
            for label, said in (variants or {self._label(one["is"], members): {}}).items():
                at = f"{path}[{label}]"

                def put_one(value: Any, said: Mapping[str, Any] = said) -> Any:
                    return put([value | said])

                yield Field(at, parent, "", put([]), tuple(map(put_one, self._examples(one, at))))
                yield from self._object(one["is"], at, at, put_one, above, said)

    def _object(
        self,
        name: str,
        path: str,
        parent: str,
        put: _Put,
        above: tuple[str, ...],
        said: Mapping[str, Any] | None = None,
    ) -> Iterator[Field]:
        """The fields of an object; `said` has those that make it what it is."""
        self._places[name] += 1
        if name in above or self._places[name] > self._most_places:
            return
        least = self._least(name, path) | dict(said or {})
        either = self._wire.either.get(name, frozenset())
        for one, kind in self._fields(name).items():
            is_needed = self._is_needed(name, one)
            if (said and one in said and one in self._wire.marks) or (is_needed and _is_one_word(kind)):
                continue  # what makes the object what it is
            at = f"{path}.{one}" if path else one
            instead = either if one in either else {one}
            others = {other: value for other, value in least.items() if other not in instead}

            def put_field(value: Any, one: str = one, others: Mapping[str, Any] = others) -> Any:
                return put(others if value is None else {**others, one: value})

            is_required = is_needed or one in either or one in (said or {})
            where = (*above, name)
            yield from self._one(
                kind, at, parent, put(least), put_field, where, is_required=is_required, is_part=one in either
            )

    def _one(
        self,
        kind: Any,
        path: str,
        parent: str,
        without: Any,
        put: _Put,
        above: tuple[str, ...],
        *,
        is_required: bool,
        is_part: bool = False,
    ) -> Iterator[Field]:
        """A field, and later those below it; `is_part` is one that says what the object is."""
        if is_part or self._says_something(kind, path):
            probe, wholes = _probe(path), tuple(map(put, self._examples(kind, path)))
            has_probe = probe in json.dumps(wholes)
            yield Field(path, parent, probe if has_probe else "", without, wholes, is_required)
            parent = "" if is_required and not has_probe and not is_part else path
        self._later.append(self._value(kind, path, parent, put, above))

    def _says_something(self, kind: Any, path: str) -> bool:
        """Whether the smallest value of a type asks for anything: a list of parts of several kinds, or an object whose
        fields are all optional, does not."""
        inner = kind.get("list", kind) if isinstance(kind, dict) else kind
        if isinstance(inner, dict) and "one" in inner:
            return not all(isinstance(one, dict) and one.keys() & {"is", "list"} for one in inner["one"])
        if inner is not kind and isinstance(inner, dict) and "is" in inner:
            return False
        return any(value not in ({}, [{}]) for value in self._examples(kind, path))

    # ---- types ----

    def _fields(self, name: str) -> dict[str, Any]:
        return {one: self._wire.kinds.get(f"{name}.{one}", kind) for one, kind in self._types[name]["fields"].items()}

    def _is_needed(self, name: str, one: str) -> bool:
        return one in self._types[name]["required"] or one in self._wire.needed.get(name, ())

    def _label(self, name: str, members: list[Any]) -> str:
        """What tells a member of a choice from the others: the word of its type or role, or else its name."""
        fields = self._types[name]["fields"]
        for by in ("type", "role"):
            if by in fields and _is_one_word(fields[by]):
                others = [one["is"] for one in members if isinstance(one, dict) and "is" in one and one["is"] != name]
                is_shared = any(self._types[one]["fields"].get(by) == fields[by] for one in others)
                word = fields[by]["words"][0]
                return f"{word}: {name}" if is_shared else str(word)
        return name

    @staticmethod
    def _distinct(members: list[Any]) -> list[Any]:
        """The members without the types of answers that are beside their counterparts of requests."""
        names = {one["is"] for one in members if isinstance(one, dict) and "is" in one}
        return [one for one in members if not (isinstance(one, dict) and f"{one.get('is')}Param" in names)]

    # ---- values ----

    def _least(self, name: str, path: str) -> dict[str, Any]:
        """The smallest object of a type."""
        needed = {one: kind for one, kind in self._fields(name).items() if self._is_needed(name, one)}
        return {one: self._examples(kind, f"{path}.{one}")[0] for one, kind in needed.items()}

    def _examples(self, kind: Any, path: str) -> list[Any]:
        """Values of a type: each word that it may be, else one."""
        special = self._wire.values.get(path.rpartition(".")[2].partition("[")[0])
        match kind:
            case {"words": words}:
                # what asks for nothing comes first, so that a smallest object has it
                found = sorted((word for word in words if word not in ("", None)), key=lambda word: word not in _USUAL)
            case {"list": inner}:
                found = [[value] for value in self._examples(inner, path)]
            case {"one": several}:
                plain = [one for one in several if isinstance(one, str)]
                found = self._examples((plain or several)[0], path)
            case {"is": name}:
                found = [self._least(name, path)]
            case _ if special is not None:
                found = [_filled(special, _probe(path))]
            case {"map": inner}:
                found = [{"probe": self._examples(inner, f"{path}.probe")[0]}]
            case _:
                found = _PLAIN[kind](path)
        return found


_USUAL: Final = frozenset({"auto", "completed", "STOP"})


def _is_one_word(kind: Any) -> bool:
    return isinstance(kind, dict) and len(kind.get("words", ())) == 1


def _probe(path: str) -> str:
    """A text that no other field has."""
    return "p" + sha256(path.encode()).hexdigest()[:8]


def _number(path: str) -> int:
    return 10_000 + int(sha256(path.encode()).hexdigest()[:6], 16) % 80_000


_PLAIN: Final[Mapping[str, Callable[[str], list[Any]]]] = {
    "string": lambda path: [_probe(path)],
    "bytes": lambda path: [b64encode(_probe(path).encode()).decode()],
    "integer": lambda path: [_number(path)],
    "number": lambda path: [_number(path) / 100_000],
    "boolean": lambda _path: [False, True],
    "anything": lambda path: [{"probe": _probe(path)}],
}


def _filled(value: Any, probe: str) -> Any:
    """A value with the probe for `PROBE`."""
    text = json.dumps(value).replace("PROBE", probe)
    return json.loads(text)


def _with(body: Mapping[str, Any], place: str, value: Any) -> dict[str, Any]:
    """The body with a value at a place; None leaves it out."""
    whole = deepcopy(dict(body))
    *outer, last = place.split(".")
    inner = whole
    for name in outer:
        inner = inner.setdefault(name, {})
    inner.pop(last, None)
    if value is not None:
        inner[last] = value
    return whole
