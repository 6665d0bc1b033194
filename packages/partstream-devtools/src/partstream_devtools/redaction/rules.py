"""What keys and ids of people look like, what stays in a redacted recording, and what a field is by its name: as data.

A rule has words of which a text must hold one, and a pattern: so most rules cost a search for a word. The patterns were
written after the shapes that issuers document; the word lists of gitleaks (`gitleaks.toml`) and of detect-secrets 1.5.0
were read to see that no issuer of model servers is missing. A pattern ends where its characters end, and takes fewer of
them at the end of a text: an answer that was cut may hold the beginning of a key. :class:`Search` finds keys in
whichever form they are there: plain, escaped for JSON, a URL or HTML, or in base64.

Words of protocols, names of tools and models, versions and sentences of servers stay, unless their form names a person
or a machine: an address of mail, a folder, a host, a network, a universal id. A field without a row is text, and is
redacted as if a person had written it.
"""

from __future__ import annotations
import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from partstream.codec.checks import dataclass, field
from partstream.codec.redaction import Redactor, decoded_views
from partstream.lm.outputs import GATEWAY_CALL_ID_PREFIX
from partstream_devtools.redaction.fragments import Meaning

if TYPE_CHECKING:
    from partstream_devtools.redaction.json_places import FieldPath

# ---- Keys and ids ----

SHORTEST_ENCODED: Final = 16
"""Digits of a base64 or hexadecimal text that is decoded and searched."""


@dataclass(frozen=True, slots=True)
class SecretRule:
    """One kind of secret; its name is for the counts of a redaction.

    A text without any of the words, in small letters, is not searched. The group `secret` of the pattern is hidden;
    without such a group, all of it.
    """

    name: str
    words: tuple[str, ...]
    pattern: re.Pattern[str] = field(repr=False)


def _token(name: str, prefix: str, characters: str, least: int, *, words: str = "") -> SecretRule:
    """A key: a pattern, then at least so many characters of a class, or fewer at the end of the text.

    A text must hold one of the words; empty where the prefix is the word.
    """
    pattern = rf"{prefix}(?:[{characters}]{{{least},}}|[{characters}]+\Z)"
    return SecretRule(name, tuple((words or prefix).lower().split()), re.compile(pattern))


def _named(name: str, words: str, pattern: str) -> SecretRule:
    """A secret that is known by what comes before it."""
    return SecretRule(name, tuple(words.split()), re.compile(pattern, re.IGNORECASE | re.VERBOSE))


_START: Final = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt]))"
"""Where a word begins, also after an escape of JSON in a text."""
_WORD: Final = r"A-Za-z0-9_-"
_ALNUM: Final = r"A-Za-z0-9"
_VALUE: Final = r"""(?P<secret> [^\s"'`\\,;&<>(){}\[\]|*]{4,} )"""
"""The value of an assignment without quotation marks; `***` is there where it was hidden already."""
_QUOTED: Final = r"""(?P<mark> \\*["'`] ) (?P<quoted> (?: (?! (?P=mark) ) [^\r\n] ){4,}? ) (?: (?P=mark) | \Z )"""
_NAMES: Final = (
    r"(?: (?<![a-z]) pass | pass(?:word|wd|phrase|code) | pwd | secret | token | apikey | credentials?"
    r" | (?:api|access|auth|account|private|client|shared|storage|encryption|signing|subscription|master|session)"
    r"[ _.-]?(?:key|token|secret) | connection[ _.-]?string )"
)
_STAGES: Final = (
    r"(?: [_.-] (?: [0-9]{1,3} | prod | dev | test | live | staging | value | string | env | base64 | b64 ) )?"
)

