"""Which pages are for users and which for maintainers, and where pages were before."""

from __future__ import annotations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sphinx.util.osutil import relative_uri

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOR_MAINTAINERS: Final = ("docs/decisions/", "docs/maintainers/", "docs/security/", "docs/wires/")
"""The folders of the pages for maintainers; every other page below docs/ is for users."""
_OF_THE_PROJECT: Final = ("ARCHITECTURE", "CHANGELOG", "CONTRIBUTING")
"""Pages beside docs/ that a search by a user leaves out too."""

_MOVED_TO_MAINTAINERS: Final = (
    *("adding-a-package", "adding-a-protocol", "clients", "conformance", "conformance-kit", "conformance-reports"),
    *("demands", "differences", "freshness", "glossary", "hub-budgets", "hub-performance", "hub-proof", "matrix"),
    *("performance", "recording-performance", "releasing", "responses-server", "serving-performance", "translation"),
)
MOVED: Final = {
    **{f"docs/{name}": f"docs/maintainers/{name}" for name in _MOVED_TO_MAINTAINERS},
    **dict.fromkeys(
        (f"docs/clients/{name}" for name in ("aider", "claude", "codex", "copilot-cli", "gemini-cli", "llm")),
        "docs/coding-agents",
    ),
    **dict.fromkeys((f"docs/clients/{name}" for name in ("opencode", "qwen-code")), "docs/coding-agents"),
    **dict.fromkeys(
        (f"docs/clients/{name}" for name in ("ai-sdk", "anthropic", "anthropic-node", "google-genai", "langchain")),
        "docs/sdks",
    ),
    **dict.fromkeys(
        (f"docs/clients/{name}" for name in ("ollama", "openai", "openai-agents", "openai-node", "pydantic-ai")),
        "docs/sdks",
    ),
    "docs/how-to": "docs/questions",
    "README": "docs/index",
}
"""Pages of earlier versions, and the page that took the place of each."""

_REDIRECT: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Partstream</title>
<meta http-equiv="refresh" content="1; url={target}">
<script>location.replace("{target}" + location.hash);</script>
</head>
<body><p>This page has moved: <a href="{target}">{target}</a></p></body>
</html>
"""


def is_for_users(page: str) -> bool:
    """Whether a page, by its path below the project, is one for users."""
    return page.startswith("docs/") and not page.startswith(FOR_MAINTAINERS)


def write_redirects(app: Sphinx, failure: Exception | None) -> None:
    """Writes a page at each former address that leads to the new one, with the same anchor."""
    if failure is not None or app.builder.format != "html":
        return
    for old, new in MOVED.items():
        page = Path(app.outdir, f"{old}.html")
        page.parent.mkdir(parents=True, exist_ok=True)
        target = relative_uri(app.builder.get_target_uri(old), app.builder.get_target_uri(new))
        page.write_text(_REDIRECT.format(target=target), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers this extension, and tells the search which pages it leaves out at first."""
    app.add_js_file("site.js", **{"data-maintainers": " ".join((*FOR_MAINTAINERS, *_OF_THE_PROJECT))})
    app.connect("build-finished", write_redirects)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
