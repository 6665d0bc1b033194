"""The examples of the page on agents: they are shown as they are, and each answers."""

import asyncio
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scenarios import WAIT_SECONDS, Chat

from partstream.runtime.provider_files import SourceLoader
from partstream_devtools.testing.upstream import ReplayUpstream

ROOT = Path(__file__).resolve().parents[4]
FOLDER = ROOT / "examples" / "agents"
PAGES = [ROOT / "docs" / name for name in ("agents.md", "maintainers/agent-frameworks.md")]
TEXT = "".join(page.read_text(encoding="utf-8") for page in PAGES)
SHOWN = re.findall(r"<!-- example: (examples/agents/\S+) -->\n```python\n(.*?)```\n", TEXT, re.DOTALL)


def test_the_page_shows_every_example_as_it_is():
    files = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py")}
    assert dict(SHOWN) == files


def _module(name: str) -> Any:
    """The module of an example that was loaded."""
    return next(one for one in tuple(sys.modules.values()) if getattr(one, "__file__", None) == str(FOLDER / name))


def _said(name: str, text: str) -> str:
    async def ask() -> str:
        async with asyncio.timeout(WAIT_SECONDS):
            return (await Chat(SourceLoader(str(FOLDER / name)).load()).say(text)).text

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("name", "text", "answer"),
    [
        ("in_a_thread.py", "three short words", "three short words "),
        ("langgraph_graph.py", "tea", "Small or large?"),
        ("own_chat_client.py", "Hello", "You said: Hello"),
        ("own_framework.py", "What is 4 plus 3 ?", "The sum is 7."),
    ],
)
def test_an_example_answers_by_itself(name: str, text: str, answer: str):
    assert _said(name, text) == answer


@pytest.mark.parametrize(
    ("name", "model", "client_of"),
    [
        ("two_lines.py", "My agent", lambda module: module.agent.model.client),
        ("with_options.py", "Word counter", lambda module: module.counter.model.client),
        ("plain.py", "Hand-written", lambda module: module.client),
    ],
)
def test_an_example_asks_its_model_server(
    name: str, model: str, client_of: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
):
    async def ask(said: Callable[[Any], Any]) -> None:
        async with asyncio.timeout(WAIT_SECONDS), ReplayUpstream(scenario="text") as upstream:
            monkeypatch.setenv("OPENAI_API_KEY", "key")
            monkeypatch.setenv("OPENAI_BASE_URL", upstream.base_url)
            provider = SourceLoader(str(FOLDER / name)).load()
            assert provider.information.name == model
            said(await Chat(provider).say("Hi"))
            await client_of(_module(name)).close()

    answers: list[Any] = []
    asyncio.run(ask(answers.append))
    assert answers[0].text
    assert answers[0].usage is not None or answers[0].finish.usage is not None
