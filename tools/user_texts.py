"""Lists every sentence that a user may read, so that a person can read them all in one sitting.

The list has the text of errors, of the command line, of settings, of dialogs and of pages, sorted in each place. Where
a text has gaps, the gap shows what fills it: `{model}`. It is a generated file, so a text that changed without the list
makes it stale, and the check of generated files fails.

Python texts are the literals of a module that have two words or more; comments and docstrings are for readers of the
source, except for the docstrings of commands, which are their help. SQL, patterns and bare markup are left out.
"""

from __future__ import annotations
import ast
import json
import re
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["user_texts"]

ROOT: Final = Path(__file__).resolve().parent.parent
HEAD: Final = """\
Every sentence that a user may read, by place. Made by tools/generate.py: read what a change adds here aloud.
"""
_TWO_WORDS: Final = re.compile(r"[^\W\d_]{2,}.*\s.*[^\W\d_]{2,}", re.DOTALL)
_NOT_FOR_PEOPLE: Final = re.compile(
    r".*\b(?:SELECT|INSERT|UPDATE|DELETE FROM|CREATE|ALTER|PRAGMA|WHERE|CAST|SUM|UNION|GROUP BY|KEY)\b[ (]"  # SQL
    r"|.*(?:\(\?|\\[sdwWbSD.\[({]|\[\^)"  # a pattern
    r"|(?:tuple|list|dict|str|Callable|Sequence|Mapping)(?:\[| \|)",  # a type
    re.DOTALL,
)
_NAME: Final = re.compile(r"\S*(?:[a-z][A-Z]|\w_\w|\[\]|[a-z]\.[a-z])\S*")
_MARKUP: Final = re.compile(r"</?[a-zA-Z][^<>]*>")
_BLOCK: Final = re.compile(r"</?(?:main|noscript|div|p|h\d|ol|ul|li)\b[^<>]*>")
_JAVASCRIPT: Final = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`""", re.DOTALL
)


def user_texts() -> str:
    """Returns the list: a heading for each place, and below it one text a line."""
    places: dict[str, set[str]] = {}
    for path in sorted(ROOT.glob("packages/*/src/**/*")):
        if path.suffix not in _READERS:
            continue
        found = _READERS[path.suffix](path.read_text(encoding="utf-8"))
        package, *rest = path.parts[path.parts.index("src") + 1 :]
        place = "/".join([package, *rest[:-1][:1]]) if len(rest) > 1 else f"{package}/{path.stem}"
        places.setdefault(place, set()).update(found)
    extension = ROOT / "extension"
    manifest: dict[str, str] = json.loads((extension / "package.nls.json").read_text(encoding="utf-8"))
    dialogs: dict[str, str] = json.loads((extension / "l10n" / "bundle.l10n.json").read_text(encoding="utf-8"))
    places["extension: commands, settings, steps"] = set(manifest.values())
    places["extension: dialogs"] = set(dialogs)
    media = [path.read_text(encoding="utf-8") for path in sorted((extension / "media").glob("*.md"))]
    places["extension: first steps"] = {part for text in media for part in text.split("\n\n")}
    blocks = [f"== {place}\n" + "\n".join(lines) for place in sorted(places) if (lines := _lines(places[place]))]
    return HEAD + "\n" + "\n\n".join(blocks) + "\n"


def _lines(texts: set[str]) -> list[str]:
    """What is worth reading, one text a line, in the order of the alphabet."""
    plain = {" ".join(unescape(_MARKUP.sub(" ", text)).split()) for text in texts if not _NOT_FOR_PEOPLE.match(text)}
    return sorted(filter(_is_sentence, plain), key=_alphabetic)


def _is_sentence(text: str) -> bool:
    """Whether a text has two words or more, and they are not for the most part names of fields or classes."""
    words = re.sub(r"\{\w*\}", "0", text)
    return bool(_TWO_WORDS.search(words)) and 2 * sum(map(bool, map(_NAME.fullmatch, words.split()))) < len(
        words.split()
    )


def _alphabetic(text: str) -> tuple[str, str]:
    return re.sub(r"\W+", " ", text).strip().casefold(), text


def _python(source: str) -> Iterator[str]:
    tree = ast.parse(source)
    unread: set[ast.AST] = set()
    for node in ast.walk(tree):  # breadth first: what holds a literal comes before the literal
        match node:
            case ast.Expr(value=ast.Constant() as docstring):
                unread.add(docstring)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if any("command" in ast.unparse(one) for one in node.decorator_list):
                    yield from (ast.get_docstring(node) or "").replace("\b", "").split("\n\n")
            case ast.JoinedStr():
                unread.update(node.values)
                yield "".join(_piece(value) for value in node.values)
            case ast.Constant(value=str() as text) if node not in unread:
                yield text
            case _:
                pass


def _piece(value: ast.expr) -> str:
    if isinstance(value, ast.Constant):
        return str(value.value)
    names = [node for node in ast.walk(value) if isinstance(node, ast.Name | ast.Attribute)]
    first = names[0] if names else None
    return "{" + (first.attr if isinstance(first, ast.Attribute) else first.id if first else "") + "}"


def _javascript(source: str) -> Iterator[str]:
    for match in _JAVASCRIPT.finditer(source):
        if match[0][0] != "/":
            yield re.sub(r"\$\{[^{}]*?(\w+)[^\w{}]*\}", r"{\1}", match[0][1:-1])


def _html(source: str) -> Iterator[str]:
    yield from _BLOCK.split(source)


def _json(source: str) -> Iterator[str]:
    """The texts of a file of messages, which is one object of texts."""
    said = json.loads(source)
    if isinstance(said, dict) and all(isinstance(one, str) for one in said.values()):
        yield from said.values()


_READERS: Final = {".py": _python, ".js": _javascript, ".html": _html, ".json": _json}
