"""Marks of the host: what is for programs, by its media type."""

from partstream.lm.inner_activity import ACTIVITY_MIME_TYPE
from partstream.lm.parts import KNOWN_MARKS, is_mark
from rows import one_test_for

MARKS = [*KNOWN_MARKS, "acme", "", "Usage", "application/vnd.vscode.x", "application/vnd.acme.state", "usage; v=1"]
MARKS += [ACTIVITY_MIME_TYPE, "application/vnd.partstream.x+json"]
CONTENT = [
    "text/plain",
    "image/png",
    "application/pdf",
    "application/json",
    "application/vnd.api+json",
    "application/vnd.ms-excel",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/octet-stream",
]


@one_test_for("mime_type", MARKS)
def test_marks(mime_type: str):
    assert is_mark(mime_type)


@one_test_for("mime_type", CONTENT)
def test_content(mime_type: str):
    assert not is_mark(mime_type)
