"""The servers: one row each, with how it is started, what it speaks, what cannot be tried at it, and its known faults.

A fault is a row too: a trial that must fail, with the words that it fails with. When the server mends it, the run says
that the row is out of date.
"""

from __future__ import annotations
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from interop.servers.environments import NodeEnvironment, PythonEnvironment
from partstream.protocols.protocol import AUTO

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from interop.servers.environments import Environment

__all__ = ["FOREIGN_SERVERS", "Fault", "ForeignServer"]

_HERE: Final = Path(__file__).resolve().parent

CHAT: Final = "chat-completions"
RESPONSES: Final = "openresponses"
MESSAGES: Final = "anthropic-messages"
AGENTS: Final = "ag-ui"


@dataclass(frozen=True, slots=True)
class Fault:
    """A known fault of a server.

    Attributes:
        trial: The trial that fails because of it.
        sign: Words of what the trial says then.
        fault: What is wrong, in words.
        protocols: What is said of the protocol where it shows; empty for everywhere.
    """

    trial: str
    sign: str
    fault: str
    protocols: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ForeignServer:
    """A server that is started here.

    Attributes:
        name: What it is called; `--only` takes it.
        package: Its package and version, as its registry has them.
        environment: Where it is installed.
        command: Its command line, given a port.
        folder: Where its configuration is.
        protocols: What it speaks, of what can be read here.
        model: The model that is asked.
        models: By the name of a trial, another model.
        variables: What it finds in its environment.
        key: The key that it asks for; empty for none.
        ready_path: Answers once it is ready.
        not_tried: By the name of a trial, why it cannot be tried here.
        faults: Its known faults.
        peculiar: What is peculiar about its wire and is read all the same, in words.
        is_proxy: Whether it can ask our own server, which it finds in the variable `UPSTREAM_URL`.
        is_found_out: Whether an address is enough to find out what it speaks.
    """

    name: str
    package: str
    environment: Environment
    command: Callable[[int], tuple[str, ...]]
    folder: Path
    protocols: tuple[str, ...]
    model: str
    models: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    key: str = ""
    ready_path: str = "/v1/models"
    not_tried: Mapping[str, str] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    peculiar: str = ""
    is_proxy: bool = False
    is_found_out: bool = True


_LITELLM: Final = PythonEnvironment("litellm", _HERE / "litellm" / "requirements.lock")
_MOCKS: Final = PythonEnvironment("mocks", _HERE / "mocks" / "requirements.lock")
_NODE: Final = NodeEnvironment(_HERE / "node")

_NO_KEYS: Final = "has no keys"
_ANY_MODEL: Final = "takes any model's name"
_NO_THINKING: Final = "has no thinking"
_NO_CUT: Final = "cannot break an answer off"
_NO_OVERFLOW: Final = "knows no context window"

_NO_USAGE: Final = Fault("usage", "no usage", "streams bring no usage, whatever `stream_options` says")
_NO_LIST: Final = Fault("models", "HTTP 404: no list of models", "it has no list of models")

