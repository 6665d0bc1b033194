"""A package, so that its test modules may have the names of others."""
