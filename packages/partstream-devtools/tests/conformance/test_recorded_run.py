"""`partstream conformance TARGET --replay BUNDLE`: the model server of the kit sends what a real one has sent."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bundles.recorded import REFUSED, recorded_exchange
from partstream_devtools.bundles.archive import write_bundle
from partstream_devtools.bundles.exchange import Bundle, RecordedExchange
from partstream_devtools.commands_conformance import command

ASKING = """
from partstream import GatewayConfiguration, GatewayProvider

def make(upstream):
    return GatewayProvider(GatewayConfiguration(base_url=upstream))
"""
SWALLOWING = """
from partstream import GatewayConfiguration, GatewayProvider, TextPart
from partstream.errors import LanguageModelError

class Swallowing(GatewayProvider):
    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        try:
            await super().provide_language_model_chat_response(model, messages, options, progress, token)
        except LanguageModelError:
            progress.report(TextPart("Something went wrong."))

def make(upstream):
    return Swallowing(GatewayConfiguration(base_url=upstream))
"""
ALONE = """
from partstream import chat_model

@chat_model(name="Alone")
async def provider(messages, options):
    yield "Hello."
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, source in (("asking", ASKING), ("swallowing", SWALLOWING), ("alone", ALONE)):
        Path(f"{name}.py").write_text(source)
    return tmp_path


def _run(target: str, *exchanges: RecordedExchange, chosen: str = "") -> Result:
    data = write_bundle(Bundle("record", "partstream test", exchanges=exchanges))
    Path("a.partstream.zip").write_bytes(data)
    return CliRunner().invoke(command, [target, "--replay", f"a.partstream.zip{chosen}", "--json", "report.json"])


def _verdicts() -> dict[str, str]:
    report = json.loads(Path("report.json").read_text())
    return {check["rule"]: check["verdict"] for check in report["checks"]}


def test_each_recorded_answer_is_asked_for_once_and_judged_by_every_rule() -> None:
    first, second = recorded_exchange(1), replace(recorded_exchange(2), answer=2)
    result = _run("asking.py:make", first, second)
    assert result.exit_code == 0, result.output
    verdicts = _verdicts()
    assert verdicts["tool-call.known-tool"] == verdicts["stream.resolves"] == "passed"
    assert verdicts["failure.rejects"] == "not judged"
    report = json.loads(Path("report.json").read_text())
    assert report["notes"] == ["Recorded in a.partstream.zip and replayed: 2 answers, of 2 exchanges with a server."]
    answers = report["transcripts"]["recorded"]["answers"]
    assert [answer["request"]["tools"] for answer in answers] == [["get_weather"]] * 2


def test_the_attempts_of_one_answer_are_replayed_to_one_question() -> None:
    result = _run("asking.py:make", REFUSED, recorded_exchange(2))
    assert result.exit_code == 0, result.output
    assert _verdicts()["stream.resolves"] == "passed"
    report = json.loads(Path("report.json").read_text())
    assert len(report["transcripts"]["recorded"]["answers"]) == 1


def test_a_provider_that_swallows_a_recorded_failure_breaks_the_promise_to_reject() -> None:
    always = replace(REFUSED, head=replace(REFUSED.head, status=400))
    assert _run("asking.py:make", always).exit_code == 0
    assert _verdicts()["failure.rejects"] == "passed"
    result = _run("swallowing.py:make", always)
    assert result.exit_code == 1
    assert _verdicts()["failure.rejects"] == "failed"
    assert "repeat: partstream conformance swallowing.py:make --replay a.partstream.zip" in result.output


def test_an_exchange_is_chosen_by_its_number() -> None:
    assert _run("asking.py:make", REFUSED, recorded_exchange(2), chosen="#2").exit_code == 0
    assert _verdicts()["stream.resolves"] == "passed"


def test_a_target_without_a_model_server_is_told_what_judges_a_recording() -> None:
    result = _run("alone.py", recorded_exchange(1))
    assert result.exit_code == 2
    assert "`partstream check FILE` judges the recording itself" in result.output


def test_a_file_that_is_not_there_is_named() -> None:
    result = CliRunner().invoke(command, ["asking.py", "--replay", "nowhere.partstream.zip"])
    assert result.exit_code == 2
    assert "cannot read nowhere.partstream.zip: No such file" in result.output
