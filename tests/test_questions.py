"""Who has read the README alone finds the answer to each question of docs/questions.md at most two clicks away."""

from __future__ import annotations
import re
from pathlib import Path

from rows import one_test_for

ROOT = Path(__file__).parent.parent
QUESTIONS = ROOT / "docs/questions.md"
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# What a stranger asks, and where the answer has to be: words of the question, and the page with the heading.
ASKED = {
    "What is it?": "docs/index.md",
    "Why not VS Code's own Custom Endpoint?": "docs/custom-endpoint.md",
    "Does my server work?": "docs/servers.md#server-by-server",
    "Where is my key?": "docs/configuration.md#where-the-key-comes-from",
    "What does it cost?": "docs/vscode.md#tokens-and-costs",
    "Does anything leave my machine?": "docs/vscode.md#tokens-and-costs",
    "How do I install it?": "docs/install.md",
    "Do I need an account at GitHub?": "docs/vscode.md#without-an-account",
    "Which Python do I need?": "docs/vscode.md#how-python-is-found",
    "How do I write my own model?": "docs/providers.md#a-function-is-a-model",
    "Why is my model not in the picker?": "docs/troubleshooting.md#when-something-is-wrong",
    "How do I rename a model, or hide the others?": "docs/models.md",
    "How do I set the temperature?": "docs/reference/settings.md#within-request",
    "How do I get structured output?": "docs/structured-output.md",
    "What about rate limits?": "docs/reference/settings.md#within-retry",
    "How do I see what went wrong?": "docs/inspector.md#whose-fault",
    "Can my team share it?": "docs/hub.md",
    "Can I use the same model outside VS Code?": "docs/everywhere.md",
    "What is lost between my server and me?": "docs/maintainers/translation.md#what-each-protocol-has-no-place-for",
    "How do I remove it?": "docs/install.md#removing-it",
    "How do I find a task?": "docs/install.md#the-packages",
}


def text_of(page: Path) -> str:
    """The page without its blocks of code, in which nothing is a heading or a link."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors that a heading of the page has, as GitHub and VS Code make them."""
    headings = re.findall(r"^#+ (.+)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def targets(page: Path, text: str) -> set[str]:
    """What the links of a text lead to, from the root of the project."""
    found = set()
    for target in LINK.findall(re.sub(r"`[^`\n]*`", "code", text)):
        if "://" not in target:
            name, mark, anchor = target.partition("#")
            file = (page.parent / name).resolve() if name else page
            found.add(file.relative_to(ROOT.resolve()).as_posix() + mark + anchor)
    return found


def answers() -> dict[str, str]:
    """The answer to each question."""
    pieces = re.split(r"^## (.+)$", text_of(QUESTIONS), flags=re.MULTILINE)[1:]
    return dict(zip(pieces[::2], pieces[1::2], strict=True))


def test_every_question_is_answered() -> None:
    assert set(answers()) == set(ASKED)


@one_test_for("question", ASKED)
def test_an_answer_is_short_and_links_to_the_page_that_has_the_rest(question: str) -> None:
    answer = re.sub(r"^\|.*$", "", answers()[question], flags=re.MULTILINE)
    assert len(re.findall(r"[.:!?](?:\s|$)", answer)) <= 4
    assert ASKED[question] in targets(QUESTIONS, answer)


def test_each_page_that_answers_is_at_most_two_clicks_from_the_readme() -> None:
    readme = ROOT / "README.md"
    first = targets(readme, text_of(readme))
    reached = {"README.md", *first}
    for target in first:
        page = ROOT / target.partition("#")[0]
        if page.suffix == ".md":
            reached |= targets(page, text_of(page))
    assert set(ASKED.values()) - reached == set()


PAGES = (
    "README.md",
    "docs/questions.md",
    "docs/install.md",
    "docs/vscode.md",
    "docs/command-line.md",
    "docs/quick-start.md",
)


@one_test_for("name", PAGES)
def test_every_link_to_a_heading_leads_to_one(name: str) -> None:
    page = ROOT / name
    marked = [target.partition("#") for target in targets(page, text_of(page)) if "#" in target]
    assert [f"{file}#{anchor}" for file, _, anchor in marked if anchor not in anchors(ROOT / file)] == []
