"""The fixed scenarios: few conversations, many checks each."""

from partstream.conformance.scenarios.table import SCENARIOS, any_script
from partstream.devtools.conformance.checks import Probe, Scenario

__all__ = ["SCENARIOS", "Probe", "Scenario", "any_script"]
