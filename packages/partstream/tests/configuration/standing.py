"""Settings that stand in one place, as a person would write them there."""

import json
from pathlib import Path
from typing import Any

from partstream.config.loading import Configuration, load_configuration
from partstream.config.table import SETTINGS, RawValue
from partstream.settings.row import SettingSource

PLACES = (SettingSource.COMMAND_LINE, SettingSource.GROUP, SettingSource.ENVIRONMENT, SettingSource.FILE)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_toml(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def load_from(given: dict[str, Any], place: SettingSource, folder: Path) -> Configuration:
    """The configuration of settings that stand in one place."""
    arguments: dict[str, Any] = {"environment": {"XDG_CONFIG_HOME": str(folder), "APPDATA": str(folder)}}
    if place is SettingSource.COMMAND_LINE:
        arguments["command_line"] = {name: RawValue(value, f"--{name}") for name, value in given.items()}
    elif place is SettingSource.GROUP:
        arguments["group"] = given
    elif place is SettingSource.FILE:
        file = folder / "planted.toml"
        file.write_text("\n".join(f"{name} = {_toml(value)}" for name, value in given.items()))
        arguments["environment"]["PARTSTREAM_CONFIG"] = str(file)
    else:
        known = {name: value for name, value in given.items() if name in SETTINGS}
        texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in known.items()}
        arguments["environment"] |= {SETTINGS[name].variable: text for name, text in texts.items()}
    return load_configuration(**arguments)
