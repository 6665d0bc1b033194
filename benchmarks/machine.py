"""Says on what was measured, because figures without it mean nothing."""

from __future__ import annotations

import os
import platform
import subprocess
import sysconfig
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["facts"]


def facts() -> dict[str, str]:
    """The machine, the interpreters and the versions that matter, by name."""
    optimised = "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or "")
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "processor": f"{_processor()}, {os.cpu_count()} cores, load {_load()}",
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_version()} ({'with' if optimised else 'without'} profile-guided optimisation)",
        "node": _node(),
        "packages": ", ".join(f"{name} {_version(name)}" for name in ("msgspec", "openai", "httpx-sse")),
    }


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def _node() -> str:
    try:
        return subprocess.run(["node", "--version"], check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "not installed"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
