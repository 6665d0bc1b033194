"""Providers that break the contract, in the real process: what reaches VS Code, the log and the debug information."""

import re

from partstream.lm.contract import RULES

from .sidecar import running

HOSTILE = """
from partstream.lm.parts import DataPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, unchecked_part

class Own(Base):
    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        def report(part):
            progress.report(part)
        {body}
"""

BROKEN = {
    "part.no-tool-result": "ToolResultPart('c')",
    "part.known-class": "'just text'",
    "text.string-value": "unchecked_part(TextPart, 7)",
    "thinking.string-value": "unchecked_part(ThinkingPart, [1], None, None)",
    "thinking.json-metadata": "ThinkingPart('', metadata={'at': object()})",
    "tool-call.non-empty-call-id": "unchecked_part(ToolCallPart, '', 'look', {})",
    "tool-call.non-empty-name": "unchecked_part(ToolCallPart, 'c2', '', {})",
    "tool-call.object-input": "unchecked_part(ToolCallPart, 'c3', 'look', 'text')",
    "tool-call.json-input": "ToolCallPart('c4', 'look', {'at': float('nan')})",
    "tool-call.unique-call-id": "ToolCallPart('c1', 'look', {})",
    "tool-call.atomic": "ToolCallPart('c1', 'look', {'at': 'sky'})",
    "data.bytes": "unchecked_part(DataPart, 'text', 'text/plain')",
    "data.media-type": "unchecked_part(DataPart, b'', '')",
    "part.known-audience": "unchecked_part(TextPart, 'a', (7,))",
}
GOOD = "ToolCallPart('c1', 'look', {})"


def _diagnostics(sidecar):
    return sidecar.call("languageModels/diagnostics")


def _warnings(sidecar):
    messages = [message for message in list(sidecar.messages) if getattr(message, "method", "") == "log"]
    return [message.params["message"] for message in messages if message.params["level"] == "warning"]


def test_what_breaks_a_must_never_reaches_vs_code_and_all_else_does(write):
    body = "\n        ".join(f"report({part})" for part in (GOOD, *BROKEN.values(), "TextPart('end')"))
    path = write(HOSTILE.replace("{body}", body))
    with running(path) as sidecar:
        request_id = sidecar.respond("own/m", "go")
        assert sidecar.wait(request_id).error is None
        assert sidecar.parts(request_id) == [
            {"type": "tool_call", "callId": "c1", "name": "look", "input": {}},
            {"type": "text", "value": "end"},
        ]
        assert len(sidecar.usages(request_id)) == 1
        broken = _diagnostics(sidecar)["brokenRules"]
        assert {rule["rule"]: rule["count"] for rule in broken} == dict.fromkeys(BROKEN, 1)
        for rule in broken:
            sentence = RULES[rule["rule"]].text
            assert rule == {**rule, "provider": "own", "level": "MUST", "sentence": sentence}
            assert re.fullmatch(re.escape(str(path)) + r":\d+", rule["place"])
            assert "report(part)" in path.read_text().splitlines()[int(rule["place"].rpartition(":")[2]) - 1]


def test_each_rule_is_logged_once_with_its_sentence_and_the_line_and_counted_every_time(write):
    path = write(
        HOSTILE.replace(
            "{body}", "[report(unchecked_part(ToolCallPart, '', 'look', {})) for _ in range(5)]; report(TextPart('x'))"
        )
    )
    with running(path) as sidecar:
        for _ in range(3):
            assert sidecar.ask("own/m", "go") == "x"
        [rule] = _diagnostics(sidecar)["brokenRules"]
        assert rule["count"] == 15
        [said] = _warnings(sidecar)
        for words in ("own", "tool-call.non-empty-call-id", RULES[rule["rule"]].text, rule["place"], "dropped"):
            assert words in said


def test_a_plain_function_is_named_with_the_line_of_its_yield(write):
    path = write("""
        from partstream.lm.parts import ToolCallPart

        @chat_model(name="Twice")
        async def provider(messages, options):
            yield ToolCallPart("same", "look", {})
            yield ToolCallPart("same", "look", {})  # the second
            yield "end"
    """)
    second = next(n for n, line in enumerate(path.read_text().splitlines(), 1) if "# the second" in line)
    with running(path) as sidecar:
        request_id = sidecar.respond("own/provider", "go")
        assert sidecar.wait(request_id).error is None
        assert [part["type"] for part in sidecar.parts(request_id)] == ["tool_call", "text"]
        [rule] = _diagnostics(sidecar)["brokenRules"]
        assert (rule["rule"], rule["place"]) == ("tool-call.unique-call-id", f"{path}:{second}")


def test_an_answer_without_a_visible_part_breaks_a_rule_and_the_log_has_the_sentence(write):
    path = write("""
        from partstream.lm.parts import ThinkingPart

        @chat_model(name="Thinks")
        async def provider(messages, options):
            yield ThinkingPart("hm")
    """)
    with running(path) as sidecar:
        request_id = sidecar.respond("own/provider", "go")
        assert "without a text or a tool call" in sidecar.wait(request_id).error["message"]
        assert [part["type"] for part in sidecar.parts(request_id)] == ["thinking"]
        sidecar.until_logged(RULES["stream.visible-part"].text)
        [rule] = _diagnostics(sidecar)["brokenRules"]
        assert (rule["rule"], rule["place"]) == ("stream.visible-part", None)


