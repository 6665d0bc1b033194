"""The shapes of recorded answers, as TypedDicts.

Part of :mod:`partstream.hosts.vscode.wire`, which exports them; evaluated at import, as that module is.
"""

from typing import Literal, TypedDict

__all__ = ["DidRecordParams", "LastAnswerResult", "RecordNextParams", "RecordedFile"]


class RecordedFile(TypedDict):
    """A recording as a file, without keys; texts are in it.

    `path` is the file, a `.partstream.zip` in the user's data folder. `model` is the model that was asked and `outcome`
    how its answer ended, null while it goes on; of several answers, those of the last. `answers` is how many there are.
    """

    path: str
    model: str | None
    outcome: Literal["completed", "incomplete", "failed", "truncated", "cancelled"] | None
    answers: int


class LastAnswerResult(TypedDict):
    """The last answer, written to a file; null where there is none. `isOff` tells that a setting wants none kept."""

    recording: RecordedFile | None
    isOff: bool


class RecordNextParams(TypedDict):
    """Whether the next answer is recorded. Answers that begin while one is being recorded are recorded with it."""

    isOn: bool


class DidRecordParams(TypedDict):
    """A recording that was asked for has ended; `problem` says in a sentence why it is in no file."""

    recording: RecordedFile | None
    problem: str | None
