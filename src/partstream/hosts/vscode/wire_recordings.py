"""The shapes of recorded answers, as TypedDicts.

Part of :mod:`partstream.hosts.vscode.wire`, which exports them; evaluated at import, as that module is.
"""

from typing import Literal, NotRequired, TypedDict

__all__ = [
    "DidRecordParams",
    "InspectParams",
    "InspectResult",
    "RecordNextParams",
    "RecordedFile",
    "ShareForm",
    "ShareParams",
    "SharePreviewParams",
    "SharePreviewResult",
    "ShareResult",
]


class RecordedFile(TypedDict):
    """A recording as a file, without keys; texts are in it.

    `path` is the file, a `.partstream.zip` in the user's data folder. `model` is the model that was asked and `outcome`
    how its answer ended, null while it goes on; of several answers, those of the last. `answers` is how many there are.
    """

    path: str
    model: str | None
    outcome: Literal["completed", "incomplete", "failed", "truncated", "cancelled"] | None
    answers: int


class RecordNextParams(TypedDict):
    """Whether the next answer is recorded. Answers that begin while one is being recorded are recorded with it."""

    isOn: bool


class DidRecordParams(TypedDict):
    """A recording that was asked for has ended; `problem` says in a sentence why it is in no file."""

    recording: RecordedFile | None
    problem: str | None


class InspectParams(TypedDict):
    """Which answers to show, and for which webview.

    `path` is the file of a recording; null stands for the last answer in memory. `nonce` and `source` are those of
    `PageParams`.
    """

    nonce: str
    source: str
    path: str | None


class InspectResult(TypedDict):
    """A page as one HTML document; null where there is no answer. `isOff` tells that a setting wants none kept."""

    html: str | None
    isOff: bool


class SharePreviewParams(TypedDict):
    """The recording to share: its file, or null for the answer that was inspected last.

    With `isLast` true null stands for the last answer in memory as it is now, whatever was inspected.
    """

    path: str | None
    isLast: NotRequired[bool]


class ShareForm(TypedDict):
    """A form in which a recording can be shared: its name, and the endings of its files, without the dot."""

    name: str
    endings: list[str]


class SharePreviewResult(TypedDict):
    """What a file to share will hold, in words, and the forms that it may have.

    The words are empty where `isLast` was asked for and no answer is in memory.
    """

    preview: str
    forms: list[ShareForm]


class ShareParams(TypedDict):
    """The recording to share, as for the preview, and the name of the file, whose ending says its form.

    With `isLast` true it is the answer of the last preview that asked for it.
    """

    path: str | None
    isLast: NotRequired[bool]
    name: str


class ShareResult(TypedDict):
    """The whole file, in base64, without keys and texts."""

    content: str
