"""Makes the page of the conformance kit from its tables."""

from __future__ import annotations
from typing import TYPE_CHECKING, Final

from partstream.protocols.protocol import PROTOCOLS
from partstream_devtools.conformance.checks import HINTS, KIT_REQUIREMENTS, REQUIREMENTS, Scenario
from partstream_devtools.conformance.scenarios import SCENARIOS, all_rows, check_ids, parser_scenarios
from partstream_devtools.conformance.scripts import ACTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["conformance_kit_page"]

_HEAD: Final = """\
# The conformance kit

<!-- Made by tools/conformance_kit_page.py from partstream_devtools/conformance. Change it there. -->

The kit tests whether a provider or a model server keeps [the contract](../contract.md), and shows the failing
transcript where it does not. It shows defects, not their absence. [Conformance](conformance.md) has what it found.

## In one minute

The kit is in the package `partstream-devtools` ([installing](../install.md#the-packages)). In a clone:

```sh
pip install ./packages/partstream ./packages/partstream-devtools
partstream conformance my_provider.py
```

A line for each scenario comes first, then every failure in full: the promise, what happened, the parts around it, what
a person sees in VS Code, what is usually wrong, and the command that repeats it. The last line sums up:
`Contract 1.0 kept: 118 checks passed, 58 not applicable, 96 not judged (0.4 s)`.

A failure is made smaller, to the shortest conversation that still shows it, and kept in a file that `--replay` repeats.
[Reports, baselines and generated conversations](conformance-reports.md) has that, JUnit XML, badges, the matrix of
several targets, known failures, and small tests of your own.

In CI:

```yaml
jobs:
  contract:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: pip install wheels/*.whl   # those that `make wheel` made
      - run: partstream conformance my_provider.py --json report.json
```

The exit code is 0 if the contract is kept, 1 if it is broken, 2 if the target cannot be tested, and 3 if the kit itself
failed.

## What can be tested

| target | how | driven by |
| --- | --- | --- |
| a provider in Python | `my_provider.py`, `my_provider.py:attribute`, `module:attribute` | the prompts of the kit |
| a function that makes one of the parameter `upstream`, a base URL | `my_provider.py:make` | the sandwich |
| a provider with a script of its own: `def conformance(script)` in its file | `my_provider.py` | the script |
| a command that speaks the sidecar's protocol | `"my-sidecar" --stdio` | the sandwich |
| a model server | `http://127.0.0.1:8080/v1 --protocol NAME` | the prompts of the kit |
| a function that reads streams, of this or of another package | `my_parser.py:parse --parser --protocol NAME` | \
[bytes](#a-parser) |

In the **sandwich** the kit is the model server of the target and also its consumer, so every scenario happens
exactly, faults included, and both sides are compared. It takes one function:

<!-- given: LanguageModelChatProvider, MyProvider -->
```python
def make(upstream: str) -> LanguageModelChatProvider:
    return MyProvider(base_url=upstream)
```

The function is named after the file, `my_provider.py:make`, unless it is called `provider`. VS Code, `chat` and
`serve` call no such function: for them the file holds a provider beside it.

`--protocol` says which protocol the target asks its upstream in. A command gets the base URL in the environment
variable `PARTSTREAM_CONFORMANCE_UPSTREAM`, and instead of `{upstream}`.

A target with a **script** of its own gets a `partstream_devtools.conformance.Script`; `script.answer_to(messages)` is
the answer that its model is to give, as blocks, as parts (`.parts(messages)`), and with its end (`.finish()`).

A target that has neither gets it in the **prompt**. What it cannot be made to do is *not judged*, unless it has
declared the ability: then it is *untestable* after three tries, which counts as failed. `--prompt SCENARIO=TEXT` says
what makes this target call a tool; `--capability NAME` declares. The file of a provider can hold both:

```python
conformance = {"tool_calling": True, "prompts": {"one-call": "run get_weather"}}
```

A model server on another machine is asked only with `--allow-remote`: the run sends it prompts, which may cost money.
The most answers that it is asked for are printed before, and `--max-requests` sets them. `--isolated` runs a provider
in a process of its own.

## A parser

A maintainer of a library that reads the streams of a protocol can test it without a server, a provider or a line of
this package:

<!-- given: my_library -->
```python
# my_parser.py
from my_library import StreamReader


def parse(data: bytes):
    reader = StreamReader()
    for event in reader.read(data):  # raises for a stream that has failed
        yield {"type": "text", "text": event.text}
    for call in reader.calls:
        yield {"type": "tool-call", "id": call.id, "name": call.name, "input": call.arguments}
    yield {"type": "finish", "usage": {"input_tokens": reader.asked, "output_tokens": reader.answered}}
```

```sh
partstream conformance my_parser.py:parse --parser --protocol chat-completions
```

The function may be asynchronous, and return or yield what it reads. Its first parameter says what it is given: `data`,
or anything annotated with `bytes`, is all bytes; `chunks` is an object to iterate over, asynchronously or not, and an
annotation such as `Iterable[bytes]` or `AsyncIterable[bytes]` says which. `--takes` says it without either, and
`--parser` may be left out where the parameter says it. A parameter `protocol` is given the name of the protocol.

| what it gives | meaning |
| --- | --- |
| `{"type": "text", "text": "..."}` | a piece of the text |
| `{"type": "thinking", "text": "..."}` | a piece of the thinking |
| `{"type": "tool-call", "id": "...", "name": "...", "input": {...}}` | a whole call; no `id` where the wire has none |
| `{"type": "finish", "usage": {"input_tokens": 17, "output_tokens": 5}}` | the end, and the usage if it is known |
| `{"type": "error", "message": "..."}`, or an exception | the stream has failed, or ended before the answer did |
| a `TextPart`, `ThinkingPart`, `ToolCallPart`, `DataPart` or `Finish` | the same, as this package has it |

It is given the answers of the scenarios as a server of the protocol writes them, faults included, and is judged by the
same checks; what needs a provider is *not judged*, with the reason. Its own scenarios follow: a stream cut at every
place, one that ends at every place, and the shapes below, which real servers send.

`--recordings FOLDER` judges it by recorded streams too: `NAME.expected.json` beside the body as it came (`NAME.sse`,
`NAME.ndjson`), or beside its events as lines of JSON (`NAME.jsonl`), in the folder or in one below it that has the name
of the protocol. The outcome has `text`, `thinking`, `tool_calls` (`name`, `input`), `input_tokens`, `output_tokens` and
`error` (null for an answer without one); what is missing is not judged. [Conformance](conformance.md) has what
parsers of others make of recorded streams.

In a test: `run(ParserTarget(parse, "chat-completions"))`, with `ParserTarget` from `partstream_devtools.conformance`.

@SHAPES@
## With pytest

The package brings a plugin. A test module, or a `conftest.py`, with this fixture has an item for each check, so `-k`,
`-x` and xdist work as ever:

```python
import pytest


@pytest.fixture(scope="session")
def conformance_target():
    return "my_provider.py"  # or a provider, or a function that makes one of `upstream` or `script`
```

`conformance_capabilities` and `conformance_baseline` are further fixtures; `pytest --partstream-target=my_provider.py`
needs no file at all. What is not applicable or not judged is skipped with its reason; a broken SHOULD passes and says
so.

## In Python

<!-- given: my_provider.py -->
```python
import asyncio
from partstream_devtools.conformance import run

report = asyncio.run(run("my_provider.py"))
assert report.exit_code == 0, report.broken
```

## Verdicts

| verdict | meaning | breaks the contract |
| --- | --- | --- |
| passed | The promise was kept, and there was something to judge. | no |
| failed | A MUST is broken. | yes |
| warning | A SHOULD is broken. | no |
| untestable | The target declares the ability, and could not be made to show it, or did not end in time. | yes |
| not applicable | The target does not declare the ability. | no |
| not judged | The target cannot give what it takes to judge. | no |
| error | The kit itself failed; its exit code is 3. | no |

A failure blames the target, the kit, or the environment: a limit of time, a refused connection, a model without the
ability. Every check has an id for ever, `<rule>/<scenario>`; the checks that count are frozen in a requirement set, so
a new version of the kit fails no target for what it did not ask before. Every promise has a mutant, a provider that
breaks it alone, and exactly its check catches it (`tests/conformance/mutants.py` of the package): a check that has not
been seen to fail does not count.

## Scenarios

`partstream conformance --list` names them with their checks. `/text` selects the scenario `text` alone.

"""

