"""Serves providers to programs of any kind, over the wires that they speak, as one ASGI application.

::

    from partstream.server import ServingSettings, app

    application = app(provider)  # for uvicorn, granian, hypercorn, or a mount in Starlette and FastAPI
"""

import partstream.codec.silent_log  # noqa: F401 - for its effect
from partstream.server.application import Providers, ServingApp, app
from partstream.server.settings import ServingSettings

# From here on `partstream.server.application` is the function; `from partstream.server.application import` still finds
# the module.

__all__ = ["Providers", "ServingApp", "ServingSettings", "app"]
