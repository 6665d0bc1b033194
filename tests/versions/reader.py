"""Reads streams with the version of the package that it finds: a stream a line comes, what was read of it goes.

It runs in the processes of both versions, so it imports names that each version has: those of `partstream` itself.
"""

import json
import sys
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from partstream import (
    PROTOCOLS,
    CitationMode,
    StreamOptions,
    StreamReader,
    TextPart,
    ThinkingMode,
    ThinkingPart,
    __version__,
)


def read(asked: dict[str, Any]) -> list[Any]:
    """The outputs of a stream in JSON; an exception is one more output."""
    framings = {framing.name: framing for framing in PROTOCOLS[asked["protocol"]].framings}
    options = StreamOptions(ThinkingMode(asked["thinking"]), CitationMode(asked["citations"]), call_id_prefix="")
    outputs: list[Any] = []
    try:
        reader = StreamReader(asked["protocol"], options, framing=framings[asked["framing"]])
        for piece in asked["pieces"]:
            for output in reader.feed(piece.encode("latin-1")):
                _add(outputs, output)
        for output in reader.end():
            _add(outputs, output)
    except Exception as error:
        outputs.append(["raised", _plain(error)])
    return outputs


def _add(outputs: list[Any], output: Any) -> None:
    """Adds an output; where a text is cut into parts makes no difference, so neighbours become one."""
    kind, said = type(output).__name__, _plain(output)
    last_kind, last = outputs[-1] if outputs else ("", {})
    if kind == last_kind and (isinstance(output, TextPart) or _is_one_thought(output, last, said)):
        last["value"] += said["value"]
    else:
        outputs.append([kind, said])


def _is_one_thought(output: Any, last: Mapping[str, Any], said: Mapping[str, Any]) -> bool:
    if not isinstance(output, ThinkingPart) or last.get("id") != said.get("id"):
        return False
    return "metadata" not in last and "metadata" not in said


def _plain(value: Any) -> Any:
    """A value in JSON: of a part or an error, its fields.

    Fields that say nothing are left out: the other version may not have them.
    """
    if is_dataclass(value) and not isinstance(value, type):
        facts = {field.name: getattr(value, field.name) for field in fields(value)}
        return {name: _plain(fact) for name, fact in facts.items() if fact is not None and fact != ()}
    if isinstance(value, BaseException):
        facts = {name: fact for name, fact in vars(value).items() if not name.startswith("_")}
        said = {name: _plain(fact) for name, fact in facts.items() if fact is not None and fact != ()}
        return {**said, "type": type(value).__name__, "message": str(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return value if value is None or isinstance(value, bool | int | float) else str(value)


if __name__ == "__main__":
    sys.set_int_max_str_digits(0)
    sys.setrecursionlimit(20_000)
    sys.stdout.write(json.dumps({"version": __version__}) + "\n")
    sys.stdout.flush()
    for line in sys.stdin:
        sys.stdout.write(json.dumps({"outputs": read(json.loads(line))}) + "\n")
        sys.stdout.flush()
