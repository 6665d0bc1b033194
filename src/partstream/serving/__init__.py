"""Serves providers to programs of any kind, over the wires that they speak, as one ASGI application.

::

    from partstream.serving import ServingSettings, app

    application = app(provider)  # for uvicorn, granian, hypercorn, or a mount in Starlette and FastAPI
"""

import partstream.codec.system  # noqa: F401 - for its effect

# From here on `partstream.serving.app` is the function; `from partstream.serving.app import` still finds the module.
from partstream.serving.app import Providers, ServingApp, app
from partstream.serving.settings import ServingSettings

__all__ = ["Providers", "ServingApp", "ServingSettings", "app"]
