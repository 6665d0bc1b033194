"""Writes the presets for the extension: the servers that *Add Models* offers."""

from __future__ import annotations
import json
from typing import TYPE_CHECKING, Any, Final

from partstream.settings.known_servers import KeyRequirement
from partstream.upstream.endpoint import ANOTHER_ADDRESS, presets

if TYPE_CHECKING:
    from partstream.upstream.endpoint import Preset

__all__ = ["preset_types"]

_HEAD: Final = """\
// Written by tools/generate.py from partstream/upstream/endpoint.py: edit the tables that it is made of and run
// it again.

/** A part of the world in which a server has an address of its own. */
export interface PresetRegion {
  readonly title: string;
  readonly baseUrl: string;
}

/** A server that a person can choose by name. */
export interface Preset {
  readonly name: string;
  readonly title: string;
  /** Empty where everybody has another address. */
  readonly baseUrl: string;
  /** What an address looks like that has to be asked for; empty where the base URL is known. */
  readonly addressExample: string;
  /** Whether people run it themselves. */
  readonly isLocal: boolean;
  /** Whether it needs a key. */
  readonly needsKey: boolean;
  /** The environment variables that usually hold its key. */
  readonly keyVariables: readonly string[];
  /** Where a person makes a key; empty where there is no such page. */
  readonly keysPage: string;
  /** Its regions, if a person has to choose one. */
  readonly regions: readonly PresetRegion[];
}

export const PRESETS: readonly Preset[] = [
"""


def preset_types() -> str:
    """The whole of `extension/src/presets.generated.ts`."""
    offered = (_fields(preset) for preset in presets() if preset is not ANOTHER_ADDRESS)
    return _HEAD + "".join(f"  {_spelt(fields)},\n" for fields in offered) + "];\n"


def _fields(preset: Preset) -> dict[str, Any]:
    return {
        "name": preset.name,
        "title": preset.title,
        "baseUrl": preset.base_url,
        "addressExample": preset.address_example,
        "isLocal": preset.is_local,
        "needsKey": preset.key is KeyRequirement.REQUIRED,
        "keyVariables": list(preset.key_variables),
        "keysPage": preset.keys_page,
        "regions": [{"title": region.title, "baseUrl": region.base_url} for region in preset.regions],
    }


def _spelt(value: Any) -> str:
    """A value as TypeScript."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name}: {_spelt(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_spelt, value))}]"
    return json.dumps(value, ensure_ascii=False)
