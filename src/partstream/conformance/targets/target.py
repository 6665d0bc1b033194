"""The interface of a target, and what one is while it is tested; knows no kind of target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from partstream.errors import CallerError, LanguageModelError

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from partstream.conformance.capabilities import Capabilities, Provocation
    from partstream.devtools.conformance.scripts import Script
    from partstream.devtools.testing.upstream import ReplayUpstream
    from partstream.lm.provider import LanguageModelChatProvider

__all__ = ["RequestLimitError", "Session", "Target", "TargetDescription", "UnusableTargetError"]


class UnusableTargetError(CallerError):
    """The target cannot be tested at all: it does not start, lists no model, or is not what it was said to be.

    Attributes:
        target: The target, as it was named.
        reason: Why, as a sentence.
    """

    def __init__(self, target: str, reason: str) -> None:
        super().__init__(f"{target}: {reason}")
        self.target = target
        self.reason = reason


class RequestLimitError(LanguageModelError):
    """The run has asked for as many answers as it may.

    Attributes:
        limit: How many.
    """

    def __init__(self, limit: int) -> None:
        super().__init__(f"the run may ask this server for {limit} answers and no more")
        self.limit = limit


@dataclass(frozen=True, slots=True)
class TargetDescription:
    """What a report says of a target; holds no secret.

    Attributes:
        name: The target as it was named, such as `my_provider.py`.
        kind: `provider`, `stdio`, `base URL` ...
        version: The version of its program or package, or None.
        protocol: The name of the protocol that it is tested over, or None where nobody has named one.
    """

    name: str
    kind: str
    version: str | None = None
    protocol: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The description as JSON values."""
        return {"name": self.name, "kind": self.kind, "version": self.version, "protocol": self.protocol}


class Session(Protocol):
    """A target that runs.

    Attributes:
        upstream: The scripted model server behind it, or None.
        declared: What the target itself says that it can do, beside the information about its models.
        note: A sentence for the head of the report, such as how many requests are sent; empty for none.
    """

    @property
    def upstream(self) -> ReplayUpstream | None:
        """The attribute `upstream`."""
        ...

    @property
    def declared(self) -> Capabilities:
        """The attribute `declared`."""
        ...

    @property
    def note(self) -> str:
        """The attribute `note`."""
        ...

    def provider(self, script: Script | None) -> LanguageModelChatProvider:
        """The provider to ask, whose model plays a script where the target takes one."""
        ...


class Target(Protocol):
    """Something that can be tested.

    Attributes:
        description: What a report says of it.
        ways: How it is made to do what a scenario needs.
    """

    @property
    def description(self) -> TargetDescription:
        """The attribute `description`."""
        ...

    @property
    def ways(self) -> frozenset[Provocation]:
        """The attribute `ways`."""
        ...

    def open(self) -> AbstractAsyncContextManager[Session]:
        """Runs the target for the duration of a block.

        Raises:
            UnusableTargetError: It cannot be started.
        """
        ...
