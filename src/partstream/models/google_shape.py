"""How Google describes its models, `GET /v1beta/models`; source: docs/wires/gemini.md#models-and-counting.

The list says limits and whether a model thinks. It says nothing of tools, images and files: so they are assumed by the
kind of model, which alone the id tells, and the source of these facts says so.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeVar

from partstream.models.shape import EFFORTS, Shape, has_any
from partstream.upstream.model_facts import Fact, Source

if TYPE_CHECKING:
    from partstream.upstream.model_facts import Fields

__all__ = ["GOOGLE_SHAPE"]

_Value = TypeVar("_Value")

_METHODS: Final = "supportedGenerationMethods"
_ANSWERS: Final = "generatecontent"
_NO_TOOLS: Final = re.compile(r"-image|-tts|/gemma-(?:[12][.-]|\d+b)")
_THINKS_HIGH: Final = re.compile(r"-3(?:\.1)?-(?:pro|flash)(?!-lite|-image)")
"""They think as much as they can by default; later ones a medium amount (docs/wires/gemini.md#thinking-config)."""
_NO_IMAGES: Final = re.compile(r"-tts|/gemma-(?:[12][.-]|\d+b)")


def _read(fields: Fields) -> dict[str, Any]:
    name, thinks = fields.text("name") or "", fields.boolean("thinking")
    levels = Fact(EFFORTS, fields.source, "thinking") if thinks is not None and thinks.value else None
    sees = _assumed(_NO_IMAGES.search(name) is None)
    return {
        "name": fields.text("displayName"),
        "description": fields.text("description"),
        "max_input_tokens": fields.tokens("inputTokenLimit"),
        "max_output_tokens": fields.tokens("outputTokenLimit"),
        "image_input": sees,
        "file_input": sees,
        "tool_calling": _assumed(_NO_TOOLS.search(name) is None),
        "reasoning": thinks,
        # Which levels a model takes, its protocol knows: each of these becomes one of them.
        "reasoning_efforts": levels,
        "usual_effort": _assumed("high") if levels is not None and _THINKS_HIGH.search(name) else None,
    }


def _assumed(value: _Value) -> Fact[_Value]:
    return Fact(value, Source.DEFAULT, "the kind of model")


def _is_language(fields: Fields) -> bool:
    return _ANSWERS in (fields.words(_METHODS) or ())


GOOGLE_SHAPE: Final = Shape("Google", has_any(_METHODS), _read, _is_language, ("name",), id_prefix="models/")
