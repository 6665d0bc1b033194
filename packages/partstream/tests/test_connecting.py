"""The short door to a model server: an address in, a model that answers out; over real HTTP."""

from base64 import b64encode
from typing import Any

import pytest

from conversation.samples import PNG
from partstream import (
    CallerError,
    ChatMessage,
    CheckMode,
    ConfigurationError,
    ContractViolationError,
    DataPart,
    GatewayConfiguration,
    InvalidArgumentError,
    LanguageModelError,
    LanguageModelErrorCode,
    RequestOptions,
    Secret,
    StreamOptions,
    TextPart,
    ThinkingMode,
    ThinkingPart,
    Tool,
    ToolCallPart,
    ToolResultPart,
    UnifiedFinishReason,
    UnknownModelError,
    UpstreamConnectionError,
    UpstreamHTTPError,
    ask,
    ask_sync,
    chat_model,
    connect,
    run_tool_loop,
    user_request,
)
from partstream.codec.json_codec import dumps
from partstream.runtime.simple import FunctionProvider
from partstream.upstream.model_information import ModelSelection
from partstream_devtools.testing.faults import document
from partstream_devtools.testing.replaying import Outcome
from partstream_devtools.testing.upstream import ReplayUpstream
from rows import one_test_for
from upstream_settings import gateway_of
from upstreams.upstreams import run, server_of

HELLO = "Hello from Partstream! Grüße, 你好, 👋: this answer came over real HTTP, one word at a time."
KEY = "sk-planted-0123456789"
WEATHER = Tool("get_weather", "Tells the weather.", {"type": "object", "properties": {"city": {"type": "string"}}})
TIME = Tool("get_time", "Tells the time.", {"type": "object", "properties": {"city": {"type": "string"}}})


def _paths(upstream: ReplayUpstream) -> list[str]:
    return [exchange.request.path for exchange in upstream.exchanges]


# ---- asking ----


def test_two_lines_ask_the_first_model_that_the_server_lists():
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            async with connect(upstream.base_url) as model:
                assert await model.ask("Hi") == HELLO
            # The protocol is detected first; only then the list and the question follow.
            *asked, listed, answered = _paths(upstream)
            assert sorted(asked) == ["/v1/chat/completions", "/v1/messages", "/v1/models", "/v1/responses"]
            assert (listed, answered) == ("/v1/models", "/v1/responses")
            assert upstream.requests[-1].body["model"] == model.id

    run(test())


def test_a_response_is_iterated_over_and_then_says_its_tokens_and_why_it_ended():
    async def test() -> None:
        async with ReplayUpstream() as upstream, connect(upstream.base_url) as model:
            response = model.stream("Hi")
            parts = [part async for part in response]
            assert "".join(part.value for part in parts if isinstance(part, TextPart)) == HELLO
            assert isinstance(parts[-1], DataPart)
            assert response.usage is not None
            assert response.usage.output_tokens
            assert response.finish_reason is not None
            assert response.finish_reason.unified is UnifiedFinishReason.STOP
            assert await response.read_text() == HELLO

    run(test())


def test_a_picture_of_an_answer_is_a_data_part_for_programs():
    line = {"model": "m", "message": {"role": "assistant", "images": [b64encode(PNG).decode()]}, "done": True}

    async def test() -> None:
        async with server_of(document(200, dumps(line))) as (url, _):
            base_url = url.removesuffix("/v1") + "/api"
            async with connect(base_url, protocol="ollama", model="m") as model:
                parts = [part async for part in model.stream("Draw") if isinstance(part, DataPart)]
        assert DataPart(PNG, "image/png") in parts

    run(test())


