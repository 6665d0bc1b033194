"""Classes of fields are dataclasses for everybody, whenever their members are made."""

from __future__ import annotations
import copy
import dataclasses
import inspect
import pickle
import threading
from dataclasses import asdict
from typing import Any, ClassVar

import pytest

from partstream.codec import checks
from partstream.codec.checks import dataclass, field, fields, replace


@dataclass(frozen=True, slots=True)
class Point:
    """A point."""

    kinds: ClassVar[int] = 0
    x: int
    y: int = 2
    notes: list[str] = field(default_factory=list, compare=False, repr=False)
    name: str = field(default="p", kw_only=True)


@dataclass(frozen=True, slots=True)
class Pixel(Point):
    """A point with a colour."""

    colour: str = "red"


@dataclass(slots=True)
class Sum:
    """A number that grows."""

    value: int = 0
    parts: list[int] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.parts.append(self.value)


@dataclass(frozen=True)
class Open:
    """A class without slots."""

    a: int
    b: str = field(default="b")


@dataclasses.dataclass(frozen=True)
class Inheriting(Point):
    """What other packages make of a class of ours."""

    more: int = 3


def the_same_of_the_standard_library() -> type:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Point:
        kinds: ClassVar[int] = 0
        x: int
        y: int = 2
        notes: list[str] = dataclasses.field(default_factory=list, compare=False, repr=False)
        name: str = dataclasses.field(default="p", kw_only=True)

    return Point


LOOKS = {
    "fields": lambda cls: [(one.name, one.type, one.init, one.kw_only, one.compare) for one in fields(cls)],
    "signature": inspect.signature,
    "slots": lambda cls: cls.__slots__,
    "match": lambda cls: cls.__match_args__,
    "parameters": lambda cls: (cls.__dataclass_params__.frozen, cls.__dataclass_params__.eq),
    "values": lambda cls: asdict(cls(1, name="a")),
    "copy": lambda cls: asdict(replace(cls(1, name="a"), y=3)),
    "text": lambda cls: repr(cls(1)).rpartition(".")[2],
    "equal": lambda cls: (cls(1) == cls(1, notes=["b"]), cls(1) == cls(2), cls(1) == 1),
    "hash": lambda cls: hash(cls(1)) == hash(cls(1, notes=["b"])),
    "deep copy": lambda cls: asdict(copy.deepcopy(cls(1, notes=["b"]))),
}


@pytest.mark.parametrize("look", LOOKS)
def test_it_looks_as_the_standard_library_makes_it(look: str):
    assert str(LOOKS[look](Point)) == str(LOOKS[look](the_same_of_the_standard_library()))


@pytest.mark.parametrize("made", [lambda: Point(1, name="a"), lambda: Open(1), lambda: Pixel(1, colour="blue")])
def test_a_frozen_one_refuses_another_value_and_is_pickled(made: Any):
    with pytest.raises(dataclasses.FrozenInstanceError):
        made().__setattr__("x", 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made().__delattr__("b")
    assert pickle.loads(pickle.dumps(made())) == made()  # noqa: S301 - written just now


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Pixel(1, name="a"), "Pixel(x=1, y=2, name='a', colour='red')"),
        (Inheriting(1), "Inheriting(x=1, y=2, name='p', more=3)"),
        (Open(1), "Open(a=1, b='b')"),
        (Sum(3), "Sum(value=3, parts=[3])"),
    ],
)
def test_values_come_from_arguments_defaults_and_factories(given: Any, expected: str):
    assert repr(given) == expected


@pytest.mark.parametrize(
    ("given", "changes", "expected"),
    [
        (Point(1, 3, name="a"), {"x": 2}, "Point(x=2, y=3, name='a')"),
        (Pixel(1, colour="blue"), {"y": 3}, "Pixel(x=1, y=3, name='p', colour='blue')"),
        (Inheriting(1, more=5), {"x": 2}, "Inheriting(x=2, y=2, name='p', more=5)"),
        (Sum(3), {"value": 4}, "Sum(value=4, parts=[4])"),
    ],
)
def test_a_copy_has_other_values_in_some_fields(given: Any, changes: dict[str, Any], expected: str):
    assert repr(replace(given, **changes)) == expected
    with pytest.raises(TypeError):
        replace(given, none_of_its_fields=1)


def test_what_can_change_has_no_hash_and_shares_no_list():
    one, other = Sum(1), Sum(1)
    one.parts.append(2)
    assert other.parts == [1]
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_threads_that_make_the_first_instance_at_once_all_get_one():
    @dataclass(frozen=True, slots=True)
    class Fresh:
        value: int

    start = threading.Barrier(8)
    made: list[Any] = []

    def make() -> None:
        start.wait(10)
        made.append(Fresh(1))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert made == [Fresh(1)] * 8


def test_nothing_is_compiled_for_a_class_that_nobody_uses(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(checks, "_compiled", None)

    @dataclass(frozen=True, slots=True)
    class Unused:
        value: int

    with pytest.raises(TypeError, match="not callable"):
        Unused(1)
