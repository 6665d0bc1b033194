"""Messages and the input items that they become, row by row; read by the tests of the converter and of the gateway."""

from base64 import b64encode
from typing import Any, NamedTuple

from conversation.samples import (
    JPEG,
    PDF,
    PNG,
    asked,
    assistant,
    call,
    called,
    file,
    gave,
    image,
    output,
    said,
    system,
    text,
    user,
)
from partstream import ChatMessage, DataPart, TextPart, ThinkingPart
from partstream.conversation.preparation import RequestSettings, SystemAs, ToolImages
from partstream.conversation.turns import MISSING_RESULT


class Row(NamedTuple):
    messages: list[ChatMessage]
    items: list[dict[str, Any]]
    settings: RequestSettings = RequestSettings()


NATIVE = RequestSettings(tool_images=ToolImages.NATIVE)
PIXEL, PAPER = DataPart(PNG, "image/png"), DataPart(PDF, "application/pdf")
PNG_URL = f"data:image/png;base64,{b64encode(PNG).decode()}"
PDF_URL = f"data:application/pdf;base64,{b64encode(PDF).decode()}"
LONG = "toolu_" + "x" * 90
LONG_SENT = "toolu_" + "x" * 41 + "_287b83f1baff03c9"
SHOWN = "[image 1 of the next user message]"


def tool_round(*content: TextPart | DataPart | str, is_error: bool = False) -> list[ChatMessage]:
    return [assistant([called()]), user([gave("gw-1", *content, is_error=is_error)])]


TEXT = {
    "a question": Row([user("Hi")], [asked("Hi")]),
    "a conversation": Row([user("Hi"), assistant("Ho"), user("Hm")], [asked("Hi"), said("Ho"), asked("Hm")]),
    "texts of one message": Row([user([TextPart("a"), TextPart("b")])], [asked("a", "b")]),
    "messages of one speaker, one after the other": Row([user("a"), user("b")], [asked("a"), asked("b")]),
    "empty text": Row([user([TextPart(""), TextPart("Hi")]), assistant("")], [asked("Hi")]),
    "white space is text": Row([user([TextPart(" "), TextPart("\n")])], [asked(" ", "\n")]),
    "an empty message": Row([user([])], []),
    "half a character": Row([user("a\ud83d"), user("\ud83d\udc4b")], [asked("a\ufffd"), asked("👋")]),
}

DATA = {
    "an image between texts": Row([user([TextPart("a"), PIXEL, TextPart("b")])], [asked("a", image(PNG_URL), "b")]),
    "PNG bytes under the label of a JPEG": Row([user([DataPart(PNG, "image/jpeg")])], [asked(image(PNG_URL))]),
    "an image without a label": Row([user([DataPart(PNG, "application/octet-stream")])], [asked(image(PNG_URL))]),
    "an image under any label": Row([user([DataPart(PNG, "image/*")])], [asked(image(PNG_URL))]),
    "an image of a format that is not known": Row(
        [user([DataPart(b"\x01\x02", "image/x-odd")])], [asked(image("data:image/x-odd;base64,AQI="))]
    ),
    "a PDF": Row([user([PAPER])], [asked(file("file.pdf", PDF_URL))]),
    "a PDF under the label of a text": Row([user([DataPart(PDF, "text/plain")])], [asked(file("file.pdf", PDF_URL))]),
    "sound": Row(
        [user([DataPart(b"OggS\0", "audio/ogg")])], [asked(file("file.ogg", "data:audio/ogg;base64,T2dnUwA="))]
    ),
    "bytes of no known kind": Row(
        [user([DataPart(b"\x00\x01", "text/plain")])],
        [asked(file("file.bin", "data:application/octet-stream;base64,AAE="))],
    ),
    "a JSON document": Row([user([DataPart.json({"a": 1})])], [asked('{"a":1}')]),
    "JSON under another name": Row([user([DataPart(b"[]", "application/ld+json")])], [asked("[]")]),
    "a text document": Row([user([DataPart.text("# Title", "text/markdown; charset=utf-8")])], [asked("# Title")]),
    "a drawing is text": Row([user([DataPart(b"<svg/>", "image/svg+xml")])], [asked("<svg/>")]),
    "a text document of the assistant": Row([assistant([DataPart.text("x")]), user("Hi")], [said("x"), asked("Hi")]),
    "an image of the assistant": Row(
        [user("Draw"), assistant([TextPart("Here"), PIXEL]), user("Nice")],
        [asked("Draw"), said("Here"), asked("[shown by the assistant]", image(PNG_URL)), asked("Nice")],
    ),
    "an image of the assistant beside a call": Row(
        [assistant([PIXEL, called()]), user([gave("gw-1", "x")])],
        [call(), output("1", "x"), asked("[shown by the assistant]", image(PNG_URL))],
    ),
    "an image in a system message": Row([system([PIXEL]), user("Hi")], [asked(image(PNG_URL)), asked("Hi")]),
}

