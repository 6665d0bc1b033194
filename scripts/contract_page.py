"""Writes the page of the contract's rules from their table."""

from __future__ import annotations

from typing import Final

from partstream.contract import RULES, UNOBSERVABLE

__all__ = ["contract_page"]

_HEAD: Final = """\
# The contract of a response stream

<!-- Made by scripts/generate.py from src/partstream/contract/rules.py. Change it there. -->

What a provider promises about the parts of one response. The sections are those of "Language Model Provider Stream
Semantics", version 1.0 draft of 30 January 2026. `partstream check FILE` judges a recording by these rules;
`partstream.contract.ContractChecker` judges a stream while it runs.

In strict mode a part that breaks a MUST raises `ContractViolationError`, which names the rule. In lenient mode the
part is dropped and the violation reported. A broken SHOULD is reported in both modes and stops nothing.

Every host checks what its providers report. VS Code's is lenient: a rule is logged when a provider breaks it first,
with its sentence and the line of the provider's code, and the debug information counts it. `LanguageModels`, the host
in a Python program, is lenient unless it is told otherwise. A host of your own puts a
`partstream.checked_progress.CheckedProgress` between a provider and its own progress. Calls of tools that the request
does not name pass in lenient hosts, so that the model can be told.

## Rules

Where the last column is not empty, the checker has to be told more than the parts. Without it the rule is reported as
not judged, which is not the same as kept.

"""

_UNOBSERVABLE: Final = """
## What no stream of parts can show

The document demands these too. The checker cannot judge them.

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
            _table(("bound", "section", "level", "promise", "why it is not judged"), others),
        )
    )


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
