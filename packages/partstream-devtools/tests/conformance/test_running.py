"""The kit on real targets: what it runs, what it says, what it sends."""

import asyncio
import json
import sys
from importlib import import_module
from pathlib import Path

import pytest
from scripted_targets import at_once

from conformance.reference import ReferenceProvider
from partstream import (
    GatewayConfiguration,
    GatewayProvider,
    LanguageModelChatProvider,
    LanguageModelError,
    TextPart,
    ThinkingPart,
    chat_model,
)
from partstream_devtools.conformance.driver import UnusableTargetError
from partstream_devtools.conformance.report import Blame, Report, Verdict
from partstream_devtools.conformance.running import run

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"


def gateway(upstream):
    return GatewayProvider(GatewayConfiguration(base_url=upstream, protocol="openresponses"))


def conform(target, *select, **options) -> Report:
    return at_once(run(target, select=select, **options))


def verdicts(report, verdict):
    return [check.id for check in report.checks if check.verdict is verdict]


def test_a_file_with_a_provider_is_asked_in_this_process():
    report = conform(str(EXAMPLES / "echo_provider.py"), "/text")
    assert report.exit_code == 0
    assert "text.utf-8/text" in verdicts(report, Verdict.PASSED)
    assert report.transcripts["text"].answers[0].text


def test_a_factory_with_the_parameter_upstream_is_put_into_a_sandwich():
    report = conform(gateway)
    assert report.ways == ("sandwich",)
    assert report.exit_code == 0, report.broken
    assert "cancellation.stops-upstream/cancel-in-text" in verdicts(report, Verdict.PASSED)
    assert "text.as-received/stall" in verdicts(report, Verdict.PASSED)


def test_a_provider_that_breaks_a_rule_is_told_which_with_the_part_that_broke_it():
    @chat_model(name="Broken")
    async def provider(messages, options):
        yield TextPart("ok ")
        yield "half of \ud800"

    report = conform(provider, "/text")
    (check,) = [check for check in report.checks if check.verdict is Verdict.WARNING]
    assert (check.id, check.index, check.blame) == ("text.utf-8/text", 1, Blame.TARGET)
    assert check.hints


def test_what_a_target_does_not_declare_is_not_applicable_and_what_it_cannot_show_is_not_judged():
    report = conform(str(EXAMPLES / "echo_provider.py"), "/two-calls", "/cancel-in-text")
    assert "tool-call.atomic/two-calls" in verdicts(report, Verdict.NOT_APPLICABLE)
    assert "cancellation.stops-upstream/cancel-in-text" in verdicts(report, Verdict.NOT_JUDGED)
    assert report.exit_code == 0


def test_the_report_is_json_with_every_field_that_the_page_names():
    report = json.loads(json.dumps(conform(gateway, "/text").to_json()))
    assert report["exit_code"] == 0
    assert {"id", "rule", "section", "level", "scenario", "verdict", "blame", "promise", "got"} <= set(
        report["checks"][0]
    )
    assert report["transcripts"]["text"]["moves"] == ["send"]


