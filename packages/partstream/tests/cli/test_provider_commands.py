"""`doctor --provider` and `models --provider`: what a file offers; each fault with its line, and what helps."""

import json
from pathlib import Path

import pytest

from commands import call, run
from partstream.config.examination import CheckStatus, examine_provider

HEAD = "from partstream import *\n"
CLASS = """
class Own(LanguageModelChatProvider):
    async def provide_language_model_chat_information(self, silent, token):
        LISTS
    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        ANSWERS
    async def provide_token_count(self, model, text, token):
        COUNTS
"""
MODEL = 'LanguageModelChatInformation("m", "M", "f", "1", 9000, 9000, capabilities=TOOLS, extra={})'
TOOLS = "LanguageModelChatCapabilities(tool_calling=True)"


def _own(
    lists: str = f"return [{MODEL}]", answers: str = "progress.report(TextPart('yes'))", counts: str = "return 3"
) -> str:
    own = CLASS.replace("LISTS", lists).replace("ANSWERS", answers).replace("COUNTS", counts)
    return HEAD + own.replace("TOOLS", TOOLS)


# source, subject, verdict, what is said, what is advised
FOUND = {
    "syntax": ("x = = 1", "provider", "problem", "{file}, line 1: SyntaxError", "fix this line"),
    "a missing module": (
        "import nothing_like_it",
        "provider",
        "problem",
        "{file}, line 1: Module",
        "install what brings",
    ),
    "the end of the process": ("raise SystemExit", "provider", "problem", "{file}, line 1: the file ends", "__main__"),
    "no provider": ("x = 1", "provider", "problem", "{file}: got no provider", "attribute `provider`"),
    "no such file": (None, "provider", "problem", "{file}: got no such file", "expected: a Python file"),
    "a wrong keyword": (
        HEAD + "@chat_model(\n    tools=True)\nasync def p(a, b):\n    yield ''",
        "provider",
        "problem",
        "{file}, line 2: chat_model: unknown keyword 'tools'; did you mean 'tool_calling'?",
        "fix this line",
    ),
    "a list that fails": (_own("1 / 0"), "models", "problem", "{file}, line 5: ZeroDivisionError", "fix this line"),
    "no models": (_own("return []"), "models", "warning", "lists none", ""),
    "a wrong list": (_own("return [1]"), "models", "problem", "the models of file", ""),
    "no tools": (_own().replace("tool_calling=True", ""), "information", "warning", "no tool calling", "tool_calling"),
    "a small prompt": (_own().replace("9000", "900"), "information", "warning", "below 4,000 tokens", "max_input"),
    "an odd field": (
        _own().replace("extra={}", 'extra={"isUserSelectabel": 1}'),
        "information",
        "warning",
        "no field isUserSelectabel",
        "isUserSelectable, perhaps?",
    ),
    "no JSON": (_own().replace("extra={}", 'extra={"pricing": {1}}'), "information", "problem", "a set", "JSON values"),
    "a count that fails": (_own(counts="1 / 0"), "token counts", "problem", "{file}, line 9: ZeroDivision", "fix"),
    "no count": (_own(counts="return None"), "token counts", "problem", "gave None, expected a whole number", ""),
    "nothing counted": (_own(counts="return 0"), "token counts", "warning", "counts 0", "count_tokens="),
    "a bug": (_own(answers="1 / 0"), "answer", "problem", "ZeroDivisionError: division by zero ({file}:7)", "fix"),
    "no text": (_own(answers="return"), "answer", "problem", "m answered without text", "an error in its place"),
    "a broken rule": (
        _own(answers="[progress.report(ToolCallPart('a', 'b', {})) for _ in 'ab']; progress.report(TextPart('yes'))"),
        "contract",
        "problem",
        "{file}:7",
        "docs/contract.md",
    ),
}


@pytest.mark.parametrize(("source", "subject", "verdict", "says", "advice"), FOUND.values(), ids=FOUND)
def test_a_fault_is_found_and_what_helps_is_said(
    source: str | None, subject: str, verdict: str, says: str, advice: str, tmp_path: Path
):
    file = tmp_path / "file.py"
    if source is not None:
        file.write_text(source)

    async def test() -> None:
        doctor = await call("doctor", "--provider", str(file), "--ask", "--json")
        found = json.loads(doctor.output)
        one = next(one for one in found if (one["subject"], one["verdict"]) == (subject, verdict))
        assert says.format(file=file) in one["says"]
        assert advice in one["advice"]
        assert doctor.code == (1 if any(one["verdict"] == "problem" for one in found) else 0)

    run(test())


