"""What each asker gets of an answer that failed, or that has nothing in it; and the repetitions of the agent host."""

import pytest

from partstream.errors import (
    ContextLengthExceededError,
    EmptyAnswerError,
    LanguageModelError,
    LanguageModelErrorCode,
    TimeoutPhase,
    TruncatedStreamError,
    UpstreamConnectionError,
    UpstreamFailureError,
    UpstreamHTTPError,
    UpstreamTimeoutError,
)
from partstream.vscode.failures import (
    MOST_REMEMBERED,
    PAUSE_SECONDS,
    REMEMBERED_SECONDS,
    REPETITIONS,
    Asker,
    ProviderFailedError,
    Repetitions,
    asker_of,
    hint_on,
)

from .sidecar import running

CHAT = {"requestInitiator": "GitHub.copilot-chat"}
AGENT_HOST = {"requestInitiator": "core", "includeEncryptedThinking": True}
PROGRAM = {"requestInitiator": "some.one"}
DATA = 'yield DataPart(b"{}", "application/json")'
MARK = 'yield DataPart(b"mark", "stateful_marker")'
CUT = "yield Finish(Outcome.INCOMPLETE, FinishReason(UnifiedFinishReason.LENGTH))"
NOTHING = "Own ended its answer without a text or a tool call."
SHOWS_NO_DATA = "Own answered with data only (application/json), which the chat does not show."


@pytest.mark.parametrize(
    ("options", "asker"),
    [
        (CHAT, Asker.CHAT),
        (AGENT_HOST, Asker.AGENT_HOST),
        (PROGRAM, Asker.PROGRAM),
        ({"requestInitiator": "core"}, Asker.PROGRAM),
        ({"requestInitiator": None, "includeEncryptedThinking": True}, Asker.PROGRAM),
        ({}, Asker.PROGRAM),
    ],
)
def test_who_asks_is_told_by_the_options(options, asker):
    assert asker_of(options) is asker


@pytest.mark.parametrize(
    ("body", "options", "said"),
    [
        ("return\n    yield", PROGRAM, NOTHING),
        ('yield " \\n"', CHAT, NOTHING),  # a line feed alone would be an empty bubble
        ('yield ThinkingPart("hm")', AGENT_HOST, NOTHING),
        (MARK, PROGRAM, NOTHING),
        (DATA, PROGRAM, None),
        (DATA, CHAT, SHOWS_NO_DATA),
        (DATA, AGENT_HOST, SHOWS_NO_DATA),
        (CUT, CHAT, f"{NOTHING[:-1]}: it reached its token limit."),
        (f'yield "half a sen"\n    {CUT}', CHAT, None),
        ('yield ToolCallPart("c", "look", {})', CHAT, None),
    ],
)
def test_an_answer_with_nothing_in_it_for_the_one_who_asks_is_an_error_that_says_so(write, body, options, said):
    path = write(f"""
from partstream import DataPart, Finish, FinishReason, Outcome, ThinkingPart, ToolCallPart, UnifiedFinishReason

@chat_model(name="Own")
async def provider(messages, options):
    {body}
""")
    with running(path) as sidecar:
        error = sidecar.wait(sidecar.respond("own/provider", "go", **options)).error
        assert (error and error["data"]["message"]) == said


FAILS = """
asked = 0

@chat_model(name="Own")
async def provider(messages, options):
    global asked
    asked += 1
    yield f"{asked}. "
    if text_of(messages[-1]) != "answer":
        raise UpstreamHTTPError(401)
"""


def test_a_request_that_the_agent_host_repeats_is_answered_with_the_same_error_and_others_reach_the_provider(write):
    path = write(f"from partstream import UpstreamHTTPError\n{FAILS}")
    with running(path) as sidecar:

        def ask(said, options):
            request_id = sidecar.respond("own/provider", said, **options)
            error = sidecar.wait(request_id).error
            return sidecar.text(request_id), error and error["data"]

        first, again = ask("fail", AGENT_HOST), ask("fail", AGENT_HOST)
        assert (first[0], again) == ("1. ", ("", first[1]))
        sidecar.until_logged("the Copilot harness repeats a request that failed: no server is asked")
        assert ask("fail otherwise", AGENT_HOST)[0] == "2. "
        for number, options in enumerate((CHAT, PROGRAM, CHAT, PROGRAM), 3):
            assert ask("fail", options)[0] == f"{number}. "
        assert ask("answer", AGENT_HOST) == ("7. ", None)
        assert ask("answer", AGENT_HOST) == ("8. ", None)


def params(*roles, configuration=None):
    group = None if configuration is None else {"id": "g", "configuration": configuration}
    messages = [{"role": role, "content": []} for role in roles or (1,)]
    return {"group": group, "model": "m", "messages": messages, "options": {}, "progressToken": 1}


