"""What differs between two readings of a stream, in phrases that are alike for differences of one kind."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

Outputs = list[Any]
"""What :mod:`versions.reader` writes of a stream."""

_LONGEST = 90
_OWN_ID = re.compile(r"(?:gemini_)?call_[0-9a-f]{24}")
_TOOL = re.compile(r"^(tool call|tool-call|tool-input|tool-error|tool-result|TOOL_CALL_START) .*?((?<= )\(|$)")


def differences(before: Outputs, now: Outputs) -> list[str]:
    """The kinds of differences, each once, from what a person sees to what a program sees.

    Args:
        before: What the other version read.
        now: What this version read.
    """
    if before == now:
        return []
    same_ids = [_with_ids_in_order(outputs) for outputs in (before, now)]
    found = [*_found(*same_ids)]
    if not found and same_ids[0] != same_ids[1]:
        found.append("order of outputs")
    if not found:
        found.append("ToolCallPart.call_id: another id of ours")
    return list(dict.fromkeys(found))


def _with_ids_in_order(outputs: Outputs) -> Outputs:
    """The outputs with numbers in place of the ids that the package makes up for calls."""
    text = json.dumps(outputs)
    made_up = list(dict.fromkeys(_OWN_ID.findall(text)))
    numbers = {one: f"made-up-{number}" for number, one in enumerate(made_up)}
    numbered: Outputs = json.loads(_OWN_ID.sub(lambda found: numbers[found[0]], text))
    return numbered


def _found(before: Outputs, now: Outputs) -> Iterator[str]:
    yield from _of_names("exception", _raised(before), _raised(now))
    for kind in ("TextPart", "ThinkingPart"):
        was, became = ("".join(said["value"] for name, said in outputs if name == kind) for outputs in (before, now))
        if was != became:
            yield f"{kind}: {_of_texts(was, became)}"
    yield from _of_thinking(before, now)
    yield from _of_calls(before, now)
    for what, field in (("DataPart", "mime_type"), ("Unmapped", "type")):
        yield from _of_named(what, field, _of_kind(before, what), _of_kind(now, what))
    finishes = [(_of_kind(outputs, "Finish") or [{}])[-1] for outputs in (before, now)]
    yield from _of_fields("Finish", *finishes)


def _of_kind(outputs: Outputs, kind: str) -> list[dict[str, Any]]:
    return [said for name, said in outputs if name == kind]


def _raised(outputs: Outputs) -> list[str]:
    return [said["type"] for said in _of_kind(outputs, "raised")]


def _of_texts(was: str, became: str) -> str:
    if not was or not became:
        return "new" if became else "lost"
    if was.split() == became.split():
        return "other blanks"
    if was in became or became in was:
        return "longer" if was in became else "shorter"
    return "other"


def _of_thinking(before: Outputs, now: Outputs) -> Iterator[str]:
    for field in ("id", "metadata"):
        was, became = (
            [said[field] for said in _of_kind(outputs, "ThinkingPart") if field in said] for outputs in (before, now)
        )
        if field == "id":
            was, became = list(dict.fromkeys(was)), list(dict.fromkeys(became))
        if was != became:
            yield f"ThinkingPart.{field}: {_of_lists(was, became)}"


def _of_lists(was: list[Any], became: list[Any]) -> str:
    left, came = ([json.dumps(one, sort_keys=True) for one in some] for some in (was, became))
    if Counter(left) == Counter(came):
        return "other order"
    if not Counter(left) - Counter(came):
        return "more"
    if not Counter(came) - Counter(left):
        return "fewer"
    return "other"


def _of_calls(before: Outputs, now: Outputs) -> Iterator[str]:
    was, became = (_of_kind(outputs, "ToolCallPart") for outputs in (before, now))
    if len(was) < len(became):
        added = [one for one in became if one not in was]
        error = _of_kind(now, "Finish")[-1].get("error") if _of_kind(now, "Finish") else None
        beside = " beside a broken call" if _type(error) == "ToolArgumentsError" else ""
        ours = ", with an id of ours" if all("made-up-" in one["call_id"] for one in added) else ""
        bare = "" if all(one["input"] for one in added) else ", without arguments"
        yield f"ToolCallPart: more{beside}{ours}{bare}"
    elif len(was) > len(became):
        yield "ToolCallPart: fewer"
    else:
        for field in ("call_id", "name", "input"):
            if [one[field] for one in was] != [one[field] for one in became]:
                yield f"ToolCallPart.{field}: other"


def _of_named(what: str, field: str, was: list[dict[str, Any]], became: list[dict[str, Any]]) -> Iterator[str]:
    left, came = (Counter(one[field] for one in some) for some in (was, became))
    for name in sorted((left - came).keys()):
        yield f"{what} {_short(name)}: fewer"
    for name in sorted((came - left).keys()):
        yield f"{what} {_short(name)}: more"
    if left == came:
        for name in sorted(left):
            pair = [[one for one in some if one[field] == name] for some in (was, became)]
            if pair[0] != pair[1]:
                yield f"{what} {_short(name)}: {_of_lists(*pair)}"


def _of_names(what: str, was: list[str], became: list[str]) -> Iterator[str]:
    if was != became:
        yield f"{what}: {', '.join(was) or 'none'} → {', '.join(became) or 'none'}"


_OBJECTS = {"Finish", "Finish.reason", "Finish.usage", "Finish.error"}
"""Fields that are compared field by field."""
_SHOWN = {"Finish.outcome", "Finish.reason.unified", "Finish.error.code", "Finish.error.statement"}
"""Fields of which both values are shown; of others, how the value changed."""
_DERIVED = {"Finish.error.message", "Finish.error.type"}


def _of_fields(where: str, was: Any, became: Any) -> Iterator[str]:
    if was == became or where in _DERIVED:
        return
    if where == "Finish.error" and _type(was) != _type(became):
        yield f"{where}: {_type(was)} → {_type(became)}"
    elif where in _OBJECTS:
        was, became = was or {}, became or {}
        for name in dict.fromkeys((*was, *became)):
            yield from _of_fields(f"{where}.{name}", was.get(name), became.get(name))
    elif where in _SHOWN:
        yield f"{where}: {_short(was)} → {_short(became)}"
    else:
        yield f"{where}: {_how(was, became)}"


def _type(error: dict[str, Any] | None) -> str:
    return "none" if error is None else str(error["type"])


def _how(was: Any, became: Any) -> str:
    if was in (None, "", {}, []) or became in (None, "", {}, []):
        return "lost" if became in (None, "", {}, []) else "new"
    return "other"


def _short(value: Any) -> str:
    """A value without what is of one stream alone: numbers and what is between quotes."""
    text = "none" if value is None else str(value)
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "'…'", text)
    text = _TOOL.sub(r"\1 … \2", text).rstrip()
    text = re.sub(r"-?\d+", "0", text)
    text = "".join(one if one.isprintable() else "�" for one in text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
