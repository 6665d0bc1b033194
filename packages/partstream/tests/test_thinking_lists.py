"""VS Code allows the value of thinking to be a list of texts: whoever takes such a part has one text."""

import asyncio
from typing import Any

import pytest

from partstream import ChatMessage, InvalidArgumentError, LanguageModels, RequestOptions, chat_model
from partstream.lm.outputs import Finish, InboundRequest, Outcome, Reply
from partstream.lm.parts import ThinkingPart, unchecked_part
from partstream.protocols.protocol import PROTOCOLS
from partstream.vscode.methods import encode_response_part


@pytest.mark.parametrize("value", [["first ", "second"], ("first ", "second")])
def test_a_list_of_texts_is_one_text(value: Any) -> None:
    assert ThinkingPart(value, "r", {"a": 1}) == ThinkingPart("first second", "r", {"a": 1})


@pytest.mark.parametrize("value", [["a", 1], 1, None, [["a"]]])
def test_anything_else_is_refused(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"ThinkingPart\.value"):
        ThinkingPart(value)


def test_vs_code_gets_one_text_also_from_a_part_that_nobody_checked() -> None:
    part = unchecked_part(ThinkingPart, ["first ", "second"], None, None)
    assert encode_response_part(part)["value"] == "first second"


@pytest.mark.parametrize("name", [name for name, one in PROTOCOLS.items() if one.write_response is not None])
def test_writers_write_one_text(name: str) -> None:
    def written(value: Any) -> list[Any]:
        asked = InboundRequest("m", (ChatMessage.user("Hi"),), RequestOptions())
        writer = PROTOCOLS[name].write_response()(asked, Reply("r", 0))  # type: ignore[misc]
        return [event for one in (ThinkingPart(value), Finish(Outcome.COMPLETED)) for event in writer.write(one)]

    assert written(["first ", "second"]) == written("first second")


def test_a_python_consumer_gets_one_text() -> None:
    @chat_model(name="Thinks")
    async def provider(messages: Any, options: Any) -> Any:
        yield ThinkingPart(["first ", "second"])
        yield "done"

    async def run() -> None:
        models = LanguageModels()
        models.register_language_model_chat_provider("own", provider)
        (model,) = await models.select_chat_models()
        response = await model.send_request([ChatMessage.user("Hi")])
        parts = [part async for part in response.stream]
        assert [part.value for part in parts if isinstance(part, ThinkingPart)] == ["first second"]

    asyncio.run(run())
