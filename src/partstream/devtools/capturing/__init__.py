"""Capturing."""
