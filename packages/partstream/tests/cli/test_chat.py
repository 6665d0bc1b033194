"""`partstream chat` as a process of its own, against the replay upstream: answers, errors, Ctrl-C, keys."""

import json
import logging
import signal
from base64 import b64encode
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest

from commands import call, call_process, end, run, start, terminal
from conversation.samples import PNG
from partstream_devtools.testing.faults import document
from partstream_devtools.testing.replaying import Outcome
from partstream_devtools.testing.upstream import ReplayUpstream
from questions import questions
from upstreams.upstreams import server_of

HELLO = "Hello from Partstream! Grüße, 你好, 👋: this answer came over real HTTP, one word at a time."
KEY = token_hex(12)


def _said(item: dict) -> tuple[str, str]:
    return item["role"], "".join(content["text"] for content in item["content"])


# ---- one answer ----


def test_a_prompt_gets_one_answer_and_the_tokens_stay_out_of_the_output():
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            chat = await call_process(
                "chat", "--base-url", upstream.base_url, "--model", "small", "--system", "Be brief.", "Hi"
            )
            assert (chat.code, chat.output) == (0, f"{HELLO}\n")
            assert chat.errors.startswith("── tokens ")
            (request,) = questions(upstream)
            body = request.body
            assert (body["model"], body["instructions"], len(body["input"])) == ("small", "Be brief.", 1)
            assert "authorization" not in request.headers

    run(test())


NO_MODEL = {
    "the first model of a list": (
        document(200, b'{"data": [{"id": "first-of-all", "object": "model"}, {"id": "b", "object": "model"}]}'),
        "Note: the model first-of-all answers, the first that the server lists; --model names another.",
    ),
    "a wrong key": (document(401, b'{"error": {"message": "No such key."}}'), "HTTP 401: No such key"),
    "an empty list": (document(200, b'{"data": []}'), "the server lists no language models: name one with --model"),
    "no list": (document(404, b'{"error": {"message": "Not Found"}}'), "--model names a model without a list"),
}


@pytest.mark.parametrize(("reply", "says"), NO_MODEL.values(), ids=NO_MODEL)
def test_without_a_model_the_server_is_asked_for_its_models_and_what_is_wrong_is_said_first(reply: Any, says: str):
    async def test() -> None:
        async with server_of(reply) as (url, _):
            once = {"PARTSTREAM_RETRY": '{"attempts": 1}', "PARTSTREAM_PROTOCOL": "openresponses"}
            chat = await call("chat", "--base-url", url, "Hi", PARTSTREAM_API_KEY=KEY, **once)
        assert chat.code == 3  # none of these servers answers
        assert says in chat.errors
        assert "--model" in says or "--model" not in chat.errors

    run(test())


def test_without_a_model_the_first_of_the_server_holds_the_whole_conversation():
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            chat = await call("chat", "--base-url", upstream.base_url, typed="Hi\nHi again\n")
            assert (chat.code, chat.errors.count("Note: ")) == (0, 1)
            first, second = questions(upstream)
            assert f"Note: the model {first.body['model']} answers" in chat.errors
            assert second.body["model"] == first.body["model"]

    run(test())


def test_what_a_server_speaks_is_remembered_for_the_next_chat(tmp_path: Path):
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            to = ("chat", "--base-url", upstream.base_url, "--model", "text", "Hi")
            for _ in range(2):
                assert (await call(*to, PARTSTREAM_CACHE=str(tmp_path), PARTSTREAM_API_KEY=KEY)).code == 0
            (kept,) = tmp_path.iterdir()
            assert KEY not in kept.read_text()
            paths = [request.path for request in upstream.requests]
            # Four questions find it out, and two are for answers.
            assert len(paths) == 6
            assert paths[-2] == paths[-1]

    run(test())


def test_the_gateway_s_protocol_is_spoken_where_it_is_asked_for():
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            base_url = upstream.base_url_of("ai-gateway")
            chat = await call("chat", "--base-url", base_url, "--protocol", "ai-gateway", "--model", "text", "Hi")
            assert (chat.code, chat.output) == (0, f"{HELLO}\n")
            request = upstream.requests[0]
            assert (request.path, request.headers["ai-language-model-id"]) == ("/v3/ai/language-model", "text")

    run(test())


