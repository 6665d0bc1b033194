"""Views made by hand, in every field that the page looks at, and a stream of any length."""

from __future__ import annotations
from base64 import b64encode
from typing import Any

_PROMISE = "A call is reported once, whole, when its arguments are complete."


def _event(n: int, at: float, kind: str, name: str, data: str, start: int, **more: Any) -> dict[str, Any]:
    return {
        "n": n,
        "at": at,
        "until": None,
        "type": name,
        "kind": kind,
        "from": start,
        "to": start + len(frame(name, data)),
        "text": data[:80],
        "parts": [],
        "violations": [],
        "marks": [],
        "count": 1,
        **more,
    }


def frame(name: str, data: str) -> bytes:
    """The bytes of one server-sent event."""
    return f"event: {name}\ndata: {data}\n\n".encode()


STEPS: tuple[tuple[float, str, str, str, dict[str, Any]], ...] = (
    (120, "start", "response.created", '{"response":{"id":"resp_1","model":"m"}}', {}),
    (180, "thinking", "response.reasoning.delta", '{"delta":"The user greets. "}', {"parts": [0]}),
    (260, "keepalive", "", "", {}),
    (420, "text", "response.output_text.delta", '{"delta":"Hello, "}', {"parts": [1]}),
    (440, "text", "response.output_text.delta", '{"delta":"Wörld 👋"}', {"parts": [2], "marks": ["lump"]}),
    (1640, "call", "response.function_call.done", '{"name":"read_file","arguments":"{\\"path\\":\\"a.txt\\"}"}',
     {"parts": [3], "marks": ["gap", "broken"], "violations": [0]}),
    (1650, "unmapped", "response.vendor.extra", '{"vendor":{"nested":[1,2,{"deep":true}]}}', {"marks": ["unmapped"]}),
    (1700, "usage", "response.completed", '{"usage":{"input_tokens":12,"output_tokens":34}}', {"parts": [4]}),
)  # fmt: skip


def number(name: str, label: str, value: float | None, text: str) -> dict[str, Any]:
    """One number of the head."""
    missing = None if value is not None else "the recording has no clock"
    definition = f"{label}: from the last byte of the request"
    return {"id": name, "label": label, "value": value, "unit": "ms", "text": text, "missing": missing,
            "definition": definition}  # fmt: skip


