"""Learns from the upstreams' reports: shares of reports, sizes and corrections."""
