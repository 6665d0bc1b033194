"""The contract between a provider and its consumers: the rules as data, and the checker that enforces them."""

from partstream.contract.checker import MAX_KEPT_VIOLATIONS, CheckMode, CodePlace, ContractChecker, Violation
from partstream.contract.evidence import missing_evidence
from partstream.contract.rules import RULES, UNOBSERVABLE, Evidence, Level, Rule, UnobservablePromise

__all__ = [
    "MAX_KEPT_VIOLATIONS",
    "RULES",
    "UNOBSERVABLE",
    "CheckMode",
    "CodePlace",
    "ContractChecker",
    "Evidence",
    "Level",
    "Rule",
    "UnobservablePromise",
    "Violation",
    "missing_evidence",
]
