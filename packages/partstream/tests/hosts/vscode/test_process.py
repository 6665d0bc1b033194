"""The sidecar as the extension meets it: a real process, real pipes."""

import re
import sys
from pathlib import Path

import pytest

from partstream import ChatMessage, Tool
from partstream.tokens import MessageCounter, estimate_tokens
from partstream.vscode.rpc import Notification, Response

from .sidecar import Sidecar, frame, initialization, running, running_process

DID_ANSWER = "languageModels/didAnswer"
EXAMPLES = Path(__file__).resolve().parents[5] / "examples"

ECHO = """
@chat_model(name="Echo")
async def echo(messages, options):
    yield text_of(messages[-1])
"""


def test_a_model_of_a_plain_generator_is_listed_and_answers():
    with running(EXAMPLES / "echo_provider.py") as sidecar:
        result = sidecar.information()
        assert result["errors"] == []
        assert [(model["id"], model["name"], model["family"]) for model in result["models"]] == [
            ("echo_provider/provider", "Echo", "echo")
        ]
        assert sidecar.ask("echo_provider/provider", "hello there") == "hello there "


def test_the_example_provider_is_shorter_than_25_lines():
    assert len((EXAMPLES / "echo_provider.py").read_text().splitlines()) < 25


def test_a_callable_with_tools_calls_one_and_uses_its_result():
    tool = {"name": "read_file", "description": "Reads a file.", "inputSchema": {"type": "object"}}
    with running(EXAMPLES / "tools_provider.py") as sidecar:
        question = 'run read_file {"path": "a.txt"}'
        first = sidecar.respond("tools_provider/provider", question, tools=[tool])
        assert sidecar.wait(first).error is None
        [call] = sidecar.parts(first)
        assert call == {
            "type": "tool_call",
            "callId": call["callId"],
            "name": "read_file",
            "input": {"path": "a.txt"},
        }
        result = {"type": "tool_result", "callId": call["callId"], "content": [{"type": "text", "value": "42"}]}
        history = [question, {"role": 2, "content": [call]}, {"role": 1, "content": [result], "name": ""}]
        assert sidecar.ask("tools_provider/provider", *history, tools=[tool]) == "The tool said: 42"


def test_initialize_says_who_answers():
    with running(initialize=False) as sidecar:
        result = sidecar.call("initialize", initialization())
        assert result["protocolVersion"] == 1
        assert result["serverInfo"]["name"] == "partstream"
        assert result["serverInfo"]["python"] == sys.version.split()[0]
        assert result["serverInfo"]["executable"] == sys.executable


def test_another_protocol_version_is_refused_with_both_versions():
    with running(initialize=False) as sidecar:
        reply = sidecar.wait(sidecar.send("initialize", initialization(version=99)))
        assert reply.error["code"] == -32011
        assert reply.error["data"] == {"clientProtocolVersion": 99, "serverProtocolVersion": 1}
        assert sidecar.wait(sidecar.send("languageModels/information", {})).error["code"] == -32002


def test_requests_may_follow_initialize_in_the_same_bytes():
    with running(initialize=False) as sidecar:
        first = frame({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialization()})
        params = {"group": None, "silent": True}
        second = frame({"jsonrpc": "2.0", "id": 2, "method": "languageModels/information", "params": params})
        sidecar.write(first + second)
        assert sidecar.wait(2).result == {"models": [], "errors": []}


def test_shutdown_and_exit_end_the_process_with_status_0():
    with running_process(EXAMPLES / "echo_provider.py") as sidecar:
        assert sidecar.call("shutdown") is None
        assert sidecar.wait(sidecar.send("languageModels/information", {})).error["code"] == -32600
        sidecar.notify("exit")
        assert sidecar.end() == 0


def test_exit_without_shutdown_ends_the_process_with_status_1():
    with running_process() as sidecar:
        sidecar.notify("exit")
        assert sidecar.end() == 1


HANGING = """
@chat_model(name="Hanging")
async def provider(messages, options):
    yield "started"
    try:
        await asyncio.Event().wait()
    finally:
        print("closed")
"""


