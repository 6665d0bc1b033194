"""Streams as hostile servers send them: made from recordings by damaging them, and what must hold for each."""
