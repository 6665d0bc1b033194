"""What can be tested: every target becomes a provider that the kit asks as a host does."""
