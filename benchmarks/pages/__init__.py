"""How fast the inspector's page is, and what it keeps in memory: measured in Chromium by `make bench WHAT=pages`."""