def test_the_end_of_input_ends_the_process_and_what_runs_in_it(write):
    with running_process(write(HANGING)) as sidecar:
        request_id = sidecar.respond("own/provider", "go")
        sidecar.until(lambda _: sidecar.text(request_id) == "started")
        sidecar.process.stdin.close()
        assert sidecar.end() == 1
        assert "closed" in sidecar.errors


def test_a_thread_that_never_ends_does_not_keep_the_process(write):
    path = write(ECHO + "threading.Thread(target=threading.Event().wait).start()")
    with running_process(path) as sidecar:
        assert sidecar.ask("own/echo", "hi") == "hi"
        sidecar.call("shutdown")
        sidecar.notify("exit")
        assert sidecar.end() == 0


def test_cancel_answers_at_once_and_closes_the_generator(write):
    with running_process(write(HANGING)) as sidecar:
        request_id = sidecar.respond("own/provider", "go")
        sidecar.until(lambda _: sidecar.text(request_id) == "started")
        sidecar.notify("$/cancelRequest", {"id": request_id})
        assert sidecar.wait(request_id).error["code"] == -32800
        sidecar.until_errors(lambda errors: "closed" in errors)


def test_a_provider_sees_the_cancellation_and_what_it_reports_afterwards_is_dropped(write):
    path = write("""
        class Own(Base):
            async def provide_language_model_chat_response(self, model, messages, options, progress, token):
                progress.report(TextPart("before"))
                cancelled = asyncio.Event()
                token.on_cancellation_requested(cancelled.set)
                await cancelled.wait()
                progress.report(TextPart("after"))
                print("seen", token.is_cancellation_requested)
    """)
    with running_process(path) as sidecar:
        request_id = sidecar.respond("own/m", "go")
        sidecar.until(lambda _: sidecar.text(request_id) == "before")
        sidecar.notify("$/cancelRequest", {"id": request_id})
        assert sidecar.wait(request_id).error["code"] == -32800
        sidecar.until_errors(lambda errors: "seen True" in errors)
        sidecar.information()
        assert sidecar.text(request_id) == "before"


def test_a_provider_that_ignores_its_token_is_ended_all_the_same(write):
    path = write("""
        class Own(Base):
            async def provide_language_model_chat_response(self, model, messages, options, progress, token):
                progress.report(TextPart("deaf"))
                try:
                    await asyncio.Event().wait()
                finally:
                    print("ended")
    """)
    with running_process(path) as sidecar:
        request_id = sidecar.respond("own/m", "go")
        sidecar.until(lambda _: sidecar.text(request_id) == "deaf")
        sidecar.notify("$/cancelRequest", {"id": request_id})
        assert sidecar.wait(request_id).error["code"] == -32800
        sidecar.until_errors(lambda errors: "ended" in errors)


def test_cancelling_what_was_answered_already_does_nothing():
    with running(EXAMPLES / "echo_provider.py") as sidecar:
        sidecar.information()
        sidecar.notify("$/cancelRequest", {"id": 2})
        assert len(sidecar.information()["models"]) == 1


def test_an_answer_without_a_usage_gets_one_that_says_it_is_estimated(write):
    tool = {"name": "t", "description": "d"}
    around = MessageCounter("echo").count_request((), [Tool("t", "d")]).tokens
    prompt = estimate_tokens(ChatMessage.user("12345678")) + around
    answer = estimate_tokens(ChatMessage.assistant("12345678"))
    with running(write(ECHO)) as sidecar:
        request_id = sidecar.respond("own/echo", "12345678", tools=[tool])
        assert sidecar.wait(request_id).error is None
        assert sidecar.usages(request_id) == [
            {
                "prompt_tokens": prompt,
                "completion_tokens": answer,
                "total_tokens": prompt + answer,
                "partstream_source": "estimated",
            }
        ]


def test_a_usage_of_the_providers_own_is_the_only_one(write):
    path = write("""
        from partstream.lm.parts import Usage, usage_part

        @chat_model(name="Own usage")
        async def provider(messages, options):
            yield usage_part(Usage(input_tokens=1, output_tokens=2))
            yield "text"
    """)
    with running(path) as sidecar:
        request_id = sidecar.respond("own/provider", "go")
        assert sidecar.wait(request_id).error is None
        assert [usage["total_tokens"] for usage in sidecar.usages(request_id)] == [3]


