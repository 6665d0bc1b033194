"""Makes the records of a server's models from the server's answers, and the list of further questions.

Pure: the same answers give the same records. :mod:`partstream.models.discovery` decides when to ask.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from partstream.errors import UpstreamProtocolError
from partstream.models.catalogue import CatalogueEntry, read_catalogue, with_further_list, with_native_list
from partstream.upstream.model_facts import merged
from partstream.upstream.model_shapes import (
    RUNNING_PATHS,
    detail_request,
    read_detail,
    read_running,
    with_running_window,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from partstream.models.catalogue import Catalogue
    from partstream.models.kept_answers import CachedAnswer
    from partstream.upstream.model_facts import Fact, ModelRecord

__all__ = [
    "MODELS_PATH",
    "Composition",
    "FactRequest",
    "compose",
    "has_list",
    "list_question",
    "list_questions",
]

_NATIVE_LISTS: Final = (
    ("/api/v0/models", None),
    ("/api/tags", None),
    ("/model/info", None),
    ("/v1/language-models", "xai"),
)
"""The native lists of LM Studio, Ollama, LiteLLM's proxy and xAI, requested if a list has only OpenAI's fields; and who
has to own one of the models for it, or None."""
_VERSION: Final = "/v1"
_NATIVE: Final = "/api"
"""The end of the base path of a native API, whose root is before it, like that of `/v1`."""
MODELS_PATH: Final = "/models"
"""Where nearly every server lists its models, below the path of the base URL."""


@dataclass(frozen=True, slots=True)
class FactRequest:
    """A request for facts about models.

    Attributes:
        key: The key under which the answer is kept.
        path: The path of the request, from the root of the host.
        body: The body of a POST, or None for a GET.
    """

    key: str
    path: str
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Composition:
    """The content of all answers together.

    Attributes:
        records: The language models, in the order of the list.
        questions: All further useful questions, answered or not.
        problems: Sentences about values that could not be read.
    """

    records: tuple[ModelRecord, ...]
    questions: tuple[FactRequest, ...]
    problems: tuple[str, ...]


def list_question(base_path: str, models_path: str = MODELS_PATH) -> FactRequest:
    """The question for the list itself.

    Args:
        base_path: The path of the base URL, such as `/v1`.
        models_path: Where the list is, below it.
    """
    path = f"{base_path.rstrip('/')}{models_path}"
    return FactRequest(path, path)


def list_questions(
    base_path: str, further_lists: Iterable[str] = (), models_path: str = MODELS_PATH
) -> tuple[FactRequest, ...]:
    """The questions for lists, best first: the first list with an answer determines the models.

    Args:
        base_path: The path of the base URL, such as `/v1`.
        further_lists: The paths of a protocol's further lists, from the root of the host.
        models_path: Where the first list is, below the path of the base URL.
    """
    return (list_question(base_path, models_path), *(FactRequest(path, path) for path in further_lists))


def has_list(answers: Mapping[str, CachedAnswer], questions: Iterable[FactRequest]) -> bool:
    """Whether one of the lists has an answer."""
    return any(_document(answers, question) is not None for question in questions)


def compose(
    answers: Mapping[str, CachedAnswer],
    base_path: str,
    is_wanted: Callable[[str], bool],
    further_lists: Iterable[str] = (),
    models_path: str = MODELS_PATH,
) -> Composition:
    """Reads all answers.

    Args:
        answers: The answers by key; at least one of :func:`list_questions` has an answer.
        base_path: The path of the base URL, such as `/v1`.
        is_wanted: Whether a model is offered; there are no further questions about other models.
        further_lists: As in :func:`list_questions`.
        models_path: As in :func:`list_questions`.

    Raises:
        UpstreamProtocolError: The list is not a list of models.
    """
    lists = list_questions(base_path, further_lists, models_path)
    chosen = next(question for question in lists if _document(answers, question) is not None)
    catalogue = read_catalogue(_document(answers, chosen))
    questions: list[FactRequest] = []
    problems: list[str] = [*catalogue.problems]
    for further in lists[1:]:
        questions.append(further)
        if further is not chosen:
            catalogue = _with_further(catalogue, further, answers, problems)
    for native in _native_questions(catalogue, base_path):
        questions.append(native)
        catalogue = _with_native(catalogue, native, answers, problems)
    running = _running_question(catalogue, base_path)
    questions += running
    windows = _windows(running, answers, problems)
    records = []
    for model_id, entry in catalogue.entries.items():
        question = _detail_question(model_id, entry, base_path) if is_wanted(model_id) else None
        if question is not None:
            questions.append(question)
        record = _with_details(entry, question, answers, problems)
        if record is not None:
            records.append(with_running_window(record, windows.get(model_id)))
    return Composition(tuple(records), tuple(questions), tuple(problems))


def _document(answers: Mapping[str, CachedAnswer], question: FactRequest) -> object | None:
    answer = answers.get(question.key)
    return None if answer is None else answer.document


def _with_further(
    catalogue: Catalogue, question: FactRequest, answers: Mapping[str, CachedAnswer], problems: list[str]
) -> Catalogue:
    """The list with the facts that it lacks about its models and that a further list has."""
    document = _document(answers, question)
    if document is None:
        return catalogue
    try:
        further = read_catalogue(document)
    except UpstreamProtocolError as error:
        problems.append(f"{question.path}: {error}")
        return catalogue
    problems += further.problems
    return with_further_list(catalogue, further)


def _native_questions(catalogue: Catalogue, base_path: str) -> Iterator[FactRequest]:
    root = _root(base_path)
    if root is None or not catalogue.is_bare:
        return
    owners = {entry.record.creator for entry in catalogue.entries.values()}
    for path, owner in _NATIVE_LISTS:
        if owner is None or owner in owners:
            yield FactRequest(root + path, root + path)


def _root(base_path: str) -> str | None:
    """The path before `/v1` or `/api`, which is the root of a server's native API; None without either."""
    path = base_path.rstrip("/")
    return next((path.removesuffix(end) for end in (_VERSION, _NATIVE) if path.endswith(end)), None)


