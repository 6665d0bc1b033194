"""From the answers of a server to the records of its models, and to the questions that are still to be asked.

Pure: the same answers give the same records. When to ask is decided in :mod:`partstream.models.discovery`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from partstream.errors import UpstreamProtocolError
from partstream.models.catalogue import CatalogueEntry, read_catalogue, with_native_list
from partstream.models.details import detail_request, read_detail
from partstream.models.records import merged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from partstream.models.answers import Answer
    from partstream.models.catalogue import Catalogue
    from partstream.models.records import ModelRecord

__all__ = ["Composition", "Question", "compose", "list_question"]

_NATIVE_LISTS: Final = ("/api/v0/models", "/api/tags")
"""Where LM Studio and Ollama list more than OpenAI's fields; asked for when a list has no more than those."""
_VERSION: Final = "/v1"


@dataclass(frozen=True, slots=True)
class Question:
    """One request.

    Attributes:
        key: By which its answer is kept.
        path: Where to ask, from the root of the host.
        body: What to post, or None for a GET.
    """

    key: str
    path: str
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Composition:
    """What the answers say together.

    Attributes:
        records: The language models, in the order of the list.
        questions: What is worth asking besides, answered or not.
        problems: What could not be read, in sentences.
    """

    records: tuple[ModelRecord, ...]
    questions: tuple[Question, ...]
    problems: tuple[str, ...]


def list_question(base_path: str) -> Question:
    """The question for the list itself.

    Args:
        base_path: The path of the base URL, such as `/v1`.
    """
    path = f"{base_path.rstrip('/')}/models"
    return Question(path, path)


def compose(answers: Mapping[str, Answer], base_path: str, is_wanted: Callable[[str], bool]) -> Composition:
    """Reads all answers.

    Args:
        answers: What was answered, by key; that of :func:`list_question` is there.
        base_path: As in :func:`list_question`.
        is_wanted: Whether a model is offered: about others nothing more is asked.

    Raises:
        UpstreamProtocolError: The list is none.
    """
    catalogue = read_catalogue(answers[list_question(base_path).key].document)
    questions: list[Question] = []
    problems: list[str] = [*catalogue.problems]
    for native in _native_questions(catalogue, base_path):
        questions.append(native)
        catalogue = _with_native(catalogue, native, answers, problems)
    records = []
    for model_id, entry in catalogue.entries.items():
        question = _detail_question(model_id, entry, base_path) if is_wanted(model_id) else None
        if question is not None:
            questions.append(question)
        record = _with_details(entry, question, answers, problems)
        if record is not None:
            records.append(record)
    return Composition(tuple(records), tuple(questions), tuple(problems))


def _native_questions(catalogue: Catalogue, base_path: str) -> Iterator[Question]:
    root = _root(base_path)
    if root is None or not catalogue.is_bare:
        return
    for path in _NATIVE_LISTS:
        yield Question(root + path, root + path)


def _root(base_path: str) -> str | None:
    """What stands before `/v1`, where a server has its own API."""
    path = base_path.rstrip("/")
    return path.removesuffix(_VERSION) if path.endswith(_VERSION) else None


def _with_native(
    catalogue: Catalogue, question: Question, answers: Mapping[str, Answer], problems: list[str]
) -> Catalogue:
    answer = answers.get(question.key)
    if answer is None or answer.document is None:
        return catalogue
    try:
        native = read_catalogue(answer.document)
    except UpstreamProtocolError:
        return catalogue  # no such list there: many servers answer any path with something
    problems += native.problems
    return with_native_list(catalogue, native)


def _detail_question(model_id: str, entry: CatalogueEntry, base_path: str) -> Question | None:
    request = detail_request(entry.details, model_id) if entry.details is not None else None
    if request is None:
        return None
    root = _root(base_path) if request.is_native else base_path.rstrip("/")
    if root is None:
        return None
    path = root + request.path
    return Question(path if request.body is None else f"{path} {model_id}", path, request.body)


def _with_details(
    entry: CatalogueEntry, question: Question | None, answers: Mapping[str, Answer], problems: list[str]
) -> ModelRecord | None:
    """The record with what was answered about the model itself; None when it is no language model."""
    answer = answers.get(question.key) if question is not None else None
    if answer is None or answer.document is None or entry.details is None:
        return entry.record
    try:
        better, found = read_detail(entry.details, entry.record.id, answer.document)
    except UpstreamProtocolError as error:
        problems.append(f"{entry.record.id}: {error}")
        return entry.record
    problems += found
    return None if better is None else merged(entry.record, better)
