"""Minimal failures as files: what broke, the exercise that breaks it, and what happened; read back without Hypothesis.

A file is a transcript with the name of the promise, so that whatever opens transcripts opens it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from partstream._version import __version__
from partstream.devtools.conformance.checks import CONTRACT_VERSION
from partstream.devtools.conformance.exercises import Exercise, promise_of
from partstream.errors import CallerError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from partstream.codec.redaction import Redactor
    from partstream.conformance.fuzzing import Failure
    from partstream.devtools.conformance.targets import Tested

__all__ = ["FOLDER", "FailureFileError", "failure_json", "failure_path", "read_failure", "write_failure"]

FOLDER: Final = "conformance-failures"
"""The folder of the files, below the one where the command runs."""


class FailureFileError(CallerError):
    """A file is no kept failure.

    Attributes:
        path: Which one.
        reason: What is wrong with it, and what was expected.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"cannot read the failure {path}: {reason}")
        self.path = path
        self.reason = reason


def failure_path(folder: Path, promise: str) -> Path:
    """The file of a broken promise."""
    return folder / f"{promise}.json"


def failure_json(tested: Tested, failure: Failure) -> dict[str, Any]:
    """A failure as JSON values."""
    finding = failure.finding
    facts = {
        "kit": __version__,
        "contract": CONTRACT_VERSION,
        "target": tested.target.description.to_json(),
        "promise": failure.promise,
        "got": finding.detail,
        "answer": finding.answer,
        "index": finding.index,
        "shrunk": {"from": failure.size_before, "to": failure.exercise.size},
        "failed": {"failed": failure.failed, "of": failure.repetitions},
        "relation": failure.exercise.relation.value,
    }
    return failure.exercised.transcript.to_json(**facts)


def write_failure(folder: Path, tested: Tested, failure: Failure, redactor: Redactor) -> Path:
    """Keeps a failure in `folder`, in the place of an older one of the same promise.

    Raises:
        OSError: The file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = failure_path(folder, failure.promise)
    said = redactor.redact_values(failure_json(tested, failure), names=True)
    path.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    return path


def read_failure(path: Path) -> tuple[str, Exercise]:
    """The promise that a kept failure is about, and the exercise that breaks it.

    Raises:
        FailureFileError: The file cannot be read, or holds something else.
    """
    try:
        value: Mapping[str, Any] = json.loads(path.read_bytes())
    except OSError as error:
        raise FailureFileError(str(path), error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise FailureFileError(str(path), f"it is no JSON ({error})") from error
    promise = value.get("promise") if isinstance(value, dict) else None
    try:
        promise_of(str(promise))
        return str(promise), Exercise.from_json(value)
    except KeyError as error:
        raise FailureFileError(
            str(path), f"promise: got {str(promise)[:80]!r}, expected the id of a promise"
        ) from error
    except CallerError as error:
        raise FailureFileError(str(path), str(error)) from error
