"""The host's tools under the names that an agent knows them by, and back."""

from partstream import Tool
from partstream.conversation.turns import ANY_NAME
from partstream_agents.answer import ExternalTools, selected
from rows import one_test_for

READ, EDIT, FIND = (Tool(name, "") for name in ("read_file", "edit_file", "find"))

WANTED = {
    "all": ("auto", [READ, EDIT, FIND]),
    "all, as True": (True, [READ, EDIT, FIND]),
    "none": (False, []),
    "names": (["find", "read_file", "gone"], [READ, FIND]),
    "no names": ([], []),
    "a function": (lambda tool: tool.name.endswith("_file"), [READ, EDIT]),
}


@one_test_for(("wanted", "tools"), WANTED.values(), ids=WANTED)
def test_the_tools_that_an_agent_gets(wanted, tools):
    assert list(selected((READ, EDIT, FIND), wanted)) == tools


NAMES = {
    "as they are": (["read_file"], [], ["read_file"]),
    "beside one of the agent's": (["find", "read_file"], ["find"], ["vscode_find", "read_file"]),
    "beside one with the prefix": (
        ["find", "vscode_find"],
        ["find"],
        ["vscode_vscode_find", "vscode_find"],
    ),
    "twice": (["find", "find"], [], ["find"]),
    "with what no server takes": (["mcp.find"], [], [ANY_NAME.derive("mcp.find", 0)]),
}


@one_test_for(("names", "inner", "sent"), NAMES.values(), ids=NAMES)
def test_each_tool_has_one_name_of_its_own_and_comes_back_under_the_hosts(names, inner, sent):
    tools = ExternalTools([Tool(name, "") for name in names], inner)
    shown = [tool.name for tool in tools.tools]
    assert shown == sent
    assert [tools.given(name) for name in shown] == list(dict.fromkeys(names))
    assert [tools.sent(name) for name in dict.fromkeys(names)] == shown
    assert all(tools.given(name) is None for name in {*inner, "other"} - set(shown))


def test_a_tool_of_an_earlier_request_keeps_its_name_and_cannot_be_called():
    tools = ExternalTools([READ], ["find"], ["find", "edit_file"])
    assert tools.sent("find") == "vscode_find"
    assert tools.given("vscode_find") is None
    assert tools.given("edit_file") is None
