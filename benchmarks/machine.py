"""Says on what was measured, because figures without it mean nothing."""

from __future__ import annotations
import json
import os
import platform
import subprocess
import sysconfig
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        "packages": ", ".join(f"{name} {_version(name)}" for name in ("msgspec", "httpx-sse")),
        "peers": ", ".join(_pinned()),
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


def _pinned() -> Iterator[str]:
    """The peers that have environments of their own, with the versions that are installed there."""
    folder = Path(__file__).resolve().parent
    for requirements in sorted((folder / "peers").glob("*.in")):
        yield requirements.read_text(encoding="utf-8").strip().replace("==", " ")
    of_node = json.loads((folder / "node" / "package.json").read_text(encoding="utf-8"))
    yield from (f"{name} {version}" for name, version in of_node["dependencies"].items() if "ai" in name.split("/")[0])


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
