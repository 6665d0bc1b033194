"""What the extras of Partstream install, by the names of those packages.

Partstream is on no package index, and anybody may register its name there. So no message gives that name to an
installer.
"""

from __future__ import annotations

from typing import Final

__all__ = ["PACKAGES", "to_install"]

PACKAGES: Final = {
    "conformance": ("hypothesis>=6.135", "pytest>=8.3"),
    "fast": ("msgspec>=0.19",),
    "serve": (
        "httptools>=0.6.3",
        "msgspec>=0.19",
        "prometheus-client>=0.21",
        "uvicorn>=0.52.1",
        "websockets>=14",
    ),
    "keyring": ("keyring>=25.6",),
    "postgres": ("psycopg[binary]>=3.2.13",),
    "ray": ("ray[serve]>=2.55",),
    "socks": ("socksio>=1.0",),
    "telemetry": (
        "opentelemetry-api>=1.30",
        "opentelemetry-exporter-otlp-proto-http>=1.30",
        "opentelemetry-sdk>=1.30",
    ),
    "tokens": ("bpe-openai>=0.1.4",),
}
"""The packages of each extra, as `pyproject.toml` has them, without those that only some systems can use."""


def to_install(*extras: str) -> str:
    """The command that installs the packages of some extras beside a Partstream that is there already."""
    packages = dict.fromkeys(package for extra in extras for package in PACKAGES[extra])
    return " ".join(["pip install", *(f"'{package}'" for package in packages)])
