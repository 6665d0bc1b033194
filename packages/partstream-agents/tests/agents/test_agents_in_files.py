"""An agent in a user's file is as good as a provider: the sidecar, serve and chat load it in the same way."""

import asyncio
import os
import subprocess
import sys

import pytest
from scenarios import Chat

from partstream import LanguageModelChatProvider
from partstream.runtime.provider_files import ProviderNotFoundError, ReloadedProvider, SourceLoader
from partstream_agents.detection import KINDS, is_agent, kind_of
from partstream_agents.in_files import agents_in
from rows import one_test_for

AGENT = """
from partstream_agents import AgentPairing
from partstream.lm.parts import TextPart


class Adapter:
    framework, tested, errors = "own", "1", {}

    async def run(self, agent, request):
        yield TextPart(agent.says)


class Agent:
    def __init__(self, says, name=None):
        self.says, self.name = says, name

    def __partstream_model__(self):
        return AgentPairing(self, Adapter())
"""

PROVIDER = """
from partstream import chat_model


@chat_model(name="Inside")
async def inside(messages, options):
    yield "from inside"


class Wrapped:
    def __partstream_model__(self):
        return inside
"""

LOADED = {
    "the only agent": (AGENT + "mine = Agent('Hello')", "", "own", "Hello"),
    "an agent with a name of its own": (AGENT + "mine = Agent('Hello', 'My helper')", "", "My helper", "Hello"),
    "the one called agent": (AGENT + "other = Agent('No')\nagent = Agent('Yes')", "", "own", "Yes"),
    "the one called provider": (AGENT + "agent = Agent('No')\nprovider = Agent('Yes')", "", "own", "Yes"),
    "the one that is named": (AGENT + "one = Agent('No')\ntwo = Agent('Yes')", ":two", "own", "Yes"),
    "a function that makes agents": (AGENT + "def build(): return Agent('Fresh')", ":build", "own", "Fresh"),
    "a function of the tools": (AGENT + "def build(tools): return Agent(str(len(tools)))", ":build", "own", "2"),
}


@pytest.mark.parametrize(("text", "attribute", "name", "answer"), LOADED.values(), ids=LOADED)
def test_an_agent_of_a_file_becomes_a_model(text, attribute, name, answer, tmp_path):
    (tmp_path / "own.py").write_text(text)
    provider = SourceLoader(f"{tmp_path / 'own.py'}{attribute}").load()
    assert provider.information.name == name
    assert asyncio.run(Chat(provider).say("Hi")).text == answer


def test_a_provider_wins_over_agents(tmp_path):
    (tmp_path / "own.py").write_text(f"{AGENT}{PROVIDER}agent = Agent('No')")
    assert SourceLoader(str(tmp_path / "own.py")).load().information.name == "Inside"


def test_an_object_may_give_a_provider(tmp_path):
    (tmp_path / "own.py").write_text(f"{PROVIDER}provider = Wrapped()")
    provider = SourceLoader(str(tmp_path / "own.py")).load()
    assert isinstance(provider, LanguageModelChatProvider)
    assert asyncio.run(Chat(provider).say("Hi")).text == "from inside"


REFUSED = {
    "two agents": (AGENT + "one = Agent('1')\ntwo = Agent('2')", "", "2 agents (one, two)"),
    "a function that makes none": ("def build(): return 7", ":build", "a function that makes 7"),
    "an answer function without its decorator": (
        "async def provider(messages, options): yield 'Hi'",
        "",
        "'provider' of type function",
    ),
    "the class of an agent": (AGENT, ":Agent", "'Agent' of type type"),
}


@pytest.mark.parametrize(("text", "attribute", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_agent_is_refused_with_what_would_do(text, attribute, said, tmp_path):
    (tmp_path / "own.py").write_text(text)
    with pytest.raises(ProviderNotFoundError, match="agent") as refused:
        SourceLoader(f"{tmp_path / 'own.py'}{attribute}").load()
    assert said in str(refused.value)


def test_an_edited_agent_answers_from_the_next_message_on(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(AGENT + "agent = Agent('before')")
    loads = []

    async def edit() -> list[str]:
        chat = Chat(ReloadedProvider(SourceLoader(str(path)), loads.append))
        before = await chat.say("Hi")
        path.write_text(AGENT + "agent = Agent('and after')")
        os.utime(path, ns=(1, 1))
        await chat.provider.look()
        return [before.text, (await chat.say("Hi")).text]

    assert asyncio.run(edit()) == ["before", "and after"]
    assert loads == [None]


# ---- detection ----


def _of(module: str, *attributes: str) -> object:
    """An object whose class comes from a module, with some attributes."""
    return type("Made", (), {"__module__": module} | dict.fromkeys(attributes))()


@one_test_for("kind", KINDS, ids=lambda kind: kind.title)
def test_an_object_is_known_by_its_module_and_its_attributes(kind):
    assert kind_of(_of(f"{kind.module}.inner", *kind.attributes)) is kind
    subclass = type("Own", (type(_of(kind.module, *kind.attributes)),), {"__module__": "__main__"})
    assert kind_of(subclass()) is kind
    assert kind_of(_of(kind.module)) is None
    assert kind_of(_of(f"{kind.module}_of_mine", *kind.attributes)) is None
    assert kind_of(type(_of(kind.module, *kind.attributes))) is None, "a class is no agent"


class Proxy:
    """Answers every name, as proxies and mocks do, and fails at some."""

    def __getattr__(self, name: str) -> object:
        if name == "fails":
            raise RuntimeError(name)
        return self

    def __call__(self, *_: object) -> object:
        return self


def test_an_object_that_answers_every_name_is_no_agent():
    assert not is_agent(Proxy())


def test_an_agent_is_meant_rather_than_the_model_that_it_is_made_of():
    model = max(KINDS, key=lambda kind: kind.rank)
    names = {"model": _of(model.module, *model.attributes), "mine": _of(KINDS[0].module, *KINDS[0].attributes)}
    assert agents_in(names) == ("mine",)
    assert agents_in({"model": names["model"]}) == ("model",)


def test_finding_out_what_an_object_is_imports_no_framework():
    frameworks = ("pydantic_ai", "langchain_core", "langgraph", "agents", "agent_framework", "openai")
    lines = [
        "import sys, partstream.runtime.provider_files, partstream_agents",
        "from partstream_agents.detection import is_agent",
        "assert not is_agent(object())",
        f"print(*sorted({{name.split('.')[0] for name in sys.modules}} & set({frameworks})))",
    ]
    run = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, timeout=30, check=False
    )
    assert (run.stdout.strip(), run.stderr) == ("", "")
