"""Writes the pages of the docs that the extension carries: VS Code shows them as Markdown, without a network."""

from __future__ import annotations
import re
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

CARRIED = {
    "quick-start.md": "a model server in VS Code, step by step",
    "troubleshooting.md": "what you see, and what helps",
    "questions.md": "questions, and tasks with their commands",
    "vscode.md": "the extension: groups, settings, commands",
    "models.md": "rename models, limit them, correct what is known of them",
    "servers.md": "the servers, and what works with each",
    "ollama.md": "Ollama",
    "lm-studio.md": "LM Studio",
    "vllm.md": "vLLM",
    "llama-cpp.md": "llama.cpp",
    "configuration.md": "every setting of a group",
    "tls-and-proxies.md": "certificates, plain HTTP and proxies",
    "remote.md": "dev containers, SSH and WSL",
    "windows.md": "what is different on Windows",
    "tokens.md": "how tokens are counted, and what the numbers mean",
    "inspector.md": "the page that shows what a server sent",
    "recording.md": "recordings, and how to share one",
    "hub-joining.md": "join the hub of a team",
    "providers.md": "write a model in Python",
    "agents.md": "an agent of another framework as a model",
    "contract.md": "the rules that every answer follows",
}
"""The pages that a user of the extension needs, in the order of the first page, each with what it is about."""

CONTENTS = "index.md"
"""The first page."""

_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^)\s]+)\)")
_PICTURE = re.compile(r"<picture>.*?(<img [^>]*>)\s*</picture>", re.DOTALL)
_SOURCE = re.compile(r'<img src="([^"]+)"')
_HEADING = re.compile(r"^# (.+)$", re.MULTILINE)


def write_carried_pages(docs: Path, folder: Path) -> None:
    """Writes the pages and their pictures into a folder, which is made anew.

    Args:
        docs: The folder of the docs.
        folder: The folder in the extension.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    entries = []
    for name, about in CARRIED.items():
        page = carried(docs.joinpath(name).read_text(encoding="utf-8"))
        folder.joinpath(name).write_text(page, encoding="utf-8")
        for picture in _SOURCE.findall(page):
            folder.joinpath(picture).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(docs / picture, folder / picture)
        heading = _HEADING.search(page)
        entries.append(f"- [{heading[1] if heading else name}]({name}): {about}\n")
    contents = f"# Partstream\n\nThese pages are part of the extension and need no network.\n\n{''.join(entries)}"
    folder.joinpath(CONTENTS).write_text(contents, encoding="utf-8")


def carried(page: str) -> str:
    """A page as the extension carries it: one picture for both themes, and no link to a page that it does not carry.

    Args:
        page: The page as Markdown.
    """
    pieces = _FENCE.split(page)
    pieces[::2] = [_LINK.sub(_kept, _PICTURE.sub(r"\1", piece)) for piece in pieces[::2]]
    return "".join(pieces)


def _kept(link: re.Match[str]) -> str:
    """The link, or its text alone where its target is not carried."""
    target = link[2].partition("#")[0]
    return link[0] if not target or target in CARRIED or re.match(r"https?:", target) else link[1]