ENDING = """
from partstream.lm.outputs import Finish, Outcome
from partstream.lm.parts import FinishReason, UnifiedFinishReason, Usage, usage_part

def finish(**facts):
    return Finish(Outcome.INCOMPLETE, FinishReason(UnifiedFinishReason.LENGTH, "max_tokens"), **facts)

@chat_model(name="Ending")
async def ending(messages, options):
    yield "Hi"
    yield finish(usage=Usage(100, 20), response_id="r-1", model="m-1")

@chat_model(name="Both")
async def both(messages, options):
    yield usage_part(Usage(1, 2))
    yield "Hi"
    yield finish(usage=Usage(100, 20))
"""


def test_the_tokens_of_an_answer_are_its_usage_and_the_log_says_what_cut_it(write):
    with running(f"{write(ENDING)}:ending") as sidecar:
        request_id = sidecar.respond("own/ending", "go")
        assert sidecar.wait(request_id).error is None
        sidecar.until_logged(
            "the answer of Ending was cut: it reached its token limit (max_tokens, response r-1, model m-1)"
        )
        assert sidecar.usages(request_id) == [{"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}]
        told = sidecar.until(lambda message: getattr(message, "method", "") == DID_ANSWER)
        assert told.params["answer"]["source"] == "reported"


def test_a_usage_part_wins_over_the_tokens_that_are_said_with_the_end(write):
    with running(f"{write(ENDING)}:both") as sidecar:
        request_id = sidecar.respond("own/both", "go")
        assert sidecar.wait(request_id).error is None
        assert [usage["total_tokens"] for usage in sidecar.usages(request_id)] == [3]


def test_two_answers_stream_side_by_side(write):
    path = write("""
        turns = [asyncio.Event(), asyncio.Event()]
        turns[0].set()

        @chat_model(name="Turns")
        async def provider(messages, options):
            own = int(text_of(messages[-1]))
            for number in range(3):
                await turns[own].wait()
                turns[own].clear()
                yield f"{own}{number} "
                turns[1 - own].set()
    """)
    with running(path) as sidecar:
        requests = [sidecar.respond("own/provider", "0"), sidecar.respond("own/provider", "1")]
        assert [sidecar.wait(request_id).error for request_id in requests] == [None, None]
        assert [sidecar.text(request_id) for request_id in requests] == ["00 01 02 ", "10 11 12 "]


def test_tokens_are_counted_for_texts_and_messages_in_order(write):
    path = write("""
        class Own(Base):
            async def provide_token_count(self, model, text, token):
                return len(text) if isinstance(text, str) else 100 + len(text.content)
    """)
    message = {"role": 1, "content": [{"type": "text", "value": "a"}, {"type": "text", "value": "b"}]}
    with running(path) as sidecar:
        params = {"group": None, "model": "own/m", "items": [{"text": "four"}, {"message": message}, {"text": ""}]}
        assert sidecar.call("languageModels/tokenCount", params)["counts"] == [
            {"count": 4, "source": "counted"},
            {"count": 102, "source": "counted"},
            {"count": 0, "source": "counted"},
        ]


@pytest.mark.parametrize("model", ["own/m", "own/unknown", "nobody/m"])
def test_a_token_count_that_fails_is_an_estimate(write, model):
    path = write("""
        class Own(Base):
            async def provide_token_count(self, model, text, token):
                raise ValueError("no vocabulary")
    """)
    with running(path) as sidecar:
        params = {"group": None, "model": model, "items": [{"text": "eight ch"}]}
        assert sidecar.call("languageModels/tokenCount", params)["counts"] == [{"count": 2, "source": "estimated"}]


def test_what_a_provider_prints_goes_to_standard_error_and_cannot_corrupt_the_protocol(write):
    path = write("""
        print("printed on import")

        @chat_model(name="Loud")
        async def provider(messages, options):
            yield "a"
            print("printed")
            sys.__stdout__.write("written\\n")
            os.write(1, b"raw\\n")
            subprocess.run([sys.executable, "-c", "print('child', input.__name__)"], check=True)
            yield "b"
            yield repr(sys.stdin.read())
    """)
    with running_process(path) as sidecar:
        assert sidecar.ask("own/provider", "go") == "ab''"
        for words in ("printed on import", "printed\n", "written", "raw", "child input"):
            sidecar.until_errors(lambda errors, words=words: words in errors)


def _line_of(path, words):
    """The number of the line with these words."""
    lines = Path(path).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if words in line)


def test_a_value_that_a_constructor_refuses_is_a_bug_and_named_with_its_line(write):
    path = write("""
        from partstream import TextPart

        @chat_model(name="Broken")
        async def provider(messages, options):
            yield TextPart(5)
    """)
    with running(path) as sidecar:
        error = sidecar.wait(sidecar.respond("own/provider", "go")).error
        got = "InvalidArgumentError: TextPart.value: got 5 (int), expected a text (str)"
        assert error["message"] == f"the provider own failed: {got} ({path}:{_line_of(path, 'TextPart(5)')})"


def test_an_error_in_an_answer_follows_its_parts_and_has_its_traceback_in_the_log(write):
    path = write("""
        @chat_model(name="Broken")
        async def provider(messages, options):
            yield "so far"
            raise KeyError("gone")
    """)
    with running(path) as sidecar:
        request_id = sidecar.respond("own/provider", "go")
        error = sidecar.wait(request_id).error
        assert sidecar.text(request_id) == "so far"
        assert error["code"] == -32010
        message = f"the provider own failed: KeyError: 'gone' ({path}:{_line_of(path, 'raise')})"
        assert error["message"] == message
        assert error["data"] == {
            "code": "Unspecified",
            "message": message,
            "kind": "KeyError",
            "provider": "own",
            "providerCode": None,
            "httpStatus": None,
            "retryAfter": None,
        }
        sidecar.until_logged('raise KeyError("gone")')


def test_an_error_of_an_upstream_arrives_with_its_fields(write):
    path = write("""
        from partstream.errors import UpstreamHTTPError

        @chat_model(name="Limited")
        async def provider(messages, options):
            raise UpstreamHTTPError(429, provider_message="slow down", provider_code="rate", retry_after=2.5)
            yield
    """)
    with running(path) as sidecar:
        data = sidecar.wait(sidecar.respond("own/provider", "go")).error["data"]
        assert data["message"] == "the server answered HTTP 429: slow down"
        assert (data["code"], data["kind"]) == ("Blocked", "UpstreamHTTPError")
        assert (data["httpStatus"], data["providerCode"], data["retryAfter"]) == (429, "rate", 2.5)


def test_an_unknown_model_is_not_found():
    with running(EXAMPLES / "echo_provider.py") as sidecar:
        for model in ("echo_provider/other", "nobody/x", "nothing"):
            data = sidecar.wait(sidecar.respond(model, "go")).error["data"]
            assert (data["code"], data["kind"]) == ("NotFound", "UnknownModelError")


def test_providers_that_fail_are_named_and_the_others_still_work(write):
    sources = [
        write("raise RuntimeError('no GPU')", "importing.py"),
        write("class P(Base):\n async def provide_language_model_chat_information(self, *_): 1 / 0", "listing.py"),
        write("x = 1", "empty.py"),
        write("sys.exit(3)", "script.py"),
        "nowhere.py",
        "no_such_module:provider",
        write(ECHO, "good.py"),
    ]
    with running(*sources) as sidecar:
        result = sidecar.information()
        assert [model["id"] for model in result["models"]] == ["good/echo"]
        messages = {error["provider"]: error["message"] for error in result["errors"]}
        assert list(messages) == ["importing", "listing", "empty", "script", "nowhere", "no_such_module"]
        assert messages["importing"] == f"RuntimeError: no GPU ({sources[0]}:{_line_of(sources[0], 'GPU')})"
        assert messages["listing"].startswith("ZeroDivisionError")
        assert messages["listing"].endswith(f"({sources[1]}:{_line_of(sources[1], '1 / 0')})")
        assert "got no provider, expected one LanguageModelChatProvider" in messages["empty"]
        assert messages["script"] == f"SystemExit: 3 ({sources[3]}:{_line_of(sources[3], 'exit')})"
        assert messages["nowhere"] == "nowhere.py: got no such file, expected a Python file"
        assert "got no such module" in messages["no_such_module"]
        sidecar.until_logged("raise RuntimeError('no GPU')")
        assert sidecar.ask("good/echo", "hi") == "hi"


def test_models_of_the_same_id_in_different_providers_are_different_models(write):
    first = write(ECHO, "first.py")
    second = write(ECHO.replace("yield ", "yield 'second ' + "), "second.py")
    again = {"source": str(first), "name": "first"}
    with running(first, second, again) as sidecar:
        assert [model["id"] for model in sidecar.information()["models"]] == [
            "first/echo",
            "second/echo",
            "first-2/echo",
        ]
        assert sidecar.ask("first/echo", "x") == "x"
        assert sidecar.ask("second/echo", "x") == "second x"


def test_a_group_with_a_provider_file_is_served_by_it(write):
    group = {"id": "g", "configuration": {"provider": str(write(ECHO))}}
    with running() as sidecar:
        assert [model["id"] for model in sidecar.information(group)["models"]] == ["echo"]
        request_id = sidecar.respond("echo", "hi", group=group)
        assert sidecar.wait(request_id).error is None
        assert sidecar.text(request_id) == "hi"


GROUPED = """
from partstream import LanguageModelChatInformation, LanguageModelChatProvider, LanguageModelError, TextPart

class Shop(LanguageModelChatProvider):
    async def provide_language_model_chat_information(self, silent, token, configuration=None):
        if "apiKey" not in configuration:
            raise LanguageModelError.no_permissions(f"Enter the key of the shop (silent: {silent}).")
        return [LanguageModelChatInformation(configuration["city"], "Shop", "shop", "1", 8000, 1000)]

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        asked = options.configuration
        progress.report(TextPart(f"{asked['city']}, {len(asked['apiKey'])} characters, {sorted(asked)}"))
        print(options)

    async def provide_token_count(self, model, text, token):
        return 1
"""


def test_a_provider_of_a_group_gets_its_keys_and_values_for_the_list_and_for_each_answer(write):
    configuration = {"provider": str(write(GROUPED)), "apiKey": "sk-of-the-shop", "city": "Lisbon"}
    group = {"id": "g", "name": "Shop", "configuration": configuration}
    with running_process() as sidecar:
        assert [model["id"] for model in sidecar.information(group)["models"]] == ["Lisbon"]
        request_id = sidecar.respond("Lisbon", "hi", group=group)
        assert sidecar.wait(request_id).error is None
        assert sidecar.text(request_id) == "Lisbon, 14 characters, ['apiKey', 'city']"
        moved = {**group, "configuration": {**configuration, "city": "Porto"}}
        assert [model["id"] for model in sidecar.information(moved)["models"]] == ["Porto"]
        sidecar.notify("exit")
        sidecar.end()
        assert "RequestOptions(" in sidecar.errors
        assert "sk-of-the-shop" not in str(sidecar.messages) + sidecar.errors


@pytest.mark.parametrize("silent", [True, False])
def test_a_provider_without_its_key_says_so_and_knows_whether_it_may_ask(write, silent):
    group = {"id": "g", "name": "Shop", "configuration": {"provider": str(write(GROUPED)), "city": "Lisbon"}}
    with running() as sidecar:
        result = sidecar.information(group, silent=silent)
        assert result["models"] == []
        [error] = result["errors"]
        said = f"Enter the key of the shop (silent: {silent})."
        assert (error["message"], error["code"]) == (said, "NoPermissions")


ASKING = """
from partstream import KeyNeededError, LanguageModelChatInformation, LanguageModelChatProvider, TextPart

class WrongKeyError(KeyNeededError):
    pass

class Shop(LanguageModelChatProvider):
    async def provide_language_model_chat_information(self, silent, token, configuration=None):
        if configuration.get("apiKey") != "sk-of-the-shop":
            raise WrongKeyError(f"Not with {configuration.get('apiKey')}: enter the key of the shop.")
        return [LanguageModelChatInformation("shop", "Shop", "shop", "1", 8000, 1000)]

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        if text_of(messages[0]) == "wrong":
            raise WrongKeyError(f"{options.configuration['apiKey']} has run out.")
        progress.report(TextPart(f"a key of {len(options.configuration['apiKey'])} characters"))

    async def provide_token_count(self, model, text, token):
        return 1
"""


@pytest.mark.parametrize("is_group", [True, False])
@pytest.mark.parametrize(("key", "said"), [(None, "None"), ("sk-of-another-shop", "[redacted]")])
def test_a_provider_asks_for_a_key_and_says_whether_it_had_one(write, is_group, key, said):
    source = str(write(ASKING))
    given = {} if key is None else {"apiKey": key}
    group = {"id": "g", "configuration": {"provider": source, **given}} if is_group else None
    own = [] if is_group else [{"source": source, **given}]
    with running_process(*own) as sidecar:
        result = sidecar.information(group)
        assert result["models"] == []
        [error] = result["errors"]
        assert error["keyNeed"] == {"source": source, "hadKey": key is not None}
        assert (error["message"], error["code"]) == (f"Not with {said}: enter the key of the shop.", "NoPermissions")
        if key is not None:
            assert key not in str(sidecar.messages) + sidecar.errors


def test_a_provider_of_the_settings_gets_its_key_and_may_ask_for_another_in_an_answer(write):
    source = str(write(ASKING))
    with running_process({"source": source, "name": "own", "apiKey": "sk-of-the-shop"}) as sidecar:
        assert sidecar.ask("own/shop", "hi") == "a key of 14 characters"
        error = sidecar.wait(sidecar.respond("own/shop", "wrong")).error
        assert error["data"]["keyNeed"] == {"source": source, "hadKey": True}
        assert error["data"]["message"] == "[redacted] has run out."
        assert "sk-of-the-shop" not in str(sidecar.messages) + sidecar.errors


ANSWERS = """
@chat_model(name="Answers")
async def provider(messages, options):
    yield "{answer}"
"""


def test_an_edit_is_seen_by_the_next_request_and_the_list_is_said_to_have_changed(write):
    with running(write(ANSWERS.format(answer="one"))) as sidecar:
        assert sidecar.ask("own/provider", "?") == "one"
        write(ANSWERS.format(answer="two"))  # the same length, most likely within the same second
        assert sidecar.ask("own/provider", "?") == "two"
        changed = Notification("languageModels/didChange", {"group": None})
        sidecar.until(lambda message: message == changed)


def test_listing_sees_an_edit_and_says_nothing_of_a_change(write):
    with running(write(ANSWERS.format(answer="one"))) as sidecar:
        assert len(sidecar.information()["models"]) == 1
        write(ANSWERS.format(answer="two").replace("Answers", "Renamed"))
        assert [model["name"] for model in sidecar.information()["models"]] == ["Renamed"]
        sidecar.information()
        assert not any(getattr(m, "method", "") == "languageModels/didChange" for m in sidecar.messages)


def test_a_request_in_flight_finishes_on_the_version_it_began_with(write, tmp_path):
    waiting = """
        from pathlib import Path
        WORD = "old"

        @chat_model(name="Waiting")
        async def provider(messages, options):
            yield "begun "
            while not Path(__file__).with_name("go").exists():
                await asyncio.sleep(0.005)
            yield WORD
    """
    with running(write(waiting)) as sidecar:
        first = sidecar.respond("own/provider", "?")
        sidecar.until(lambda _: sidecar.text(first) == "begun ")
        write(ANSWERS.format(answer="new"))
        assert sidecar.ask("own/provider", "?") == "new"
        (tmp_path / "go").touch()
        assert sidecar.wait(first).error is None
        assert sidecar.text(first) == "begun old"


def test_a_broken_edit_keeps_the_version_before_and_is_reported(write):
    with running(write(ANSWERS.format(answer="one"))) as sidecar:
        assert sidecar.ask("own/provider", "?") == "one"
        write("this is no Python")
        assert sidecar.ask("own/provider", "?") == "one"
        sidecar.until_logged("the previous version is still used")
        result = sidecar.information()
        assert len(result["models"]) == 1
        assert "SyntaxError" in result["errors"][0]["message"]
        write(ANSWERS.format(answer="mended"))
        assert sidecar.ask("own/provider", "?") == "mended"
        assert sidecar.information()["errors"] == []


def test_a_file_that_appears_later_is_found(tmp_path, write):
    with running(tmp_path / "own.py") as sidecar:
        assert len(sidecar.information()["errors"]) == 1
        write(ECHO)
        assert sidecar.information()["errors"] == []
        assert sidecar.ask("own/echo", "hi") == "hi"


MANY = """
import resource

done = 0

@chat_model(name="Many")
async def many(messages, options):
    global done
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(100_000):
        done = number
        yield f"{number:<100}"
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield f"grew {after - before} KiB"

class Beside(Base):
    async def provide_token_count(self, model, text, token):
        print(f"made {done};")
        return 1
    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        progress.report(TextPart("quick"))

class Both(Beside):
    async def provide_language_model_chat_information(self, silent, token):
        return [*await many.provide_language_model_chat_information(silent, token),
                *await Beside.provide_language_model_chat_information(self, silent, token)]
    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        one = many if model.id == "many" else Beside()
        await one.provide_language_model_chat_response(model, messages, options, progress, token)

provider = Both()
"""


def test_a_slow_reader_makes_the_answer_wait_with_bounded_memory_and_nobody_starves(write):
    with running_process(write(MANY)) as sidecar:
        sidecar.information()
        many = sidecar.respond("own/many", "go")
        sidecar.until(lambda _: len(sidecar.parts(many)) > 0)
        sidecar.pause_reading()
        made = _until_it_stands_still(sidecar)
        assert made < 5_000, "the answer was made to its end although it had no reader"

        quick = sidecar.respond("own/m", "go")
        sidecar.resume_reading()
        reply = sidecar.wait(quick)
        assert reply.error is None
        before_quick = len(sidecar.parts(many, before=reply))
        assert before_quick < made + 2_000, "the quick answer had to wait for the long one"

        assert sidecar.wait(many).error is None
        *numbers, growth = [part["value"] for part in sidecar.parts(many)]
        assert numbers == [f"{number:<100}" for number in range(100_000)]
        assert int(growth.split()[1]) < 4096


def _until_it_stands_still(sidecar: Sidecar) -> int:
    """Asks for token counts, which are served while nothing is read, until three find the same number of parts."""
    params = {"group": None, "model": "own/m", "items": [{"text": "x"}]}
    for count in range(1, 1000):
        sidecar.send("languageModels/tokenCount", params)
        made = sidecar.until_errors(
            lambda errors, count=count: len(found := re.findall(r"made (\d+);", errors)) >= count and found
        )
        if count > 3 and len(set(made[-3:])) == 1:
            return int(made[-1])
    pytest.fail("the answer never waited")


def test_a_provider_that_never_waits_is_stopped_when_too_much_has_piled_up(write):
    path = write("""
        class Own(Base):
            async def provide_language_model_chat_response(self, model, messages, options, progress, token):
                for _ in range(1000):
                    progress.report(TextPart("x" * 100_000))
    """)
    with running(path) as sidecar:
        data = sidecar.wait(sidecar.respond("own/m", "go")).error["data"]
        assert data["kind"] == "BacklogError"
        assert "await `progress.drain()`" in data["message"]


def test_a_model_described_with_something_that_is_not_json_fails_alone(write):
    path = write("""
        @chat_model(name="Odd", category=object())
        async def provider(messages, options):
            yield ""
    """)
    with running(path, EXAMPLES / "echo_provider.py") as sidecar:
        result = sidecar.information()
        assert [model["id"] for model in result["models"]] == ["echo_provider/provider"]
        assert [error["provider"] for error in result["errors"]] == ["own"]


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        (b"{not json", -32700, "expected JSON"),
        (b"[]", -32600, "batches are not supported"),
        (b'{"jsonrpc":"1.0","id":1,"method":"x"}', -32600, "expected '2.0'"),
        (b'{"jsonrpc":"2.0","id":1,"method":"x"}', -32601, "unknown request 'x'"),
        (b'{"jsonrpc":"2.0","id":1,"method":"$/progress"}', -32601, "unknown request"),
        (b'{"jsonrpc":"2.0","id":1,"method":"initialize"}', -32600, "only once"),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"languageModels/information","params":{"group":null,"silent":1}}',
            -32602,
            "params.silent: got 1, expected true or false",
        ),
    ],
)
def test_malformed_messages_are_answered_and_the_conversation_goes_on(body, code, said):
    with running() as sidecar:
        sidecar.messages.clear()
        sidecar.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        error = sidecar.until(lambda message: isinstance(message, Response)).error
        assert error["code"] == code
        assert said in error["message"]
        sidecar.messages.clear()
        assert sidecar.information() == {"models": [], "errors": []}


