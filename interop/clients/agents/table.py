"""The coding agents that are run here, at pinned versions, each in the way in which scripts run it."""

from __future__ import annotations
from typing import Final

from interop.clients.agents.agent import Agent
from interop.servers.foreign import Fault

__all__ = ["AGENTS", "LEFT_OUT"]

_CHAT: Final = "Chat Completions"
_RESPONSES: Final = "Responses"
_MESSAGES: Final = "Messages"

_ASKS_AGAIN: Final = "it asks again and again after status 429, although the reply says not to retry"

AGENTS: Final = (
    Agent(
        "codex",
        "@openai/codex 0.171.0",
        (".bin/codex",),
        # Its sandbox needs programs that a machine may not have; what it is asked to run is `cat`.
        lambda prompt: [
            "exec",
            "--json",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            prompt,
        ],
        lambda path: ("exec_command", {"cmd": f"cat {path}"}),
        {"responses": _RESPONSES, "websocket": f"{_RESPONSES} over WebSocket"},
        falls_back={"websocket": "Falling back from WebSockets"},
    ),
    Agent(
        "claude",
        "@anthropic-ai/claude-code 2.1.332",
        ("@anthropic-ai/claude-code-linux-x64/claude",),
        lambda prompt: ["-p", "--output-format", "stream-json", "--verbose", prompt],
        lambda path: ("Read", {"file_path": path}),
        {"messages": _MESSAGES},
    ),
    Agent(
        "opencode",
        "opencode-ai 1.18.33",
        ("opencode-linux-x64/bin/opencode",),
        lambda prompt: ["run", "--format", "json", "--thinking", prompt],
        lambda path: ("read", {"filePath": path}),
        {"chat": _CHAT, "responses": _RESPONSES, "messages": _MESSAGES},
        {"OPENCODE_DISABLE_MODELS_FETCH": "1"},
        faults=(Fault("spent budget", " requests, ", _ASKS_AGAIN, ("chat", "responses")),),
    ),
    Agent(
        "copilot-cli",
        "@github/copilot 1.0.102",
        (".bin/copilot",),
        lambda prompt: ["--output-format", "json", "--allow-all-tools", "--allow-all-paths", "-p", prompt],
        lambda path: ("view", {"path": path}),
        {"chat": _CHAT, "responses": _RESPONSES, "messages": _MESSAGES},
        faults=(Fault("usage", "no tokens shown", "its events say no tokens"),),
    ),
    Agent(
        "qwen-code",
        "@qwen-code/qwen-code 0.24.4",
        ("node", ".bin/qwen"),
        lambda prompt: ["--output-format", "stream-json", "--yolo", "-p", prompt],
        lambda path: ("read_file", {"file_path": path}),
        {"chat": _CHAT},
        faults=(Fault("spent budget", " requests, ", _ASKS_AGAIN),),
    ),
    Agent(
        "gemini-cli",
        "@google/gemini-cli 0.61.0",
        ("node", ".bin/gemini"),
        lambda prompt: ["--output-format", "stream-json", "--skip-trust", "--yolo", "-p", prompt],
        lambda path: ("read_file", {"file_path": path}),
        {"gemini": "Gemini"},
    ),
)
"""The agents, in the order of the page."""

LEFT_OUT: Final = {
    "aider": "it brings LiteLLM, and asks for no tools: its edits are text",
    "Cline CLI, Continue CLI": "they take a server only in a dialog or a file of their own, which was not read",
    "crush": "its npm package downloads the program while it is installed",
    "Goose, mods": "no registry of packages has them",
}
"""What is not run here, and why."""
