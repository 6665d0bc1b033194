"""Makes the page of the contract's rules from their table."""

from __future__ import annotations
from typing import Final

from partstream.lm.contract import RULES, UNOBSERVABLE

__all__ = ["contract_page"]

_HEAD: Final = """\
# The contract of a response stream

<!-- Made by tools/generate.py from partstream/lm/contract.py. Change it there. -->

A provider makes these promises about the parts of one response. The sections are those of "Language Model Provider
Stream Semantics", version 1.0 draft of 30 January 2026. `partstream check FILE` judges a recording by these rules;
`partstream.lm.contract.ContractChecker` judges a running stream. [The conformance kit](maintainers/conformance-kit.md)
provokes what they speak of, and judges a provider or a server: `partstream conformance my_provider.py`.

In strict mode, a part that breaks a MUST raises `ContractViolationError`, which names the rule. In lenient mode, the
part is dropped and the violation is reported. A broken SHOULD is reported in both modes, and the part passes.

Every host checks the parts that its providers report. The host for VS Code is lenient: the first time that a provider
breaks a rule, it logs the rule's sentence and the line of the provider's code; the debug information counts every
violation. `LanguageModels`, the host in a Python program, is lenient by default. A host of your own puts a
`partstream.CheckedProgress` between a provider and its own progress. In lenient hosts, calls of tools that the request
does not name pass, so that the consumer can tell the model.

An answer may be data alone, such as an image: programs read it. A chat of VS Code shows no data, so the extension ends
such an answer there with a sentence that names what came.

## Rules

The last column names facts that the checker needs beside the parts. Without them, the checker reports the rule as not
judged, which is not the same as kept.

"""

_UNOBSERVABLE: Final = """
## Promises that no stream of parts can show

The document demands these too, and the checker cannot judge them.

"""


_DATA: Final = """
## Data in an answer

A data part is bytes with a media type. Copilot's own types (`usage`, `stateful_marker`) have no slash and are for the
host; programs read the others:

| media type | content |
| --- | --- |
| `image/png` and other types of files | A file that the model made, as its bytes. |
| `text/uri-list` | The address of a file that the model made, where the caller asked for addresses. |
| `application/vnd.vercel.NAME+json` | Data of the application, from a chunk `data-NAME` of the AI SDK. |
| `application/vnd.vscode.citation+json` | A source that the answer cites, with `citations` set to `data`. |

A citation is a JSON object, the same for every protocol; fields that the upstream does not say are left out:

| field | meaning |
| --- | --- |
| `type` | Always `citation`. |
| `sourceType` | `url` for a source with an address, else `document`. |
| `sourceId` | What identifies the source: the upstream's own identifier, else the address. |
| `url` | The address, as the upstream gives it. |
| `title` | What the source is called. |
| `filename` | The name of a source that is a file. |
| `mediaType` | The media type of a source that is a document. |
| `startIndex` | Where the words begin that the source supports, in characters of the text from 0. |
| `endIndex` | Where these words end. |
| `citedText` | The words of the source that are cited. |

```json
{"type": "citation", "sourceType": "url", "sourceId": "source-1", "url": "https://example.org/a", "title": "A"}
```

## Audience of a part

Text and data parts may name their readers: `TextPart("12 rows", [Audience.USER])`. VS Code has this field as a proposed
API (`LanguageModelTextPart2`, `LanguageModelDataPart2`), and its released hosts hand it on.

| audience | in a request | in a response |
| --- | --- | --- |
| none | sent to the model | handed on |
| holds `ASSISTANT` | sent to the model | handed on, with its audience |
| lacks `ASSISTANT`, or is empty | neither sent to the model nor counted | handed on, with its audience |

Copilot leaves such parts out of the results of tools that it sends, and the proposal says the same of every part. So
the rule holds for all messages. A result of which nothing is left still answers its call. In a response VS Code decides
what it shows; the wires of `partstream serve` have no place for an audience, and write the part without it.
"""


def contract_page() -> str:
    """The page in Markdown."""
    rules = [(f"`{rule.id}`", rule.section, rule.level, rule.text, rule.needs or "") for rule in RULES.values()]
    others = [(row.bound_to, row.section, row.level, row.text, row.reason) for row in UNOBSERVABLE]
    return "".join(
        (
            _HEAD,
            _table(("rule", "section", "level", "promise", "needs"), rules),
            _UNOBSERVABLE,
            _table(("bound to", "section", "level", "promise", "why it is not judged"), others),
            _DATA,
        )
    )


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