RULES: Final[tuple[SecretRule, ...]] = (
    # Keys of model servers (docs/wires/practice.md#secrets-in-recordings). Longer prefixes first: the first fit counts.
    _token("anthropic-key", r"sk-ant-", _WORD, 8),
    _token("openrouter-key", r"sk-or-", _WORD, 8),
    _token("openai-key", r"sk-(?:proj|svcacct|admin|None)-", _WORD, 8, words="sk-"),
    _token("secret-key", _START + r"[sr]k[-_](?:live[-_]|test[-_]|lf-)?", _WORD, 16, words="sk- sk_ rk_ rk-"),
    _token("google-key", _START + r"AIza", _WORD, 20, words="aiza"),
    _token("google-oauth-token", r"ya29\.", r"A-Za-z0-9._-", 16, words="ya29."),
    _token("google-refresh-token", _START + r"1//0", _WORD, 20, words="1//0"),
    _token("groq-key", r"gsk_", _ALNUM, 16),
    _token("xai-key", r"xai-", _WORD, 16),
    _token("hugging-face-token", r"(?:hf|api_org)_", _ALNUM, 16, words="hf_ api_org_"),
    _token("replicate-token", _START + r"r8_", _ALNUM, 16, words="r8_"),
    _token("perplexity-key", r"pplx-", _ALNUM, 16),
    _token("vercel-key", _START + r"v(?:ck|cp|ci|ca|cr)_", _ALNUM, 16, words="vck_ vcp_ vci_ vca_ vcr_"),
    _token("nvidia-key", r"nvapi-", _WORD, 16),
    _token("fireworks-key", _START + r"fw_", _ALNUM, 16, words="fw_"),
    _token("cerebras-key", _START + r"csk-", _ALNUM, 16, words="csk-"),
    _token("hub-key", _START + r"ps[kj]_", _WORD, 16, words="psk_ psj_"),  # of our own hub: keys, and codes to join
    _token("together-key", _START + r"tgp_v1_", _WORD, 16, words="tgp_v1_"),
    # Other keys that occur in files and terminals.
    _token(
        "github-token", r"(?:gh[pousr]_|github_pat_)", r"A-Za-z0-9_", 16, words="ghp_ gho_ ghu_ ghs_ ghr_ github_pat_"
    ),
    _token(
        "gitlab-token",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat)-",
        _WORD,
        16,
        words="glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat-",
    ),
    _token("slack-token", r"xox[a-z](?:\.xox[a-z])?-", _WORD, 10, words="xox"),
    _token("npm-token", _START + r"npm_", _ALNUM, 20, words="npm_"),
    _token("pypi-token", r"pypi-AgE", _WORD, 16, words="pypi-age"),
    _token("digitalocean-token", r"do[oprt]_v1_", r"a-f0-9", 16, words="doo_v1_ dop_v1_ dor_v1_ dot_v1_"),
    _token("sendgrid-key", _START + r"SG\.", r"A-Za-z0-9_.-", 20, words="sg."),
    _token(
        "aws-key-id",
        r"(?:A3T[A-Z0-9]|AKIA|ASIA|AGPA|AIDA|AROA|ABIA|ACCA)",
        r"A-Z0-9",
        12,
        words="a3t akia asia agpa aida aroa abia acca",
    ),
    _token("bedrock-key", _START + r"(?:bedrock-api-key-|ABSK)", r"A-Za-z0-9+/=", 16, words="bedrock-api-key- absk"),
    _token("age-key", r"AGE-SECRET-KEY-1", r"A-Z0-9", 16),
    _token("serve-token", _START + r"partstream-", _WORD, 32, words="partstream-"),  # of our own server
    _token("google-agent-key", _START + r"AQ\.", _WORD, 30, words="aq."),
    _token("tavily-key", _START + r"tvly-(?:dev-|prod-)?", _ALNUM, 16, words="tvly-"),
    _token("langsmith-key", _START + r"lsv2_(?:pt|sk)_", r"A-Za-z0-9_", 16, words="lsv2_"),
    _token("jina-key", _START + r"jina_", _WORD, 20, words="jina_"),
    _token("e2b-key", _START + r"e2b_", _ALNUM, 20, words="e2b_"),
    _token("vault-token", _START + r"hv[sbr]\.", _WORD, 20, words="hvs. hvb. hvr."),
    _token("doppler-token", _START + r"dp\.(?:pt|st|ct|sa|scim|audit)\.", r"A-Za-z0-9._-", 20, words="dp."),
    _token("linear-key", _START + r"lin_(?:api|oauth)_", _ALNUM, 16, words="lin_api_ lin_oauth_"),
    _token("notion-token", _START + r"ntn_", _ALNUM, 40, words="ntn_"),
    _token("databricks-token", _START + r"dapi", r"a-f0-9", 32, words="dapi"),
    _token("supabase-key", _START + r"(?:sbp_|sb_secret_)", _WORD, 20, words="sbp_ sb_secret_"),
    _token("vercel-blob-token", _START + r"vercel_blob_rw_", _WORD, 16, words="vercel_blob_rw_"),
    _token("netlify-token", _START + r"nf[pcou]_", _ALNUM, 30, words="nfp_ nfc_ nfo_ nfu_"),
    _token("heroku-key", _START + r"HRKU-", _WORD, 16, words="hrku-"),
    _token(
        "shopify-token",
        _START + r"shp(?:at|ca|pa|ss|tka)_",
        r"A-Fa-f0-9",
        16,
        words="shpat_ shpca_ shppa_ shpss_ shptka_",
    ),
    _token("atlassian-token", r"AT(?:ATT3|CTT3|BB)", r"A-Za-z0-9_=-", 24, words="atatt3 atctt3 atbb"),
    _token("sentry-token", _START + r"sntry[su]_", r"A-Za-z0-9+/=_-", 20, words="sntrys_ sntryu_"),
    _token("grafana-token", _START + r"gl(?:sa|c)_", r"A-Za-z0-9+/=_", 20, words="glsa_ glc_"),
    _token("docker-token", _START + r"dckr_(?:pat|oat)_", _WORD, 16, words="dckr_"),
    _token("tailscale-key", _START + r"tskey-", _WORD, 16, words="tskey-"),
    _token("fly-token", _START + r"(?:fo1_|fm[12]_)", r"A-Za-z0-9+/=_,-", 20, words="fo1_ fm1_ fm2_"),
    _token("postman-key", _START + r"PMAK-", r"a-f0-9-", 24, words="pmak-"),
    _token("new-relic-key", _START + r"NR(?:AK|JS|II)-", _WORD, 16, words="nrak- nrjs- nrii-"),
    _token("dynatrace-token", _START + r"dt0[a-z][0-9]{2}\.", r"A-Z0-9.", 24, words="dt0"),
    _token("pulumi-token", _START + r"pul-", r"a-f0-9", 40, words="pul-"),
    _token("sourcegraph-token", _START + r"sg[pd]_", r"A-Za-z0-9_", 30, words="sgp_ sgd_"),
    _token("posthog-key", _START + r"ph[xs]_", _ALNUM, 30, words="phx_ phs_"),
    _token("figma-token", _START + r"fig[duo][rh]?_", _WORD, 30, words="figd_ figu figo"),
    _token("rubygems-key", _START + r"rubygems_", r"a-f0-9", 40, words="rubygems_"),
    _token("webhook-secret", _START + r"whsec_", r"A-Za-z0-9+/=", 20, words="whsec_"),
    _token("square-token", _START + r"sq0[a-z]{3}-", _WORD, 20, words="sq0"),
    _token("mailgun-key", _START + r"key-", r"a-f0-9", 32, words="key-"),
    _token("twilio-key", _START + r"SK", r"a-f0-9", 32, words="sk"),
    _token("telegram-token", r"(?<![0-9])[0-9]{8,10}:AA", _WORD, 30, words=":aa"),
    _token("airtable-token", _START + r"pat[A-Za-z0-9]{14}\.", r"a-f0-9", 40, words="pat"),
    _token("discord-token", _START + r"[MNO][\w-]{22,27}\.[\w-]{6}\.", _WORD, 24, words="."),
    SecretRule(
        "json-web-token",
        ("eyj",),
        # RFC 7519: a head in base64. One that is cut is known by the names of the first fields.
        re.compile(
            r"eyJ[\w-]{4,}(?:\.[\w-]+){2,4}\.?|eyJ(?:hbGci|0eXAi|raWQi|lbmMi|jdHki|4NXQi)[\w-]*(?:\.[\w-]*){0,2}",
            re.ASCII,
        ),
    ),
    SecretRule(
        "private-key",
        ("-----begin",),
        # Line breaks may be escapes. A block that is cut goes on to the end of the text.
        re.compile(
            r"-----BEGIN[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
            r"(?P<secret>.*?)(?:-----END[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|\Z)",
            re.DOTALL,
        ),
    ),
    # What comes before it makes it a secret.
    _named(
        "authorization",
        "bearer basic authorization",
        r"""\b (?: bearer | basic | proxy-authorization\s*[:=] | authorization\s*[:=] ) [\s"'\\:]+
            (?: (?:bearer|basic|token|apikey|digest|negotiate)\s+ )?
            (?P<secret> [A-Za-z0-9+/._~=:-]{8,} )""",
    ),
    _named("cookie", "cookie", r"""\b (?:set-)?cookie ["'\\]* \s* [:=] \s* ["'\\]* (?P<secret> [^\r\n"'\\]{4,} )"""),
    _named("aws-signature", "aws4-", r"aws4-[^\n]{0,400}? signature= (?P<secret> [0-9a-f]{16,} )"),
    _named(
        "password-in-command",
        "curl wget sshpass mysql mariadb",
        rf"""\b (?: (?:curl|wget) \b [^\n|]{{0,400}}? \s (?: -u | --(?:proxy-)?user | --(?:http-)?password ) [ =]?"""
        rf""" ["']? (?: [^\s:"']{{1,100}} : )? | sshpass \s+ -p \s* ["']?"""
        rf""" | (?:mysql|mariadb)[a-z-]{{0,10}} \b [^\n|]{{0,400}}? \s -p ["']? ) {_VALUE}""",
    ),
    _named(
        "form-field",
        "form-data",
        rf"""form-data; [^\r\n]{{0,200}}? name=" [^"\r\n]{{0,60}}? {_NAMES} [^"\r\n]{{0,20}} " [^\r\n]{{0,200}}"""
        r""" (?: \r?\n | \\r\\n | \\n ) (?: [^\r\n\\]{1,200} (?: \r?\n | \\r\\n | \\n ) ){0,5}"""
        r""" (?: \r?\n | \\r\\n | \\n ) (?P<secret> [^\r\n\\]{4,} )""",
    ),
    _named("password-in-url", "://", r":// (?P<secret> [^\s/@\"'<>\\]{1,200} ) @ (?=[\w\[])"),
    _named(
        "key-in-query",
        "key= token= secret= signature= sig= code= password= credential= auth=",
        r"""[?&;] [\w.-]{0,40} (?: key|token|secret|signature|sig|code|password|credential|auth ) = """
        r"""(?P<secret> [^&\s"'#<>\\]{4,} )""",
    ),
    _named(
        "azure-key",
        "api-key accountkey sharedaccess ocp-apim",
        r"""(?: api-key | ocp-apim-subscription-key | accountkey | sharedaccess(?:key|signature) ) ["'\\]* \s* [:=]"""
        r""" \s* ["'\\]* (?P<secret> [A-Za-z0-9+/=%._-]{16,} )""",
    ),
    _named(
        "assigned-secret",
        "pass pwd secret key token credential connection",
        rf"""{_NAMES} {_STAGES} \\*["'`]? \s* (?: => | := | [:=] ) \s* (?: {_QUOTED} | {_VALUE} )""",
    ),
    _named(
        "said-password",
        "pass",
        rf"""(?: pass(?:word|wd|phrase|code) ) \s+ (?: is | was ) \s+ :? \s* (?: {_QUOTED} | {_VALUE} )""",
    ),
)
"""The rules for keys, each with a row in packages/partstream-devtools/tests/bundles/test_redaction_rules.py."""

