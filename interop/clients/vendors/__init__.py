"""Vendors on loopback: each speaks one wire, refuses what the real one refuses, and answers as a script says."""
