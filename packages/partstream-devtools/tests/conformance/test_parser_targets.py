"""A parser under test: our own reader keeps every promise, and each broken parser is caught by the right check."""

import json
from collections.abc import AsyncIterable, Iterable
from dataclasses import replace

import pytest
from click.testing import CliRunner
from scripted_targets import at_once

from partstream import Finish, TextPart, ThinkingPart, ToolCallPart, read_stream
from partstream.errors import CallerError
from partstream.lm.outputs import Outcome
from partstream.protocols.protocol import PROTOCOLS
from partstream_devtools.commands_conformance import command
from partstream_devtools.conformance import targets
from partstream_devtools.conformance.checks import load
from partstream_devtools.conformance.driver import TimeLimits, UnusableTargetError
from partstream_devtools.conformance.parsing import Takes, is_parser, takes_of
from partstream_devtools.conformance.report import Verdict
from partstream_devtools.conformance.running import run
from partstream_devtools.conformance.scenarios import all_rows, check_ids, parser_scenarios
from partstream_devtools.conformance.targets import ParserTarget
from rows import one_test_for

BAD = {Verdict.FAILED, Verdict.WARNING, Verdict.UNTESTABLE, Verdict.ERROR}
LIMITS = TimeLimits(answer_seconds=0.5, grace_seconds=0.001)
WRITTEN = [name for name in PROTOCOLS if PROTOCOLS[name].write_response is not None]
CHAT = "chat-completions"
FEW = ("/text", "/two-calls", "/call-arguments", "/length-stop", "/error-after-parts", "/cut-in-an-event", "/truncated")
"""The scenarios beside those of parsers that the tests run for every protocol."""
CHECKS = (*FEW, *(f"/{slug}" for slug in parser_scenarios()))


def conform(parse, protocol=CHAT, select=CHECKS, **options):
    return at_once(run(ParserTarget(parse, protocol, **options), select=select, limits=LIMITS))


def own(data, protocol=CHAT):
    return read_stream(data, protocol=protocol)


def bad(report):
    return {check.rule for check in report.checks if check.verdict in BAD}


def passed(report):
    return {check.id for check in report.checks if check.verdict is Verdict.PASSED}


@pytest.mark.parametrize("protocol", WRITTEN)
def test_our_own_reader_keeps_every_promise_over_every_protocol(protocol):
    slugs = parser_scenarios(protocol)
    few = [f"/{slug}" for slug in slugs if slug not in {"cut-anywhere", "broken-off-anywhere"}]
    report = conform(read_stream, protocol, (*FEW, *few))
    assert [(check.id, check.got) for check in report.checks if check.verdict in BAD] == []
    assert report.exit_code == 0
    assert {f"parser.server-shape/{slug}" for slug in slugs if slug.startswith("shape-")} <= passed(report)
    assert {"text.complete/text", "tool-call.complete/two-calls", "failure.rejects/truncated"} <= passed(report)
    assert report.to_json()["target"]["protocol"] == protocol


def test_our_own_reader_reads_the_same_wherever_a_stream_is_cut_and_no_half_call():
    report = conform(read_stream, CHAT, ("/cut-anywhere", "/broken-off-anywhere"))
    assert passed(report) == {"parser.same-parts/cut-anywhere", "parser.whole-calls/broken-off-anywhere"}


def test_what_needs_a_provider_is_not_judged_and_says_why():
    report = conform(read_stream, CHAT, ("/model-list", "/cancel-in-text", "/error-before-parts", "/text"))
    got = {check.id: check.got for check in report.checks if check.verdict is Verdict.NOT_JUDGED}
    assert got["models.listed/model-list"] == "a parser lists no models and counts no tokens"
    assert got["cancellation.resolves/cancel-in-text"] == "a parser does not see cancellation"
    assert got["failure.rejects/error-before-parts"] == "bytes alone do not show it: status"
    assert got["request.text-arrives/text"] == "a parser sends no request"


# ---- broken parsers, each caught by the right check ----


def one_call(data):
    is_first = True
    for part in own(data):
        if not isinstance(part, ToolCallPart) or is_first:
            yield part
        is_first = is_first and not isinstance(part, ToolCallPart)


def stripped(data):
    return (TextPart(part.value.strip()) if isinstance(part, TextPart) else part for part in own(data))


def fails_never(data):
    for part in own(data):
        yield Finish(Outcome.COMPLETED) if isinstance(part, Finish) else part


