"""How a rule that holds for many things at once says which of them break it."""

from collections.abc import Iterable


def assert_none(offences: Iterable[str]) -> None:
    """Fails with all the offences, one a line: a rule for 250 modules is one test, and shows what breaks it."""
    found = list(offences)
    assert not found, "\n".join(["", *found])
