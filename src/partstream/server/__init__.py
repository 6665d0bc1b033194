"""Serves providers to programs of any kind, over the wires that they speak, as one ASGI application.

::

    from partstream.server import ServingSettings, app

    application = app(provider)  # for uvicorn, granian, hypercorn, or a mount in Starlette and FastAPI
"""

import partstream.codec.system
from partstream.serving.app import Providers, ServingApp, app
from partstream.serving.settings import ServingSettings

# From here on `partstream.serving.app` is the function; `from partstream.serving.app import` still finds the module.

__all__ = ["Providers", "ServingApp", "ServingSettings", "app"]