PERSON_RULES: Final[tuple[SecretRule, ...]] = (
    _token("openai-organization", _START + r"org-", _ALNUM, 16, words="org-"),
    _token("openai-project", _START + r"proj_", _ALNUM, 16, words="proj_"),
    _token("openai-user", _START + r"user-", _ALNUM, 16, words="user-"),
    _token("request-id", _START + r"req_", _ALNUM, 16, words="req_"),
)
"""The rules for ids of people, as error messages hold them."""


# ---- Names that stay ----


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
    # Words of protocols that a field `name` holds.
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


# ---- Sentences of servers that stay ----

SENTENCES: Final = Path(__file__).with_name("sentences.txt").read_text(encoding="utf-8")
"""The words of the sentences of servers, which hold no words of a person."""


# ---- Fields by name, for requests, documents and events without a table ----


def _rows(meaning: Meaning, names: str) -> dict[str, Meaning]:
    return dict.fromkeys(names.split(), meaning)


_BY_NAME: Final[dict[str, Meaning]] = {
    **_rows(
        Meaning.WORD,
        "type event event_type object role status model models model_id model_version model_name provider_name "
        "finish_reason stop_reason native_finish_reason done_reason block_reason raw_finish_reason finish service_tier "
        "code phase effort verbosity truncation tool_choice mode detail mime_type media_type content_type probability "
        "category severity level encoding kind method traffic_type modality response_modalities op format ttl "
        "source_type provider reason_type summary_type reasoning_effort anthropic_version anthropic_beta api_version "
        "language grounding_type vendor $class "
        "ui_type state outcome version speed inference_geo activity_type tool_type domain_type http_status_text "
        "search_context_size quality size background output_format keep_alive stop_type",
    ),
    **_rows(
        Meaning.PERSON,
        "user user_id safety_identifier prompt_cache_key organization organization_id org_id project_id account_id "
        "account_uuid session session_id conversation_id thread_id parent_thread_id request_id x_request_id tenant_id "
        "workspace_id installation_id device_id machine_id client_request_id trace_id run_id parent_run_id tracking_id",
    ),
    **_rows(
        Meaning.OPAQUE,
        "encrypted_content signature thought_signature thought_signatures obfuscation encrypted_value encrypted_index "
        "reasoning_opaque reasoning_signature redacted_data encrypted_stdout stateful_marker",
    ),
    **_rows(
        Meaning.MEDIA,
        "data b64_json file_data partial_image_b64 image_base64 base64 $uint8array uint8_array images bytes result "
        "audio_data",
    ),
    **_rows(Meaning.LINK, "url uri image_url file_url file_uri source_url download_url website href link $url"),
    **_rows(Meaning.TOOL, "name tool_name tool_call_name server_label server_name function_name available_tools"),
    **_rows(Meaning.ARGUMENTS, "arguments partial_json args_text_delta input_text_delta args_delta"),
    **_rows(Meaning.ERROR, "message error error_text detail msg error_message errormessage raw reason"),
    **_rows(Meaning.PROPERTY, "json_path"),
    **_rows(Meaning.ARGUMENT_NAME, "required property_ordering"),
}
"""By the name in small letters, its words joined by underscores."""