TOOLS = {
    "a call and its result": Row(
        [assistant([called("gw-call_1", "get_weather", city="Zürich")]), user([gave("gw-call_1", "12 °C")])],
        [call("call_1", "get_weather", '{"city":"Zürich"}'), output("call_1", "12 °C")],
    ),
    "text around calls, in order": Row(
        [
            assistant([TextPart("a"), called("gw-1", "f"), TextPart("b"), called("gw-2", "g")]),
            user([gave("gw-1"), gave("gw-2")]),
        ],
        [said("a"), call("1", "f"), said("b"), call("2", "g"), output("1"), output("2")],
    ),
    "a result two messages later": Row(
        [assistant([called()]), user("Wait"), user([gave("gw-1", "x")])],
        [call(), asked("Wait"), output("1", "x")],
    ),
    "results before text in one message": Row(
        [assistant([called("gw-1"), called("gw-2")]), user([gave("gw-1"), gave("gw-2"), TextPart("and?")])],
        [call("1"), call("2"), output("1"), output("2"), asked("and?")],
    ),
    "a result in pieces": Row(tool_round("a", "b"), [call(), output("1", "a\nb")]),
    "a result of JSON": Row(tool_round(DataPart.json([1])), [call(), output("1", "[1]")]),
    "a result without content": Row(tool_round(), [call(), output("1", "")]),
    "a result of an empty text": Row(tool_round(""), [call(), output("1", "")]),
    "a result that is a failure": Row(
        tool_round("no such file", is_error=True), [call(), output("1", "The tool failed: no such file")]
    ),
    "a failure that says nothing": Row(
        tool_round(is_error=True), [call(), output("1", "The tool failed and did not say why.")]
    ),
    "a result of an image alone": Row(tool_round(PIXEL), [call(), output("1", SHOWN), asked(image(PNG_URL))]),
    "a result with an image": Row(
        [*tool_round("look", PIXEL), user("And?")],
        [call(), output("1", f"look\n{SHOWN}"), asked(image(PNG_URL)), asked("And?")],
    ),
    "images in two results that follow each other": Row(
        [
            assistant([called("gw-1"), called("gw-2")]),
            user([gave("gw-1", PIXEL)]),
            user([gave("gw-2", DataPart(JPEG, "image/jpeg"))]),
        ],
        [
            call("1"),
            call("2"),
            output("1", SHOWN),
            output("2", "[image 2 of the next user message]"),
            asked(image(PNG_URL), image(f"data:image/jpeg;base64,{b64encode(JPEG).decode()}")),
        ],
    ),
    "a result with an image, where the server takes it": Row(
        tool_round("look", PIXEL), [call(), output("1", [text("look"), image(PNG_URL)])], NATIVE
    ),
    "a result of a PDF, where the server takes it": Row(
        tool_round(PAPER), [call(), output("1", [file("file.pdf", PDF_URL)])], NATIVE
    ),
    "a failure with an image, where the server takes it": Row(
        tool_round(PIXEL, is_error=True), [call(), output("1", [text("The tool failed: "), image(PNG_URL)])], NATIVE
    ),
    "a result of a PDF": Row(
        tool_round(PAPER),
        [call(), output("1", "[file 1 of the next user message]"), asked(file("file.pdf", PDF_URL))],
    ),
    "a result in a message of the assistant": Row(
        [assistant([called(), gave("gw-1", "x"), TextPart("So")])], [call(), output("1", "x"), said("So")]
    ),
    "an orphan result": Row([user([gave("gw-9", "x")])], [call("9", "unknown_tool"), output("9", "x")]),
    "an orphan among results": Row(
        [assistant([called()]), user([gave("gw-1", "a")]), user([gave("gw-9", "b")])],
        [call(), call("9", "unknown_tool"), output("1", "a"), output("9", "b")],
    ),
    "a result before its call": Row(
        [user([gave("gw-1", "early")]), assistant([called()])],
        [
            call("1", "unknown_tool"),
            output("1", "early"),
            call("1_524458491951e0ab"),
            output("1_524458491951e0ab", MISSING_RESULT),
        ],
    ),
    "a call without a result": Row(
        [user("Hi"), assistant([called()]), user("Never mind")],
        [asked("Hi"), call(), output("1", MISSING_RESULT), asked("Never mind")],
    ),
    "one of two calls without a result": Row(
        [assistant([called("gw-1"), called("gw-2")]), user([gave("gw-2", "b")])],
        [call("1"), call("2"), output("1", MISSING_RESULT), output("2", "b")],
    ),
    "an id of another program": Row(
        [assistant([called("toolu_gw-1")]), user([gave("toolu_gw-1")])], [call("toolu_gw-1"), output("toolu_gw-1")]
    ),
    "an id with our prefix twice": Row(
        [assistant([called("gw-gw-1")]), user([gave("gw-gw-1")])], [call("gw-1"), output("gw-1")]
    ),
    "an id of more than 64 characters": Row(
        [assistant([called(LONG)]), user([gave(LONG, "x")])], [call(LONG_SENT), output(LONG_SENT, "x")]
    ),
    "a name that servers refuse": Row(
        [assistant([called("gw-1", "mcp.find/it")]), user([gave("gw-1", "x")])],
        [call("1", "mcp_find_it_7c8f5051"), output("1", "x")],
    ),
}