def test_a_header_that_cannot_be_read_ends_the_process():
    with running_process() as sidecar:
        sidecar.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert sidecar.end() == 1
        assert "Content-Length" in sidecar.logs() or "Content-Length" in sidecar.errors


def test_parts_of_unknown_types_are_skipped_and_logged(write):
    message = {"role": 1, "content": [{"type": "hologram"}, {"type": "text", "value": "hi"}]}
    with running(write(ECHO)) as sidecar:
        assert sidecar.ask("own/echo", message) == "hi"
        sidecar.until_logged("params.messages[0].content[0]: skipped a part of the unknown type 'hologram'")


def test_the_command_starts_the_same_sidecar():
    sidecar = Sidecar(sys.executable, "-m", "partstream", "sidecar")
    try:
        assert sidecar.initialize()["serverInfo"]["name"] == "partstream"
    finally:
        sidecar.close()


def test_each_answer_tells_what_it_took_and_the_sums_are_there_when_asked(write):
    path = write("""
        from partstream.lm.parts import Usage, usage_part

        @chat_model(name="Own usage")
        async def provider(messages, options):
            yield "text"
            yield usage_part(Usage(input_tokens=100, output_tokens=20, cached_tokens=50), 0.5)
    """)
    with running(path) as sidecar:
        for conversation in ("a", "a", "b"):
            request_id = sidecar.respond("own/provider", "go", modelOptions={"_conversationId": conversation})
            assert sidecar.wait(request_id).error is None
        told = []

        def are_told():
            told[:] = [one.params for one in list(sidecar.messages) if getattr(one, "method", "") == DID_ANSWER]
            return len(told) == 3

        sidecar.until_true(are_told)
        assert [one["answer"]["inputTokens"] for one in told] == [100, 100, 100]
        assert (told[-1]["conversation"]["cost"], told[-1]["day"]["cost"]) == (0.5, 1.5)
        assert [row["answers"] for row in sidecar.usage_rows("conversations")] == ["1", "2"]
        assert sidecar.usage_rows("days")[0]["output"] == "60"


