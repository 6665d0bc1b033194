"""Pages of HTML that need no other file: one document each, for a browser, for a file and for a webview of VS Code.

A page holds what it runs and draws, and fetches nothing; its Content-Security-Policy allows no more (Content Security
Policy Level 3; https://code.visualstudio.com/api/extension-guides/webview#content-security-policy). Text enters a page
by :func:`text` or as JSON in a script element, so that no text is markup.

A plot is an SVG picture of a table beside it: its title describes it, each bar and point has its numbers as a title,
and patterns distinguish the pieces of a bar, so that nothing depends on colour alone. Colours come from the classes in
`usage.css`, because the policy would refuse a style in the SVG.
"""

from __future__ import annotations
import hashlib
import re
import zlib
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from importlib.resources import files
from itertools import pairwise
from math import ceil, floor, log10
from typing import Final, TypeAlias

from partstream.codec.checks import dataclass
from partstream.codec.json_codec import dumps
from partstream.codec.text import visible
from partstream.errors import UnexpectedValueError

PACKAGE: Final = "partstream.pages"
HTML: Final = "text/html; charset=utf-8"
HEADERS: Final = (
    ("cache-control", "no-store"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
)
"""The headers of a page that a server sends: no cache keeps it, and no page of another site can hold it."""
FRAMED: Final = ("content-security-policy", "frame-ancestors 'none'")
"""The rest of the policy of a page is in the page itself."""


def text(value: object) -> str:
    """A text as HTML: nothing in it is markup, and hidden characters and those that act on others become escapes."""
    from html import escape  # noqa: PLC0415 - with it come the names of all characters, half a megabyte

    return escape(visible(str(value)))


def data_script(name: str, value: object) -> str:
    """A value as JSON for the page's script, in an element with the id `name`; no text in it ends the element.

    Source: HTML, "Restrictions for contents of script elements".
    """
    json = dumps(value).decode().replace("<", "\\u003c")
    return f'<script type="application/json" id="{text(name)}">{json}</script>'


def packed_data_script(name: str, value: object) -> str:
    """The same, packed with gzip and as base64: for the script's `DecompressionStream`, where the value is large."""
    packer = zlib.compressobj(level=6, wbits=16 + zlib.MAX_WBITS)
    packed = packer.compress(dumps(value)) + packer.flush()
    return f'<script type="application/gzip" id="{text(name)}">{b64encode(packed).decode()}</script>'


def resource(package: str, name: str) -> str:
    """The text of a file that is part of this package, such as a style or a script."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def document(
    title: str, body: str, policy: ContentPolicy, *, styles: Iterable[str] = (), scripts: Sequence[str] = ()
) -> str:
    """A whole document in the colours of every page, which needs no other file and asks for none, below the name of the
    product. No style may hold `</style`, and no script `</script` or `<!--`; they run once the body is there. The title
    is text, the body HTML."""
    attribute, style = policy.attribute, "".join((resource(PACKAGE, "theme.css"), *styles))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy.content(scripts, (style,))}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{text(title)}</title>\n"
        f"<style{attribute}>{style}</style>\n</head>\n"
        f'<body>\n<header class="product">Partstream</header>\n{body}\n'
        f"{''.join(f'<script{attribute}>{script}</script>' for script in scripts)}\n</body>\n</html>\n"
    )


# ---- The policy ----

_NONCE: Final = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_SOURCE: Final = re.compile(r"[A-Za-z0-9+.:/*'-]+(?: [A-Za-z0-9+.:/*'-]+)*")


class Hashes:
    """The policy of a file: each of its readers gets the same bytes, so it names the hashes of what it holds. Elements
    need no `attribute` for that."""

    attribute = ""

    def content(self, scripts: Sequence[str], styles: Sequence[str]) -> str:
        """The policy with a hash of each script and style, each the whole text of an element."""
        return _content(_hashes(scripts), _hashes(styles), "'none'")


@dataclass(frozen=True, slots=True)
class Nonces:
    """The policy of a page that is made anew for each reader: by a server, or for a webview.

    Attributes:
        nonce: A random text, made for this one page.
        source: Where else scripts and styles may come from, such as a webview's `cspSource`; "" for nowhere.
        connect: Where the page's script may connect to, such as `'self'`.

    Raises:
        UnexpectedValueError: The nonce is too short or has characters that a nonce cannot have, or a source would end
            its directive.
    """

    nonce: str
    source: str = ""
    connect: str = "'none'"

    def __post_init__(self) -> None:
        if not _NONCE.fullmatch(self.nonce):
            raise UnexpectedValueError("nonce", f"{len(self.nonce)} characters", "16 or more of the alphabet of base64")
        for where, source in (("source", self.source), ("connect", self.connect)):
            if source and not _SOURCE.fullmatch(source):
                raise UnexpectedValueError(where, repr(source), "sources of a Content-Security-Policy")

    @property
    def attribute(self) -> str:
        """The attribute that every script and style element of the page needs, with the space before it."""
        return f' nonce="{self.nonce}"'

    def content(self, scripts: Sequence[str], styles: Sequence[str]) -> str:
        """The policy with the nonce, whatever the page holds."""
        allowed = f"'nonce-{self.nonce}' {self.source}".rstrip()
        return _content(allowed if scripts else "'none'", allowed if styles else "'none'", self.connect or "'none'")


ContentPolicy: TypeAlias = Hashes | Nonces
"""How a page names the scripts and the styles that it allows."""


def _hashes(texts: Iterable[str]) -> str:
    digests = (b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"


def _content(scripts: str, styles: str, connect: str) -> str:
    return (
        f"default-src 'none'; script-src {scripts}; style-src {styles}; img-src data:; connect-src {connect}; "
        "base-uri 'none'; form-action 'none'"
    )


# ---- Plots ----

_WIDTH: Final = 720
_HEIGHT: Final = 200
_LEFT: Final = 64
_TOP: Final = 10
_BOTTOM: Final = 26
_FLOOR: Final = _HEIGHT - _BOTTOM
_RANGE: Final = _FLOOR - _TOP
_TICKS: Final = 4
_LABELS: Final = 8
_THINNEST: Final = 1.5
_LARGEST_DOT: Final = 60


@dataclass(frozen=True, slots=True)
class Piece:
    """A kind of piece of every column: its name in the legend, and its class, which gives it a colour and a pattern."""

    name: str
    style: str


@dataclass(frozen=True, slots=True)
class Column:
    """One column of bars: the label below it, its description, and the height of each piece from the bottom."""

    label: str
    title: str
    heights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a line: its description, its height, and the most that it can be, if that is known."""

    title: str
    value: float
    limit: float | None


def bars(
    title: str, columns: Sequence[Column], pieces: Sequence[Piece], shown: Callable[[float], str], name: str
) -> str:
    """Columns of stacked pieces, from left to right and from the bottom; at least one. The title describes the plot for
    those who do not see it, `shown` makes the texts of its scale, and no other plot of the page has its name."""
    top = _scale(max(sum(column.heights) for column in columns))
    step = (_WIDTH - _LEFT) / len(columns)
    width = min(step * 0.75, 40)
    drawn = [*_axis(top, shown)]
    for number, column in enumerate(columns):
        left = _LEFT + step * number + (step - width) / 2
        drawn.append(f"<g><title>{text(column.title)}</title>")
        floor_of_piece = float(_FLOOR)
        for height, piece in zip(column.heights, pieces, strict=True):
            if height > 0:
                size = max(height / top * _RANGE, _THINNEST)
                floor_of_piece -= size
                drawn.append(
                    f'<rect class="{piece.style}" x="{left:.1f}" y="{floor_of_piece:.1f}" width="{width:.1f}" '
                    f'height="{size:.1f}"/>'
                )
        drawn.append("</g>")
    drawn += _labels([column.label for column in columns], lambda number: _LEFT + step * (number + 0.5))
    return _svg(title, name, drawn)


def line(title: str, points: Sequence[Point], shown: Callable[[float], str], name: str) -> str:
    """A line through points, from left to right, and their limit above it; the arguments are those of :func:`bars`."""
    top = _scale(max(max(point.value, point.limit or 0) for point in points))
    step = (_WIDTH - _LEFT - 16) / max(len(points) - 1, 1)
    places = [(_LEFT + 8 + step * number, _y(point.value, top), point) for number, point in enumerate(points)]
    drawn = [*_axis(top, shown), *_limits(places, top)]
    drawn.append(f'<polyline class="line" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)}"/>')
    radius = 4 if len(points) <= _LARGEST_DOT else 1.5
    drawn += [
        f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"><title>{text(point.title)}</title></circle>'
        for x, y, point in places
    ]
    drawn += _labels([str(number) for number in range(1, len(points) + 1)], lambda number: places[number][0])
    return _svg(title, name, drawn)


def _svg(title: str, name: str, drawn: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-labelledby="{name}-title">'
        f'<title id="{name}-title">{text(title)}</title>{"".join(drawn)}</svg>'
    )


def _axis(top: float, shown: Callable[[float], str]) -> Iterator[str]:
    for number in range(_TICKS + 1):
        value = top * number / _TICKS
        y = _y(value, top)
        yield f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="tick" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{text(shown(value))}</text>'


def _labels(labels: Sequence[str], place: Callable[[int], float]) -> Iterator[str]:
    """As many labels as fit: the last one, and others at the same distance."""
    distance = ceil(len(labels) / _LABELS)
    for number, label in enumerate(labels):
        if (len(labels) - 1 - number) % distance == 0:
            x = min(place(number), _WIDTH - 20)
            yield f'<text class="tick" x="{x:.1f}" y="{_HEIGHT - 8}" text-anchor="middle">{text(label)}</text>'


def _limits(places: Sequence[tuple[float, float, Point]], top: float) -> Iterator[str]:
    """The limit between each two points that have one; over all of the plot for a point alone."""
    if len(places) == 1 and places[0][2].limit is not None:
        y = _y(places[0][2].limit, top)
        yield f'<line class="limit" x1="{_LEFT}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
    for (x, _, point), (next_x, _, following) in pairwise(places):
        if point.limit is not None and following.limit is not None:
            y, next_y = _y(point.limit, top), _y(following.limit, top)
            yield f'<line class="limit" x1="{x:.1f}" x2="{next_x:.1f}" y1="{y:.1f}" y2="{next_y:.1f}"/>'


def _y(value: float, top: float) -> float:
    return _FLOOR - value / top * _RANGE


def _scale(most: float) -> float:
    """The top of a scale with round steps: the next of 1, 2, 4, 6, 8, 10 with zeros after it."""
    if most <= 0:
        return 1.0
    unit = 10.0 ** floor(log10(most))
    return next(unit * step for step in (1, 2, 4, 6, 8, 10, 20) if unit * step >= most)


# ---- Lists and tables ----

PATTERNS: Final = (
    '<svg class="unseen" aria-hidden="true" width="0" height="0"><defs><pattern id="hatched" width="6" height="6" '
    'patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line class="hatch" x1="0" x2="0" y1="0" y2="6"/>'
    '</pattern><pattern id="striped" width="4" height="4" patternUnits="userSpaceOnUse"><line class="stripe" x1="0" '
    'x2="4" y1="2" y2="2"/></pattern></defs></svg>'
)
"""The patterns that the pieces of a plot refer to: a page with plots has them once."""


def entries(rows: Iterable[tuple[str, object]]) -> str:
    """The entries of a list of numbers, each with its name; both are text."""
    return "".join(f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>" for name, value in rows)


def navigation(sections: Iterable[tuple[str, str]]) -> str:
    """Links to the sections of a page, by id and title."""
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title in sections)
    return f'<nav aria-label="Sections"><ul>{links}</ul></nav>'


def table(
    title: str,
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    of_text: Collection[str] = (),
    foot: Sequence[str] | None = None,
) -> Iterator[str]:
    """A table without its empty columns.

    Each cell names its column, and the roles of a table are explicit: a narrow page may show a row as a block of lines,
    and browsers still see a table. The title is text; names of columns and cells are HTML, and the first cell of a row
    names it. Columns that are not `of_text` hold numbers; the `foot` adds the rows up.
    """
    if not rows:
        yield "<p>None yet.</p>"
        return
    columns = [number for number in range(len(names)) if any(row[number] for row in rows)]
    kinds = ["" if names[number] in of_text else ' class="number"' for number in columns]
    head = "".join(
        f'<th scope="col" role="columnheader"{kind}>{names[number]}</th>'
        for number, kind in zip(columns, kinds, strict=True)
    )
    kinds = [f'{kind} data-column="{names[number]}"' for number, kind in zip(columns, kinds, strict=True)]
    yield f'<div class="scroll" tabindex="0" role="group" aria-label="{text(title)}, table"><table role="table">'
    yield f'<caption class="unseen">{text(title)}</caption>'
    yield f'<thead role="rowgroup"><tr role="row">{head}</tr></thead><tbody role="rowgroup">'
    for row in rows:
        yield _row(row, columns, kinds)
    yield "</tbody>"
    if foot is not None:
        yield f'<tfoot role="rowgroup">{_row(foot, columns, kinds)}</tfoot>'
    yield "</table></div>"


def _row(row: Sequence[str], columns: Sequence[int], kinds: Sequence[str]) -> str:
    first, *others = [(row[number], kind) for number, kind in zip(columns, kinds, strict=True)]
    cells = "".join(f'<td role="cell"{kind}>{cell}</td>' for cell, kind in others)
    return f'<tr role="row"><th scope="row" role="rowheader"{first[1]}>{first[0]}</th>{cells}</tr>'


def figure(caption: str, plot: str, pieces: Sequence[Piece]) -> str:
    """A plot with its caption, and with the legend of its pieces where it has any."""
    keys = "".join(
        f'<li><svg viewBox="0 0 20 12" aria-hidden="true"><rect class="{piece.style}" x="1" y="1" width="18" '
        f'height="10"/></svg>{text(piece.name)}</li>'
        for piece in pieces
    )
    legend = f'<ul class="legend">{keys}</ul>' if keys else ""
    scroll = f'<div class="scroll" tabindex="0" role="group" aria-label="{text(caption)}, plot">{plot}</div>'
    return f"<figure><figcaption>{text(caption)}</figcaption>{scroll}{legend}</figure>"
