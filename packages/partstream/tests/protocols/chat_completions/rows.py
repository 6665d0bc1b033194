"""Messages and the messages of Chat Completions that they become at an unknown server, row by row."""

from base64 import b64encode
from typing import Any, NamedTuple

from conversation.rows import LONG, PAPER, PDF_URL, PIXEL, PNG_URL, tool_round
from conversation.samples import JPEG, assistant, called, system, user
from conversation.samples import gave as result
from partstream import ChatMessage, DataPart, TextPart, ThinkingPart
from partstream.conversation.preparation import RequestSettings, SystemAs, ToolImages
from partstream.conversation.turns import MISSING_RESULT
from protocols.chat_completions.requests import call, calls, gave, said


class Row(NamedTuple):
    messages: list[ChatMessage]
    written: list[dict[str, Any]]
    settings: RequestSettings = RequestSettings()


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def image(url: str = PNG_URL) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def file(name: str = "file.pdf", url: str = PDF_URL) -> dict[str, Any]:
    return {"type": "file", "file": {"filename": name, "file_data": url}}


SHOWN = "[image 1 of the next user message]"
NATIVE = RequestSettings(tool_images=ToolImages.NATIVE)
DEVELOPER, SYSTEM = RequestSettings(system_as=SystemAs.DEVELOPER), RequestSettings(system_as=SystemAs.SYSTEM)

TEXT = {
    "a question": Row([user("Hi")], [said("user", "Hi")]),
    "a conversation": Row(
        [user("Hi"), assistant("Ho"), user("Hm")], [said("user", "Hi"), said("assistant", "Ho"), said("user", "Hm")]
    ),
    "texts of one message": Row([user([TextPart("a"), TextPart("b\n"), TextPart("c")])], [said("user", "a\nb\nc")]),
    "pieces of an answer": Row(
        [user("?"), assistant([TextPart("Hel"), TextPart("lo")])], [said("user", "?"), said("assistant", "Hello")]
    ),
    "messages of one speaker, one after the other": Row([user("a"), user("b")], [said("user", "a"), said("user", "b")]),
    "answers, one after the other": Row(
        [user("?"), assistant("a"), assistant("b")], [said("user", "?"), said("assistant", "a\nb")]
    ),
    "empty text": Row([user([TextPart(""), TextPart("Hi")]), assistant("")], [said("user", "Hi")]),
    "an empty message": Row([user("Hi"), assistant([]), user([])], [said("user", "Hi")]),
    "thinking alone": Row(
        [user("Hi"), assistant([ThinkingPart("hm")]), user("?")], [said("user", "Hi"), said("user", "?")]
    ),
    "thinking of another program": Row(
        [user("?"), assistant([ThinkingPart("hm", "rs_1", {"encrypted_content": "e"}), TextPart("Ho")])],
        [said("user", "?"), said("assistant", "Ho")],
    ),
}

DATA = {
    "an image between texts": Row(
        [user([TextPart("a"), PIXEL, TextPart("b")])], [said("user", [text("a"), image(), text("b")])]
    ),
    "a PDF": Row([user([PAPER])], [said("user", [file()])]),
    "sound": Row(
        [user([DataPart(b"ID3\0", "audio/mpeg")])],
        [said("user", [{"type": "input_audio", "input_audio": {"data": "SUQzAA==", "format": "mp3"}}])],
    ),
    "sound in a format that few know": Row(
        [user([DataPart(b"OggS\0", "audio/ogg")])],
        [said("user", [file("file.ogg", "data:audio/ogg;base64,T2dnUwA=")])],
    ),
    "a text document": Row([user([DataPart.text("# Title", "text/markdown")])], [said("user", "# Title")]),
    "an image at an address": Row(
        [user([DataPart(b"https://example.org/a.png", "text/uri-list")])],
        [said("user", [image("https://example.org/a.png")])],
    ),
    "an image of the assistant": Row(
        [user("Draw"), assistant([TextPart("Here"), PIXEL]), user("Nice")],
        [
            said("user", "Draw"),
            said("assistant", "Here"),
            said("user", [text("[shown by the assistant]"), image()]),
            said("user", "Nice"),
        ],
    ),
    "an image of the assistant alone": Row(
        [user("Draw"), assistant([PIXEL])],
        [said("user", "Draw"), said("user", [text("[shown by the assistant]"), image()])],
    ),
}

