"""The command behind `make bench WHAT=pages`: measures the inspector's page, and writes the figures to results.json.

It ends with code 1 when the page is slower than it may be.
"""

from __future__ import annotations
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "packages/partstream-devtools/tests"))

from benchmarks.machine import facts
from benchmarks.pages.measuring import EVENTS, LIMITS, browser, live_figures, page_figures, script_figures
from inspector import sample_views
from inspector.handmade import answer, long_answer
from inspector.handmade import view as view_of

RESULTS = Path(__file__).with_name("results.json")


def main() -> int:
    """Measures, prints and keeps."""
    long = sample_views.long()
    with TemporaryDirectory() as name, browser() as running:
        folder = Path(name)
        figures = page_figures(running, long, folder)
        memory = live_figures(running, view_of(answer()), long_answer(700), folder)
        version = running.version
    machine = facts()
    results = {
        "date": machine["date"],
        "processor": machine["processor"],
        "browser": f"Chromium {version}",
        "events": EVENTS,
        "milliseconds": figures,
        "size": script_figures(long),
        "megabytes after each live minute": memory,
    }
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=2))
    slow = [f"{name}: {figures[name]} ms, at most {most:g}" for name, most in LIMITS.items() if figures[name] > most]
    print(*slow, sep="\n")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