def test_an_answer_that_fails_or_is_cancelled_tells_nothing(write):
    path = write("""
        import asyncio

        @chat_model(name="Fails")
        async def provider(messages, options):
            yield "text"
            if "wait" in str(messages):
                await asyncio.Event().wait()
            raise ValueError("no")
    """)
    with running(path) as sidecar:
        assert sidecar.wait(sidecar.respond("own/provider", "go")).error is not None
        waiting = sidecar.respond("own/provider", "wait")
        sidecar.until(lambda message: getattr(message, "method", "") == "$/progress")
        sidecar.notify("$/cancelRequest", {"id": waiting})
        assert sidecar.wait(waiting).error is not None
        assert sidecar.usage_rows("answers") == []
        assert DID_ANSWER not in {getattr(message, "method", "") for message in sidecar.messages}


def test_a_provider_that_learns_to_count_otherwise_says_for_which_models(write):
    path = write("""
        from partstream.lm.cancellation import EventEmitter
        from partstream.tokens import CountSource, TokenCount

        class Own(Base):
            def __init__(self):
                self.corrected = EventEmitter()
                self.on_did_correct_token_counts = self.corrected.event

            def token_count(self, model, text):
                self.corrected.fire("unknown family")
                self.corrected.fire(model.family)
                return TokenCount(7, CountSource.REPORTED)
    """)
    with running(path) as sidecar:
        params = {"group": None, "model": "own/m", "items": [{"text": "a"}]}
        assert sidecar.call("languageModels/tokenCount", params)["counts"] == [{"count": 7, "source": "reported"}]
        told = sidecar.until(lambda message: getattr(message, "method", "") == "languageModels/tokenCountsDidChange")
        assert told.params == {"group": None, "models": ["own/m"]}


def test_how_tokens_are_counted_is_told_of_models_that_were_listed(write):
    path = write("""
        class Own(Base):
            async def provide_token_count(self, model, text, token):
                return 7
    """)
    with running(path) as sidecar:
        assert sidecar.call("languageModels/counting") == {"models": []}
        sidecar.information()
        (how,) = sidecar.call("languageModels/counting")["models"]
        assert (how["group"], how["model"], how["source"], how["factor"]) == (None, "own/m", "counted", None)
