"""The names that modules had up to 0.15: an import by such a name warns, and gets what it asks for from the new module.

`partstream` puts the finder behind those of Python, so it is asked for nothing that exists. The rows go with 0.17.
"""

from __future__ import annotations
import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from importlib.abc import Loader
    from types import ModuleType

MOVED: Final[Mapping[str, str]] = {
    "agents": "partstream_agents",
    "bundles": "partstream_devtools.bundles",
    "bundles.exchange": "partstream_devtools.bundles.exchange",
    "bundles.forms": "partstream_devtools.bundles.forms",
    "bundles.redaction": "partstream_devtools.redaction.redacting",
    "bundles.writing": "partstream_devtools.bundles.archive",
    "conformance": "partstream_devtools.conformance",
    "consumer": "partstream.runtime.consumer",
    "contract": "partstream.lm.contract",
    "hosts": "partstream_hub",
    "hosts.ray": "partstream_hub.ray",
    "hub": "partstream_hub",
    "json_codec": "partstream.codec.json_codec",
    "messages": "partstream.lm.messages",
    "outputs": "partstream.lm.outputs",
    "parts": "partstream.lm.parts",
    "protocols.life": "partstream.protocols.read_response",
    "protocols.registry": "partstream.protocols.protocol",
    "provider": "partstream.lm.provider",
    "serving": "partstream.server",
    "serving.app": "partstream.server.application",
    "serving.metrics": "partstream.server.telemetry",
    "serving.settings": "partstream.server.settings",
    "serving.stored_answers": "partstream.server.stored_answers",
    "serving.tracing": "partstream.server.tracing",
    "simple": "partstream.runtime.simple",
    "testing": "partstream_devtools.testing",
    "upstreams": "partstream.upstream",
    "usage": "partstream.lm.parts",
}
"""The new module of each old name below `partstream` that a page named."""

_PACKAGES: Final = ("agents", "hub")
"""The rooms that became packages of the same inner shape: each of their modules is found by its old name."""

RENAMED: Final[Mapping[str, str]] = {
    "Asked": "InboundRequest",
    "Claim": "MatchConfidence",
    "Ends": "Terminators",
    "ReadRequest": "RequestReaderSpec",
    "ReadResponse": "ResponseReaderSpec",
    "WriteRequest": "RequestWriterSpec",
    "WriteResponse": "ResponseWriterSpec",
}
"""The new names of what installed protocols import."""


def renamed(module_name: str, name: str) -> Any:
    """What a module calls otherwise since 0.16, with a warning.

    Raises:
        AttributeError: It has no such name, and never had.
    """
    module = import_module(module_name)
    if name not in RENAMED or RENAMED[name] not in vars(module):
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
    warnings.warn(f"{name} is called {RENAMED[name]} now", DeprecationWarning, stacklevel=3)
    return getattr(module, RENAMED[name])


class MovedFinder:
    """Finds modules by their old names; the last of `sys.meta_path`."""

    @classmethod
    def find_spec(cls, name: str, _path: Sequence[str] | None = None, _target: object = None) -> ModuleSpec | None:
        """How to load a module of an old name; None for every other name."""
        return ModuleSpec(name, cast("Loader", cls()), is_package=True) if _new_name(name) is not None else None

    def create_module(self, _spec: ModuleSpec) -> None:
        """The import system makes the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Makes the old module say, for each name, what the new one has for it."""
        new_name = str(_new_name(module.__name__))
        try:
            new = import_module(new_name)
        except ModuleNotFoundError as error:
            package = new_name.partition(".")[0].replace("_", "-")
            if error.name is None or error.name.replace("_", "-") != package:
                raise
            from partstream.plugins import MissingPackageError  # noqa: PLC0415 - for a missing package alone

            raise ModuleNotFoundError(str(MissingPackageError(module.__name__, package)), name=error.name) from error
        warnings.warn(f"{module.__name__} is {new.__name__} now", DeprecationWarning, stacklevel=2)

        def look_up(name: str) -> Any:
            return getattr(new, name) if hasattr(new, name) else renamed(new.__name__, name)

        vars(module)["__getattr__"] = look_up


def _new_name(name: str) -> str | None:
    """The new name of a module; None for a name that is no old one."""
    old = name.removeprefix("partstream.")
    room, _, rest = old.partition(".")
    return f"partstream_{room}.{rest}" if rest and room in _PACKAGES else MOVED.get(old)


def find_moved_modules() -> None:
    """Lets old names of modules be imported, once."""
    if not any(finder is MovedFinder for finder in sys.meta_path):
        sys.meta_path.append(MovedFinder)
