"""The fixed scenarios: few conversations, many checks each."""

from partstream.conformance.scenarios.scenario import Probe, Scenario
from partstream.conformance.scenarios.table import SCENARIOS, any_script

__all__ = ["SCENARIOS", "Probe", "Scenario", "any_script"]
