"""What docs/serving.md shows first is so: its model answers its request."""

from __future__ import annotations
import asyncio
import json
import re
from pathlib import Path
from typing import Any

from partstream.server import app

from .asgi import ask

PAGE = (Path(__file__).resolve().parents[4] / "docs" / "serving.md").read_text(encoding="utf-8")


def test_the_first_model_of_the_page_answers_the_first_request_of_the_page() -> None:
    model = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    request = re.search(r"curl http://127\.0\.0\.1:8642(\S+).*? -d '(.*?)'\n", PAGE, re.DOTALL)
    assert model is not None
    assert request is not None
    names: dict[str, Any] = {}
    exec(model[1], names)  # noqa: S102 - the page's own code
    reply = asyncio.run(ask(app(names["provider"]), request[1], json.loads(request[2])))
    assert reply.json["choices"][0]["message"]["content"] == "You said: Hi"
