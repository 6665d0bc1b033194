"""Shows recorded answers: bytes, events, parts, times, and what broke."""
