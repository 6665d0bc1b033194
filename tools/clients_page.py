"""Writes the page on tested clients: what packages and coding agents showed of a server, and of the replay upstream."""

from __future__ import annotations
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from client_pages import agents_section
from tried_table import row, tried_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["clients_page"]

_NOT_TRIED: Final = {"verdict": "not tried", "says": ""}
_CLIENTS: Final = Path(__file__).resolve().parent.parent / "interop" / "clients"

_HEAD: Final = """\
# Clients that were tested

<!-- Made by tools/generate.py of the results of `make interop TRY="served clients agents"`. -->

What is served has to arrive in the programs that people use. So programs of others, each at a pinned version, ask a
server on this machine as they ask elsewhere, and what they show is compared with what was said.

✓ is what went as it has to. A number is what a client is known to do otherwise, which is below the table. – was not
tried, because the client or the way of asking has no such thing.
"""

_SERVED_HEAD: Final = """\
## Packages that ask `partstream serve`

For each way of asking, `make interop TRY=served` starts `partstream serve interop/clients/served/model.py`: a provider
in Python that knows no wire. The packages ask with the settings that they come with, also with their own number of
tries. What they show is judged together with the line that the server prints for each answer.

- **text**, **thinking**, **usage**: they are those of the model.
- **two tool rounds**: the client runs its loop, the package's own where it has one. The model calls a tool, with its
  result a second one, and says what both gave: three requests.
- **cancel**: the client leaves after the first words; the model is cancelled, and the server says so.
- **spent budget**: the client raises, and has sent exactly one request.
- **unknown model**: the client raises, and has sent one request.
- **busy at first**: the first request fails with 503; the client asks again by itself, or raises.
- **breaks while it answers**: the model fails after its first words; the client does not take them for the answer.
"""

_SERVED_ERRORS: Final = """\
### What they raise
"""
_RAISED: Final = ("spent budget", "unknown model", "busy at first", "breaks while it answers")

_NOT_HERE: Final = """\
Not asked here: the packages of LangChain and of OpenAI's agents for Node, because those for Python are, and the
packages below them for Node are.
"""

_REPLAYED_HEAD: Final = """\
## Packages that ask the replay upstream

The replay upstream says what real servers have said, also what they say wrongly. `make interop TRY=clients` lets
packages ask it, and compares text, thinking, calls with their ids and arguments, the second round with the results of
tools, finish reason, tokens and sources. In the second round a client sends back what it got, and the upstream refuses
what a real server of the wire refuses, such as thinking that was changed. A failed answer has to raise; of one that
breaks off, a client must not say that it is whole.
"""

_ERRORS_HEAD: Final = """\
### What a failure becomes

What each of them raises; the sentence of the upstream is in it.
"""


def clients_page() -> str:
    """The whole page."""
    served, replayed = (_results(folder / "results.json") for folder in (_CLIENTS / "served", _CLIENTS))
    return "\n".join(
        (
            _HEAD,
            _SERVED_HEAD,
            *tried_table("package", served),
            _NOT_HERE,
            _SERVED_ERRORS,
            *_errors(served, _RAISED),
            *agents_section(),
            _REPLAYED_HEAD,
            *tried_table("client", replayed),
            _ERRORS_HEAD,
            *_errors(replayed, _raised(replayed)),
        )
    )


def _results(path: Path) -> dict[str, Any]:
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return results


def _errors(results: Mapping[str, Any], trials: tuple[str, ...]) -> Iterator[str]:
    """What each way of asking raises in some trials."""
    yield row(("client", "asked with", *trials))
    yield row(("---",) * (len(trials) + 2))
    for name, result in results.items():
        for way, seen in result["seen"].items():
            yield row((f"**{name}**", way, *(_kind(seen.get(trial, _NOT_TRIED)) for trial in trials)))
    yield ""


def _raised(results: Mapping[str, Any]) -> tuple[str, ...]:
    """The trials in which the client raised as it has to."""
    every = (seen for result in results.values() for seen in result["seen"].values())
    return tuple(dict.fromkeys(trial for seen in every for trial, one in seen.items() if _is_raised(one)))


def _is_raised(seen: Mapping[str, str]) -> bool:
    return seen["verdict"] == "works" and seen["says"] != "as it was said"


def _kind(seen: Mapping[str, str]) -> str:
    """The name of the exception, or what was seen in its place."""
    if seen["verdict"] == "not tried":
        return "–"
    return "see above" if seen["verdict"] == "fault" else seen["says"].partition(":")[0]