def test_what_an_answer_took_is_remembered_for_the_usage(tmp_path: Path):
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            data = {"PARTSTREAM_DATA": str(tmp_path)}
            chat = await call("chat", "--base-url", upstream.base_url, "--model", "small", "Hi", **data)
            assert chat.code == 0
            (row,) = json.loads((await call("usage", "--json", **data)).output)
            assert (row["model"], row["answers"]) == ("small", 1)

    run(test())


def test_a_picture_is_an_answer_and_the_output_says_where_it_is_kept(tmp_path: Path):
    line = {"model": "m", "message": {"role": "assistant", "images": [b64encode(PNG).decode()]}, "done": True}

    async def test() -> None:
        async with server_of(document(200, json.dumps(line).encode() + b"\n", "application/x-ndjson")) as (url, _):
            base_url = url.removesuffix("/v1") + "/api"
            arguments = ("chat", "--base-url", base_url, "--protocol", "ollama", "--model", "m", "Draw")
            chat = await call(*arguments, PARTSTREAM_CACHE=str(tmp_path))
            (kept,) = (tmp_path / "answer-files").iterdir()
            assert (chat.code, chat.output) == (0, f"{kept} (image/png, {len(PNG)} bytes)\n")
            assert kept.read_bytes() == PNG

    run(test())


@pytest.mark.parametrize("place", ["environment", "file"])
def test_nothing_is_remembered_of_an_answer_where_the_ledger_is_off(place: str, tmp_path: Path):
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            file, data = tmp_path / "partstream.toml", tmp_path / "data"
            file.write_text("ledger = false\n" if place == "file" else "")
            off = {"PARTSTREAM_LEDGER": "false"} if place == "environment" else {}
            where = {"PARTSTREAM_CONFIG": str(file), "PARTSTREAM_DATA": str(data), **off}
            chat = await call("chat", "--base-url", upstream.base_url, "--model", "small", "Hi", **where)
            assert (chat.code, chat.output) == (0, f"{HELLO}\n")
            assert not data.exists()

    run(test())


def test_a_dash_reads_the_whole_prompt_from_standard_input():
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            chat = await call("chat", "--base-url", upstream.base_url, "--model", "m", "-", typed="two\nlines\n")
            assert chat.code == 0
            assert _said(questions(upstream)[0].body["input"][0]) == ("user", "two\nlines\n")

    run(test())


@pytest.mark.parametrize(
    ("options", "settings", "logged"),
    [
        ((), {}, set()),
        (("--log-level", "debug"), {}, {"DEBUG", "INFO"}),
        ((), {"PARTSTREAM_LOG_LEVEL": "info"}, {"INFO"}),
        (("--log-level", "error"), {"PARTSTREAM_LOG_LEVEL": "debug"}, set()),
    ],
)
def test_as_much_is_logged_as_is_wanted_and_nothing_stays_behind(
    options: tuple[str, ...], settings: dict[str, str], logged: set[str]
):
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            chat = await call("chat", "--base-url", upstream.base_url, "--model", "text", *options, "Hi", **settings)
            assert chat.code == 0
            words = {line.split(" ")[0] for line in chat.errors.splitlines() if " partstream." in line}
            assert words == logged

    run(test())
    assert logging.getLogger("partstream").handlers == []


def test_an_error_is_part_of_the_answer_where_a_setting_wants_that():
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            arguments = ("--base-url", upstream.base_url, "--model", "text", "fault:status=400")
            chat = await call("chat", "--errors", "text", *arguments)
            assert chat.code == 0
            assert chat.output.startswith("**Error:** ")

    run(test())


@pytest.mark.parametrize(
    ("mode", "shown"), [((), False), (("--thinking", "part"), True), (("--thinking", "off"), False)]
)
def test_thinking_is_kept_out_of_a_pipe_unless_asked_for(mode: tuple[str, ...], shown: bool):
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            chat = await call("chat", "--base-url", upstream.base_url, "--model", "thinking", *mode, "Hi")
            assert chat.output.endswith("Six times seven is **42**.\n")
            assert ("Working it out" in chat.output) is shown

    run(test())


FAILURES = {
    "fault:status=400": "the server answered HTTP 400: The replay upstream was asked to answer with status 400.",
    "fault:truncate=6": "the stream ended before the response was complete (state OPEN)",
    "fault:html": "the server sent a web page, perhaps a login",
    "fault:stall_before_events": "the server sent no event within 1.5 s of the request",
    "scenario:failed": "the server failed: The model broke while it was answering.",
}