def test_a_whole_conversation_and_its_tools_are_asked_with_the_servers_own_call_ids():
    async def test() -> None:
        async with ReplayUpstream() as upstream, connect(upstream.base_url, model="tools") as model:
            question = ChatMessage.user("The weather in Lisbon?")
            options = RequestOptions(tools=(WEATHER, TIME))
            calls = [part async for part in model.stream([question], options) if isinstance(part, ToolCallPart)]
            results = [ToolResultPart(call.call_id, (TextPart("sunny"),)) for call in calls]
            conversation = [question, ChatMessage.assistant(calls), ChatMessage.user(results)]
            assert "sunny" in await model.ask(conversation, options)
            ids = [item["call_id"] for item in upstream.requests[-1].body["input"][1:]]
            assert ids == [call.call_id for call in calls] * 2

    run(test())


@pytest.mark.parametrize("protocol", ["openresponses", "ai-gateway"])
def test_a_model_is_asked_over_any_wire_that_a_server_can_be_asked_in(protocol: str):
    async def test() -> None:
        async with (
            ReplayUpstream() as upstream,
            connect(upstream.base_url_of(protocol), protocol=protocol, model="text") as model,
        ):
            assert await model.ask("Hi") == HELLO

    run(test())


# ---- which model ----


def test_a_model_that_is_named_is_asked_without_a_list():
    async def test() -> None:
        async with (
            ReplayUpstream() as upstream,
            connect(upstream.base_url, protocol="openresponses", model="thinking") as model,
        ):
            assert model.id == "thinking"
            assert any([isinstance(part, ThinkingPart) async for part in model.stream("Hi")])
            assert _paths(upstream) == ["/v1/responses"]

    run(test())


def test_a_whole_configuration_connects_too_and_its_model_is_looked_up():
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            configuration = GatewayConfiguration(upstream.base_url, stream=StreamOptions(thinking=ThinkingMode.OFF))
            async with connect(configuration, model="thinking") as model:
                assert not any([isinstance(part, ThinkingPart) async for part in model.stream("Hi")])
            assert _paths(upstream)[0] == "/v1/models"
            with pytest.raises(UnknownModelError) as caught:
                async with connect(configuration, model="nobody"):
                    pass
            assert caught.value.model_id == "nobody"
            assert "thinking" in caught.value.known

    run(test())


def test_a_server_that_lists_no_model_says_so():
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            nothing = GatewayConfiguration(upstream.base_url, selection=ModelSelection(deny=("*",)))
            with pytest.raises(LanguageModelError, match="lists no language models: name one") as caught:
                async with connect(nothing):
                    pass
            assert caught.value.code is LanguageModelErrorCode.NOT_FOUND

    run(test())


# ---- keys and mistakes ----


@pytest.mark.parametrize("key", [KEY, Secret(KEY)])
def test_the_key_is_sent_and_shown_nowhere(key: str | Secret):
    async def test() -> None:
        async with (
            ReplayUpstream(token=KEY) as upstream,
            connect(upstream.base_url, api_key=key, headers={"x-team": "blue"}) as model,
        ):
            assert await model.ask("Hi") == HELLO
            assert [exchange.request.headers["x-team"] for exchange in upstream.exchanges] == ["blue"] * 6
            assert KEY not in repr(model)

    run(test())


@pytest.mark.parametrize("key", [None, ""])
def test_without_a_key_none_is_sent(key: str | None):
    async def test() -> None:
        async with ReplayUpstream() as upstream, connect(upstream.base_url, api_key=key) as model:
            await model.ask("Hi")
            assert all("authorization" not in exchange.request.headers for exchange in upstream.exchanges)

    run(test())


def test_a_setting_of_no_use_is_refused_before_anything_is_sent():
    with pytest.raises(ConfigurationError, match="expected an http or https URL"):
        connect("nonsense")
    with pytest.raises(ConfigurationError, match="protocol"):
        connect("http://localhost/v1", protocol="morse")
    with pytest.raises(ConfigurationError, match="https"):
        connect("http://models.example.com/v1")
    with pytest.raises(ConfigurationError) as caught:
        connect("http://localhost/v1", api_key=f"{KEY}\n")
    assert KEY not in str(caught.value)


def test_settings_beside_a_whole_configuration_are_refused():
    configuration: Any = GatewayConfiguration("http://localhost/v1")
    with pytest.raises(CallerError, match="got api_key beside a configuration"):
        connect(configuration, api_key=KEY)


