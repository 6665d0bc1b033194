"""Any conversation of a host becomes a request that real servers do not refuse, and that Google's own types hold."""

from dataclasses import replace
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conversation.samples import ORIGIN
from conversation.strategies import conversations
from copilot_requests import copilot_requests
from partstream import ChatMessage, RequestNotExpressibleError, RequestOptions, ThinkingPart, Tool, ToolMode
from partstream.protocols.gemini.models import GeminiSettings, ToolSchemas
from partstream.protocols.gemini.provider_state import ITEM_TYPE
from partstream.protocols.gemini.write_request import WRITE_REQUEST
from partstream.protocols.serve import WireRequest
from partstream_devtools.testing.vendors.gemini import VENDOR
from protocols.gemini.requests import NEW, OLD, prepared, written
from rows import one_test_for

MODELS = (NEW, OLD, "gemini-3.8-flash", "gemini-2.5-pro", "gemini-3-pro-image-preview")
SIGNATURE = "c2lnbmF0dXJl"
ITEMS: list[dict[str, Any]] = [
    {"toolCallId": "1", "given": True, "thoughtSignature": SIGNATURE, "after": [0, 0]},
    {"toolCallId": "2", "given": False, "thoughtSignature": SIGNATURE, "after": [1, 0]},
    {"textLength": 0, "thoughtSignature": SIGNATURE, "after": [0, 4]},
    {"textLength": 2, "thoughtSignature": SIGNATURE, "after": [0, 3]},
    {"file": 0, "thoughtSignature": SIGNATURE, "after": [0, 0]},
    {"part": {"executableCode": {"language": "PYTHON", "code": "1"}}, "textLength": 3, "after": [0, 3]},
]


def thinking(model: str) -> st.SearchStrategy[ThinkingPart]:
    items = st.lists(st.sampled_from(ITEMS), max_size=3).map(lambda ones: [{"type": ITEM_TYPE, **one} for one in ones])
    origin = replace(ORIGIN, model=model).key
    return items.map(lambda ones: ThinkingPart("hm", None, {"origin": origin, "reasoning_items": ones}))


def check(request: WireRequest) -> None:
    """Raises for a request that a server would refuse, or that has a field which Google does not know."""
    from google.genai import types  # a second, which only these tests pay

    VENDOR.refuse(request)
    body = dict(request.body)
    assert [types.Content.model_validate(content) for content in body.pop("contents")]
    for name, kind in (("systemInstruction", types.Content), ("generationConfig", types.GenerationConfig)):
        kind.model_validate(body.pop(name, {}))
    assert all(types.Tool.model_validate(tool) for tool in body.pop("tools", []))
    types.ToolConfig.model_validate(body.pop("toolConfig", {}))
    assert body == {}


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=25)
@given(data=st.data())
def test_any_conversation_is_taken(model: str, data: st.DataObject) -> None:
    messages = data.draw(conversations(thinking(model)))
    try:
        request = written(*messages, model=model)
    except RequestNotExpressibleError as error:
        assert "octet-stream" in str(error)  # noqa: PT017 - a file of no type that is known
        return
    check(request)


@pytest.mark.parametrize("asked", copilot_requests().values(), ids=copilot_requests())
def test_what_copilot_asks_is_taken_by_every_model(asked: Any) -> None:
    """How schemas are written does not depend on the model: each form of them is asked of every second model."""
    for model, schemas in zip(MODELS, cycle(ToolSchemas), strict=False):
        own = GeminiSettings(tool_schemas=schemas, validates_calls=True, server_tools=("googleSearch",))
        whole = prepared(*asked.messages, model=model, own=own, tools=asked.options.tools).request()
        check(WRITE_REQUEST.write(whole))


EVERYTHING = RequestOptions(
    tools=[Tool("f", "d", {"type": "object", "properties": {"a": {"type": "string"}}})],
    tool_mode=ToolMode.REQUIRED,
    model_options={"max_tokens": 9, "temperature": 1, "top_p": 1, "top_k": 3, "stop": ["a"], "seed": 1},
    model_configuration={"reasoningEffort": "high"},
)


@one_test_for("model", MODELS)
def test_every_field_that_we_write_is_one_of_googles(model: str) -> None:
    options = {
        name: getattr(EVERYTHING, name) for name in ("tools", "tool_mode", "model_options", "model_configuration")
    }
    check(written(ChatMessage.system("Be brief."), ChatMessage.user("Hi"), model=model, **options))
