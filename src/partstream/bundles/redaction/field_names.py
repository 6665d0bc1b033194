"""What a field most likely is, by its name: for requests, documents, and events that no protocol's table knows.

What has no row here is text: a field that nobody knows is redacted as if a person had written it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from partstream.bundles.redaction.fragments import Meaning
from partstream.bundles.redaction.known_names import words

if TYPE_CHECKING:
    from partstream.bundles.redaction.json_fields import FieldPath

__all__ = ["holds_numbers_of_text", "is_free", "is_plain_word", "is_time", "meaning_by_name", "names_secret"]


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
    **_rows(Meaning.PROPERTY, "required json_path property_ordering"),
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
"""The items of a request of OpenResponses; what a tool gets is an object, or stands deeper."""
_FREE_UNDER: Final = frozenset({("function_response", "response"), ("output", "value"), ("", "state")})
_WORDS_UNDER: Final = frozenset(
    {("finish_reason", "raw"), ("finish_reason", "unified"), ("incomplete_details", "reason")}
)
_NUMBERS_OF_TEXT: Final = words("bytes token_ids prompt_token_ids context tokens embedding")
"""Lists of numbers that are text in another form, such as the bytes of a token."""

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
    if names_secret(name):
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


def names_secret(name: str) -> bool:
    """Whether a field of this name, in small letters with underscores, holds a key."""
    return _SECRETS.search(name) is not None


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


def is_plain_word(text: str) -> bool:
    """Whether a text is a word of a protocol or the name of a model, by its form: no key and no sentence looks so."""
    return len(text) <= _LONGEST_WORD and all(
        _PLAIN_WORD.fullmatch(word) is not None for word in _BETWEEN_WORDS.split(text) if word
    )