def decodes_each_piece(chunks: Iterable[bytes]):
    return own(b"".join(chunk.decode(errors="replace").encode() for chunk in chunks))


def repairs_calls(data):
    """Returns a call that has begun, whether its arguments have come or not."""
    names = {}
    for line in data.decode(errors="ignore").splitlines():
        try:
            chunk = json.loads(line.removeprefix("data: "))
        except ValueError:
            continue
        for choice in chunk.get("choices", ()):
            for call in choice["delta"].get("tool_calls", ()):
                function = call["function"]
                known = names.setdefault(call.get("index"), [function.get("name"), ""])
                known[1] += function.get("arguments", "")
    for part in own(data):
        if not isinstance(part, ToolCallPart | Finish):
            yield part
    for number, (name, arguments) in enumerate(names.values()):
        try:
            yield ToolCallPart(f"call_{number}", name, json.loads(arguments))
        except ValueError:
            yield ToolCallPart(f"call_{number}", name, {})


def wants_choices(data):
    for line in data.splitlines():
        if line.startswith(b"data: {"):
            json.loads(line[6:])["choices"][0]
    return own(data)


def same_ids(data):
    for part in own(data):
        yield ToolCallPart("call", part.name, part.input) if isinstance(part, ToolCallPart) else part


def no_values(data):
    for part in own(data):
        yield {"type": "text", "text": 7} if isinstance(part, TextPart) else part


BROKEN = {
    "text.complete/text": stripped,
    "tool-call.complete/two-calls": one_call,
    "failure.rejects/truncated": fails_never,
    "parser.same-parts/cut-anywhere": decodes_each_piece,
    "parser.whole-calls/broken-off-anywhere": repairs_calls,
    "parser.server-shape/shape-usage-without-choices": wants_choices,
    "tool-call.unique-call-id/two-calls": same_ids,
    "text.string-value/text": no_values,
}
"""By the check that has to catch it, a broken parser of Chat Completions."""


@pytest.mark.parametrize("check_id", BROKEN)
def test_a_broken_parser_is_caught_by_the_right_check(check_id):
    report = conform(BROKEN[check_id], select=(f"/{check_id.partition('/')[2]}", "/length-stop"))
    assert check_id in {check.id for check in report.checks if check.verdict in BAD}
    assert report.exit_code == 1
    assert bad(report) == {check_id.partition("/")[0]}


# ---- the forms of parsers and of what they give ----


async def asynchronous(chunks: AsyncIterable[bytes]):
    async for part in read_stream(chunks, protocol=CHAT):
        yield part


async def returning(data):
    return list(own(data))


