"""A function that completes text, and the request that it gets."""

import asyncio

import pytest

from partstream import (
    CancellationTokenSource,
    ChatMessage,
    CompletionRequest,
    CompletionSnippet,
    InvalidArgumentError,
    RequestOptions,
    ask_sync,
    completion_model,
)
from partstream.lm.completions import COMPLETES_TEXT, COMPLETION, BareText
from partstream.runtime.simple import UnknownKeywordError
from rows import one_test_for

REQUEST = CompletionRequest("def f(", ")\n", "python", "f.py", [CompletionSnippet("g.py", "def g(x): ...")])


@completion_model(name="Echo")
async def echo(request):
    yield f"{request.prefix}|"
    yield f"{request.suffix}|{request.path}|{request.snippets[0].text if request.snippets else ''}"


def test_the_function_gets_the_request_of_the_options():
    said = []

    class Progress:
        def report(self, part):
            said.append(part.value)

    async def run():
        source = CancellationTokenSource()
        [model] = await echo.provide_language_model_chat_information(True, source.token)
        options = RequestOptions(model_options={COMPLETION: REQUEST.fields})
        async with asyncio.timeout(30):
            await echo.provide_language_model_chat_response(model, REQUEST.messages, options, Progress(), source.token)

    asyncio.run(run())
    assert said == ["def f(|", ")\n|f.py|def g(x): ..."]


def test_the_last_user_message_is_the_prefix_where_nothing_says_a_cursor():
    assert ask_sync(echo, "def f(") == "def f(|||"


def test_the_model_is_in_no_picker_and_says_that_it_completes_text():
    assert echo.information.extra == {"isUserSelectable": False, COMPLETES_TEXT: True}
    assert (echo.information.id, echo.information.name, echo.information.max_output_tokens) == ("echo", "Echo", 256)


@one_test_for(
    ("decorated", "said"),
    [
        pytest.param(lambda: completion_model(3), "keywords, such as @completion_model", id="no function"),
        pytest.param(lambda: completion_model(lambda request: ""), "async generator", id="no generator"),
    ],
)
def test_what_is_no_generator_function_is_refused(decorated, said):
    with pytest.raises(InvalidArgumentError, match=said):
        decorated()


def test_a_function_of_other_parameters_is_refused_with_its_line():
    async def two(messages, options):
        yield ""

    with pytest.raises(InvalidArgumentError, match=r"two \(.*test_completion_model.py:\d+\).*expected one parameter"):
        completion_model(two)


def test_a_keyword_of_a_chat_model_is_unknown():
    with pytest.raises(UnknownKeywordError, match="image_input"):
        completion_model(image_input=True)


def test_a_request_is_the_same_after_it_was_an_option():
    assert CompletionRequest.asked({COMPLETION: REQUEST.fields}) == REQUEST
    assert CompletionRequest.asked({}) is None


def test_a_budget_keeps_what_is_beside_the_cursor_then_whole_snippets():
    snippets = [CompletionSnippet("a", "x" * 50), CompletionSnippet("b", "y" * 10)]
    long = CompletionRequest("p" * 100 + "P", "S" + "s" * 100, "", "", snippets)
    kept = long.within(80)
    assert (len(kept.prefix), len(kept.suffix), kept.snippets) == (60, 20, ())
    assert (kept.prefix[-1], kept.suffix[0]) == ("P", "S")
    short = CompletionRequest("P", "S", "", "", snippets).within(20)
    assert (short.prefix, short.suffix, short.snippets) == ("P", "S", (snippets[1],))


def test_a_chat_model_gets_the_cursor_in_its_text():
    system, user = REQUEST.messages
    assert (system.role.name, user.role.name) == ("SYSTEM", "USER")
    assert "def f(<|cursor|>)\n" in user.content[0].value
    assert "def g(x): ..." in user.content[0].value
    assert isinstance(user, ChatMessage)


@one_test_for(
    ("prefix", "answer", "bare"),
    [
        pytest.param("", "return 1", "return 1", id="bare"),
        pytest.param("", "```python\nreturn 1\n```", "return 1", id="fence"),
        pytest.param("", "```\nreturn 1\n```\nThis returns.", "return 1", id="words after a fence"),
        pytest.param("", "```\n```", "", id="empty fence"),
        pytest.param("", "~~~\na\n\nb\n~~~\n", "a\n\nb", id="tildes"),
        pytest.param("", "````\na\n```\nb\n````", "a\n```\nb", id="a fence in a longer one"),
        pytest.param("", "```py\nhalf", "half", id="cut in a fence"),
        pytest.param("", "`a`", "`a`", id="code in a line"),
        pytest.param("x = 1\n    return ", "    return x", "x", id="repeated line"),
        pytest.param("    return ", "```py\n    return x\n```", "x", id="repeated line in a fence"),
        pytest.param("    return ", "    retire", "    retire", id="another line"),
        pytest.param("a\n", "\nb", "\nb", id="break first"),
        pytest.param("", "", "", id="nothing"),
    ],
)
def test_what_chat_models_put_around_a_text_is_taken_away_however_it_is_cut(prefix, answer, bare):
    for size in range(1, len(answer) + 2):
        reader = BareText(CompletionRequest(prefix))
        pieces = [answer[at : at + size] for at in range(0, len(answer), size)]
        said = "".join([*map(reader.add, pieces), reader.end()])
        assert said == bare, size
