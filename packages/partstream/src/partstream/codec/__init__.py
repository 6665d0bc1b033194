"""Bytes, events, JSON, redaction, bounded numbers and text: what every room reads and writes with.

Knows nothing of chat.
"""