_TIMES: Final = words(
    "created created_at completed_at updated_at expires_at started_at finished_at modified_at timestamp create_time "
    "expire_time update_time cancelled_at failed_at ended_at start_time end_time $date accessed_at date"
)
_IDS: Final = re.compile(r"(?:^|_)ids?$|^(?:system_)?fingerprint$|^conversation$|^container$|^previous_interaction$")
_SECRETS: Final = re.compile(
    r"(?:^|_)(?:pass(?:word|wd|phrase|code)|pwd|secret|api_?key|authorization|access_token|refresh_token|id_token"
    r"|auth_token|bearer|client_secret|secret_key|private_key|access_key|credentials?|cookies?|set_cookie|authorization_token"
    r"|connection_string)$"
)
_FREE: Final = frozenset({"input", "args", "arguments", "snapshot", "raw_event", "$value", "tool_input"})
"""Objects whose fields a tool or a program has named: none of the names above means anything in them."""
_ITEMS: Final = "input[]"
"""The items of a request of OpenResponses; what a tool gets is an object, or is deeper."""
_FREE_UNDER: Final = frozenset({("function_response", "response"), ("output", "value"), ("", "state")})
_WORDS_UNDER: Final = frozenset(
    {("finish_reason", "raw"), ("finish_reason", "unified"), ("incomplete_details", "reason")}
)
_NUMBERS_OF_TEXT: Final = words("bytes token_ids prompt_token_ids context tokens embedding")
"""Lists of numbers that are text in another form, such as the bytes of a token."""