def test_a_good_provider_is_not_asked_unless_it_is_wanted(tmp_path: Path):
    file = tmp_path / "file.py"
    file.write_text(_own(answers="print('asked'); progress.report(TextPart('yes'))") + "\nprint('loaded')\n")

    async def test() -> None:
        doctor = await call("doctor", "--provider", str(file))
        assert (doctor.code, doctor.errors) == (0, "loaded\n")
        assert [line.split(": ")[0] for line in doctor.output.splitlines() if line[0] != " "] == [
            "fine    provider", "fine    models", "fine    information", "fine    token counts",
        ]  # fmt: skip
        assert "`--ask` asks one" in doctor.output
        asked = await call("doctor", "--provider", str(file), "--ask")
        assert (asked.code, asked.errors) == (0, "loaded\nasked\n")
        assert "fine    answer: m answered: 3 characters" in asked.output

    run(test())


def test_another_model_of_the_list_can_be_looked_at_and_none_else(tmp_path: Path):
    file = tmp_path / "file.py"
    file.write_text(_two())

    async def test() -> None:
        asked = await call("doctor", "--provider", str(file), "--model", "n", "--ask")
        assert "n answered: 3 characters" in asked.output
        other = await call("doctor", "--provider", str(file), "--model", "o")
        assert other.code == 1
        assert "problem model: it does not list o" in other.output

    run(test())


def _two() -> str:
    other = MODEL.replace('"m"', '"n"')
    return _own(f"return [{MODEL}, {other}]")


def test_the_models_of_a_file_are_listed_as_those_of_a_server(tmp_path: Path):
    file = tmp_path / "file.py"
    file.write_text("print('loaded')\n" + _two())

    async def test() -> None:
        listed = await call("models", "--provider", str(file))
        assert (listed.code, listed.errors) == (0, "loaded\n")
        assert [line.split() for line in listed.output.splitlines()] == [
            ["id", "name", "family", "version", "input", "output", "tools", "images"],
            ["m", "M", "f", "1", "9,000", "9,000", "yes", "no"],
            ["n", "M", "f", "1", "9,000", "9,000", "yes", "no"],
        ]
        rows = json.loads((await call("models", "--provider", str(file), "--json")).output)
        assert [row["id"] for row in rows] == ["m", "n"]
        assert rows[0]["maxInputTokens"] == {"value": 9000, "source": "provider", "field": "max_input_tokens"}

    run(test())


def test_a_list_that_fails_is_named_with_its_line_and_server_options_are_refused(tmp_path: Path):
    file = tmp_path / "file.py"
    file.write_text(_own("1 / 0"))

    async def test() -> None:
        failed = await call("models", "--provider", str(file))
        assert (failed.code, failed.output) == (3, "")
        assert f"ZeroDivisionError: division by zero ({file}:5)" in failed.errors
        refused = await call("models", "--provider", str(file), "--allow", "a*")
        assert (refused.code, "got --allow beside it" in refused.errors) == (2, True)
        refused = await call("doctor", "--provider", str(file), "--base-url", "http://localhost")
        assert (refused.code, "got --base-url beside it" in refused.errors) == (2, True)

    run(test())


SLOW = {
    "an answer without an end": ("await asyncio.Event().wait()", "return 3", "answer", "m had not ended its answer"),
    "an answer that only thinks": (
        "[await asyncio.sleep(0.001, progress.report(ThinkingPart('hm'))) for _ in iter(int, 1)]",
        "return 3",
        "answer",
        "m had not ended its answer after 0.1 s: 0 characters",
    ),
    "a count without an end": ("pass", "await asyncio.Event().wait()", "token counts", "took more than 0.1 s"),
}


@pytest.mark.parametrize(("answers", "counts", "subject", "says"), SLOW.values(), ids=SLOW)
def test_a_provider_that_does_not_end_is_not_waited_for(
    answers: str, counts: str, subject: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("COUNT_SECONDS", "ANSWER_SECONDS"):
        monkeypatch.setattr(f"partstream.config.examination.{name}", 0.1)
    file = tmp_path / "file.py"
    file.write_text("import asyncio\n" + _own(answers=answers, counts=counts))

    async def test() -> None:
        found = await examine_provider(str(file), asks=subject == "answer")
        assert (found[-1].subject, found[-1].verdict) == (subject, CheckStatus.PROBLEM)
        assert says in found[-1].says

    run(test())


def test_an_answer_that_goes_on_and_on_is_stopped(tmp_path: Path):
    file = tmp_path / "file.py"
    endless = (
        "import asyncio\n@chat_model\nasync def m(messages, options):\n"
        "    while True:\n        yield 'on and '\n        await asyncio.sleep(0)\n"
    )
    file.write_text(HEAD + endless)

    async def test() -> None:
        doctor = await call("doctor", "--provider", str(file), "--ask")
        assert doctor.code == 0
        assert "m answered: 2,002 characters, and was stopped" in doctor.output

    run(test())
