"""Counts or estimates the tokens of texts, messages, images and files."""
