"""Our own providers keep the contract: over every protocol, with the kit as the model server, and the examples."""

from pathlib import Path

import pytest
from scripted_targets import at_once

from extent import IS_WHOLE, TELLING
from partstream import GatewayConfiguration, GatewayProvider
from partstream.runtime.demo_provider import DemoProvider
from partstream_devtools.conformance.driver import TimeLimits
from partstream_devtools.conformance.report import Verdict
from partstream_devtools.conformance.running import run
from partstream_devtools.testing.admission import BASE_PATHS

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
LIMITS = TimeLimits(grace_seconds=0.003)
WHOLE = frozenset(BASE_PATHS) if IS_WHOLE else {"anthropic-messages"}
"""The protocols that all scenarios are run over."""
WEATHER = 'run get_weather {"city": "Oslo"}'


def gateway(upstream, protocol):
    return GatewayProvider(GatewayConfiguration(base_url=upstream, protocol=protocol))


@pytest.mark.parametrize("protocol", BASE_PATHS)
def test_the_provider_of_model_servers_keeps_the_contract_over_every_protocol(protocol):
    capabilities = {"usage": True, "call_id_namespace": "gw-"}
    select = () if protocol in WHOLE else TELLING
    report = at_once(run(gateway, protocol=protocol, limits=LIMITS, capabilities=capabilities, select=select))
    assert [(check.id, check.got) for check in report.checks if check.verdict is not Verdict.PASSED] == []


@pytest.mark.parametrize(
    ("target", "capabilities"),
    [
        (str(EXAMPLES / "echo_provider.py"), {}),
        (str(EXAMPLES / "tools_provider.py"), {"tool_calling": True, "prompts": {"one-call": WEATHER}}),
        (str(EXAMPLES / "providers" / "parrot.py"), {}),
        (str(EXAMPLES / "providers" / "calling_tools.py"), {}),
        (str(EXAMPLES / "providers" / "two_models.py"), {}),
        (DemoProvider(), {"tool_calling": True, "thinking": True}),
        ("conformance.reference:conformance", {"call_id_namespace": "reference-", "usage": True}),
    ],
    ids=["echo", "tools", "parrot", "calling tools", "two models", "demo", "reference"],
)
def test_the_examples_and_the_demo_model_keep_the_contract(target, capabilities):
    prompts = capabilities.get("prompts", {})
    # One prompt does for all scenarios of one call and its result.
    kinds = ("text", "image", "error", "empty")
    prompts |= {f"tool-result-{kind}": prompts["one-call"] for kind in kinds if "one-call" in prompts}
    report = at_once(run(target, limits=LIMITS, capabilities=capabilities))
    assert report.exit_code == 0, [(check.id, check.got) for check in report.broken]
    assert report.counts[Verdict.PASSED] > 40