TOOLS = {
    "a call and its result": Row(
        [
            user("?"),
            assistant([called("gw-call_1", "get_weather", city="Zürich")]),
            user([result("gw-call_1", "12 °C")]),
        ],
        [said("user", "?"), calls(call("call_1", "get_weather", '{"city":"Zürich"}')), gave("12 °C", "call_1")],
    ),
    "text around calls goes before them": Row(
        [
            assistant([TextPart("a"), called("gw-1", "f"), TextPart("b"), called("gw-2", "g")]),
            user([result("gw-1", "x"), result("gw-2", "y")]),
        ],
        [calls(call("1", "f"), call("2", "g"), content="a\nb"), gave("x", "1"), gave("y", "2")],
    ),
    "parallel calls in two messages become one, and their results are in the order of the calls": Row(
        [assistant([called("gw-1")]), assistant([called("gw-2")]), user([result("gw-2", "b"), result("gw-1", "a")])],
        [calls(call("1"), call("2")), gave("a", "1"), gave("b", "2")],
    ),
    "a result two messages later": Row(
        [assistant([called()]), user("Wait"), user([result("gw-1", "x")])],
        [calls(call()), gave("x"), said("user", "Wait")],
    ),
    "text before a result in one message": Row(
        [assistant([called()]), user([TextPart("Wait"), result("gw-1", "x")])],
        [calls(call()), gave("x"), said("user", "Wait")],
    ),
    "a result in pieces": Row(tool_round("a", "b"), [calls(call()), gave("a\nb")]),
    "a result without content": Row(tool_round(), [calls(call()), gave("(no output)")]),
    "a result of an empty text": Row(tool_round(""), [calls(call()), gave("(no output)")]),
    "a result that is a failure": Row(
        tool_round("no such file", is_error=True), [calls(call()), gave("The tool failed: no such file")]
    ),
    "a failure that says nothing": Row(
        tool_round(is_error=True), [calls(call()), gave("The tool failed and did not say why.")]
    ),
    "a result of an image alone": Row(tool_round(PIXEL), [calls(call()), gave(SHOWN), said("user", [image()])]),
    "a result with an image, before the next question": Row(
        [*tool_round("look", PIXEL), user("And?")],
        [calls(call()), gave(f"look\n{SHOWN}"), said("user", [image()]), said("user", "And?")],
    ),
    "images of two results stand behind both": Row(
        [
            assistant([called("gw-1"), called("gw-2")]),
            user([result("gw-1", PIXEL)]),
            user([result("gw-2", DataPart(JPEG, "image/jpeg"))]),
        ],
        [
            calls(call("1"), call("2")),
            gave(SHOWN, "1"),
            gave("[image 2 of the next user message]", "2"),
            said("user", [image(), image(f"data:image/jpeg;base64,{b64encode(JPEG).decode()}")]),
        ],
    ),
    "a result with an image, where the server takes it": Row(
        tool_round("look", PIXEL), [calls(call()), gave([text("look"), image()])], NATIVE
    ),
    "an orphan result": Row([user([result("gw-9", "x")])], [calls(call("9", "unknown_tool")), gave("x", "9")]),
    "a call without a result": Row(
        [user("Hi"), assistant([called()]), user("Never mind")],
        [said("user", "Hi"), calls(call()), gave(MISSING_RESULT), said("user", "Never mind")],
    ),
    "a long id of this upstream": Row(
        [assistant([called("gw-chatcmpl-tool-" + "0" * 32)]), user([result("gw-chatcmpl-tool-" + "0" * 32, "x")])],
        [calls(call("chatcmpl-tool-" + "0" * 32)), gave("x", "chatcmpl-tool-" + "0" * 32)],
    ),
    "an id of this upstream with a meaning": Row(
        [assistant([called("gw-functions.f:0")]), user([result("gw-functions.f:0", "x")])],
        [calls(call("functions.f:0")), gave("x", "functions.f:0")],
    ),
    "a long id of another provider": Row(
        [assistant([called(LONG)]), user([result(LONG, "x")])],
        [calls(call("toolu_" + "x" * 17 + "_287b83f1baff03c9")), gave("x", "toolu_" + "x" * 17 + "_287b83f1baff03c9")],
    ),
    "a name that servers refuse": Row(
        [assistant([called("gw-1", "mcp.find/it")]), user([result("gw-1", "x")])],
        [calls(call("1", "mcp_find_it_7c8f5051")), gave("x")],
    ),
}

ROLES = {
    "system messages are one, before all others": Row(
        [system("Be brief."), user("Hi"), system("Be kind.")],
        [said("system", "Be brief.\n\nBe kind."), said("user", "Hi")],
    ),
    "leading system messages in their places are one too": Row(
        [system("Be brief."), system("Be kind."), user("Hi"), system("Be quick.")],
        [said("system", "Be brief.\n\nBe kind."), said("user", "Hi"), said("system", "Be quick.")],
        SYSTEM,
    ),
    "system messages of the developer": Row(
        [system("Be brief."), user("Hi")], [said("developer", "Be brief."), said("user", "Hi")], DEVELOPER
    ),
    "leading words of the assistant are instructions": Row(
        [assistant("You are a pirate."), user("Hi")], [said("system", "You are a pirate."), said("user", "Hi")]
    ),
}

ROWS = TEXT | DATA | TOOLS | ROLES
