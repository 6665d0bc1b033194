"""Reads a server's list of models into records: keeps language models, and notes entries that cannot be read.

Knows how lists are wrapped and which entries are usable; :mod:`partstream.upstream.model_shapes` reads the entries.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from partstream.errors import UpstreamProtocolError
from partstream.upstream.model_facts import Fields, ModelRecord, Problem, Source, merged
from partstream.upstream.model_shapes import SHAPES, shape_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from partstream.upstream.model_shapes import DetailKind, Shape

__all__ = ["Catalogue", "CatalogueEntry", "read_catalogue", "with_further_list", "with_native_list"]

_MAX_ENTRIES: Final = 5000
_MAX_ID: Final = 500
_BARE: Final = SHAPES[-1].name


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One language model of a list.

    Attributes:
        record: The model's record from the list.
        details: The source of the server's details about the model, or None.
    """

    record: ModelRecord
    details: DetailKind | None = None


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The content of a list.

    Attributes:
        entries: The language models by id, in the order of the list.
        others: The ids of models that are declared to be of another kind.
        problems: Sentences about values that could not be read; the named entries are left out or lack a fact.
        shapes: The names of the entries' shapes.
    """

    entries: Mapping[str, CatalogueEntry]
    others: frozenset[str] = frozenset()
    problems: tuple[Problem, ...] = ()
    shapes: frozenset[str] = frozenset()

    @property
    def is_bare(self) -> bool:
        """Whether the list has no limits, so that the server's native list may have more facts."""
        known = any(entry.record.context_window is not None for entry in self.entries.values())
        return bool(self.entries) and not known and self.shapes <= {_BARE}


def read_catalogue(document: Any) -> Catalogue:
    """Reads the JSON value of a list: `{data: [...]}`, `{models: [...]}` or the list alone.

    Raises:
        UpstreamProtocolError: `document` is none of these.
    """
    items, place = _items(document)
    problems: list[Problem] = []
    entries: dict[str, CatalogueEntry] = {}
    others: set[str] = set()
    shapes: set[str] = set()
    if len(items) > _MAX_ENTRIES:
        problems.append(Problem(place, f"{len(items)} entries", f"at most {_MAX_ENTRIES}; the rest is left out"))
    for number, item in enumerate(items[:_MAX_ENTRIES]):
        where = f"{place}[{number}]"
        if not isinstance(item, dict):
            problems.append(Problem(where, item, "an object"))
            continue
        fields = Fields(item, where, Source.LIST, problems)
        shape = shape_of(fields)
        model_id = _id_of(item, where, shape, problems)
        if model_id is None:
            continue
        if not shape.is_language(fields):
            others.add(model_id)
        elif model_id in entries:
            problems.append(Problem(f"{where}.{shape.id_fields[0]}", model_id, "an id that no earlier entry has"))
        else:
            shapes.add(shape.name)
            entries[model_id] = CatalogueEntry(shape.record(fields, model_id), shape.details)
    return Catalogue(entries, frozenset(others), tuple(problems), frozenset(shapes))


def with_native_list(catalogue: Catalogue, native: Catalogue) -> Catalogue:
    """A bare list with the facts of the server's native list about the same models.

    Only the bare list determines which models can be used: the native list may hold models that only the native API
    serves.
    """
    entries = {
        model_id: _with_native_entry(entry, native.entries.get(model_id))
        for model_id, entry in catalogue.entries.items()
        if model_id not in native.others
    }
    return replace(
        catalogue,
        entries=entries,
        others=catalogue.others | (catalogue.entries.keys() & native.others),
        problems=catalogue.problems + native.problems,
        shapes=catalogue.shapes | native.shapes,
    )


def with_further_list(catalogue: Catalogue, further: Catalogue) -> Catalogue:
    """A list with the facts that it lacks about its models and that another list has."""
    entries = {
        model_id: replace(entry, record=merged(other.record, entry.record))
        if (other := further.entries.get(model_id)) is not None
        else entry
        for model_id, entry in catalogue.entries.items()
    }
    return replace(catalogue, entries=entries)


def _with_native_entry(entry: CatalogueEntry, native: CatalogueEntry | None) -> CatalogueEntry:
    if native is None:
        return entry
    return CatalogueEntry(merged(entry.record, native.record), native.details or entry.details)


def _items(document: Any) -> tuple[list[Any], str]:
    if isinstance(document, list):
        return document, "list"
    for name in ("data", "models"):
        value = document.get(name) if isinstance(document, dict) else None
        if isinstance(value, list):
            return value, name
    # Ollama sends null if it has no models.
    if isinstance(document, dict) and document.get("object") == "list" and document.get("data") is None:
        return [], "data"
    raise UpstreamProtocolError(
        event_type="the list of models", field="data", got=f"{document!r:.80}", expected="a list of models"
    )


def _id_of(item: dict[str, Any], where: str, shape: Shape, problems: list[Problem]) -> str | None:
    """The id of an entry; None, and a note, if the entry has no usable id."""
    model_id = next((item[name] for name in shape.id_fields if item.get(name) is not None), None)
    place = f"{where}.{shape.id_fields[0]}"
    if not isinstance(model_id, str) or not model_id.strip():
        problems.append(Problem(place, model_id, "the id of a model"))
    elif len(model_id) > _MAX_ID or not model_id.isprintable():
        problems.append(Problem(place, model_id, f"at most {_MAX_ID} printable characters"))
    elif "*" in model_id:
        problems.append(
            Problem(place, model_id, "the id of one model, no pattern")
        )  # LiteLLM lists its routes: openai/*
    else:
        return model_id.removeprefix(shape.id_prefix) or model_id
    return None