def test_a_target_that_cannot_start_is_not_usable_and_says_why(tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("1 / 0")
    with pytest.raises(UnusableTargetError, match="ZeroDivisionError"):
        conform(str(broken))
    with pytest.raises(UnusableTargetError, match="no such file"):
        conform(str(tmp_path / "missing.py"))


class _Unlisted(LanguageModelChatProvider):
    """Stands for a server without a list of models that answers for each whose name one knows."""

    async def provide_language_model_chat_information(self, silent, token):
        raise LanguageModelError("no list here")

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        progress.report(TextPart(f"This is {model.id}."))

    async def provide_token_count(self, model, text, token):
        return 1


def test_a_model_that_is_named_is_asked_although_there_is_no_list():
    with pytest.raises(UnusableTargetError, match="name a model"):
        conform(_Unlisted(), "stream.ends/text")
    report = conform(_Unlisted(), "stream.ends/text", capabilities={"model": "parrot"})
    assert [check.verdict for check in report.checks] == [Verdict.PASSED]
    assert report.transcripts["text"].answers[0].text == "This is parrot."


def test_every_name_of_the_package_is_what_its_module_has_whatever_was_imported_before():
    from partstream_devtools import conformance

    modules = [import_module(f"{conformance.__name__}.{name}") for name in conformance._MODULES]
    for name in conformance.__all__:
        found = [getattr(module, name) for module in modules if hasattr(module, name)]
        assert found
        assert all(one is getattr(conformance, name) for one in found)


def test_a_file_declares_what_its_provider_can_do_and_what_provokes_it(tmp_path):
    file = tmp_path / "declaring.py"
    file.write_text(
        (EXAMPLES / "tools_provider.py").read_text()
        + """
conformance = {"tool_calling": True, "prompts": {"one-call": 'run get_weather {"city": "Oslo"}'}}
"""
    )
    report = conform(str(file), "/one-call")
    assert report.capabilities.tool_calling is True
    assert report.exit_code == 0, report.broken
    assert "tool-call.known-tool/one-call" in verdicts(report, Verdict.PASSED)


def test_a_file_with_a_hook_is_given_the_script(tmp_path):
    file = tmp_path / "scripted.py"
    file.write_text(
        "from conformance.reference import ReferenceProvider\n"
        "def conformance(script):\n"
        "    return ReferenceProvider(script)\n"
    )
    report = conform(str(file), "/two-calls", "/error-after-parts")
    assert report.ways == ("scripted",)
    assert "tool-call.complete/two-calls" in verdicts(report, Verdict.PASSED)
    assert "failure.rejects/error-after-parts" in verdicts(report, Verdict.PASSED)


def test_a_target_that_does_not_ask_the_model_server_behind_it_fails_by_what_the_model_said():
    @chat_model(name="Stubborn")
    async def provider(messages, options):
        yield "I know it all."

    report = conform(lambda upstream: provider, "/text")
    assert "text.complete/text" in verdicts(report, Verdict.FAILED)
    assert "request.text-arrives/text" in verdicts(report, Verdict.NOT_JUDGED)


def test_a_target_that_takes_its_time_before_it_asks_keeps_the_contract():
    class Late(GatewayProvider):
        async def provide_language_model_chat_response(self, model, messages, options, progress, token):
            await asyncio.sleep(0 if token.is_cancellation_requested else 5)
            await super().provide_language_model_chat_response(model, messages, options, progress, token)

    def late(upstream):
        return Late(GatewayConfiguration(base_url=upstream, protocol="openresponses"))

    report = conform(late, "/cancel-in-arguments", "/cancel-in-text", "/stall")
    assert [(check.id, check.got) for check in report.checks if check.verdict is not Verdict.PASSED] == []


class _Exits(ReferenceProvider):
    """Ends the process where others raise an error."""

    async def provide_token_count(self, model, text, token):
        sys.exit(0)


class _CountsForEver(ReferenceProvider):
    """Never ends to count."""

    async def provide_token_count(self, model, text, token):
        await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("made", "verdict", "said"),
    [(_Exits, Verdict.FAILED, "SystemExit(0)"), (_CountsForEver, Verdict.UNTESTABLE, "no counts within 10 seconds")],
)
def test_a_token_count_that_exits_or_hangs_is_a_failure_of_that_check_alone(made, verdict, said):
    def conformance(script):
        return made(script)

    report = conform(conformance, "/token-count", "/text")
    assert [(check.rule, check.verdict) for check in report.broken] == [("tokens.count", verdict)]
    assert said in report.broken[0].got


def test_a_target_that_exits_while_it_is_made_or_lists_its_models_is_not_usable():
    def made(script):
        sys.exit(0)

    class Lists(ReferenceProvider):
        async def provide_language_model_chat_information(self, silent, token):
            sys.exit(0)

    def listed(script):
        return Lists(script)

    for target in (made, listed):
        with pytest.raises(UnusableTargetError, match=r"SystemExit\(0\)"):
            conform(target)


class _TriesAgain(ReferenceProvider):
    """Asks again when the model has failed behind a part of its answer, and reports both."""

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        try:
            await super().provide_language_model_chat_response(model, messages, options, progress, token)
        except LanguageModelError:
            await super().provide_language_model_chat_response(model, messages, options, progress, token)


class _ThinksInSecret(ReferenceProvider):
    """Shows no thinking."""

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        class Shown:
            def report(self, part):
                if not isinstance(part, ThinkingPart):
                    progress.report(part)

        await super().provide_language_model_chat_response(model, messages, options, Shown(), token)


def test_an_answer_that_begins_again_after_a_failure_is_told():
    def conformance(script):
        return _TriesAgain(script)

    report = conform(conformance, "/error-after-parts")
    (told,) = [check for check in report.checks if check.verdict is Verdict.WARNING]
    assert told.rule == "failure.keeps-parts"
    assert "came twice" in told.got


def test_thinking_may_be_left_out_unless_the_target_has_declared_it():
    def conformance(script):
        return _ThinksInSecret(script)

    assert conform(conformance, "/thinking-then-text").exit_code == 0
    report = conform(conformance, "/thinking-then-text", capabilities={"thinking": True})
    assert {(check.verdict, check.blame) for check in report.broken} == {(Verdict.UNTESTABLE, Blame.TARGET)}
    assert {check.got for check in report.broken} == {"the model did not think"}


def test_a_provider_that_cannot_be_closed_is_told_by_its_name():
    class Stays(GatewayProvider):
        async def aclose(self):
            await super().aclose()
            raise ValueError("still busy")

    def stays(upstream):
        return Stays(GatewayConfiguration(base_url=upstream, protocol="openresponses"))

    with pytest.raises(UnusableTargetError, match="stays: closing the provider failed: ValueError"):
        conform(stays, "/text")
