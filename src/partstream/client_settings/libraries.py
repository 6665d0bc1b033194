"""The libraries that programs ask with, and what each has to be told of a server. Versions: docs/clients.md."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from partstream.client_settings.agents import CHAT, MESSAGES, RESPONSES
from partstream.client_settings.client import Client, Program, Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from partstream.client_settings.server import Server, TokenPlace

__all__ = ["LIBRARIES"]

_PYTHON: Final = "python"
_JAVASCRIPT: Final = "js"
_OPENAI_CALLS: Final = {
    RESPONSES: '{client}.responses.create({model}, input="Hello.")',
    CHAT: '{client}.chat.completions.create({model}, messages=[{{"role": "user", "content": "Hello."}}])',
}
_SAID_IN_NODE: Final = 'messages: [{ role: "user", content: "Hello." }]'
_OPENAI_NODE_CALLS: Final = {
    RESPONSES: 'await client.responses.create({{ model: {model}, input: "Hello." }})',
    CHAT: "await client.chat.completions.create({{ model: {model}, {said} }})",
}


def _with_variables(
    variables: Callable[[Server], dict[str, str | TokenPlace]], program: Callable[[Server, str], Program]
) -> Callable[[Server, str], Settings]:
    """A library that is told all by variables; the program shows that it needs no more."""

    def settings(server: Server, wire: str) -> Settings:
        return Settings(environment=variables(server), is_environment_enough=True, program=program(server, wire))

    return settings


def _openai(server: Server) -> dict[str, str | TokenPlace]:
    return {"OPENAI_BASE_URL": server.v1, "OPENAI_API_KEY": server.token}


def _anthropic(server: Server) -> dict[str, str | TokenPlace]:
    return {"ANTHROPIC_BASE_URL": server.root, "ANTHROPIC_AUTH_TOKEN": server.token}


def _token(server: Server) -> dict[str, str | TokenPlace]:
    token = server.token
    return {} if token.file is None and token.is_needed else {token.variable: token}


def _openai_python(server: Server, wire: str) -> Program:
    call = _OPENAI_CALLS[wire].format(client="OpenAI()", model=f"model={_quoted(server.model)}")
    return Program(_PYTHON, f"from openai import OpenAI\n\n{call}\n")


def _openai_node(server: Server, wire: str) -> Program:
    call = _OPENAI_NODE_CALLS[wire].format(model=_quoted(server.model), said=_SAID_IN_NODE)
    return Program(_JAVASCRIPT, f'import OpenAI from "openai";\n\nconst client = new OpenAI();\n{call};\n')


def _anthropic_python(server: Server, _wire: str) -> Program:
    asked = f'model={_quoted(server.model)}, max_tokens=1024, messages=[{{"role": "user", "content": "Hello."}}]'
    return Program(_PYTHON, f"from anthropic import Anthropic\n\nAnthropic().messages.create({asked})\n")


def _anthropic_node(server: Server, _wire: str) -> Program:
    asked = f'model: {_quoted(server.model)}, max_tokens: 1024, messages: [{{ role: "user", content: "Hello." }}]'
    return Program(
        _JAVASCRIPT,
        'import Anthropic from "@anthropic-ai/sdk";\n\nconst client = new Anthropic();\n'
        f"await client.messages.create({{ {asked} }});\n",
    )


def _google_genai(server: Server) -> dict[str, str | TokenPlace]:
    return {"GOOGLE_GEMINI_BASE_URL": server.root, "GEMINI_API_KEY": server.token}


def _google_genai_program(server: Server, _wire: str) -> Program:
    asked = f'model={_quoted(server.model)}, contents="Hello."'
    return Program(
        _PYTHON, f"from google import genai\n\nclient = genai.Client()\nclient.models.generate_content({asked})\n"
    )


def _ollama(server: Server) -> dict[str, str | TokenPlace]:
    return {"OLLAMA_HOST": server.root, "OLLAMA_API_KEY": server.token}


def _ollama_program(server: Server, _wire: str) -> Program:
    asked = f'{_quoted(server.model)}, messages=[{{"role": "user", "content": "Hello."}}]'
    return Program(_PYTHON, f"import ollama\n\nollama.chat({asked})\n")


def _ai_sdk(server: Server, wire: str) -> Settings:
    named = f'name: "partstream", {_key(server)}'
    package, made = {
        RESPONSES: (
            "@ai-sdk/open-responses",
            f"createOpenResponses({{ {named}, url: {_quoted(f'{server.v1}/responses')} }})",
        ),
        CHAT: (
            "@ai-sdk/openai-compatible",
            f"createOpenAICompatible({{ {named}, baseURL: {_quoted(server.v1)}, includeUsage: true }})",
        ),
        MESSAGES: ("@ai-sdk/anthropic", f"createAnthropic({{ {_key(server)}, baseURL: {_quoted(server.v1)} }})"),
    }[wire]
    maker = made.partition("(")[0]
    lines = (
        f'import {{ {maker} }} from "{package}";',
        'import { streamText } from "ai";',
        "",
        f"const partstream = {made};",
        f'const {{ textStream }} = streamText({{ model: partstream({_quoted(server.model)}), prompt: "Hello." }});',
        "for await (const text of textStream) process.stdout.write(text);",
    )
    return Settings(environment=_token(server), program=Program(_JAVASCRIPT, "\n".join(lines) + "\n"))


def _key(server: Server) -> str:
    return f"apiKey: process.env.{server.token.variable}"


def _langchain(server: Server, wire: str) -> Program:
    kind = ", use_responses_api=True" if wire == RESPONSES else ""
    return Program(
        _PYTHON,
        "from langchain_openai import ChatOpenAI\n\n"
        f'ChatOpenAI(model={_quoted(server.model)}, stream_usage=True{kind}).invoke("Hello.")\n',
    )


def _pydantic_ai(server: Server, wire: str) -> Program:
    model = "OpenAIResponsesModel" if wire == RESPONSES else "OpenAIChatModel"
    return Program(
        _PYTHON,
        f"from pydantic_ai import Agent\nfrom pydantic_ai.models.openai import {model}\n\n"
        f'Agent({model}({_quoted(server.model)})).run_sync("Hello.")\n',
    )


def _agents_sdk(server: Server, wire: str) -> Program:
    model = "OpenAIResponsesModel" if wire == RESPONSES else "OpenAIChatCompletionsModel"
    return Program(
        _PYTHON,
        f"from agents import Agent, {model}, Runner\nfrom openai import AsyncOpenAI\n\n"
        f'agent = Agent("Assistant", model={model}({_quoted(server.model)}, AsyncOpenAI()))\n'
        'Runner.run_sync(agent, "Hello.")\n',
    )


def _agents_variables(server: Server) -> dict[str, str | TokenPlace]:
    return {**_openai(server), "OPENAI_AGENTS_DISABLE_TRACING": "1"}


def _quoted(text: str) -> str:
    """A text in both languages."""
    return json.dumps(text)


_BOTH: Final = (RESPONSES, CHAT)

LIBRARIES: Final = (
    Client("openai", "openai for Python", "PyPI: openai", _BOTH, _with_variables(_openai, _openai_python)),
    Client("openai-node", "openai for Node", "npm: openai", _BOTH, _with_variables(_openai, _openai_node)),
    Client(
        "anthropic",
        "anthropic for Python",
        "PyPI: anthropic",
        (MESSAGES,),
        _with_variables(_anthropic, _anthropic_python),
    ),
    Client(
        "anthropic-node",
        "anthropic for Node",
        "npm: @anthropic-ai/sdk",
        (MESSAGES,),
        _with_variables(_anthropic, _anthropic_node),
    ),
    Client(
        "google-genai",
        "google-genai",
        "PyPI: google-genai",
        ("gemini",),
        _with_variables(_google_genai, _google_genai_program),
    ),
    Client("ollama", "ollama for Python", "PyPI: ollama", ("ollama",), _with_variables(_ollama, _ollama_program)),
    Client("ai-sdk", "AI SDK", "npm: ai", (CHAT, RESPONSES, MESSAGES), _ai_sdk),
    Client("langchain", "LangChain", "PyPI: langchain-openai", (CHAT, RESPONSES), _with_variables(_openai, _langchain)),
    Client(
        "pydantic-ai", "Pydantic AI", "PyPI: pydantic-ai", (CHAT, RESPONSES), _with_variables(_openai, _pydantic_ai)
    ),
    Client(
        "openai-agents",
        "OpenAI Agents SDK",
        "PyPI: openai-agents",
        _BOTH,
        _with_variables(_agents_variables, _agents_sdk),
        notes=("Without the last variable it sends its traces to OpenAI.",),
    ),
)
"""The rows, as the page lists them."""