def _running_question(catalogue: Catalogue, base_path: str) -> list[FactRequest]:
    """The question which models are loaded, at a server that says with which windows."""
    root = _root(base_path)
    kinds = {entry.details for entry in catalogue.entries.values() if entry.details is not None}
    paths = [RUNNING_PATHS[kind] for kind in kinds if kind in RUNNING_PATHS]
    return [FactRequest(root + path, root + path) for path in paths] if root is not None else []


def _windows(
    questions: Iterable[FactRequest], answers: Mapping[str, CachedAnswer], problems: list[str]
) -> Mapping[str, Fact[int]]:
    """The windows of the models that are loaded, by their ids."""
    windows: dict[str, Fact[int]] = {}
    for question in questions:
        if (document := _document(answers, question)) is not None:
            read, found = read_running(document)
            windows |= read
            problems += found
    return windows


def _with_native(
    catalogue: Catalogue, question: FactRequest, answers: Mapping[str, CachedAnswer], problems: list[str]
) -> Catalogue:
    answer = answers.get(question.key)
    if answer is None or answer.document is None:
        return catalogue
    try:
        native = read_catalogue(answer.document)
    except UpstreamProtocolError:
        return catalogue  # not a list: many servers answer any path with something
    problems += native.problems
    return with_native_list(catalogue, native)


def _detail_question(model_id: str, entry: CatalogueEntry, base_path: str) -> FactRequest | None:
    request = detail_request(entry.details, model_id) if entry.details is not None else None
    if request is None:
        return None
    root = _root(base_path) if request.is_native else base_path.rstrip("/")
    if root is None:
        return None
    path = root + request.path
    return FactRequest(path if request.body is None else f"{path} {model_id}", path, request.body)


def _with_details(
    entry: CatalogueEntry, question: FactRequest | None, answers: Mapping[str, CachedAnswer], problems: list[str]
) -> ModelRecord | None:
    """The record with the details of the model; None if the model is not a language model."""
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