# ---- asking a provider ----


@chat_model(name="Parrot")
async def parrot(messages, options):
    yield f"You said: {user_request(messages)}"
    if user_request(messages) == "call":
        yield ToolCallPart("c", "nobody", {})
    if user_request(messages) == "fail":
        raise KeyError("seed")


def test_a_provider_is_asked_without_a_server():
    async def test() -> None:
        async with connect(parrot) as model:
            assert (model.id, model.vendor) == ("parrot", "parrot")
            assert await model.ask("hello") == "You said: hello"
            parts = [part async for part in model.stream("call")]
            assert parts == [TextPart("You said: call"), ToolCallPart("c", "nobody", {})]

    run(test())


def test_a_provider_is_judged_strictly_where_a_test_wants_it():
    async def test() -> None:
        async with connect(parrot, contract_mode=CheckMode.STRICT) as model:
            assert await model.ask("hello") == "You said: hello"
            with pytest.raises(ContractViolationError, match="the tool 'nobody' is not among the request's tools"):
                await model.ask("call")

    run(test())


def test_a_bug_of_a_provider_is_reported_with_its_file_and_line_in_one_line():
    async def test() -> None:
        line = parrot._answer.__code__.co_firstlineno + 6
        async with connect(parrot) as model:
            with pytest.raises(LanguageModelError) as caught:
                await model.ask("fail")
        assert str(caught.value) == f"the provider of parrot failed with KeyError: 'seed' ({__file__}:{line})"
        assert isinstance(caught.value.__cause__, KeyError)

    run(test())


ASKED_WRONGLY = {
    "messages: got 5 (int), expected a list or a tuple, each item a ChatMessage": lambda model: model.ask(5),
    "messages: got ChatMessage, expected a list or": lambda model: model.ask(ChatMessage.user("hi")),
    "messages[1]: got 'hi' (str), expected a ChatMessage": lambda model: model.ask([ChatMessage.user("hi"), "hi"]),
    "options: got dict, expected RequestOptions": lambda model: model.ask("hi", {"tools": []}),
    "token: got 5 (int), expected a CancellationToken, or None": lambda model: model.ask("hi", token=5),
    "text: got 5 (int), expected a text (str) or a ChatMessage": lambda model: model.count_tokens(5),
    "tools[0]: got builtin_function_or_method, expected a ToolFunction": lambda model: run_tool_loop(
        model, "hi", [len]
    ),
    "messages: got 5 (int), expected": lambda model: run_tool_loop(model, 5, []),
}


@one_test_for("message", ASKED_WRONGLY)
def test_a_wrong_argument_of_a_question_is_refused(message: str):
    async def test() -> None:
        async with connect(parrot) as model:
            with pytest.raises(InvalidArgumentError) as caught:
                await ASKED_WRONGLY[message](model)
            assert str(caught.value).startswith(message)
            assert (await run_tool_loop(model, "hello", [])).text == "You said: hello"

    run(test())


# ---- messages as dicts, options as keywords ----

PICTURE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{b64encode(PNG).decode()}"}}
CALL = {"id": "c", "type": "function", "function": {"name": "get_time", "arguments": '{"city": "Rome"}'}}
CONVERSATIONS: dict[str, tuple[list[Any], list[ChatMessage]]] = {
    "one message": ([{"role": "user", "content": "Hi"}], [ChatMessage.user("Hi")]),
    "a system message": (
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        [ChatMessage.system("Be brief."), ChatMessage.user("Hi")],
    ),
    "a developer's message": ([{"role": "developer", "content": "Be brief."}], [ChatMessage.system("Be brief.")]),
    "an answer": (
        [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}],
        [ChatMessage.user("Hi"), ChatMessage.assistant("Hello")],
    ),
    "parts": (
        [{"role": "user", "content": [{"type": "text", "text": "What?"}, PICTURE]}],
        [ChatMessage.user([TextPart("What?"), DataPart(PNG, "image/png")])],
    ),
    "a call and its result": (
        [
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c", "content": "noon"},
        ],
        [
            ChatMessage.assistant([ToolCallPart("c", "get_time", {"city": "Rome"})]),
            ChatMessage.user([ToolResultPart("c", (TextPart("noon"),))]),
        ],
    ),
    "beside messages of our own": (
        [ChatMessage.system("Be brief."), {"role": "user", "content": "Hi"}, ChatMessage.assistant("Hello")],
        [ChatMessage.system("Be brief."), ChatMessage.user("Hi"), ChatMessage.assistant("Hello")],
    ),
}


