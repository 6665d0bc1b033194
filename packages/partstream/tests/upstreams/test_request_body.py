"""A request with a value that JSON cannot represent is refused before it is sent, with the place of the value."""

import math

import pytest

from partstream.errors import RequestNotExpressibleError
from partstream.lm.messages import ChatMessage, RequestOptions, Tool
from partstream.lm.parts import ToolCallPart, ToolResultPart
from partstream.upstream.transport import body_document
from upstreams.upstreams import Answer, replay, respond, run


def test_the_error_names_the_place_in_the_body():
    assert body_document({"a": 1}) == b'{"a":1}'
    with pytest.raises(RequestNotExpressibleError, match=r"body\['a'\]\[0\] is inf, which is not a JSON number"):
        body_document({"a": [math.inf]})


@pytest.mark.parametrize(
    ("messages", "options"),
    [
        ([ChatMessage.user("Hi")], RequestOptions(tools=(Tool("t", "T", {"maximum": math.inf}),))),
        (
            [
                ChatMessage.user("Hi"),
                ChatMessage.assistant([ToolCallPart("c", "t", {"a": math.nan})]),
                ChatMessage.user([ToolResultPart("c")]),
            ],
            RequestOptions(),
        ),
    ],
    ids=["the schema of a tool", "the input of a call"],
)
def test_nothing_is_sent_and_the_caller_is_told(messages, options):
    async def main():
        async with replay() as (upstream, provider):
            with pytest.raises(RequestNotExpressibleError, match="cannot send"):
                await respond(provider, messages, Answer(), options=options)
            assert [request for request in upstream.requests if request.method == "POST"] == []

    run(main())
