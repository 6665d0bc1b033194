"""Errors that the calling code or a setting is to blame for."""

from __future__ import annotations

from partstream.errors.roots import CallerError

__all__ = [
    "AdapterUsageError",
    "ContractViolationError",
    "DuplicateVendorError",
    "ProviderStuckError",
]


class AdapterUsageError(CallerError):
    """An adapter was fed or ended a second time after its end."""


class ContractViolationError(CallerError):
    """A provider broke a rule of the stream contract.

    Attributes:
        rule_id: The rule's identifier, as in :data:`partstream.contract.RULES`.
        section: The section of the contract.
        detail: A description of what the provider did.
    """

    def __init__(self, rule_id: str, section: str, text: str, detail: str) -> None:
        super().__init__(f"rule {rule_id} (section {section}) is broken: {detail}. The rule: {text}")
        self.rule_id = rule_id
        self.section = section
        self.detail = detail


class DuplicateVendorError(CallerError):
    """A provider was registered under a vendor that already has a provider.

    Attributes:
        vendor: The vendor.
    """

    def __init__(self, vendor: str) -> None:
        super().__init__(f"the vendor {vendor!r} already has a provider: dispose of its registration first")
        self.vendor = vendor


class ProviderStuckError(CallerError):
    """A provider still ran after its token and then its task were cancelled; nothing else can stop it.

    Attributes:
        vendor: The vendor that the provider is registered under.
        model_id: The model of the request.
        seconds: How long its caller waited for it to stop.
    """

    def __init__(self, vendor: str, model_id: str, seconds: float) -> None:
        super().__init__(f"the provider of {vendor}/{model_id} did not stop within {seconds:g} s of being cancelled")
        self.vendor = vendor
        self.model_id = model_id
        self.seconds = seconds