def _seen_by(ways: dict[str, Any]) -> Any:
    """A provider that keeps what it is asked."""

    @chat_model(name="Witness")
    async def witness(messages, options):
        ways["messages"], ways["options"] = list(messages), options
        yield "seen"

    return witness


@one_test_for(("given", "meant"), CONVERSATIONS.values(), ids=CONVERSATIONS)
def test_a_message_may_be_a_dict_of_role_and_content(given: list[Any], meant: list[ChatMessage]):
    async def test() -> None:
        seen: dict[str, Any] = {}
        witness = _seen_by(seen)
        async with connect(witness) as model:
            asked = [lambda: model.ask(given), lambda: model.stream(given).read_text(), lambda: ask(witness, given)]
            asked.append(lambda: run_tool_loop(model, given, []))
            for one in asked:
                await one()
                assert seen.pop("messages") == meant

    run(test())


WRONG_MESSAGES = {
    "messages: got dict, expected a list or a tuple": {"role": "user", "content": "Hi"},
    "messages[0].role: got 'usr', expected one of system, developer, user": [{"role": "usr", "content": "Hi"}],
    "messages[0].role: got nothing, expected": [{"rol": "user", "content": "Hi"}],
    "messages[0].content: got nothing, expected a string or a list": [{"role": "user"}],
    "messages[0].content: got int, expected a string or a list": [{"role": "user", "content": 5}],
    "messages[0].content[0].text: got nothing, expected a string": [{"role": "user", "content": [{"type": "text"}]}],
    "messages[1].content: got int": [ChatMessage.user("Hi"), {"role": "user", "content": 5}],
    "messages[2]: got 'hi' (str)": [{"role": "user", "content": "Hi"}, ChatMessage.user("Hi"), "hi"],
    "messages: got a part in content[].video": [{"role": "user", "content": [{"type": "video"}]}],
}


@one_test_for(("message", "given"), WRONG_MESSAGES.items(), ids=WRONG_MESSAGES)
def test_a_dict_that_is_no_message_is_refused_with_its_place(message: str, given: Any):
    with pytest.raises(InvalidArgumentError) as caught:
        ask_sync(parrot, given)
    assert str(caught.value).startswith(message)


WRITTEN: dict[str, dict[str, Any]] = {
    "openresponses": {"temperature": 0, "top_p": 0.5, "max_output_tokens": 7, "seed": 3},
    "chat-completions": {"temperature": 0, "top_p": 0.5, "max_tokens": 7, "seed": 3, "stop": ["."]},
    "anthropic-messages": {"temperature": 0, "max_tokens": 7, "stop_sequences": ["."]},
}


@pytest.mark.parametrize("protocol", WRITTEN)
def test_options_of_a_request_reach_the_server_in_the_words_of_its_protocol(protocol: str):
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            base_url = upstream.base_url_of(protocol)
            options: Any = {"temperature": 0, "max_tokens": 7}
            options |= {name: WRITTEN[protocol][name] for name in ("top_p", "seed") if name in WRITTEN[protocol]}
            if protocol != "openresponses":
                options["stop"] = ["."]
            await ask(base_url, "Hi", protocol=protocol, model="text", **options)
            body = upstream.requests[-1].body
            assert {name: body.get(name) for name in WRITTEN[protocol]} == WRITTEN[protocol]

    run(test())


