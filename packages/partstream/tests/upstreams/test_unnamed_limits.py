"""An answer that its server calls completed, although a limit cut it, ends at that limit: its usage says so."""

from typing import Any

import pytest

from models.server import ModelServer, serving
from partstream import CancellationTokenSource, RequestOptions
from partstream.lm.outputs import Outcome
from partstream.server.application import app
from partstream.upstream.provider import GatewayProvider
from serving.asgi import ask as ask_app
from upstreams.test_answer_end import EndedAnswer
from upstreams.upstreams import configuration, respond, run

LISTED = {"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "llamacpp", "meta": {"n_ctx": 256}}]}
ITEM = {"type": "message", "id": "i", "role": "assistant", "content": [{"type": "output_text", "text": "1 2"}]}
CALL = {"type": "function_call", "id": "f", "call_id": "c", "name": "weather", "arguments": "{}"}
HALF = {"type": "function_call", "id": "h", "call_id": "d", "name": "weather", "arguments": '{"place":"'}
CUT = (Outcome.INCOMPLETE, "length")
WHOLE = (Outcome.COMPLETED, "stop")

ENDS: dict[str, tuple[int | None, tuple[int, int], dict[str, Any], tuple[Outcome, str]]] = {
    "at the limit of the request": (8, (31, 8), {}, CUT),
    "one before it": (8, (31, 7), {}, WHOLE),
    "at the end of the window": (None, (31, 225), {}, CUT),
    "one before that": (None, (31, 224), {}, WHOLE),
    "without a limit": (None, (31, 8), {}, WHOLE),
    "with a reason of its own": (
        8,
        (31, 8),
        {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
        (Outcome.INCOMPLETE, "content-filter"),
    ),
    "with a call": (8, (31, 8), {"output": [CALL]}, (Outcome.COMPLETED, "tool-calls")),
    "in a call": (8, (31, 8), {"output": [ITEM, HALF]}, CUT),
    "in a second call": (8, (31, 8), {"output": [CALL, HALF]}, CUT),
}


@pytest.mark.parametrize(("limit", "tokens", "changes", "end"), ENDS.values(), ids=ENDS)
def test_usage_tells_an_answer_that_a_limit_cut(
    limit: int | None, tokens: tuple[int, int], changes: dict[str, Any], end: tuple[Outcome, str]
) -> None:
    usage = dict(zip(("input_tokens", "output_tokens"), tokens, strict=True))
    response = {"id": "r", "object": "response", "status": "completed", "output": [ITEM], "usage": usage, **changes}

    async def test() -> None:
        server = ModelServer({"/v1/models": LISTED, "/v1/responses": response})
        async with serving(server):
            provider = GatewayProvider(configuration(server.url, protocol="openresponses", models=()))
            token = CancellationTokenSource().token
            await provider.provide_language_model_chat_information(True, token)
            answer = EndedAnswer()
            options = RequestOptions(model_options={} if limit is None else {"max_output_tokens": limit})
            await respond(provider, "Count.", answer, token, "m", options)
            (finish,) = answer.finishes
            assert (finish.outcome, finish.reason and finish.reason.unified.value) == end
            if end == CUT:  # a client of another wire reads it there, and one of this wire gets what the server said
                limits = {} if limit is None else {"max_tokens": limit}
                asked = {"model": "m", "messages": [{"role": "user", "content": "Count."}], **limits}
                chat = await ask_app(app(provider), "/v1/chat/completions", asked)
                assert chat.json["choices"][0]["finish_reason"] == "length"
            await provider.aclose()

    run(test())
