"""What an answer depends on in a conversation, however its wire cuts the messages."""

from conversation.samples import PDF, PNG, assistant, called, gave, system, user
from partstream import DataPart, TextPart
from partstream_devtools.testing.directives import ToolOutput, new_images, tool_outputs, user_text
from rows import one_test_for

PICTURE = DataPart(PNG, "image/png")
ADDRESS = DataPart.text("https://example.com/cat.jpg", "text/uri-list")


@one_test_for(
    ("messages", "expected"),
    [
        ([], ""),
        ([system("rules")], ""),
        ([user("one"), assistant("two"), user("three")], "three"),
        ([user("one"), user("two")], "one\ntwo"),
        ([user([TextPart("o"), TextPart("ne")])], "one"),
        ([user("one"), user([PICTURE])], "one"),
        ([user("one"), assistant([called("c")]), user([gave("c", "given")])], "one"),
        ([assistant([called("c")]), user([gave("c", "given"), TextPart("two")])], "two"),
        ([user("one"), assistant("two"), user([PICTURE]), user([TextPart("")])], "one"),
    ],
)
def test_the_text_of_the_user_is_that_of_the_last_run_that_has_any(messages, expected):
    assert user_text(messages) == expected


@one_test_for(
    ("messages", "expected"),
    [
        ([user("one")], []),
        ([user("one"), assistant([called("c", "f")]), user([gave("c", "a", "b")])], [ToolOutput("c", "f", "ab")]),
        (
            [user("one"), assistant([called("c", "f")]), user([gave("c", "1")]), user([gave("d", "2")])],
            [ToolOutput("c", "f", "1"), ToolOutput("d", None, "2")],
        ),
        ([assistant([called("c")]), user([gave("c", "1"), TextPart("two")])], []),
        ([assistant([called("c")]), user([gave("c", "1")]), user("two")], []),
        ([user([TextPart("one"), PICTURE, gave("c", "1")])], [ToolOutput("c", None, "1")]),
    ],
)
def test_what_tools_gave_since_the_last_text_of_the_user_is_found_with_their_names(messages, expected):
    assert list(tool_outputs(messages)) == expected


@one_test_for(
    ("messages", "expected"),
    [
        ([user("one")], []),
        ([user([PICTURE, DataPart(PDF, "application/pdf")])], [f"image/png, {len(PNG)} bytes"]),
        ([user([ADDRESS])], ["https://example.com/cat.jpg"]),
        ([user([PICTURE]), assistant("seen"), user("and?")], []),
        ([assistant([called("c")]), user([gave("c", PICTURE)]), user([ADDRESS])], [f"image/png, {len(PNG)} bytes"]),
    ],
)
def test_images_are_those_since_the_last_answer(messages, expected):
    assert list(new_images(messages))[: len(expected)] == expected
    assert bool(new_images(messages)) == bool(expected)