@pytest.mark.parametrize(("said", "sentence"), FAILURES.items())
def test_a_failure_is_one_sentence_and_exit_code_3(said: str, sentence: str):
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            to = ("--base-url", upstream.base_url, "--model", "m", "--timeout-first-event", "1.5")
            chat = await call("chat", *to, said)
            assert chat.code == 3
            assert sentence in chat.errors
            assert "Traceback" not in chat.errors

    run(test())


CUTS = {
    "incomplete": "The answer was cut: it reached its token limit (max_output_tokens).",
    "incomplete=content_filter": "The answer was cut: a content filter stopped it (content_filter).",
}


@pytest.mark.parametrize(("scenario", "sentence"), CUTS.items())
def test_an_answer_that_was_cut_says_so_beside_the_output_and_exits_0(scenario: str, sentence: str):
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            to = ("--base-url", upstream.base_url, "--model", "m")
            cut = await call("chat", *to, f"scenario:{scenario}")
            whole = await call("chat", *to, "Hi")
        assert (cut.code, cut.output) == (0, "This answer stops in the middle of\n")
        assert cut.errors.splitlines()[-1] == sentence
        assert "cut" not in whole.errors

    run(test())


def test_each_further_attempt_is_one_line_which_says_the_status_once():
    async def test() -> None:
        async with ReplayUpstream(fault="status=503") as upstream:
            retry = {"PARTSTREAM_RETRY": '{"attempts": 3, "firstWait": 0.01}', "PARTSTREAM_PROTOCOL": "openresponses"}
            chat = await call_process("chat", "--base-url", upstream.base_url, "--model", "m", "Hi", **retry)
        first, second, last = chat.errors.splitlines()
        assert first.startswith("attempt 1 failed, the next in 0.0 s: the server answered HTTP 503: ")
        assert second.startswith("attempt 2 failed, the next in 0.0 s: ")
        assert last.startswith("the server answered HTTP 503: ")
        assert all(line.count("503") == 2 for line in (first, second, last))  # the server says it too
        assert "{" not in chat.errors

    run(test())


def test_an_upstream_that_is_not_there_is_one_sentence():
    async def test() -> None:
        chat = await call("chat", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "Hi")
        assert chat.code == 3
        said = "nothing listens at 127.0.0.1:9 (no connection to http://127.0.0.1:9/v1/responses); "
        assert chat.errors.splitlines()[-1].startswith(said)

    run(test())


def test_ctrl_c_stops_the_answer_closes_the_connection_and_exits_130():
    async def test() -> None:
        async with ReplayUpstream(pace=60) as upstream:
            process = await start("chat", "--base-url", upstream.base_url, "--model", "m", "Hi")
            assert await process.stdout.read(1)
            process.send_signal(signal.SIGINT)
            exchange = await upstream.wait_for_end()  # long before its next piece is due
            chat = await end(process)
            assert exchange.delivery.outcome is Outcome.CLIENT_CLOSED
            assert (chat.code, chat.errors) == (130, "Stopped.\n")

    run(test())


# ---- keys ----


def test_the_key_comes_from_the_environment_and_is_shown_nowhere():
    async def test() -> None:
        async with ReplayUpstream(token=KEY) as upstream:
            to = ("chat", "--base-url", upstream.base_url, "--model", "m")
            good = [
                await call(*to, "Hi", PARTSTREAM_API_KEY=f"{KEY}\n"),
                await call(*to, "--api-key-env", "MY_KEY", "Hi", MY_KEY=KEY),
                await call(*to, "--header-env", "Authorization=MY_HEADER", "Hi", MY_HEADER=f"Bearer {KEY}"),
            ]
            wrong = await call(*to, "Hi", PARTSTREAM_API_KEY=f"{KEY}-wrong")
            none = await call(*to, "Hi")
        assert [chat.code for chat in good] == [0, 0, 0]
        assert (wrong.code, none.code) == (3, 3)
        assert "HTTP 401" in wrong.errors
        assert "no key was sent: put one into the environment variable PARTSTREAM_API_KEY" in none.errors
        assert KEY not in "".join(chat.output + chat.errors for chat in (*good, wrong, none))

    run(test())