def test_options_as_keywords_win_over_those_of_the_request():
    seen: dict[str, Any] = {}
    options = RequestOptions([WEATHER], model_options={"temperature": 1, "top_k": 4}, request_initiator="me")
    ask_sync(_seen_by(seen), "Hi", options, temperature=0, tools=[TIME])
    asked = seen["options"]
    assert (asked.tools, asked.request_initiator) == ((TIME,), "me")
    assert asked.model_options == {"temperature": 0, "top_k": 4}


UNKNOWN = {
    "ask: unknown keyword 'temprature'; did you mean 'temperature'?": lambda: ask_sync(parrot, "Hi", temprature=0),
    "ask: unknown keyword 'key'; did you mean 'api_key'?": lambda: ask_sync(parrot, "Hi", key="sk"),
    "ask: unknown keyword 'num_predict'; did you mean 'max_tokens'?": lambda: ask_sync(parrot, "Hi", num_predict=5),
    "ask: unknown keyword 'max_new_tokens'; did you mean 'max_tokens'?": lambda: ask_sync(
        parrot, "Hi", max_new_tokens=5
    ),
    "ask: unknown keyword 'qqq'; expected one of protocol, api_key": lambda: ask_sync(parrot, "Hi", qqq=1),
    "connect: unknown keyword 'protocl'; did you mean 'protocol'?": lambda: connect(parrot, protocl="ollama"),
    "connect: got temperature, an option of a request, expected": lambda: connect(parrot, temperature=0),
    "connect: got contract_mode beside a base URL": lambda: connect("http://h/v1", contract_mode=CheckMode.STRICT),
    "connect: got api_key beside a provider": lambda: connect(parrot, api_key="sk"),
    "RequestOptions.tools[0]: got dict, expected a Tool": lambda: ask_sync(parrot, "Hi", tools=[{}]),
}


@one_test_for(("message", "call"), UNKNOWN.items(), ids=UNKNOWN)
def test_an_unknown_option_is_refused_by_name(message: str, call: Any):
    with pytest.raises(CallerError) as caught:
        call()
    assert str(caught.value).startswith(message)
    assert "sk" not in str(caught.value).replace("ask", "")


@one_test_for("name", ["ask", "stream", "send_request", "id", "anything"])
def test_a_connection_that_is_not_open_says_what_is_missing(name: str):
    connection: Any = connect(parrot)
    with pytest.raises(AttributeError) as caught:
        getattr(connection, name)
    assert f"`async with connect(...) as model:` and then `model.{name}`" in str(caught.value)


@pytest.mark.parametrize(("name", "meant"), [("opnai", "chat-completions"), ("ollma", "ollama"), ("morse", None)])
def test_an_unknown_protocol_is_refused_with_the_name_that_may_be_meant(name: Any, meant: str | None):
    with pytest.raises(ConfigurationError) as caught:
        connect("http://localhost/v1", protocol=name)
    assert str(caught.value).endswith("ag-ui" if meant is None else f"; did you mean {meant!r}?")


def test_a_configuration_knows_a_protocol_by_its_own_name_whatever_it_is_called():
    url = "http://localhost/v1"
    named = GatewayConfiguration(url, protocol="openai")
    assert named == GatewayConfiguration(url, protocol="chat-completions")
    assert named == gateway_of({"baseUrl": url, "protocol": "chat"})


@pytest.mark.parametrize("name", ["openai", "chat", "auto"])
def test_a_server_is_connected_by_the_name_that_people_use(name: Any):
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            assert await ask(upstream.base_url_of("chat-completions"), "Hi", protocol=name, model="text") == HELLO

    run(test())


@one_test_for("count", ["3", -1, None, 2.5, True])
def test_a_count_that_is_no_number_of_tokens_is_refused(count: Any):
    async def test() -> None:
        async with connect(FunctionProvider(parrot._answer, parrot.information, lambda text: count)) as model:
            with pytest.raises(LanguageModelError, match=r"count_tokens: got .*, expected a whole number of 0 or more"):
                await model.count_tokens("hi")

    run(test())


