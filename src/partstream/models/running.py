"""Reads which models a local server has loaded, and with which windows: `GET /api/ps`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from partstream.upstream.model_facts import Fact, Fields, ModelRecord, Problem, Source

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["read_running", "with_running_window"]


def read_running(document: Any) -> tuple[Mapping[str, Fact[int]], tuple[Problem, ...]]:
    """The windows with which models are loaded now, by id, and the problems; nothing in what is no such list."""
    listed = document.get("models") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        return {}, ()
    problems: list[Problem] = []
    windows: dict[str, Fact[int]] = {}
    for fields in Fields(document, "ps", Source.DETAILS, problems).objects("models"):
        window = fields.tokens("context_length")
        for model_id in {fields.text("model"), fields.text("name")} - {None}:
            if window is not None and model_id is not None:
                windows[model_id] = Fact(window.value, Source.DETAILS, "ps context_length")
    return windows, tuple(problems)


def with_running_window(record: ModelRecord, window: Fact[int] | None) -> ModelRecord:
    """The record with the window of the loaded model, where the model itself names none."""
    if window is None or record.loaded_window is not None:
        return record
    return replace(record, context_window=window, loaded_window=window)