_NUMBERS: Final = words(
    "index number position choice candidate step sequence_number status status_code http_code http_status code n "
    "best_of temperature top_p top_k top_a min_p typical_p frequency_penalty presence_penalty repeat_penalty "
    "repetition_penalty max_uses num_predict num_ctx top_logprobs logprob score probability confidence budget_tokens "
    "thinking_budget budget context_window cost ttl retry retry_after size width height duration latency throughput "
    "count limit remaining version"
)
"""Numbers that wires know: how much, which one, how likely."""
_NUMBER_ENDINGS: Final = ("_index", "_tokens", "_count", "_duration", "_ms", "_seconds", "_cost", "logprob")
_NUMBERS_UNDER: Final = re.compile(
    r"(?:^|\.)(?:[a-z_]*usage(?:_?metadata)?|timings|rate_limits)(?:\.|\[)", re.IGNORECASE
)
"""Objects whose numbers all are such."""
_CHOSEN_UNDER: Final = re.compile(r"(?:^|\.)(?:metadata|properties|\$?defs|definitions|labels)(?:\.|$)", re.IGNORECASE)
"""Objects whose fields a person or a tool has named."""
_LARGEST_KNOWN: Final = 7
"""Digits of a number whose name alone says that a wire knows it: a telephone has more."""

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[-. ]")
_PLAIN_WORD: Final = re.compile(
    r"(?:[a-z]{1,20}|[A-Z]{1,20}|[A-Z][a-z]{1,19}|(?:[A-Z]?[a-z]{1,14}){0,1}(?:[A-Z][a-z]{1,14}){1,5}|[0-9]{1,8}"
    r"|[A-Za-z]{1,8}[0-9]{1,4}[A-Za-z]{0,4}|[0-9]{1,4}[A-Za-z]{1,4}[0-9]{0,2}|[A-Z]{1,4}[a-z]{1,12})"
)
_BETWEEN_WORDS: Final = re.compile(r"[ ._/:+@,;=~-]+")
_LONGEST_WORD: Final = 100


