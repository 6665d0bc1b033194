"""`partstream replay`: a recorded stream as the parts that a consumer would receive."""

from __future__ import annotations
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import click

from partstream import errors
from partstream.cli.console import StreamRenderer
from partstream.codec.json_codec import dumps
from partstream.codec.text import visible
from partstream.lm.outputs import GATEWAY_CALL_ID_PREFIX, CitationMode, Finish, StreamOptions, ThinkingMode, Unmapped
from partstream.lm.parts import TextPart, ThinkingPart, ToolCallPart, part_json
from partstream_devtools import recordings
from partstream_devtools.recorded_stream import RecordingError

if TYPE_CHECKING:
    from partstream.lm.outputs import StreamOutput
    from partstream.lm.parts import ResponsePart

_COUNTS: Final = ("input_tokens", "output_tokens", "total_tokens", "cached_tokens", "reasoning_tokens")


@click.command(short_help="Turn a recorded stream into parts.")
@click.argument("file")
@recordings.protocol_option
@click.option(
    "--chunk-size",
    type=click.IntRange(min=1),
    metavar="N",
    help="Feed the bytes in pieces of N. Default: all at once, or as they came.",
)
@click.option(
    "--pace",
    type=recordings.PACE,
    default="0",
    metavar="real|0|N",
    help="How fast to print: as fast as the answer came, at once, or N times as fast.",
    show_default=True,
)
@click.option(
    "--call-id-prefix", default=GATEWAY_CALL_ID_PREFIX, show_default=True, help="Text to put before every call id."
)
@click.option(
    "--thinking",
    type=click.Choice([mode.value for mode in ThinkingMode]),
    default="part",
    help="How to show the model's thinking.",
    show_default=True,
)
@click.option(
    "--citations",
    type=click.Choice([mode.value for mode in CitationMode]),
    default="inline",
    help="How to show the sources of an answer.",
    show_default=True,
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.option("--summary", is_flag=True, help="Print one JSON object: all text, all tool calls, and how it ended.")
def command(
    file: str,
    protocol: str | None,
    chunk_size: int | None,
    pace: float,
    call_id_prefix: str,
    thinking: str,
    citations: str,
    as_json: bool,
    summary: bool,
) -> None:
    """Turn the recorded stream FILE into parts.

    FILE holds recorded exchanges (.partstream.zip), one event per line (.jsonl), the bytes of an event stream (.sse),
    or any other form of a known protocol; use - to read standard input. Of several exchanges the last answer is turned
    into parts: FILE#2 chooses the second exchange.

    The exit code is 0 for a completed or incomplete response, 3 for a failed one, 4 for one without an end, and 2 if
    the file cannot be read or nothing in it is understood. docs/command-line.md describes the JSON.
    """
    options = StreamOptions(ThinkingMode(thinking), CitationMode(citations), call_id_prefix)
    try:
        opened = recordings.open_recordings(file)
        recording = opened.last
        recordings.notice(opened, [recording])
        if pace:
            outputs = _paced(recording.timed(protocol, options, chunk_size), pace)
        else:
            outputs = recording.outputs(protocol, options, chunk_size)
        if summary or as_json:
            finish = _print_rows(outputs, is_whole=summary)
        else:
            renderer = StreamRenderer()
            for output in outputs if pace else _merged(outputs):
                renderer.show(output)
            finish = renderer.finish
    except RecordingError as error:
        raise recordings.UnreadableRecordingError(visible(str(error))) from error
    sys.exit(recordings.exit_code_of(finish))


def _paced(timed: Iterable[tuple[int | None, list[StreamOutput]]], factor: float) -> Iterator[StreamOutput]:
    """The outputs, each when its time has come: so many times as fast as they were recorded."""
    start = time.monotonic()
    for at, outputs in timed:
        if at is not None:
            time.sleep(max(0.0, start + at / 1e9 / factor - time.monotonic()))
        yield from outputs


def _merged(outputs: Iterable[StreamOutput]) -> Iterator[StreamOutput]:
    """The outputs, with pieces of text that follow each other as one: a recording has no pace to show.

    A terminal takes as long for one letter as for a page.
    """
    for kind, run in groupby(outputs, type):
        if kind is TextPart or kind is ThinkingPart:
            yield kind("".join(one.value for one in run if isinstance(one, TextPart | ThinkingPart)))
        else:
            yield from run


def _print_rows(outputs: Iterable[StreamOutput], *, is_whole: bool) -> Finish:
    """Prints a row for each part and for the end, or one that can be compared with what another parser makes of it."""
    parts: list[ResponsePart] = []
    unmapped: Counter[str] = Counter()
    finish: Finish | None = None
    for output in outputs:
        if isinstance(output, Unmapped):
            unmapped[output.type] += 1
        elif isinstance(output, Finish):
            finish = output
        elif is_whole:
            parts.append(output)
        else:
            _print_line(part_json(output))
    if finish is None:
        raise AssertionError("every stream ends with a Finish")
    _print_line((_summary(parts) if is_whole else {"type": "end"}) | _end_row(finish, unmapped))
    return finish


def _summary(parts: list[ResponsePart]) -> dict[str, Any]:
    calls = [part_json(part) for part in parts if isinstance(part, ToolCallPart)]
    return {
        "text": "".join(part.value for part in parts if isinstance(part, TextPart)),
        "thinking": "".join(part.value for part in parts if isinstance(part, ThinkingPart)),
        "tool_calls": [{name: value for name, value in call.items() if name != "type"} for call in calls],
    }


def _end_row(finish: Finish, unmapped: Counter[str]) -> dict[str, Any]:
    reason, usage = finish.reason, finish.usage
    return {
        "outcome": finish.outcome.value,
        "finish_reason": None if reason is None else {"unified": reason.unified.value, "raw": reason.raw},
        "usage": None if usage is None else {name: getattr(usage, name) for name in _COUNTS},
        "error": _error(finish.error),
        "unmapped": dict(unmapped),
        **({"explanation": finish.explanation} if finish.explanation else {}),
        **({"edits": list(finish.edits)} if finish.edits else {}),
    }


def _print_line(row: dict[str, Any]) -> None:
    sys.stdout.buffer.write(dumps(row) + b"\n")
    sys.stdout.buffer.flush()


def _error(error: errors.LanguageModelError | None) -> dict[str, str | None] | None:
    if error is None:
        return None
    if isinstance(error, errors.UpstreamFailureError | errors.UpstreamHTTPError):
        return {"code": error.provider_code, "message": error.provider_message or error.message}
    return {
        "code": next(code for kind, code in _OWN_CODES.items() if isinstance(error, kind)),
        "message": error.message,
    }


_OWN_CODES: Final = {
    errors.TruncatedStreamError: "truncated_stream",
    errors.ToolArgumentsError: "invalid_tool_arguments",
    errors.EventTooLargeError: "event_too_large",
    errors.UpstreamProtocolError: "protocol_violation",
    errors.UpstreamAbortedError: "aborted",
    errors.UpstreamTimeoutError: "timeout",
    errors.LanguageModelError: None,
}
"""The `code` of the end row for errors that Partstream found itself; a subclass comes before its base."""
