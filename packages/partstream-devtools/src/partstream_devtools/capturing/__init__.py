"""Captures exchanges with servers, the parts that a host received, and their times, in memory."""