OF_SERVER, OF_FILE = {"baseUrl": "http://x"}, {"provider": "own.py"}
TOO_LONG = ContextLengthExceededError("Desk", http_status=400)
UPDATE = '; run "Partstream: Manage Models" and update the API key of Desk'
INSPECT = '; "Partstream: Inspect Last Answer" shows what came'
SHORTER = "; send a shorter message, or choose a model with a larger limit"
AGAIN = "; send the message again, and Copilot shortens the conversation first"
NEW_SESSION = "; start a new session, or choose a model with a larger limit"


@pytest.mark.parametrize(
    ("error", "asked", "asker", "hint"),
    [
        (UpstreamHTTPError(401), params(configuration=OF_SERVER), Asker.CHAT, UPDATE),
        (UpstreamHTTPError(401), params(configuration=OF_FILE), Asker.CHAT, ""),
        (UpstreamHTTPError(401), params(), Asker.CHAT, ""),
        (UpstreamHTTPError(429, retry_after=90), params(), Asker.CHAT, "; the server asks to wait 90 s"),
        (UpstreamHTTPError(429, retry_after=3600), params(), Asker.CHAT, "; the server asks to wait 60 minutes"),
        (UpstreamHTTPError(503), params(), Asker.CHAT, ""),
        (TruncatedStreamError("created"), params(), Asker.CHAT, INSPECT),
        (TOO_LONG, params(1), Asker.CHAT, SHORTER),
        (TOO_LONG, params(1, 2, 1), Asker.CHAT, AGAIN),
        (TOO_LONG, params(1, 2, 1), Asker.AGENT_HOST, NEW_SESSION),
        (ZeroDivisionError(), params(), Asker.CHAT, ""),
    ],
)
def test_the_hint_in_a_chat_says_what_helps(error, asked, asker, hint):
    assert hint_on(ProviderFailedError("Desk", error), asked, asker) == hint


class Clock:
    """A clock, and the requests that it is for."""

    def __init__(self):
        self.now = 0.0
        self.repetitions = Repetitions(lambda: self.now)

    def reaches(self, request, error=None):
        """Whether a request reaches the server, which answers with an error."""
        try:
            key = self.repetitions.begin({**params(), "model": request, "progressToken": int(self.now)})
        except ProviderFailedError:
            return False
        if error is not None:
            self.repetitions.remember(key, ProviderFailedError("Desk", error))
        return True


REFUSED = UpstreamHTTPError(401)
LASTING = {
    "a refused key": REFUSED,
    "no such model": UpstreamHTTPError(404),
    "a wrong request": UpstreamHTTPError(400),
    "a conversation that is too long": ContextLengthExceededError("Desk", http_status=500),
    "an answer of thinking alone": EmptyAnswerError("stop"),
    "a limit of time": UpstreamTimeoutError(TimeoutPhase.IDLE, 60),
    "what a server does not have": UpstreamHTTPError(501),
    "a failure that a server calls a refusal": UpstreamFailureError("no", code=LanguageModelErrorCode.BLOCKED),
    "a bug of a provider": ZeroDivisionError(),
    "an answer without a text": LanguageModelError("ended its answer without a text"),
    "a server that asks to wait for longer": UpstreamHTTPError(429, retry_after=600),
}
PASSING = {
    "too many requests": UpstreamHTTPError(429),
    "a busy server": UpstreamHTTPError(503),
    "a broken connection": UpstreamConnectionError("http://x", "refused"),
    "a stream that ended early": TruncatedStreamError("created"),
    "a failure without a reason": UpstreamFailureError("no"),
}


@pytest.mark.parametrize("error", LASTING.values(), ids=LASTING)
def test_no_repetition_reaches_the_server_where_asking_again_cannot_help(error):
    clock = Clock()
    assert [clock.reaches("a", error) for _ in range(REPETITIONS + 2)] == [True, *[False] * REPETITIONS, True]
    clock.now = REMEMBERED_SECONDS - 1
    assert not clock.reaches("a")
    clock.now = REMEMBERED_SECONDS
    assert clock.reaches("a")


@pytest.mark.parametrize("error", PASSING.values(), ids=PASSING)
def test_a_repetition_reaches_a_server_that_may_answer_again_after_a_pause(error):
    clock = Clock()
    assert clock.reaches("a", error)
    clock.now = PAUSE_SECONDS - 1
    assert not clock.reaches("a")
    clock.now = PAUSE_SECONDS
    assert clock.reaches("a")


def test_a_server_that_asks_to_wait_is_asked_again_after_that_time():
    clock = Clock()
    assert clock.reaches("a", UpstreamHTTPError(429, retry_after=7))
    clock.now = 6.0
    assert not clock.reaches("a")
    clock.now = 7.0
    assert clock.reaches("a")


def test_a_bounded_number_of_failed_requests_is_remembered_the_newest_ones():
    clock = Clock()
    requests = [str(number) for number in range(MOST_REMEMBERED + 30)]
    for request in requests:
        assert clock.reaches(request, REFUSED)
    assert [clock.reaches(requests[place]) for place in (-MOST_REMEMBERED - 1, -MOST_REMEMBERED, -1)] == [
        True,
        False,
        False,
    ]
