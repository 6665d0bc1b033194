"""Asks with `llm`, whose chain runs the loop: `llm_python.py BASE_URL KEY WAY`."""

from __future__ import annotations
import gc
import sys
from typing import Any

from lines import Told, serve
from llm import Model
from llm.default_plugins.openai_models import Chat


def ask(base_url: str, key: str, trial: dict[str, Any], told: Told) -> None:
    """Streams a chain: what `extra-openai-models.yaml` makes of a server."""
    model: Model = Chat("served", model_name=trial["model"], api_base=base_url, supports_tools=True)
    tools: list[Any] = [told.weather, told.time] if trial["asks"] == "tools" else []
    chain = model.chain(trial["says"], tools=tools, key=key)
    for response in chain.responses():
        pieces = iter(response)
        told.text = ""
        for piece in pieces:
            told.text += piece
            if told.text and trial["asks"] == "leave":
                pieces.close()
                return  # what the chain still holds goes with it
        usage = response.usage()
        told.tokens = None if usage.input is None or usage.output is None else [usage.input, usage.output]


if __name__ == "__main__":
    url, given, _ = sys.argv[1:]
    serve(lambda trial, told: (ask(url, given, trial, told), gc.collect())[0])