def in_plain_words(data):
    for part in own(data):
        match part:
            case TextPart():
                yield {"type": "text", "text": part.value}
            case ThinkingPart():
                yield {"type": "thinking", "text": part.value}
            case ToolCallPart():
                yield {"type": "tool-call", "id": part.call_id, "name": part.name, "input": part.input}
            case Finish(error=None, usage=usage):
                counts = usage and {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
                yield {"type": "finish", "usage": counts}
            case Finish(error=error):
                yield {"type": "error", "message": str(error)}


def raising(data):
    parts = list(own(data))
    if parts[-1].error is not None:
        raise ValueError(str(parts[-1].error))
    return [part for part in parts if not isinstance(part, Finish)]


@pytest.mark.parametrize("parse", [asynchronous, returning, in_plain_words])
def test_a_parser_may_be_asynchronous_and_return_or_yield_and_speak_in_plain_words(parse):
    select = ("/text", "/two-calls", "/truncated", "/shape-id-late", "/shape-error-in-stream")
    report = conform(parse, select=select)
    assert bad(report) == set(), [(check.id, check.got) for check in report.checks if check.verdict in BAD]
    assert "usage.as-reported/text" in passed(report)


def test_a_parser_may_raise_any_error_for_a_failed_stream():
    report = conform(raising, select=("failure.rejects", "parser.server-shape/shape-error-in-stream"))
    assert "failure.rejects/truncated" in passed(report)


@one_test_for(
    ("parse", "takes"),
    [
        (own, Takes.BYTES),
        (asynchronous, Takes.ASYNC_PIECES),
        (decodes_each_piece, Takes.PIECES),
        (read_stream, Takes.EITHER),
        (lambda chunks: None, Takes.EITHER),
        (lambda upstream: None, None),
        (lambda messages, options: None, None),
    ],
)
def test_the_first_parameter_says_what_a_parser_takes(parse, takes):
    assert takes_of(parse) is takes
    assert is_parser(parse) is (takes is not None)


def test_a_parser_without_a_protocol_or_of_one_that_is_not_written_is_not_usable(monkeypatch):
    with pytest.raises(UnusableTargetError, match="name the protocol"):
        at_once(run(own))
    read_only = replace(PROTOCOLS[CHAT], name="read-only", write_response=None)  # of another package
    monkeypatch.setattr(targets, "PROTOCOLS", {"read-only": read_only})
    with pytest.raises(UnusableTargetError, match="cannot write streams"):
        ParserTarget(own, "read-only")


def test_a_parser_is_known_by_its_first_parameter():
    report = at_once(run(own, protocol=CHAT, select=("/text",), limits=LIMITS))
    assert report.target.kind == "parser"
    assert report.ways == ("parser",)


def test_a_parser_that_ends_the_process_is_told_so_with_its_line(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def parse(data):\n    raise SystemExit(0)\n")
    result = partstream(f"{file}:parse", "--protocol", CHAT, "/shape-id-late")
    assert result.exit_code == 1
    assert "mine.py, line 2: the file ends the process" in result.output.replace("\n", " ").replace("  ", " ")
    file.write_text("raise SystemExit(0)\n")
    assert partstream(f"{file}:parse", "--parser", "--protocol", CHAT).exit_code == 2


def test_every_check_of_parsers_counts():
    own_checks = {one for ids in check_ids(all_rows()).values() for one in ids if one.startswith("parser.")}
    assert own_checks == {one for one in load() if one.startswith("parser.")}


# ---- recordings ----


@pytest.fixture
def recordings(tmp_path):
    folder = tmp_path / "chat_completions"
    folder.mkdir()
    delta = {"choices": [{"index": 0, "delta": {"content": "Hi."}, "finish_reason": "stop"}]}
    (folder / "lines.jsonl").write_text(json.dumps(delta) + "\n")
    (folder / "lines.expected.json").write_text(json.dumps({"text": "Hi.", "tool_calls": [], "error": None}))
    (folder / "raw.sse").write_text(": comment\n\ndata: {\n")
    (folder / "raw.expected.json").write_text(json.dumps({"text": "", "error": "cut off"}))
    return tmp_path


def test_a_folder_of_recordings_judges_a_parser_aspect_by_aspect(recordings):
    kept = conform(own, select=("/recordings",), recordings=recordings)
    assert bad(kept) == set()
    assert "parser.recorded-text/recordings" in passed(kept)
    report = conform(lambda data: [], select=("/recordings",), recordings=recordings)
    got = {check.rule: check.got for check in report.checks if check.verdict is Verdict.FAILED}
    assert got == {
        "parser.recorded-text": "text of 1 of 2 recordings: lines",
        "parser.recorded-errors": "errors of 1 of 2 recordings: raw",
    }


def test_a_folder_without_recordings_is_said_to_be_one(tmp_path):
    with pytest.raises(CallerError, match=r"has no file whose name ends with \.expected\.json"):
        conform(own, select=("/recordings",), recordings=tmp_path)


# ---- the command ----


def partstream(*arguments):
    return CliRunner().invoke(command, ["--no-shrink", *map(str, arguments)])


def test_the_command_tests_a_parser_of_a_file_and_names_the_whole_command_that_repeats(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def parse(body):\n    return [{'type': 'text', 'text': 'Hi.'}]\n")
    result = partstream(f"{file}:parse", "--parser", "--protocol", CHAT, "/text")
    assert result.exit_code == 1
    assert f"(parser, {CHAT})" in result.output
    repeat = f"repeat: partstream conformance {file}:parse --parser --protocol {CHAT} text.complete/text"
    assert repeat in result.output.replace("\n", " ").replace("  ", " ")


def test_the_command_lists_the_checks_of_parsers_and_refuses_one_without_a_protocol(tmp_path):
    listed = partstream("--list", "--parser", "--protocol", CHAT)
    assert "parser.server-shape/shape-id-late" in listed.output
    file = tmp_path / "mine.py"
    file.write_text("def parse(data):\n    return []\n")
    result = partstream(f"{file}:parse")
    assert result.exit_code == 2


def test_a_shape_of_one_name_is_the_same_shape_in_every_protocol():
    titles = {}
    for protocol in WRITTEN:
        for slug, row in parser_scenarios(protocol).items():
            assert titles.setdefault(slug, row.title) == row.title
