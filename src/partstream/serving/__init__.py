"""Serves providers to programs of any kind, over the wires that they speak, as one ASGI application.

::

    from partstream.serving.app import app

    application = app(provider)  # for uvicorn, granian, hypercorn, or a mount in Starlette and FastAPI
"""