@cache
def _snake(name: str) -> str:
    return _HUMP.sub("_", name).lower()


def meaning_by_name(place: FieldPath) -> Meaning:
    """What the string at a place most likely is."""
    if place.meaning is None:
        place.meaning = _meaning_by_name(place)
    return place.meaning


def _meaning_by_name(place: FieldPath) -> Meaning:
    name = _snake(place.name)
    if _SECRETS.search(name):
        return Meaning.SECRET
    if is_free(place):
        return Meaning.SECRET if name == "token" else Meaning.TEXT
    meaning = _BY_NAME.get(name)
    if place.parent is not None and (_snake(place.parent.name), name) in _WORDS_UNDER:
        return Meaning.WORD
    if meaning is not None:
        return meaning
    if name in _TIMES:
        return Meaning.TIME
    return Meaning.ID if _IDS.search(name) else Meaning.TEXT


def is_free(place: FieldPath) -> bool:
    """Whether a tool or a program has named the field, or one that holds it."""
    inner, above = place, place.parent
    while above is not None:
        # A list is no such object, and those in the list of a request are its items.
        if not inner.path.endswith("[]") and above.path != _ITEMS:
            outer = "" if above.parent is None else _snake(above.parent.name)
            if (name := _snake(above.name)) in _FREE or (outer, name) in _FREE_UNDER:
                return True
        inner, above = above, above.parent
    return False