MARKS = {
    "marks of the host": Row(
        [
            user([TextPart("Hi"), DataPart(b"ephemeral", "cache_control")]),
            assistant([DataPart(b"other\\resp_1", "stateful_marker"), TextPart("Ho"), DataPart(b"{}", "usage")]),
            user(
                [DataPart(b"opaque", "thinking"), DataPart(b"x", "phase_data"), DataPart(b"{}", "context_management")]
            ),
        ],
        [asked("Hi"), said("Ho")],
    ),
    "marks of unknown vendors": Row(
        [user([TextPart("Hi"), DataPart(b"{}", "acme_state"), DataPart(b"{}", "application/vnd.vscode.state+json")])],
        [asked("Hi")],
    ),
    "a mark in a result": Row(tool_round("x", DataPart(b"ephemeral", "cache_control")), [call(), output("1", "x")]),
    "a document of a vendor": Row(
        [user([DataPart(b"PK\x03\x04", "application/vnd.openxmlformats-officedocument.wordprocessingml.document")])],
        [
            asked(
                file(
                    "file.docx",
                    "data:application/vnd.openxmlformats-officedocument.wordprocessingml.document;base64,UEsDBA==",
                )
            )
        ],
    ),
    "thinking of another program": Row(
        [user("?"), assistant([ThinkingPart("hm", "rs_1", {"encrypted_content": "e"}), TextPart("Ho")])],
        [asked("?"), said("Ho")],
    ),
    "thinking alone": Row([assistant([ThinkingPart("hm")]), user("Hi")], [asked("Hi")]),
}

DEVELOPER, SYSTEM = RequestSettings(system_as=SystemAs.DEVELOPER), RequestSettings(system_as=SystemAs.SYSTEM)


def told(role: str, value: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [text(value)]}


ROLES = {
    "system messages are no items": Row([system("Be brief."), user("Hi"), system("Be kind.")], [asked("Hi")]),
    "system messages as items of the developer": Row(
        [system("Be brief."), user("Hi"), system("Be kind.")],
        [told("developer", "Be brief."), asked("Hi"), told("developer", "Be kind.")],
        DEVELOPER,
    ),
    "system messages as items of the system": Row(
        [system("Be brief."), user("Hi")], [told("system", "Be brief."), asked("Hi")], SYSTEM
    ),
    "leading words of the assistant are instructions": Row(
        [assistant("You are a pirate."), user("Hi")], [told("system", "You are a pirate."), asked("Hi")], SYSTEM
    ),
    "a greeting stays a greeting": Row(
        [assistant("Hello! How can I help you today?"), user("Hi")],
        [said("Hello! How can I help you today?"), asked("Hi")],
    ),
    "a greeting after the user stays one": Row(
        [user("Hi"), assistant("You are welcome."), user("Ho")], [asked("Hi"), said("You are welcome."), asked("Ho")]
    ),
    "leading words beside a system message stay the assistant's": Row(
        [system("Be brief."), assistant("Answer in French."), user("Hi")], [said("Answer in French."), asked("Hi")]
    ),
}

ROWS = TEXT | DATA | TOOLS | MARKS | ROLES
