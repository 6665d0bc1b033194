"""The command `partstream conformance`: what it prints, what it writes, and how it ends."""

import asyncio
import json
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from partstream import chat_model
from partstream.errors import to_install
from partstream_devtools.commands_conformance import command
from partstream_devtools.conformance.driver import TimeLimits
from partstream_devtools.conformance.report import Blame, Verdict
from partstream_devtools.conformance.running import run
from partstream_devtools.conformance.stdio_target import StdioTarget
from partstream_devtools.conformance.targets import BaseURLTarget
from partstream_devtools.testing.upstream import ReplayUpstream
from rows import one_test_for

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
PARROT = str(EXAMPLES / "providers" / "parrot.py")

BROKEN = """
from partstream import ToolCallPart, chat_model

@chat_model(name="Broken")
async def provider(messages, options):
    yield "Let me look. "
    for tool in options.tools[:1]:
        yield ToolCallPart("c1", tool.name, {"city": "Oslo"})
        yield ToolCallPart("c1", tool.name, {"city": "Oslo"})
"""


def partstream(*arguments):
    return CliRunner().invoke(command, ["--no-shrink", *arguments])


@pytest.fixture
def broken(tmp_path):
    file = tmp_path / "broken.py"
    file.write_text(BROKEN)
    return str(file)


def test_a_provider_that_keeps_the_contract_ends_with_0_and_one_sentence():
    result = partstream(PARROT, "/text")
    assert result.exit_code == 0
    assert "ok   text " in result.output
    assert result.output.splitlines()[-1].startswith("Contract 1.0 kept: ")


def test_a_broken_rule_is_shown_with_promise_part_hint_and_the_command_that_repeats_it(broken):
    result = partstream(broken, "/one-call")
    assert result.exit_code == 1
    for said in (
        "FAIL tool-call.unique-call-id  MUST  3.2  (scenario one-call",
        "No two tool calls of a response share a call id.",
        "<- here",
        "The tool runs twice.",
        f"repeat: partstream conformance {broken} tool-call.unique-call-id/one-call",
    ):
        assert said in result.output


def test_the_command_that_repeats_a_check_has_the_options_that_make_the_target(broken):
    result = partstream(broken, "/one-call", "--capability", "tool_calling", "--prompt", "one-call=Look it up")
    options = "--capability tool_calling --prompt 'one-call=Look it up'"
    assert f"repeat: partstream conformance {broken} {options} tool-call.unique-call-id/one-call" in result.output


def test_a_check_is_selected_by_the_beginning_of_its_name_or_by_its_section(broken):
    assert partstream(broken, "tool-call.atomic").exit_code == 0
    assert partstream(broken, "tool-call.unique").exit_code == 1
    assert partstream(broken, "--section", "4").exit_code == 0
    assert partstream(broken, "--section", "3.2").exit_code == 1


def test_the_checks_are_listed_without_a_target():
    listed = partstream("--list", "tool-call.unique").output
    assert "  tool-call.unique-call-id/two-calls  MUST 3.2" in listed
    assert "text.complete" not in listed


def test_the_report_is_written_as_json(tmp_path, broken):
    file = tmp_path / "report.json"
    assert partstream(broken, "--json", str(file)).exit_code == 1
    report = json.loads(file.read_text())
    assert report["target"]["name"] == broken
    assert json.loads(partstream(PARROT, "/text", "--json", "-").output)["exit_code"] == 0


@one_test_for(
    ("arguments", "said"),
    [
        (["missing.py"], "no such file"),
        ([PARROT, "nonsense"], "fits no check"),
        (["https://models.example/v1"], "--allow-remote"),
        ([PARROT, "--capability", "nonsense"], "expected some of tool_calling"),
        ([PARROT, "--prompt", "nonsense=hi"], "--list"),
        ([PARROT, "--prompt", "one-call"], "expected SCENARIO=TEXT"),
        ([PARROT, "--model", "nonsense"], "its models are provider, expected nonsense"),
        ([PARROT, "--protocol", "nonsense"], "it is no function of the parameter `upstream`"),
        (["127.0.0.1:9"], "got no such module, expected an importable module or a .py file"),
        ([PARROT, "/text", "--json", f"{PARROT}/report.json"], "Could not open file"),
        (["parrot.txt"], "got no such module, expected an importable module or a .py file"),
        (["no-such-command-at-all", "--stdio"], "cannot be started"),
        ([], "Missing argument"),
    ],
)
def test_what_cannot_be_tested_ends_with_2_and_says_why(arguments, said):
    result = partstream(*arguments)
    assert result.exit_code == 2
    assert said in result.output


