"""What keys and ids of people look like: the rules, as data.

A rule has words of which a text must hold one, and a pattern: so most rules cost a search for a word. The patterns
were written after the shapes that issuers document; the word lists of gitleaks (`gitleaks.toml`) and of detect-secrets
1.5.0 were read to see that no issuer of model servers is missing.

A pattern ends where its characters end, and takes fewer of them at the end of a text: an answer that was cut may hold
the beginning of a key.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

__all__ = ["PERSON_RULES", "RULES", "SHORTEST_ENCODED", "SecretRule"]

SHORTEST_ENCODED: Final = 16
"""Digits of a base64 or hexadecimal text that is decoded and searched."""


@dataclass(frozen=True, slots=True)
class SecretRule:
    """One kind of secret.

    Attributes:
        name: What it is, for the counts of a redaction.
        words: Words in small letters; a text without any of them is not searched.
        pattern: What it looks like. The group `secret` is hidden; without such a group, all of it.
    """

    name: str
    words: tuple[str, ...]
    pattern: re.Pattern[str] = field(repr=False)


def _token(name: str, prefix: str, characters: str, least: int, *, words: str = "") -> SecretRule:
    """A key that begins with something fixed, followed by at least so many characters, or by fewer at the text's end.

    Args:
        name: What it is.
        prefix: A regular expression.
        characters: The characters of the rest, as those of a class in a regular expression.
        least: How many of them there are at least.
        words: The words that a text must hold, with blanks between them; empty where the prefix is one.
    """
    pattern = rf"{prefix}(?:[{characters}]{{{least},}}|[{characters}]+\Z)"
    return SecretRule(name, tuple((words or prefix).lower().split()), re.compile(pattern))


def _named(name: str, words: str, pattern: str) -> SecretRule:
    """A secret that is known by what stands before it."""
    return SecretRule(name, tuple(words.split()), re.compile(pattern, re.IGNORECASE | re.VERBOSE))


_START: Final = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt]))"
"""Where a word begins, also behind an escape of JSON in a text."""
_WORD: Final = r"A-Za-z0-9_-"
_ALNUM: Final = r"A-Za-z0-9"
_VALUE: Final = r"""(?P<secret> [^\s"'`\\,;&<>(){}\[\]|*]{4,} )"""
"""The value of an assignment without quotation marks; `***` stands where somebody has hidden it already."""
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
    # Other keys that stand in files and terminals.
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
    SecretRule(
        "json-web-token",
        ("eyj",),
        # RFC 7519: a head in base64. One that is cut is known by the names of fields that stand there first.
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
    # What stands before it makes it a secret.
    _named(
        "authorization",
        "bearer basic authorization",
        r"""\b (?: bearer | basic | proxy-authorization\s*[:=] | authorization\s*[:=] ) [\s"'\\:]+
            (?: (?:bearer|basic|token|apikey|digest|negotiate)\s+ )?
            (?P<secret> [A-Za-z0-9+/._~=:-]{8,} )""",
    ),
    _named("cookie", "cookie", r"""\b (?:set-)?cookie ["'\\]* \s* [:=] \s* ["'\\]* (?P<secret> [^\r\n"'\\]{4,} )"""),
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
"""The rules for keys, each with a row in tests/bundles/test_redaction_rules.py."""

PERSON_RULES: Final[tuple[SecretRule, ...]] = (
    _token("openai-organization", _START + r"org-", _ALNUM, 16, words="org-"),
    _token("openai-project", _START + r"proj_", _ALNUM, 16, words="proj_"),
    _token("openai-user", _START + r"user-", _ALNUM, 16, words="user-"),
    _token("request-id", _START + r"req_", _ALNUM, 16, words="req_"),
)
"""The rules for ids of people, as they stand in error messages."""
