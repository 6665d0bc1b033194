"""The command behind `make interop TRY=freshness`: compares our tables of wires with the newest packages of the
registries.

It ends with code 1 when something is new, gone or changed that no table and no reason names.
"""

from __future__ import annotations
import json
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from interop.freshness.census import CENSUS, FIELDS, field_changes, kept, read_kept
from interop.freshness.comparing import compared
from interop.freshness.looked_at import FOLDER, accept
from interop.freshness.packages import UnreadableTypesError, installed_for_census, read_fields
from interop.freshness.table import WIRES
from interop.servers.environments import NotInstalledError

if TYPE_CHECKING:
    from interop.freshness.census import CensusWire
    from interop.freshness.facts import Wire


@click.command()
@click.option("--only", multiple=True, help="The name of a wire; repeat for more.")
@click.option("--accept", "is_accepted", is_flag=True, help="Keeps the fields of today as looked at.")
def main(only: tuple[str, ...], is_accepted: bool) -> None:
    """Says what the newest packages name and we do not know, and what we know and they do not name."""
    names = [*dict.fromkeys(wire.name for wire in (*WIRES, *CENSUS))]
    if unknown := {*only} - {*names}:
        raise click.UsageError(f"--only: got {', '.join(sorted(unknown))}, expected one of {', '.join(names)}")
    chosen = [wire for wire in WIRES if not only or wire.name in only]
    faults = sum(_shown(wire, is_accepted=is_accepted) for wire in chosen)
    counted = [wire for wire in CENSUS if not only or wire.name in only]
    faults += sum(_counted(wire, is_accepted=is_accepted) for wire in counted)
    click.echo(f"{faults} to look at" if faults else "all is known")
    sys.exit(1 if faults else 0)


def _shown(wire: Wire, *, is_accepted: bool) -> int:
    """Compares a wire, shows what was found, and returns how much of it a person has to look at."""
    try:
        seen, said, found = compared(wire, FOLDER, datetime.now(UTC).date().isoformat())
    except (NotInstalledError, UnreadableTypesError) as error:
        click.echo(f"{wire.name}: {wire.package} cannot be read: {error}")
        return 1
    if is_accepted:
        accept(FOLDER, wire.name, said)
        found = [one for one in found if not one.is_accepted_by_looking]
    count = len(found) or "nothing"
    click.echo(f"{wire.name}: {wire.package} {said.version}, looked at {seen.version or 'never'}: {count} to look at")
    for one in found:
        click.echo(f"  {one.kind:8} {one.title}: {one.name}: {one.says}")
    for fact in wire.facts:
        for name, reason in fact.unmapped.items():
            click.echo(f"  known    {fact.title}: {name}: {reason}")
    return len(found)


def _counted(wire: CensusWire, *, is_accepted: bool) -> int:
    """Compares the fields of a wire with those that the census knows, and returns how many differ.

    Accepted fields are kept; then the census has to be taken again (tests/census).
    """
    try:
        installed = installed_for_census(wire)
        text = kept(wire, installed.version, read_fields(installed, wire.roots))
    except (NotInstalledError, UnreadableTypesError) as error:
        click.echo(f"{wire.name}: the fields of {wire.package} cannot be read: {error}")
        return 1
    seen = read_kept(wire.name)
    found = [*field_changes(seen, json.loads(text))]
    before = seen.get("version", "no version")
    click.echo(f"{wire.name}: {wire.package} {installed.version}, counted at {before}: {len(found)} fields differ")
    for name, how in found:
        click.echo(f"  {how:8} a field: {name}")
    if is_accepted:
        (FIELDS / f"{wire.name}.json").write_text(text, encoding="utf-8", newline="\n")
        return 0
    return len(found)


if __name__ == "__main__":
    main()