def is_time(place: FieldPath) -> bool:
    """Whether a number at a place is a moment."""
    return _snake(place.name) in _TIMES


def holds_numbers_of_text(place: FieldPath) -> bool:
    """Whether a number at a place is a piece of a text, such as a byte of it."""
    is_listed = place.path.endswith("[]") and _snake(place.name) in _NUMBERS_OF_TEXT
    return is_listed or place.name in ("token_id", "numberValue") or place.name.isdecimal()


def is_known_number(place: FieldPath, raw: str) -> bool:
    """Whether wires have a number at a place: it counts or chooses, and says no more of a person than usage does."""
    if _CHOSEN_UNDER.search(place.path):
        return False
    name = _snake(place.name)
    if name.endswith(_NUMBER_ENDINGS) or _NUMBERS_UNDER.search(place.path):
        return True
    return name in _NUMBERS and len(raw.partition(".")[0]) <= _LARGEST_KNOWN


def meaning_of_name(place: FieldPath) -> Meaning:
    """What the name of a field is: that of an argument in a call, or in the schema of a tool, or a word of the wire."""
    above = place.parent
    is_in_schema = above is not None and above.name in ("properties", "patternProperties")
    return Meaning.ARGUMENT_NAME if is_in_schema or is_free(place) else Meaning.PROPERTY


def is_plain_word(text: str) -> bool:
    """Whether a text is a word of a protocol or the name of a model, by its form: no key and no sentence looks so."""
    return len(text) <= _LONGEST_WORD and all(
        _PLAIN_WORD.fullmatch(word) is not None for word in _BETWEEN_WORDS.split(text) if word
    )


# ---- Forms that name a person or a machine ----

