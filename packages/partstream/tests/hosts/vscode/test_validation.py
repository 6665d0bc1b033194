import pytest

from partstream.vscode import rpc_types as wire
from partstream.vscode.methods import InvalidParamsError, check

from .sidecar import initialization

MESSAGE = {"role": 1, "content": []}


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (initialization({"source": "x", "name": None}), wire.InitializeParams),
        ({"group": None, "silent": True, "new": "field"}, wire.InformationParams),
        ({"group": {"id": "g", "configuration": {"any": [1]}}, "silent": False}, wire.InformationParams),
        ({"token": "t", "value": {"parts": [{"type": "unknown"}]}}, wire.ProgressParams),
        ({"id": 1}, wire.CancelParams),
        ({"role": 3, "content": [], "name": None}, wire.RequestMessage),
        ({"toolMode": 2, "tools": [{"name": "n", "description": ""}]}, wire.RequestOptions),
        ({"imageInput": True, "toolCalling": 128}, wire.LanguageModelChatCapabilities),
        (1, float),
    ],
)
def test_what_fits_its_shape_is_accepted(value, shape):
    check(value, shape, "params")


@pytest.mark.parametrize(
    ("value", "shape", "said"),
    [
        (None, wire.CancelParams, "params: got null, expected an object"),
        ({}, wire.CancelParams, "params.id: got nothing, expected a value"),
        ({"id": 1.5}, wire.CancelParams, "params.id: got 1.5, expected a whole number or a string"),
        ({"id": True}, wire.CancelParams, "params.id: got True, expected a whole number or a string"),
        ({"role": 4, "content": []}, wire.RequestMessage, "params.role: got 4, expected 1 or 2 or 3"),
        ({"role": True, "content": []}, wire.RequestMessage, "params.role: got True, expected 1 or 2 or 3"),
        ({"role": 1, "content": "x"}, wire.RequestMessage, "params.content: got a string, expected an array"),
        ({"silent": True}, wire.InformationParams, "params.group: got nothing, expected a value"),
        (
            {"group": {"id": "g", "configuration": "sk-secret"}, "silent": True},
            wire.InformationParams,
            "params.group.configuration: got a string, expected an object",
        ),
        (
            {"tools": [{"name": "a", "description": "b"}, {"name": 7, "description": "b"}]},
            wire.RequestOptions,
            "params.tools[1].name: got 7, expected a string",
        ),
        (True, float, "params: got True, expected a number"),
        ("1", int, "params: got a string, expected a whole number"),
    ],
)
def test_the_first_place_that_differs_is_named_and_no_text_is_shown(value, shape, said):
    with pytest.raises(InvalidParamsError) as caught:
        check(value, shape, "params")
    assert str(caught.value) == said
