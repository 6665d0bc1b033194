"""Runs any-llm's gateway with a key that is known before; runs in its environment.

`python any_llm_gateway.py CONFIG PORT KEY`. It makes a random key when it first starts, and logs it.
"""

import sys

import uvicorn
from any_llm.gateway.core.config import load_config  # type: ignore[import-not-found]
from any_llm.gateway.main import create_app  # type: ignore[import-not-found]
from any_llm.gateway.services import bootstrap_service  # type: ignore[import-not-found]

if __name__ == "__main__":
    config, port, key = sys.argv[1:]
    bootstrap_service.generate_api_key = lambda: key
    uvicorn.run(create_app(load_config(config)), host="127.0.0.1", port=int(port))
