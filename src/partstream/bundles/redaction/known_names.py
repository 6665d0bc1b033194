"""Names and sentences that a redaction keeps, because they say nothing of a person: tables."""

from __future__ import annotations

from typing import Final

from partstream.lm.outputs import GATEWAY_CALL_ID_PREFIX

__all__ = [
    "HEADERS_KEPT",
    "HEADER_ENDINGS_KEPT",
    "ID_PREFIXES",
    "LINKED_ENDINGS",
    "PATH_WORDS",
    "TOOL_NAMES",
    "WRAPPINGS",
    "words",
]


def words(listed: str) -> frozenset[str]:
    """The words of a text with blanks between them."""
    return frozenset(listed.split())


ID_PREFIXES: Final = words(
    "ap asst batch call call_function chatcmpl chatcmpl-tool ci cmp cmpl cntr container content conv ctc cu data "
    "event evt fc fcl fco file fp fs functions gen ig in item lsh mcp mcpl mcpr mcptoolu message msg msgs org out "
    "part proj reasoning req resp response rs run sess session srvtoolu step text thread tool toolcall toolu "
    "tooluse txt user vs ws "
)
"""What ids begin with that say their kind."""

WRAPPINGS: Final = (GATEWAY_CALL_ID_PREFIX,)
"""What readers put before the ids of servers, see :attr:`partstream.lm.outputs.StreamOptions.call_id_prefix`."""

LINKED_ENDINGS: Final = ("png", "jpg", "jpeg", "gif", "webp", "avif", "heic", "pdf")
"""Endings of addresses by which readers tell the kind of a file."""

TOOL_NAMES: Final = words(
    # VS Code's and Copilot's own tools.
    "apply_patch ask_questions configure_python_environment copilot_applyPatch copilot_askQuestions "
    "copilot_createDirectory copilot_createFile copilot_createNewJupyterNotebook copilot_createNewWorkspace "
    "copilot_editFiles copilot_editNotebook copilot_fetchWebPage copilot_findFiles copilot_findTestFiles "
    "copilot_findTextInFiles copilot_getChangedFiles copilot_getDocInfo copilot_getErrors copilot_getNotebookSummary "
    "copilot_getProjectSetupInfo copilot_getSearchResults copilot_getVSCodeAPI copilot_githubRepo "
    "copilot_insertEdit copilot_installExtension copilot_listCodeUsages copilot_listDirectory copilot_memory "
    "copilot_multiReplaceString copilot_openSimpleBrowser copilot_readFile copilot_readNotebookCellOutput "
    "copilot_readProjectStructure copilot_replaceString copilot_runInTerminal copilot_runNotebookCell "
    "copilot_runTests copilot_runVscodeCommand copilot_searchCodebase copilot_searchWorkspaceSymbols "
    "copilot_testFailure copilot_think copilot_updateUserPreferences copilot_viewImage "
    "create_and_run_task create_directory create_file create_new_jupyter_notebook create_new_workspace edit_files "
    "edit_notebook_file execution_subagent fetch_webpage file_search get_changed_files get_doc_info get_errors "
    "get_project_setup_info get_python_environment_details get_python_executable_details get_search_view_results "
    "get_task_output get_terminal_output get_vscode_api github_repo grep_search insert_edit_into_file "
    "install_extension install_python_packages kill_terminal list_code_usages list_dir manage_todo_list memory "
    "multi_replace_string_in_file open_simple_browser read_file read_notebook_cell_output read_project_structure "
    "replace_string_in_file run_in_terminal run_notebook_cell run_task run_vscode_command runSubagent runTests "
    "search_subagent search_workspace_symbols semantic_search terminal_last_command terminal_selection test_failure "
    "test_search think update_user_preferences view_image vscode_askQuestions vscode_editFile_internal "
    "vscode_fetchWebPage_internal vscode_searchExtensions_internal "
    # Tools that servers run, and tools whose schema a server defines: readers know them by name.
    "advisor bash bash_code_execution code_execution code_interpreter computer computer_use_preview file_search "
    "google_search image_generation local_shell memory shell str_replace_based_edit_tool str_replace_editor "
    "text_editor text_editor_code_execution tool_search_tool_bm25 tool_search_tool_regex url_context web_fetch "
    "web_search web_search_preview x_search code_mode googleSearch urlContext codeExecution "
    # Words of protocols that stand in a field `name`.
    "on_interrupt PredictState json json_schema response object final_result"
)

HEADERS_KEPT: Final = words(
    "accept accept-encoding cache-control connection content-encoding content-length content-type keep-alive pragma "
    "retry-after retry-after-ms server strict-transport-security te transfer-encoding user-agent vary "
    "x-accel-buffering x-content-type-options x-envoy-upstream-service-time x-should-retry x-stainless-retry-count"
)
"""Header fields whose values stay; those of :data:`HEADER_ENDINGS_KEPT` stay too."""

HEADER_ENDINGS_KEPT: Final = ("-version", "-beta", "-processing-ms", "-streaming", "-stream")
"""What the names of header fields end with that say how a wire is spoken."""

PATH_WORDS: Final = words(
    "accounts agent agents api backend-api beta cancel chat codex compact compatible-mode completions config "
    "converse converse-stream count_tokens deployments embeddings endpoints engines generate global google "
    "inference inference-profiles input_items input_tokens interactions invoke invoke-with-response-stream "
    "language-model locations messages model models openapi paas projects ps publishers responses run serverless "
    "show tags us-central1 v1 v1alpha v1beta v1beta1 v2 v3 v4 version workers "
)
"""Segments of paths that stay."""
