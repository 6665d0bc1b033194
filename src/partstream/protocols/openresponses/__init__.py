"""OpenResponses, specification of 2026-04-24."""