def test_parts_after_the_end_of_an_answer_are_dropped_and_named(write):
    path = write("""
        class Own(Base):
            progress = None
            async def provide_language_model_chat_response(self, model, messages, options, progress, token):
                if self.progress is not None:
                    self.progress.report(TextPart("late"))
                self.progress = progress
                progress.report(TextPart("text"))
    """)
    with running(path) as sidecar:
        first = sidecar.respond("own/m", "go")
        assert sidecar.wait(first).error is None
        assert sidecar.ask("own/m", "go") == "text"
        assert sidecar.text(first) == "text"
        [rule] = _diagnostics(sidecar)["brokenRules"]
        assert rule["rule"] == "stream.nothing-after-completion"
        assert rule["place"].startswith(f"{path}:")


def test_parts_after_a_cancellation_are_dropped_and_named(write):
    path = write("""
        class Own(Base):
            async def provide_language_model_chat_response(self, model, messages, options, progress, token):
                stopped = asyncio.Event()
                token.on_cancellation_requested(lambda: progress.report(TextPart("late")))
                token.on_cancellation_requested(stopped.set)
                progress.report(TextPart("text"))
                await stopped.wait()
    """)
    with running(path) as sidecar:
        request_id = sidecar.respond("own/m", "go")
        sidecar.until(lambda _: sidecar.text(request_id))
        sidecar.notify("$/cancelRequest", {"id": request_id})
        assert sidecar.wait(request_id).error["code"] == -32800
        sidecar.until_true(lambda: _diagnostics(sidecar)["answers"])
        result = _diagnostics(sidecar)
        assert [rule["rule"] for rule in result["brokenRules"]] == ["cancellation.nothing-after"]
        assert [end["outcome"] for end in result["answers"]] == ["cancelled"]


def test_what_may_pass_although_it_is_written_otherwise_crosses_the_pipe(write):
    path = write("""
        from types import MappingProxyType
        from partstream.lm.parts import Audience, DataPart, ThinkingPart, ToolCallPart

        class OwnText(TextPart):
            __slots__ = ()

        @chat_model(name="Odd")
        async def provider(messages, options):
            yield OwnText("a")
            yield TextPart("half \\ud800")
            yield ThinkingPart(["two ", "entries"])
            yield TextPart("for a person", [Audience.USER])
            yield ToolCallPart("c", "unknown", MappingProxyType({"at": MappingProxyType({"x": (1,)})}))
            yield DataPart(b"x", "application/vnd.own", [Audience.EXTENSION])
    """)
    with running(path) as sidecar:
        request_id = sidecar.respond("own/provider", "go", tools=[])
        assert sidecar.wait(request_id).error is None
        assert sidecar.parts(request_id) == [
            {"type": "text", "value": "a"},
            {"type": "text", "value": "half \ud800"},
            {
                "type": "thinking",
                "value": "two entries",
                "id": None,
                "metadata": None,
                "entries": ["two ", "entries"],
            },
            {"type": "text", "value": "for a person", "audience": [1]},
            {"type": "tool_call", "callId": "c", "name": "unknown", "input": {"at": {"x": [1]}}},
            {"type": "data", "mimeType": "application/vnd.own", "data": "eA==", "audience": [2]},
        ]
        [rule] = _diagnostics(sidecar)["brokenRules"]
        assert (rule["rule"], rule["level"]) == ("text.utf-8", "SHOULD")


def test_a_provider_that_was_mended_begins_anew(write):
    broken = """
        from partstream.lm.parts import ToolCallPart, unchecked_part

        @chat_model(name="M")
        async def provider(messages, options):
            yield unchecked_part(ToolCallPart, "", "look", {})
            yield "text"
    """
    with running(write(broken)) as sidecar:
        sidecar.ask("own/provider", "go")
        assert len(_diagnostics(sidecar)["brokenRules"]) == 1
        write(broken.replace('unchecked_part(ToolCallPart, "", "look", {})', '"mended "'))
        assert sidecar.ask("own/provider", "go") == "mended text"
        assert _diagnostics(sidecar)["brokenRules"] == []


def test_the_last_20_answers_are_kept_with_how_they_ended_and_none_of_their_words(write):
    path = write("""
        from partstream.errors import UpstreamHTTPError
        from partstream.lm.outputs import Finish, Outcome
        from partstream.lm.parts import FinishReason, UnifiedFinishReason

        @chat_model(name="M")
        async def provider(messages, options):
            said = text_of(messages[-1])
            yield "the word secret"
            if said == "fail":
                raise UpstreamHTTPError(429, provider_message="the word secret", provider_code="busy")
            if said == "break":
                raise ValueError("the word secret")
            if said == "cut":
                reason = FinishReason(UnifiedFinishReason.LENGTH, "max_tokens")
                yield Finish(Outcome.INCOMPLETE, reason, response_id="r", model="m-1")
    """)
    with running(path) as sidecar:
        for _ in range(18):
            sidecar.ask("own/provider", "go")
        for said in ("fail", "break", "cut"):
            sidecar.wait(sidecar.respond("own/provider", said))
        ends = _diagnostics(sidecar)["answers"]
        assert len(ends) == 20
        cut, broken, failed, *completed = ({key: v for key, v in end.items() if v is not None} for end in ends)
        times = [end.pop("endedAt") for end in (cut, broken, failed)]
        assert times == sorted(times, reverse=True)
        of_provider = {"provider": "own", "model": "provider"}
        assert cut == {
            **of_provider,
            "outcome": "incomplete",
            "finishReason": "length",
            "providerFinishReason": "max_tokens",
            "responseId": "r",
            "answeredBy": "m-1",
        }
        assert broken == {**of_provider, "outcome": "failed", "error": "ValueError"}
        assert failed == {
            **of_provider,
            "outcome": "failed",
            "error": "UpstreamHTTPError",
            "providerCode": "busy",
            "httpStatus": 429,
        }
        assert {end["outcome"] for end in completed} == {"completed"}
        assert "secret" not in str(ends)