WRONG_USE = {
    "no URL": (("--model", "m", "Hi"), "--base-url"),
    "a URL that is none": (("--base-url", "nonsense", "--model", "m", "Hi"), "expected an http or https URL"),
    "an unset variable": (
        ("--base-url", "https://h/v1", "--model", "m", "--api-key-env", "UNSET_KEY", "Hi"),
        "no value in the environment variable UNSET_KEY",
    ),
    "a header without a variable": (
        ("--base-url", "https://h/v1", "--model", "m", "--header-env", "x-key", "Hi"),
        "expected HEADER=VARIABLE",
    ),
    "an empty prompt": (("--base-url", "https://h/v1", "--model", "m", " "), "PROMPT: got an empty text"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG_USE.values(), ids=WRONG_USE)
def test_wrong_use_is_explained_with_exit_code_2(arguments: tuple[str, ...], message: str):
    async def test() -> None:
        chat = await call("chat", *arguments)
        assert chat.code == 2
        assert message in chat.errors

    run(test())


# ---- conversations ----


def test_piped_lines_are_the_messages_of_one_conversation():
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            typed = "Hi\n\nfault:status=400\nAnd?\n/clear\nfault:truncate=6\n/exit\nnever\n"
            chat = await call("chat", "--base-url", upstream.base_url, "--model", "m", typed=typed)
            inputs = [[_said(item) for item in request.body["input"]] for request in questions(upstream)]
        assert chat.output.count(HELLO) == 2
        assert ">" not in chat.output
        assert chat.errors.count("HTTP 400") == 1
        assert chat.code == 3
        first = [("user", "Hi"), ("assistant", HELLO)]
        assert inputs == [
            [("user", "Hi")],
            [*first, ("user", "fault:status=400")],
            [*first, ("user", "And?")],
            [("user", "fault:truncate=6")],
        ]

    run(test())


def test_in_a_terminal_ctrl_c_stops_the_answer_and_then_at_the_prompt_the_program():
    async def test() -> None:
        async with (
            ReplayUpstream() as upstream,
            terminal("chat", "--base-url", upstream.base_url, "--model", "m") as shown,
        ):
            await shown.asks()
            shown.type("scenario:long pace:20\n")
            await shown.until("A paragraph with")
            shown.process.send_signal(signal.SIGINT)
            asked = questions(upstream)[0].number
            assert (await upstream.wait_for_end(asked)).delivery.outcome is Outcome.CLIENT_CLOSED
            await shown.until("Stopped.")
            await shown.asks()
            shown.type("Hi again\n")
            await shown.until("one word at a time. ── tokens")
            await shown.asks()
            question, answer, again = map(_said, questions(upstream)[1].body["input"])
            assert question == ("user", "scenario:long pace:20")
            assert answer[0] == "assistant"
            assert "A paragraph with" in answer[1]
            assert again == ("user", "Hi again")
            assert await shown.interrupted() == 0

    run(test())


def test_in_a_terminal_an_error_does_not_end_the_conversation_and_clear_forgets_it():
    async def test() -> None:
        async with (
            ReplayUpstream() as upstream,
            terminal("chat", "--base-url", upstream.base_url, "--model", "thinking") as shown,
        ):
            for said, told in (
                ("fault:status=404", "HTTP 404"),
                ("Hi", "Working it out"),
                ("/clear", "The conversation starts over."),
                ("Hi again", "is **42**."),
            ):
                await shown.asks()
                shown.type(f"{said}\n")
                await shown.until(told)
            await shown.asks()
            inputs = [[_said(item)[1] for item in request.body["input"]] for request in questions(upstream)]
            assert inputs == [["fault:status=404"], ["Hi"], ["Hi again"]]
            shown.type("\x04")
            assert await shown.ended() == 0

    run(test())


def test_a_trace_has_a_line_for_every_event_and_nothing_of_the_answer():
    async def test() -> None:
        async with ReplayUpstream() as upstream:
            ended = await call("chat", "Hi", "--base-url", upstream.base_url, "--model", "text", "--log-level", "trace")
        lines = [line for line in ended.errors.splitlines() if "partstream.upstreams.trace" in line]
        assert lines[0].startswith("TRACE partstream.upstreams.trace: answer 1 #1 +")
        assert "response.output_text.delta" in ended.errors
        assert "Hello" in ended.output
        assert "Hello" not in ended.errors

    run(test())
