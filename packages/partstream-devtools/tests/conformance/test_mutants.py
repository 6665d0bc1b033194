"""The kit is right in both directions: the reference passes, and each mutant is caught by exactly its check."""

import hashlib

import pytest
from mutants import MUTANTS, SANDWICHED
from scripted_targets import at_once

from conformance.reference import NAMESPACE, ReferenceProvider
from partstream.lm.contract import RULES
from partstream_devtools.conformance.checks import load
from partstream_devtools.conformance.driver import TimeLimits
from partstream_devtools.conformance.report import Verdict
from partstream_devtools.conformance.running import run
from partstream_devtools.conformance.scenarios import all_rows, check_ids

BAD = {Verdict.FAILED, Verdict.WARNING, Verdict.UNTESTABLE, Verdict.ERROR}
LIMITS = TimeLimits(grace_seconds=0.003)


def conform(provider_class):
    def conformance(script):
        return provider_class(script)

    options = {"capabilities": {"call_id_namespace": NAMESPACE, "usage": True}, "limits": LIMITS}
    options["select"] = getattr(provider_class, "select", ())
    return at_once(run(conformance, **options))


def test_the_reference_provider_keeps_every_promise():
    report = conform(ReferenceProvider)
    assert [check.id for check in report.checks if check.verdict in BAD] == []
    assert report.exit_code == 0
    assert {check.rule for check in report.checks if check.verdict is Verdict.PASSED} >= set(RULES)


def test_every_rule_of_the_contract_has_a_mutant_and_no_check_without_one_counts():
    assert set(RULES) <= set(MUTANTS)
    counting = {one.partition("/")[0] for one in load() if not one.startswith("parser.")}
    assert counting <= {
        *MUTANTS,
        *SANDWICHED,
    }  # packages/partstream-devtools/tests/conformance/test_parser_targets.py has those of parsers


def test_a_check_that_counts_exists_for_ever():
    assert load() <= {one for ids in check_ids(all_rows()).values() for one in ids}


FROZEN = "be0dfe9db1c8b995107b3e0673569a5aa0a1825acc14c03f7d98d0bfe72f03dc"
"""The digest of the requirement set 1.0: a set that was released is frozen, and a new check counts from the next on."""


def test_the_checks_that_count_do_not_change_without_notice():
    checks = "\n".join(sorted(load("1.0")))
    assert hashlib.sha256(checks.encode()).hexdigest() == FROZEN


SELECTED = ("/text", "/one-call", "/image-input", "/tool-result-text", "/stall", "/cancel-in-text", "/truncated")


@pytest.mark.parametrize("requirement", SANDWICHED)
def test_a_mutant_in_the_sandwich_is_caught_by_exactly_its_check(requirement):
    broken = SANDWICHED[requirement]

    def make(upstream):
        return broken(upstream)

    report = at_once(run(make, select=SELECTED, limits=LIMITS))
    caught = {check.rule for check in report.checks if check.verdict in BAD}
    assert caught == {requirement}, [(check.id, check.got) for check in report.checks if check.verdict in BAD]


@pytest.mark.parametrize("requirement", MUTANTS)
def test_a_mutant_is_caught_by_exactly_its_check(requirement):
    report = conform(MUTANTS[requirement])
    caught = {check.rule for check in report.checks if check.verdict in BAD}
    assert caught == {requirement}, [(check.id, check.got) for check in report.checks if check.verdict in BAD]
