"""Takes out of a recording what is nobody's business, and keeps what a fault depends on."""

from __future__ import annotations

from partstream.bundles.redaction.contents import what_is_in_it
from partstream.bundles.redaction.redacting import redact
from partstream.bundles.redaction.report import RedactionReport, Sample

__all__ = ["RedactionReport", "Sample", "redact", "what_is_in_it"]
