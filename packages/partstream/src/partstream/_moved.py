"""The names that modules had up to 0.15: an import by such a name warns, and gets what it asks for from the new module.

`partstream` appends the finder to those of Python, so it is asked for nothing that exists. The rows go with 0.17.
"""

from __future__ import annotations
import sys
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
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
    "Asked": "partstream.lm.outputs.InboundRequest",
    "Claim": "partstream.protocols.read_response.MatchConfidence",
    "Ends": "partstream.protocols.protocol.Terminators",
    "ReadRequest": "partstream.protocols.serve.RequestReader",
    "ReadResponse": "partstream.protocols.read_response.ResponseReader",
    "WriteRequest": "partstream.protocols.protocol.RequestWriter",
    "WriteResponse": "partstream.protocols.serve.ResponseWriter",
}
"""Where each name is now that installed protocols imported."""

_POSITIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "ReadRequest": ("read", "paths", "socket"),
    "ReadResponse": ("open", "claim", "frequent", "events_of", "item_of_tags"),
    "WriteRequest": ("write", "path", "authorize"),
    "WriteResponse": ("open", "frame", "document", "error", "end_of_stream", "content_type", "documents"),
}
"""The four that are base classes now. Up to 0.15 each was made of functions and values, in this order."""
_METHODS: Final = {"open": "__new__", "authorize_for": "authorizer", "form_of": "stream_form", "fail": "failed"}
_FLAGS: Final = {"events_of": "has_documents", "resume": "pauses", "choose_window": "sets_window"}
"""What a class says beside a method, where a function or its absence said it."""


def renamed(module_name: str, name: str) -> Any:
    """What a module calls otherwise since 0.16, with a warning.

    Raises:
        AttributeError: It has no such name, and never had.
    """
    if name not in RENAMED:
        raise AttributeError(f"module {module_name!r} has no attribute {name!r}")
    home, _, new_name = RENAMED[name].rpartition(".")
    new = getattr(import_module(home), new_name)
    warnings.warn(f"{name} is called {new_name} now", DeprecationWarning, stacklevel=3)
    return new if name not in _POSITIONS else partial(_made_of_functions, name, new)


def _made_of_functions(name: str, base: type[Any], *values: Any, **fields: Any) -> Any:
    """The class, or the object without state, that replaces functions and values as 0.15 took them."""
    fields = dict(zip(_POSITIONS[name], values, strict=False)) | fields
    fields = {name: value for name, value in fields.items() if value is not None}
    flags = {_FLAGS[name]: True for name in fields if name in _FLAGS}
    if "open" in fields:
        opened = fields["open"]
        fields["open"] = lambda _class, *arguments: opened(*arguments)
    own = {_METHODS.get(name, name): staticmethod(one) if callable(one) else one for name, one in fields.items()}
    made = type(name, (base,), own | flags)
    return made if "open" in fields else made()


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