def answer(name: str = "1", steps: tuple[Any, ...] = STEPS, **more: Any) -> dict[str, Any]:
    """One answer."""
    events, body, reads = [], b"", []
    for n, (at, kind, event_type, data, fields) in enumerate(steps, start=1):
        made = _event(n, at, kind, event_type or "comment", data, len(body), **fields)
        piece = frame(event_type, data) if event_type else b": keep-alive\n\n"
        made["to"] = len(body) + len(piece)
        events.append(made)
        reads.append([at, len(body), len(body) + len(piece)])
        body += piece
    first, second = reads[3][2], reads[4][2]  # one event is cut over two reads
    reads[3][2] = reads[4][1] = first - 12
    assert second > first
    parts = [
        _part(0, 180, "thinking", 2, "The user greets. "),
        _part(1, 420, "text", 4, "Hello, "),
        _part(2, 440, "text", 5, "Wörld 👋"),
        _part(3, 1640, "call", 6, '{"path":"a.txt"}', name="read_file", callId="call_1"),
        _part(4, 1700, "usage", 8, "12 in, 34 out"),
    ]
    return {
        "id": name,
        "title": f"Answer {name}",
        "offset": 0.0,
        "startedAt": "2026-11-23T01:00:00Z",
        "host": "chat",
        "request": {"method": "POST", "path": "/v1/responses", "headers": [["content-type", "application/json"]],
                    "body": '{"model":"m","stream":true}', "size": 27, "sentAt": 0.0},
        "response": {"status": 200, "reason": "OK", "headers": [["content-type", "text/event-stream"]], "at": 110.0},
        "protocol": {"name": "openresponses", "title": "OpenResponses", "sure": True},
        "framing": "sse",
        "model": "m",
        "outcome": "completed",
        "ending": "whole",
        "error": None,
        "wrong": 6,
        "blame": {"who": "provider", "sentence": "The provider broke a rule: a call came twice."},
        "finishReason": {"unified": "stop", "raw": "completed"},
        "usage": {"rows": [["input", 12], ["output", 34]], "source": "reported"},
        "verdict": {"kept": 22, "broken": 1, "warnings": 0, "notJudged": 1},
        "numbers": [
            number("time_to_first_byte", "Time to first byte", 112.4, "112 ms"),
            number("time_to_first_token", "Time to first token", 420.0, "420 ms"),
            number("longest_gap", "Longest gap", 1200.0, "1,200 ms"),
            number("tokens_per_second", "Tokens per second", None, "-"),
        ],
        "bytes": b64encode(body).decode(),
        "reads": reads,
        "events": events,
        "parts": parts,
        "runs": [
            {"kind": "thinking", "from": 0, "to": 0, "at": 180.0, "until": 180.0, "label": "thinking"},
            {"kind": "text", "from": 1, "to": 2, "at": 420.0, "until": 440.0, "label": "text"},
            {"kind": "call", "from": 3, "to": 3, "at": 1640.0, "until": 1640.0, "label": "read_file"},
            {"kind": "usage", "from": 4, "to": 4, "at": 1700.0, "until": 1700.0, "label": "usage"},
        ],
        "shown": [{"at": 450.0, "from": 0, "to": 2, "forced": False},
                  {"at": 1710.0, "from": 3, "to": 4, "forced": True}],
        "shownUnpaced": [{"at": 451.0, "from": 0, "to": 2, "forced": False},
                         {"at": 1705.0, "from": 3, "to": 4, "forced": True}],
        "violations": [{"rule": "tool-call.atomic", "level": "MUST", "section": "4.2", "promise": _PROMISE,
                        "detail": "call_1 was reported twice", "part": 3, "event": 6, "seen": "The tool runs twice.",
                        "hints": ["the closing event repeats the call"]}],
        "unmapped": [{"type": "response.vendor.extra", "count": 1, "events": [7]}],
        "gaps": [{"after": 5, "before": 6, "ms": 1200.0, "stall": False}],
        "notes": ["Most events came in the same read as the one before: something between buffers."],
        "cache": None,
        "result": [
            {"kind": "thinking", "text": "The user greets. ", "name": None, "callId": None, "part": 0},
            {"kind": "text", "text": "Hello, Wörld 👋", "name": None, "callId": None, "part": 1},
            {"kind": "call", "text": '{"path":"a.txt"}', "name": "read_file", "callId": "call_1", "part": 3},
            {"kind": "usage", "text": "12 in, 34 out", "name": None, "callId": None, "part": 4},
        ],
        **more,
    }  # fmt: skip


def _part(i: int, at: float, kind: str, event: int, text: str, **more: Any) -> dict[str, Any]:
    return {"i": i, "at": at, "kind": kind, "event": event, "text": text, "name": None, "callId": None, "id": None,
            **more}  # fmt: skip


def view(*answers: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A view of these answers, or of one."""
    return {
        "format": 1,
        "title": "answer.partstream.zip",
        "source": {"name": "answer.partstream.zip", "form": "bundle", "hasClock": True, "live": False},
        "redaction": {"level": "keys", "counts": {"bearer": 2}, "kept": []},
        "versions": {"partstream": "0.12.0", "python": "3.11"},
        "answers": list(answers) or [answer()],
        "comparisons": [],
        "commands": [{"label": "Replay it", "text": "partstream replay answer.partstream.zip"}],
        **more,
    }


def long_answer(count: int) -> dict[str, Any]:
    """An answer of that many events; each hundredth is a call, each thousandth of no known type."""
    events, parts, reads, pieces, size = [], [], [], [], 0
    for n in range(1, count + 1):
        kind = "unmapped" if n % 1000 == 0 else "call" if n % 100 == 0 else "text"
        data = f'{{"delta":"word {n} "}}'
        made = _event(n, n * 10.0, kind, f"response.{kind}.delta", data, size, parts=[n - 1])
        piece = frame(made["type"], data)
        parts.append(_part(n - 1, n * 10.0, "text", n, f"word {n} "))
        reads.append([n * 10.0, size, size + len(piece)])
        events.append(made)
        pieces.append(piece)
        size += len(piece)
    text = "".join(part["text"] for part in parts)
    made = answer()
    made.update(
        title=f"{count} events", bytes=b64encode(b"".join(pieces)).decode(), reads=reads, events=events, parts=parts,
        runs=[{"kind": "text", "from": 0, "to": count - 1, "at": 10.0, "until": count * 10.0, "label": "text"}],
        shown=[], shownUnpaced=[], violations=[], unmapped=[], gaps=[],
        result=[{"kind": "text", "text": text, "name": None, "callId": None, "part": 0}],
    )  # fmt: skip
    return made
