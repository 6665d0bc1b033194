"""Views of every kind of answer, for tests of the page: `python sample_views.py NAME` prints one."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that it also runs by itself

from inspector import sample_streams as streams
from inspector.sample_streams import MS, answer, bundle, exchange, paced
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart
from partstream_devtools.bundles.exchange import Bundle, HowEnded, RecordedError
from partstream_devtools.inspector.shapes import View
from partstream_devtools.inspector.view import ViewedFile, view_of

LONG = 20_000


def _view(made: Bundle, name: str = "answer.partstream.zip") -> View:
    return view_of([ViewedFile(name, "bundle", made, name)])


def usual() -> View:
    """An answer that keeps the contract: thinking, text, a call, usage."""
    return _view(bundle(exchange(paced(streams.usual()), end=2100)))


def long() -> View:
    """20,000 events of text."""
    events = [streams.created(), *(streams.text(f"w{index} ") for index in range(LONG)), streams.completed()]
    return _view(bundle(exchange(paced(events, every=2))))


def hostile() -> View:
    """What a model may say to the page that shows it: markup, escapes, bidirectional controls."""
    said = streams.HOSTILE
    events = [
        streams.created(),
        streams.thinking(said),
        streams.text(said),
        streams.sse({"type": "response.new</script><script>x", "html": said}),
        *streams.call("call_1", "read_file", json.dumps({said: said})),
        streams.completed(),
    ]
    return _view(bundle(exchange(paced(events))), "<b>answer</b>.partstream.zip")


def broken() -> View:
    """An answer that breaks the contract: the host got a call twice, and one of a tool that was not offered."""
    got = ToolCallPart("call_1", "read_file", {"path": "/src/main.py"})
    parts = [(320.0, TextPart("I look.")), (400.0, got), (410.0, got), (420.0, ToolCallPart("c2", "delete_all", {}))]
    events = [
        streams.created(),
        streams.text("I look."),
        *streams.call("call_1", "read_file", '{"path":"/src/main.py"}'),
        streams.completed(),
    ]
    return _view(bundle(exchange(paced(events)), answers=[answer(parts)]))


def parallel() -> View:
    """Two answers of one turn, the second of which began 250 ms later."""
    one = exchange(paced(streams.usual()), end=2000)
    two = exchange(
        paced([streams.created(), *map(streams.text, ["The ", "title."]), streams.completed()], first=150),
        number=2,
        answer=2,
    )
    return _view(bundle(one, two, answers=[answer((), number=1), answer((), number=2, offset=250 * MS)]))


def gaps() -> View:
    """A gap of 600 ms, a stall of 4 s with keep-alives in it, and lumps of five events in one read."""
    words = list(map(streams.text, streams.WORDS))
    lumps = [b"".join(words[start : start + 5]) for start in range(20, 60, 5)]
    reads = [
        *paced([streams.created(), *words[:10]], first=200),
        *[(1000.0 + index * 20, word) for index, word in enumerate(words[10:20])],
        *[(2000.0 + index * 1000, streams.KEEP_ALIVE) for index in range(3)],
        *[(5200.0 + index * 100, lump) for index, lump in enumerate(lumps)],
        (6100.0, streams.completed()),
    ]
    return _view(bundle(exchange(reads, end=6300)))


def lumpy() -> View:
    """All text in few reads, as behind a proxy that collects it."""
    words = list(map(streams.text, streams.WORDS))
    reads = [(900.0, streams.created() + b"".join(words[:30])), (1800.0, b"".join(words[30:]) + streams.completed())]
    return _view(bundle(exchange(reads)))


def cut() -> View:
    """The connection broke in the middle of an event."""
    whole = streams.usual()[:20]
    reads = [*paced(whole), (900.0, streams.text("and then")[:40])]
    error = RecordedError("UpstreamConnectionError", "the connection broke in the middle of the answer", ())
    return _view(bundle(exchange(reads, end=950, how=HowEnded.CUT, error=error)))


def failed() -> View:
    """The server reported an error in its stream."""
    error = {"type": "error", "code": "server_error", "message": "The model is overloaded.", "param": None}
    return _view(bundle(exchange(paced([streams.created(), streams.text("Well, "), streams.sse(error)]))))


def refused() -> View:
    """An error of HTTP in place of an answer."""
    body = (
        b'{"error":{"message":"Incorrect API key provided.","type":"invalid_request_error","code":"invalid_api_key"}}'
    )
    return _view(bundle(exchange([(80.0, body)], status=401, content_type="application/json")))


def cancelled() -> View:
    """The client left."""
    return _view(bundle(exchange(paced(streams.usual()[:12]), end=560, how=HowEnded.CANCELLED)))


def unmapped() -> View:
    """Events that no part represents, beside ones that it does."""
    strange = [{"type": f"response.strange_{index % 2}", "value": index} for index in range(6)]
    events = [streams.created(), streams.text("a"), *map(streams.sse, strange), streams.text("b"), streams.completed()]
    return _view(bundle(exchange(paced(events))))


def without_clock() -> View:
    """An old recording: bytes, and no times."""
    data = b"".join(streams.usual())
    return view_of([ViewedFile("old.sse", "sse", bundle(exchange([(None, data)], protocol=None, has_head=False)))])


def document() -> View:
    """One document in place of a stream."""
    item = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]}
    body = {"object": "response", "id": "resp_1", "model": "small", "status": "completed", "output": [item]}
    reads = [(700.0, json.dumps(body).encode())]
    return _view(bundle(exchange(reads, content_type="application/json")))


def agent() -> View:
    """An answer of an agent: parts that its host got, and no bytes."""
    parts = [
        (100.0, ThinkingPart("Let me see.", "t1")),
        *[(400.0 + 30 * index, TextPart(word)) for index, word in enumerate(streams.WORDS)],
        (2500.0, ToolCallPart("a1", "read_file", {"path": "/a"})),
        (2510.0, DataPart(b'{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}', "usage")),
    ]
    return _view(bundle(answers=[answer(parts)]))


def compared() -> View:
    """Two answers that differ in one word and in one argument."""
    other = [*streams.WORDS[:30], "other ", *streams.WORDS[31:]]
    events = [
        streams.created(),
        streams.thinking("First I look at the file."),
        *map(streams.text, other),
        *streams.call("call_9", "read_file", '{"path":"/src/other.py","lines":[1,20]}'),
        streams.completed(),
    ]
    one = bundle(exchange(paced(streams.usual()), end=2100))
    two = bundle(exchange(paced(events, first=450, every=25), end=2600))
    files = (("a.partstream.zip", one), ("b.partstream.zip", two))
    return view_of([ViewedFile(name, "bundle", made, name) for name, made in files])


def empty() -> View:
    """No answer yet, as a live page begins."""
    return view_of([], is_live=True)


SAMPLES: dict[str, Callable[[], View]] = {
    made.__name__: made
    for made in (
        usual,
        long,
        hostile,
        broken,
        parallel,
        gaps,
        lumpy,
        cut,
        failed,
        refused,
        cancelled,
        unmapped,
        without_clock,
        document,
        agent,
        compared,
        empty,
    )
}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(SAMPLES[sys.argv[1]](), indent=1))
