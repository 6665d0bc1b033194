"""The pages in the colours of VS Code's own themes: every text can be read."""

from __future__ import annotations
from typing import TYPE_CHECKING, Final

import pytest

from inspector.browser import axe_findings, open_file
from inspector.handmade import view as inspector_view
from pages.usage_views import NOW, answer, row, view
from partstream.config.examination import CheckStatus, Finding
from partstream.pages.document import Hashes
from partstream.pages.usage import usage_html
from partstream.vscode.examining import findings_html
from partstream_devtools.inspector.page.assembly import page_html

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from playwright.sync_api import Page


# Colours of VS Code 1.139: `theme-defaults` and `chartsColors.ts`.
THEMES: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "Light Modern": (
        "vscode-light",
        {
            "editor-background": "#ffffff",
            "foreground": "#3b3b3b",
            "descriptionForeground": "#3b3b3b",
            "panel-border": "#e5e5e5",
            "textBlockQuote-background": "#f8f8f8",
            "textLink-foreground": "#005fb8",
            "charts-blue": "#1a85ff",
            "charts-green": "#388a34",
            "charts-orange": "#d18616",
            "charts-purple": "#652d90",
            "charts-red": "#e51400",
            "focusBorder": "#005fb8",
        },
    ),
    "Dark Modern": (
        "vscode-dark",
        {
            "editor-background": "#1f1f1f",
            "foreground": "#cccccc",
            "descriptionForeground": "#9d9d9d",
            "panel-border": "#2b2b2b",
            "textBlockQuote-background": "#2b2b2b",
            "textLink-foreground": "#4daafc",
            "charts-blue": "#59a4f9",
            "charts-green": "#89d185",
            "charts-orange": "#d18616",
            "charts-purple": "#b180d7",
            "charts-red": "#f14c4c",
            "focusBorder": "#0078d4",
        },
    ),
    "Dark High Contrast": (
        "vscode-high-contrast",
        {
            "editor-background": "#000000",
            "foreground": "#ffffff",
            "contrastBorder": "#6fc3df",
            "textLink-foreground": "#21a6ff",
            "charts-blue": "#59a4f9",
            "charts-green": "#89d185",
            "charts-orange": "#d18616",
            "charts-purple": "#b180d7",
            "charts-red": "#f48771",
        },
    ),
    "Light High Contrast": (
        "vscode-high-contrast vscode-high-contrast-light",
        {
            "editor-background": "#ffffff",
            "foreground": "#292929",
            "contrastBorder": "#0f4a85",
            "textLink-foreground": "#0f4a85",
            "charts-blue": "#1a85ff",
            "charts-green": "#374e06",
            "charts-orange": "#d18616",
            "charts-purple": "#652d90",
            "charts-red": "#b5200d",
        },
    ),
}
DRESS: Final = """([classes, colours]) => {
  document.body.className = classes;
  const { style } = document.documentElement;
  for (const [name, colour] of Object.entries(colours)) style.setProperty(`--vscode-${name}`, colour);
}"""
FINDINGS: Final[list[Finding]] = [
    Finding("key", CheckStatus.FINE, "set"),
    Finding("base URL", CheckStatus.WARNING, "unencrypted", "use https"),
    Finding("server", CheckStatus.PROBLEM, "nothing listens", "is it running?"),
]
PAGES: Final = {
    "findings": lambda: findings_html("Harbour", FINDINGS, Hashes()),
    "usage": lambda: usage_html(view(answer(), answer(), rows=(row(1),)), NOW, Hashes()),
    "inspector": lambda: page_html(inspector_view(), Hashes()),
}


@pytest.mark.parametrize("page", PAGES)
def test_every_text_can_be_read_in_the_themes_of_vscode(page: str, browser_page: Page, tmp_path: Path):
    open_file(browser_page, PAGES[page](), tmp_path)
    unreadable = {}
    for theme, dress in THEMES.items():
        browser_page.evaluate(DRESS, dress)
        unreadable[theme] = axe_findings(browser_page, "color-contrast")
    assert unreadable == {theme: [] for theme in THEMES}
