"""Serves providers to programs of any kind, over the wires that they speak, as one ASGI application.

::

    from partstream.server import ServingSettings, app

    application = app(provider)  # for uvicorn, granian, hypercorn, or a mount in Starlette and FastAPI

Each name is loaded at its first use: :mod:`partstream.server.loopback` and :mod:`partstream.server.listening` need no
application.
"""

from __future__ import annotations
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import partstream.codec.silent_log  # noqa: F401 - for its effect

if TYPE_CHECKING:
    from partstream.server.application import Providers, ServingApp, app
    from partstream.server.settings import ServingSettings

__all__ = ["Providers", "ServingApp", "ServingSettings", "app"]

_MODULES: Final = {
    "Providers": "partstream.server.application",
    "ServingApp": "partstream.server.application",
    "ServingSettings": "partstream.server.settings",
    "app": "partstream.server.application",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
