"""Serves models to many people, each with a key, budgets and a policy."""

from typing import Final

# Here, so that `partstream serve` without a hub loads no more of this package than its options.

LEASE_SECONDS: Final = 5.0
"""The seconds for which a lease should last at the rate at which its worker reserves, unless the settings say else."""
SHORTEST_LEASE_SECONDS: Final = 1.0
LONGEST_LEASE_SECONDS: Final = 3_600.0