FOREIGN_SERVERS: Final = (
    ForeignServer(
        "LiteLLM proxy",
        "litellm[proxy] 1.108.7",
        _LITELLM,
        lambda port: (
            str(_LITELLM.program("litellm")), "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port),
        ),
        _HERE / "litellm",
        (CHAT, RESPONSES, MESSAGES),
        "scripted",
        models={"chat": "mock"},
        variables={"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False"},
        key="local-key",
        ready_path="/health/liveliness",
        not_tried={"broken off": _NO_CUT},
        faults=(
            Fault(
                "chat",
                "Error processing stream start",
                "/responses knows no mock_response: it answers 500, as an event",
                (RESPONSES,),
            ),
            Fault("usage", "usage of 0,", "/responses counts no input tokens of text in parts", (RESPONSES,)),
            Fault(
                "in between",
                "otherwise: tokens of thinking.",
                "/messages does not say the tokens of thinking",
                (MESSAGES,),
            ),
        ),
        peculiar=(
            "another id in each chunk, usage beside an empty choice, and status 400 for a wrong key; on /messages a "
            "whole document where a stream was asked for, and thinking without a signature"
        ),
        is_proxy=True,
    ),
    ForeignServer(
        "aimock",
        "@copilotkit/aimock 1.43.0",
        _NODE,
        lambda port: (str(_NODE.program("llmock")), "--port", str(port), "--fixtures", "aimock.json"),
        _HERE / "node",
        (CHAT, RESPONSES, MESSAGES),
        "gpt-4o",
        variables={"AIMOCK_API_KEYS": "local-key"},
        key="local-key",
        ready_path="/health",
        peculiar="thinking before the role, and events of OpenResponses without a sequence number",
        not_tried={"wrong model": _ANY_MODEL, "overflow": _NO_OVERFLOW},
        faults=(
            Fault(
                "usage",
                "usage of 0, 0",
                "/responses and /messages say zeros for the usage",
                (AUTO, RESPONSES, MESSAGES),
            ),
        ),
    ),
    ForeignServer(
        "aimock as an agent",
        "@copilotkit/aimock 1.43.0",
        _NODE,
        lambda port: (str(_NODE.program("aimock")), "--config", "ag-ui.json", "--port", str(port)),
        _HERE / "node",
        (AGENTS,),
        "agent",
        ready_path="/health",
        not_tried={
            "models": "an agent is no list of models",
            "wrong model": _ANY_MODEL,
            "wrong key": _NO_KEYS,
            "overflow": _NO_OVERFLOW,
        },
        is_found_out=False,
    ),
    ForeignServer(
        "fakellm",
        "fakellm 0.3.5",
        _MOCKS,
        lambda port: (str(_MOCKS.program("fakellm")), "serve", "--config", "fakellm.yaml", "--port", str(port)),
        _HERE / "mocks",
        (CHAT,),
        "any",
        ready_path="/_fakellm/stats",
        faults=(
            _NO_LIST,
            _NO_USAGE,
            Fault("rate limit", "it answered '[mock response", "a stream ignores the status of a rule, and answers"),
        ),
        peculiar="the arguments of calls in pieces of four characters",
        not_tried={
            "wrong model": _ANY_MODEL,
            "wrong key": _NO_KEYS,
            "thinking": _NO_THINKING,
            "broken off": _NO_CUT,
            "overflow": _NO_OVERFLOW,
        },
    ),
    ForeignServer(
        "stubllm",
        "stubllm 0.1.5",
        _MOCKS,
        lambda port: (str(_MOCKS.program("stubllm")), "serve", "--fixture-file", "stubllm.yaml", "--port", str(port)),
        _HERE / "mocks",
        (CHAT,),
        "gpt-4o",
        peculiar="two calls under one index, no finish reason behind them, and no role at all",
        not_tried={
            "wrong model": _ANY_MODEL,
            "wrong key": _NO_KEYS,
            "thinking": _NO_THINKING,
            "broken off": _NO_CUT,
            "overflow": _NO_OVERFLOW,
        },
        faults=(_NO_USAGE,),
    ),
    ForeignServer(
        "mockllm",
        "mockllm 0.0.8",
        _MOCKS,
        lambda port: (
            str(_MOCKS.program("mockllm")), "start", "--responses", "mockllm.yaml", "--host", "127.0.0.1",
            "--port", str(port),
        ),
        _HERE / "mocks",
        (CHAT,),
        "gpt-4o",
        ready_path="/",
        faults=(_NO_LIST, _NO_USAGE),
        peculiar="one character a chunk, another id in each, and a role that is null",
        not_tried={
            "turns": "looks at the last message alone",
            "tool round trip": "has no tools",
            "two calls": "has no tools",
            "rate limit": "cannot be told to fail",
            "wrong model": _ANY_MODEL,
            "wrong key": _NO_KEYS,
            "thinking": _NO_THINKING,
            "broken off": _NO_CUT,
            "overflow": _NO_OVERFLOW,
        },
    ),
    ForeignServer(
        "mock-llm",
        "@dwmkerr/mock-llm 0.1.29",
        _NODE,
        lambda port: (str(_NODE.program("mock-llm")), "--config", "mock-llm.yaml"),
        _HERE / "node",
        (CHAT,),
        "mock",
        variables={"HOST": "127.0.0.1"},
        key="local-key",
        faults=(_NO_USAGE,),
        peculiar="its errors as events under status 200, and no end behind them",
        not_tried={
            "tool round trip": "has no tools in streams",
            "two calls": "has no tools in streams",
            "thinking": _NO_THINKING,
            "broken off": _NO_CUT,
        },
    ),
)  # fmt: skip
"""In the order of tables."""

PORT_VARIABLE: Final = "PORT"
"""Where a server that has no option for its port looks for it."""
UPSTREAM_VARIABLE: Final = "UPSTREAM_URL"
"""Where the configuration of a proxy looks for our own server."""


def environment_of(server: ForeignServer, port: int, home: Path, behind: str) -> dict[str, str]:
    """What the process of a server finds in its environment: nothing of the user's but the path."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
    places = {"HOME": str(home), PORT_VARIABLE: str(port), UPSTREAM_VARIABLE: behind, "PYTHONDONTWRITEBYTECODE": "1"}
    return kept | places | dict(server.variables)
