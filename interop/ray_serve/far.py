"""The same provider with resources of its own: on Ray, it runs in a deployment apart from the application."""

from __future__ import annotations
from typing import Final

from interop.ray_serve.near import Told

__all__ = ["FAR_MODEL", "provider"]

FAR_MODEL: Final = "told-far"


class _Far(Told):
    resources = {"num_cpus": 0.25}  # noqa: RUF012 - as people write it


provider = _Far(FAR_MODEL)