def test_a_capability_that_was_declared_and_not_shown_counts():
    result = partstream(PARROT, "/one-call", "--capability", "tool_calling")
    assert result.exit_code == 1
    assert "UNTESTABLE one-call " in result.output


@pytest.fixture
def written(tmp_path):
    def write(source):
        file = tmp_path / "mine.py"
        file.write_text(source)
        return str(file)

    return write


def test_a_file_that_does_not_run_is_named_with_its_line(written):
    file = written("x = 1\ndef provider(:\n")
    result = partstream(file)
    assert result.exit_code == 2
    assert f"{file}, line 2: SyntaxError: invalid syntax" in result.output


FAILING = """
from partstream import chat_model

@chat_model(name="Failing")
async def provider(messages, options):
    yield "a"
    raise KeyError("seed")
"""


def test_an_error_is_named_with_its_type_and_with_its_line_in_the_targets_code(written):
    file = written(FAILING)
    result = partstream(file, "stream.resolves/text")
    assert f"the answer was rejected with KeyError('seed') ({file}:7)" in result.output
    assert "ms  rejected KeyError: 'seed'\n" in result.output


def test_in_a_narrow_terminal_broken_lines_keep_their_indent_and_a_command_stays_whole(written, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("LINES", "24")  # without both, a dumb terminal has 80 columns
    file = written(FAILING)
    lines = [click.unstyle(line) for line in partstream(file, "stream.resolves/text").output.splitlines()]
    promise = next(place for place, line in enumerate(lines) if "stream.resolves  MUST" in line)
    repeat = next(place for place, line in enumerate(lines) if "repeat: " in line)
    assert lines[repeat].endswith(f"{file} stream.resolves/text")
    assert all(line.startswith("    ") for line in lines[promise + 1 : repeat])
    assert any(line.startswith("    The chat shows an error") and len(line) <= 60 for line in lines)


MAKER = """
from partstream import chat_model, connect

def provider(upstream):
    @chat_model(name="Made")
    async def made(messages, options):
        async with connect(upstream) as model:
            async for part in model.stream(messages):
                yield part
    return made
"""


def test_a_function_of_upstream_that_is_called_provider_is_tested_in_the_sandwich(written):
    result = partstream(written(MAKER), "text.complete/text")
    assert "(provider, sandwich)" in result.output
    assert result.exit_code == 0


@pytest.mark.parametrize(("source", "is_said"), [(PARROT, True), (None, False)])
def test_a_provider_that_is_told_by_the_prompt_reads_how_the_rest_is_judged(written, source, is_said):
    result = partstream(source or written(MAKER), "cut-in-an-event")
    assert ("put `def make(upstream)" in result.output) is is_said


def test_a_check_that_no_prompt_brings_about_says_what_has_to_be_named(written):
    result = partstream(PARROT, "cut-in-an-event", "--verbose")
    said = " ".join(result.output.split())
    assert "no prompt brings this about; name a function `make(upstream)` that returns the provider" in said
    assert "driven as" not in said


def test_an_answer_without_an_end_is_waited_for_once():
    asked = []

    @chat_model(name="Hanging")
    async def hanging(messages, options):
        asked.append(messages)
        yield "a"
        await asyncio.Event().wait()

    calls = {"tool_calling": True}
    report = asyncio.run(run(hanging, select=["stream.ends/one-call"], capabilities=calls, limits=TimeLimits(0.1)))
    assert [one.verdict for one in report.checks] == [Verdict.UNTESTABLE]
    assert len(asked) == 1


def test_that_generating_needs_an_extra_is_said_before_anything_is_tested(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    result = partstream(PARROT, "--fuzz", "1")
    assert result.exit_code == 2
    assert result.output == f"error: generating needs Hypothesis: {to_install('conformance')}\n"


def test_a_model_server_is_asked_by_its_base_url_and_no_more_often_than_allowed():
    async def both():
        async with ReplayUpstream() as upstream:
            whole = await run(BaseURLTarget(upstream.base_url, "openresponses"))
            bounded = await run(
                BaseURLTarget(upstream.base_url, "openresponses", most_requests=1), select=["/two-at-once"]
            )
            return whole, bounded

    whole, bounded = asyncio.run(both())
    assert whole.exit_code == 0, whole.broken
    assert whole.notes[0].endswith("for at most 100 answers")
    refused = [check for check in bounded.checks if "the run may ask this server for 1 answers" in check.got]
    assert {check.blame for check in refused} == {Blame.ENVIRONMENT}, "a limit says nothing of the contract"


def test_a_server_that_wants_a_key_is_told_with_the_option_that_sends_one():
    async def scenario():
        async with ReplayUpstream(token="key-of-a-test") as upstream:  # noqa: S106
            return await asyncio.to_thread(partstream, upstream.base_url, "/text")

    result = asyncio.run(scenario())
    assert result.exit_code == 2
    assert "--key-env VARIABLE sends it a key" in result.output


def test_a_command_that_speaks_the_sidecars_protocol_is_put_into_a_sandwich(tmp_path):
    file = tmp_path / "asking.py"
    file.write_text(
        "import os\n"
        "from partstream import GatewayConfiguration, GatewayProvider\n"
        "url = os.environ['PARTSTREAM_CONFORMANCE_UPSTREAM']\n"
        "provider = GatewayProvider(GatewayConfiguration(base_url=url, protocol='openresponses'))\n"
    )
    target = StdioTarget(f"{sys.executable} -m partstream sidecar", providers=[str(file)])
    report = asyncio.run(run(target, select=["/text", "/two-calls", "/stall", "/error-after-parts"]))
    assert report.exit_code == 0, report.broken
    passed = {check.id for check in report.checks if check.verdict is Verdict.PASSED}
    assert {"text.complete/text", "tool-call.complete/two-calls", "cancellation.stops-upstream/stall"} <= passed


def test_a_provider_runs_in_a_process_of_its_own(capfd, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["partstream", "conformance", PARROT, "/text", "--isolated"])
    assert partstream(PARROT, "/text", "--isolated").exit_code == 0
    assert "Contract 1.0 kept" in capfd.readouterr().out


def test_a_provider_that_ends_the_process_is_never_taken_for_one_that_keeps_the_contract(tmp_path, monkeypatch):
    exits, kills = tmp_path / "exits.py", tmp_path / "kills.py"
    exits.write_text("import sys\nsys.exit(0)\n")
    kills.write_text("import os\nos._exit(0)\n")
    assert partstream(str(exits)).exit_code == 2
    monkeypatch.setattr(sys, "argv", ["partstream", "conformance", str(kills), "--isolated"])
    result = partstream(str(kills), "--isolated")
    assert result.exit_code == 2
    assert "the provider ended the process with the code 0" in result.output


def test_what_a_provider_prints_does_not_spoil_the_json(tmp_path):
    prints = tmp_path / "prints.py"
    prints.write_text(
        "from partstream import chat_model\n"
        "print('loaded')\n"
        "@chat_model(name='Prints')\n"
        "async def provider(messages, options):\n"
        "    print('asked')\n"
        "    yield 'Hello.'\n"
    )
    result = partstream(str(prints), "/text", "--json", "-")
    assert json.loads(result.stdout)["exit_code"] == 0
    assert "asked" in result.stderr


def test_an_error_of_a_target_that_cannot_be_tested_shows_no_key_and_is_printed_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "sesame-open-4711")
    file = tmp_path / "raises.py"
    file.write_text("def boom(upstream):\n    raise ValueError('bad key sesame-open-4711')\n")
    result = partstream(f"{file}:boom")
    assert result.exit_code == 2
    assert "sesame" not in result.output
    assert "raises.py:boom: making the provider failed" in result.output.replace("\n", "")
