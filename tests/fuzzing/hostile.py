"""Puts into JSON, into any place of it, what a reader that trusts its input does not survive."""

import base64
import gzip
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from fuzzing.damage import TEXTS, VALUES

Chance = random.Random

_MARK = "\uf8ff here"
"""A text of no real input: it stands for any text, and not for a Python value."""


def _nested(opening: bytes, closing: bytes) -> Callable[[Chance], bytes]:
    def make(chance: Chance) -> bytes:
        levels = chance.choice((60, 255, 257, 2000, 30_000))
        return opening * levels + b"1" + closing * levels

    return make


def _many(item: bytes) -> Callable[[Chance], bytes]:
    return lambda chance: b"[" + b",".join([item] * chance.choice((100, 3000, 40_000))) + b"]"


def _names(chance: Chance) -> bytes:
    return b"{" + b",".join(b'"%d":0' % number for number in range(chance.choice((100, 3000, 30_000)))) + b"}"


def _digits(chance: Chance) -> bytes:
    sign, tail = chance.choice((b"", b"-")), chance.choice((b"", b".5", b"e9", b"e99999", b"e-99999"))
    return sign + b"9" * chance.choice((16, 20, 400, 4301, 100_000)) + tail


def _text(chance: Chance) -> bytes:
    piece = chance.choice(
        (b"a", b"\\ud800", b"\\u0000", b"\\u202e", b"\\ud83d\\ude00", b"<", b"```", b"\xc3\xa9", b" ")
    )
    return b'"' + piece * chance.choice((1, 300, 50_000)) + b'"'


def _packed(chance: Chance) -> bytes:
    data = gzip.compress(bytes(chance.choice((10, 10_000, 8_000_000))), mtime=0)
    kind = chance.choice((b"image/png", b"application/pdf", b"application/gzip", b"text/plain", b""))
    return b'"data:' + kind + b";base64," + base64.b64encode(data) + b'"'


HOSTILE: tuple[Callable[[Chance], bytes], ...] = (
    _nested(b"[", b"]"),
    _nested(b'{"a":', b"}"),
    _nested(b'{"type":"object","properties":{"a":', b"}}"),
    _many(b"[]"),
    _many(b'{"role":"user","content":"a"}'),
    _many(b'{"type":"text","text":"a"}'),
    _many(b"0"),
    _names,
    _digits,
    _text,
    _packed,
    lambda chance: b'{"type":"text","type":"image","text":"a","text":' + chance.choice(TEXTS) + b"}",
    lambda chance: chance.choice(TEXTS),
    lambda chance: json.dumps(chance.choice(VALUES)).encode(),
)
"""Texts instead of a value: values in values, many items, numbers without end, a name twice, packed bombs."""


def damaged_json(chance: Chance, value: Any) -> bytes:
    """A document with up to three places that are hostile; the document itself stays as it is."""
    copy: Any = {"": json.loads(json.dumps(value))}
    changes = chance.choice((0, 1, 1, 1, 2, 3))
    for number in range(changes):
        *above, last = chance.choice([path for path in _paths(copy) if path])
        at = copy
        for step in above:
            at = at[step]
        if chance.random() < 0.1 and len(above) > 0:
            del at[last]
        elif chance.random() < 0.15 and isinstance(at, list):
            at += [at[last]] * chance.choice((1, 3, 500))
        elif chance.random() < 0.15:
            at[last] = _somewhere(chance, copy)
        else:
            at[last] = f"{_MARK}{number}"
        if "" not in copy:
            copy[""] = None
    text = json.dumps(copy[""], ensure_ascii=chance.random() < 0.8).encode("utf-8", "surrogatepass")
    for number in range(changes):
        for mark in (json.dumps(f"{_MARK}{number}").encode(), f'"{_MARK}{number}"'.encode()):
            if mark in text:
                text = text.replace(mark, chance.choice(HOSTILE)(chance), 3)
    return _damaged_bytes(chance, text) if chance.random() < 0.15 else text


def _somewhere(chance: Chance, value: Any) -> Any:
    """A value of another place, so that each is of a form that something reads."""
    for step in chance.choice([*_paths(value)]):
        value = value[step]
    return json.loads(json.dumps(value))


def _paths(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield above
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(min(len(value), 40)):
            yield from _paths(value[key], (*above, key))


def damaged_bytes(chance: Chance, data: bytes) -> bytes:
    """Bytes of which some are others, missing, doubled, or packed; often as they are."""
    return _damaged_bytes(chance, data) if chance.random() < 0.8 else data


def _damaged_bytes(chance: Chance, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8))):
        place = chance.randrange(len(changed) + 1)
        match chance.randrange(5):
            case 0:
                changed[place : place + 1] = bytes([chance.randrange(256)])
            case 1:
                del changed[place : place + chance.choice((1, 4, 100))]
            case 2:
                changed[place:place] = chance.choice(
                    (b"\0", b"\xff", b"\r\n", b"9" * 30, b"[" * 300, b"}", b'"', b"%s")
                )
            case 3:
                changed[place:place] = changed[place : place + 200] * chance.choice((1, 2, 50))
            case _:
                del changed[place:]
    if chance.random() < 0.1:
        return gzip.compress(bytes(changed), mtime=0)
    return bytes(changed)
