"""The table says everything that is said: the code serves it, and the TypeScript types come from it."""

import asyncio
import inspect
from typing import is_typeddict

from partstream.vscode import rpc_types as wire
from partstream.vscode import session
from partstream.vscode.failures import GroupSecrets
from partstream.vscode.methods import METHODS, Direction
from partstream.vscode.rpc import Outbox

# Served before any other request, at once.
IMMEDIATE = {"initialize"}


def _session():
    async def make():
        return session.Session(Outbox(), GroupSecrets(), on_ready=lambda: None, on_exit=lambda _: None)

    return asyncio.run(make())


def test_every_request_and_notification_to_the_sidecar_has_a_handler_and_no_other():
    made = _session()
    rows = [row for row in METHODS.values() if row.direction is Direction.TO_SIDECAR]
    assert {row.name for row in rows if row.is_request} == {*made._handlers, *IMMEDIATE}
    assert {row.name for row in rows if not row.is_request} == set(made._notification_handlers)


def test_every_shape_is_a_typed_dict_of_the_wire_with_a_description():
    for row in METHODS.values():
        assert row.doc.endswith(".")
        for shape in filter(None, (row.params, row.result)):
            assert is_typeddict(shape)
            assert getattr(wire, shape.__name__) is shape
    for name in vars(wire):
        if is_typeddict(getattr(wire, name)):
            assert inspect.getdoc(getattr(wire, name)), name


def test_notifications_have_no_result():
    assert [row.name for row in METHODS.values() if not row.is_request and row.result is not None] == []