class _ListsNothing(FunctionProvider):
    async def provide_language_model_chat_information(self, silent: bool, token: Any) -> Any:
        return [self.information] * self.wanted

    wanted: Any = "x"


def test_a_bug_of_a_list_is_reported_with_its_file_and_line(caplog: pytest.LogCaptureFixture):
    async def test() -> None:
        provider = _ListsNothing(parrot._answer, parrot.information, len)
        line = type(provider).provide_language_model_chat_information.__code__.co_firstlineno + 1
        with pytest.raises(LanguageModelError, match="failed with TypeError: can't multiply") as caught:
            async with connect(provider):
                pass
        assert str(caught.value).endswith(f"({__file__}:{line})")
        assert caplog.messages[0].endswith(f"({__file__}:{line})")

    run(test())


def test_a_model_that_a_provider_does_not_have_and_other_settings_are_refused():
    async def test() -> None:
        with pytest.raises(UnknownModelError, match="'owl'; known models: parrot"):
            async with connect(parrot, model="owl"):
                pass

    run(test())
    wrong: Any = parrot
    with pytest.raises(CallerError, match="got api_key beside a provider, expected none"):
        connect(wrong, api_key=KEY)
    for wrong in (5, None, [parrot]):
        with pytest.raises(InvalidArgumentError, match=r"connect\.base_url: got .*, expected a base URL \(str\), a"):
            connect(wrong)


def test_a_server_that_cannot_be_reached_or_refuses_is_an_error_that_can_be_caught_from_the_top():
    async def test() -> None:
        async with ReplayUpstream(fault="status=403") as upstream, connect(upstream.base_url, model="text") as model:
            url = upstream.base_url
            with pytest.raises(UpstreamHTTPError) as refused:
                await model.ask("Hi")
            assert refused.value.http_status == 403
        with pytest.raises(UpstreamConnectionError):
            async with connect(url):
                pass

    run(test())


# ---- the end ----


def test_at_the_end_of_the_block_an_answer_that_still_comes_is_cancelled_and_its_connection_closed():
    async def test() -> None:
        async with ReplayUpstream(scenario="long", pace=0.01) as upstream:
            async with connect(upstream.base_url, model="long") as model:
                response = model.stream("Hi")
                assert await anext(response.stream)
            assert response.is_cancelled
            assert (await upstream.wait_for_end()).delivery.outcome is Outcome.CLIENT_CLOSED

    run(test())


def test_an_error_inside_of_the_block_goes_on_and_everything_is_closed():
    async def ask_and_break(url: str) -> None:
        async with connect(url, model="text") as model:
            await model.ask("Hi")
            raise ZeroDivisionError

    async def test() -> None:
        async with ReplayUpstream() as upstream:
            with pytest.raises(ZeroDivisionError):
                await ask_and_break(upstream.base_url)

    run(test())


# ---- one question in one line ----


@chat_model
async def echo(messages, options):
    yield f"{user_request(messages)}, {len(messages)} messages, {len(options.tools)} tools"


def test_a_provider_is_asked_in_one_line_with_and_without_an_event_loop():
    assert ask_sync(echo, "Hi") == "Hi, 1 messages, 0 tools"

    async def test() -> None:
        history = [ChatMessage.user("a"), ChatMessage.assistant("b"), ChatMessage.user("Ho")]
        assert await ask(echo, history, RequestOptions(tools=[TIME])) == "Ho, 3 messages, 1 tools"

    run(test())


def test_a_server_is_asked_in_one_line_with_the_settings_of_a_connection():
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            assert await ask(upstream.base_url, "Hi", model="small", protocol="openresponses") == HELLO

    run(test())


def test_one_question_raises_what_a_connection_raises():
    with pytest.raises(UnknownModelError):
        ask_sync(echo, "Hi", model="other")
    with pytest.raises(CallerError, match="protocol beside a provider"):
        ask_sync(echo, "Hi", protocol="openresponses")

    async def test() -> None:
        with pytest.raises(CallerError, match="await ask"):
            ask_sync(echo, "Hi")

    run(test())