_RULES: Final = """
## Promises

First the rules of the contract, then what the kit adds because it has both sides.

"""

_MOVES: Final = """
## Moves

A transcript holds what the consumer did as a list of moves, which can be repeated.

"""


def conformance_kit_page() -> str:
    """The page in Markdown."""
    scenarios = [
        (f"`{slug}`", row.title, _driven(row) if isinstance(row, Scenario) else "any way", str(len(set(row.checks))))
        for slug, row in SCENARIOS.items()
    ]
    return "".join(
        (
            _HEAD.replace("@SHAPES@\n", _shapes()),
            _table(("scenario", "what happens", "driven by", "checks"), scenarios),
            _RULES,
            *(
                _requirement(one)
                for one in (*(one for one in REQUIREMENTS if one not in KIT_REQUIREMENTS), *KIT_REQUIREMENTS)
            ),
            _MOVES,
            _table(("move", "what it does"), [(f"`{name}`", text) for name, text in ACTIONS.items()]),
        )
    )


def _shapes() -> str:
    """The scenarios of parsers alone, with the protocols that have each."""
    protocols: dict[str, list[str]] = {}
    for name, protocol in PROTOCOLS.items():
        for slug in parser_scenarios(name) if protocol.write_response is not None else ():
            protocols.setdefault(slug, []).append(name)
    most = max(map(len, protocols.values()))
    rows = [
        (f"`{slug}`", row.title, "all" if len(protocols[slug]) == most else ", ".join(protocols[slug]))
        for slug, row in parser_scenarios().items()
    ]
    recorded = ("`recordings`", "Recorded streams", "all, with `--recordings`")
    return _table(("scenario", "what happens", "protocols"), [*rows, recorded]) + "\n"


