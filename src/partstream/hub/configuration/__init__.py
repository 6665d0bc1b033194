"""`hub.toml`, the form of a hub that can be reviewed: reading, the plan as a diff, the changes, writing; no I/O."""

from __future__ import annotations

from partstream.hub.configuration.document import Entry, EntryId, HubDocument, Section
from partstream.hub.configuration.faults import ConfigurationFault, UnusableHubFileError
from partstream.hub.configuration.fields import FIELDS, Field, Form
from partstream.hub.configuration.forms import budget_changes, budget_rules, budgets_text, changes_of, document_of
from partstream.hub.configuration.plan import ConfigurationPlan, Step, StepKind, plan_of
from partstream.hub.configuration.reading import fault_of_name, read_entry, read_hub_file
from partstream.hub.configuration.writing import written_hub_file, written_value

__all__ = [
    "FIELDS",
    "ConfigurationFault",
    "ConfigurationPlan",
    "Entry",
    "EntryId",
    "Field",
    "Form",
    "HubDocument",
    "Section",
    "Step",
    "StepKind",
    "UnusableHubFileError",
    "budget_changes",
    "budget_rules",
    "budgets_text",
    "changes_of",
    "document_of",
    "fault_of_name",
    "plan_of",
    "read_entry",
    "read_hub_file",
    "written_hub_file",
    "written_value",
]