_PERSONAL: Final = re.compile(
    r"""
      [^\s@<>()"'=,;]{1,100} @ [^\s@<>()"',;]{1,100}                              # mail, and user@host
    | (?: ~ | \b[A-Za-z]: | \\ )? [\\/]+
      (?: home|users|root|var|opt|srv|mnt|data|tmp|private|volumes|documents\ and\ settings ) [\\/] [^\s"'<>()]*
    | \b [a-z][a-z0-9+.-]{1,15} :// [^\s"'<>()]+
    | (?<![\d.]) \d{1,3} (?: \.\d{1,3} ){3} (?![\d.]*\d)                          # IPv4
    | (?<![\w:]) (?: [0-9a-f]{1,4} : ){1,7} (?: : [0-9a-f]{0,4} (?: : [0-9a-f]{1,4} ){0,6} )   # IPv6, shortened
    | (?<![\w:]) (?: [0-9a-f]{1,4} : ){7} [0-9a-f]{1,4}
    | \b [0-9a-f]{8} (?: -[0-9a-f]{4} ){3} -[0-9a-f]{12}
    | \b (?: [a-z0-9-]{1,63} \. ){1,8} (?: internal|local|corp|lan|intranet|home|localdomain )\b
    | \b (?: [a-z0-9-]{1,63} \. ){2,8} (?: com|net|org )\b
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_AT_THE_ROOT: Final = re.compile(r"(?:/|~|[A-Za-z]:[\\/]|\\\\)")


def names_a_person(text: str) -> bool:
    """Whether a text names a person or a machine, or is a path from the root of a file system."""
    return _AT_THE_ROOT.match(text) is not None or _PERSONAL.search(text) is not None


def without_personal(text: str, hidden: Callable[[str], str]) -> str:
    """The text, with a stand-in of the same length for what names a person or a machine."""
    return _PERSONAL.sub(lambda found: hidden(found[0]), text)


# ---- Searching ----

_RUN: Final = re.compile(rf"[A-Za-z0-9+/_-]{{{SHORTEST_ENCODED},}}+={{0,2}}")
_HEX_RUN: Final = re.compile(rf"[0-9a-fA-F]{{{2 * SHORTEST_ENCODED},}}")
_TO_BASE64: Final = str.maketrans("-_", "+/")
_MOST_LAYERS: Final = 2
"""Base64 in base64 is still read; anything deeper is no form in which a server repeats a key."""
_SHORTEST_KNOWN: Final = 8


class Found(NamedTuple):
    """Where a key is in a text, up to the character after its last, and the rule that found it."""

    start: int
    end: int
    rule: str


class Search:
    """Looks for keys in texts, also those that are known from elsewhere, such as the headers of a request."""

    __slots__ = ("_known", "_rules")

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._rules = (*RULES, *PERSON_RULES)
        self._known = Redactor(one for one in known if len(one) >= _SHORTEST_KNOWN)

    def find(self, text: str) -> list[Found]:
        """All keys in a text, in order. Of two that overlap both are there, unless one holds the other."""
        found = [Found(start, end, "known-secret") for start, end in self._known.spans(text)]
        found += self._by_rules(text, _MOST_LAYERS)
        found.sort(key=lambda one: (one.start, -one.end))
        outer: list[Found] = []
        for one in found:
            if not outer or one.end > outer[-1].end:
                outer.append(one)
        return outer

    def _by_rules(self, text: str, layers: int) -> Iterator[Found]:
        yield from self._plain(text)
        if layers:
            yield from self._encoded(text, layers)
        for view in decoded_views(text):
            for one in (*self._plain(view.text), *(self._encoded(view.text, layers) if layers else ())):
                start, end = view.before(one.start, one.end)
                yield Found(start, end, one.rule)

    def _plain(self, text: str) -> Iterator[Found]:
        lower = text.lower()
        if len(lower) != len(text):  # `İ` becomes two characters; only the words are looked for in it
            lower = "".join(letter.lower()[:1] for letter in text)
        for rule in self._rules:
            if any(word in lower for word in rule.words):
                for match in rule.pattern.finditer(text):
                    groups = match.groupdict()
                    group = next((name for name in ("secret", "quoted") if groups.get(name)), 0)
                    yield Found(match.start(group), match.end(group), rule.name)

    def _encoded(self, text: str, layers: int) -> Iterator[Found]:
        for run in _RUN.finditer(text):
            for offset in range(4):
                whole = run[0][offset:].rstrip("=").translate(_TO_BASE64)
                whole = whole[: len(whole) - (len(whole) % 4 == 1)]
                decoded = b64decode(whole + "=" * (-len(whole) % 4)).decode("latin-1")
                if self._holds_a_key(decoded, layers - 1):
                    yield Found(run.start(), run.end(), "encoded-secret")
                    break
        for run in _HEX_RUN.finditer(text):
            decoded = bytes.fromhex(run[0][: len(run[0]) // 2 * 2]).decode("latin-1")
            if self._holds_a_key(decoded, layers - 1):
                yield Found(run.start(), run.end(), "encoded-secret")

    def _holds_a_key(self, text: str, layers: int) -> bool:
        return next(self._by_rules(text, layers), None) is not None