def _driven(row: Scenario) -> str:
    ways = sorted(way.value for way in row.ways)
    needs = ", ".join(sorted(row.needs))
    way = "any way" if len(ways) == 3 else " or ".join(ways)
    return f"{way}; needs {needs}" if needs else way


def _requirement(requirement_id: str) -> str:
    requirement, hint = REQUIREMENTS[requirement_id], HINTS[requirement_id]
    where = [slug for slug, ids in check_ids(all_rows()).items() if f"{requirement_id}/{slug}" in ids]
    section = "the kit's own" if requirement.section == "kit" else f"section {requirement.section}"
    return (
        f"### {requirement_id}\n\n{requirement.level.value}, {section}. {requirement.text}\n\n"
        f"- In VS Code, when broken: {hint.seen}\n"
        f"- Provoked by: {_some(where)}\n"
        f"- Usually: {'; '.join(hint.causes)}\n\n"
    )


_MOST_NAMED: Final = 4
"""Scenarios that a promise names; more of them are most of the table above."""


def _some(slugs: Iterable[str]) -> str:
    names = list(slugs)
    if len(names) <= _MOST_NAMED:
        return _listed(names)
    return f"{_listed(names[: _MOST_NAMED - 1])} and {len(names) - _MOST_NAMED + 1} more"


def _listed(slugs: Iterable[str]) -> str:
    return ", ".join(f"`{slug}`" for slug in slugs)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
