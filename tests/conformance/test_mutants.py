"""The kit is right in both directions: the reference passes, and each mutant is caught by exactly its check."""

import asyncio

import pytest
from mutants import MUTANTS

from partstream.conformance import Limits, Verdict, run
from partstream.conformance.reference import NAMESPACE, ReferenceProvider
from partstream.contract import RULES

BAD = {Verdict.FAILED, Verdict.WARNING, Verdict.UNTESTABLE, Verdict.ERROR}
LIMITS = Limits(answer_seconds=0.5, grace_seconds=0.003)


def conform(provider_class):
    def conformance(script):
        return provider_class(script)

    options = {"capabilities": {"call_id_namespace": NAMESPACE, "usage": True}, "limits": LIMITS}
    options["select"] = getattr(provider_class, "select", ())
    return asyncio.run(run(conformance, **options))


def test_the_reference_provider_keeps_every_promise():
    report = conform(ReferenceProvider)
    assert [check.id for check in report.checks if check.verdict in BAD] == []
    assert report.exit_code == 0
    assert {check.rule for check in report.checks if check.verdict is Verdict.PASSED} >= set(RULES)


def test_every_rule_of_the_contract_has_a_mutant():
    assert set(RULES) <= set(MUTANTS)


@pytest.mark.parametrize("promise", MUTANTS)
def test_a_mutant_is_caught_by_exactly_its_check(promise):
    report = conform(MUTANTS[promise])
    caught = {check.rule for check in report.checks if check.verdict in BAD}
    assert caught == {promise}, [(check.id, check.got) for check in report.checks if check.verdict in BAD]
