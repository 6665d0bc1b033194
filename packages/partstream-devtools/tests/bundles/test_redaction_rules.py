"""Each rule finds what it is for, wherever it is in a text, and in whichever form."""

import json
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote

from partstream_devtools.redaction.rules import PERSON_RULES, RULES, Search
from rows import one_test_for

_A = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5"
_LOWER = "a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6"
_PEM = f"-----BEGIN RSA PRIVATE KEY-----\nMIIEow{_A}\nqUJ4=\n-----END RSA PRIVATE KEY-----"

KEYS = {
    "anthropic-key": f"sk-ant-api03-{_A}",
    "openrouter-key": f"sk-or-v1-{_A}",
    "openai-key": f"sk-proj-{_A}",
    "secret-key": f"sk-{_A}",
    "google-key": f"AIzaSy{_A[:33]}",
    "google-oauth-token": f"ya29.{_A}",
    "google-refresh-token": f"1//0{_A}",
    "groq-key": f"gsk_{_A}",
    "xai-key": f"xai-{_A}",
    "hub-key": f"psk_k7m2q9x4ab_{_A}",
    "hugging-face-token": f"hf_{_A}",
    "replicate-token": f"r8_{_A}",
    "perplexity-key": f"pplx-{_A}",
    "vercel-key": f"vck_{_A}",
    "nvidia-key": f"nvapi-{_A}",
    "fireworks-key": f"fw_{_A}",
    "cerebras-key": f"csk-{_A}",
    "together-key": f"tgp_v1_{_A}",
    "github-token": f"github_pat_{_A}",
    "gitlab-token": f"glpat-{_A}",
    "slack-token": f"xoxb-1234567890-{_A}",
    "npm-token": f"npm_{_A}",
    "pypi-token": f"pypi-AgEIcHlwaS5vcmc{_A}",
    "digitalocean-token": f"dop_v1_{_LOWER}",
    "sendgrid-key": f"SG.{_A}",
    "aws-key-id": "AKIAQ3EGRTZX7KLMNOPQ",
    "bedrock-key": f"ABSK{_A}",
    "age-key": "AGE-SECRET-KEY-1QQQWERTYPLKMNHGF",
    "serve-token": f"partstream-{_A}",
    "google-agent-key": f"AQ.Ab8R{_A}",
    "tavily-key": f"tvly-dev-{_A}",
    "langsmith-key": f"lsv2_pt_{_LOWER}_0123456789",
    "jina-key": f"jina_{_A}",
    "e2b-key": f"e2b_{_LOWER}",
    "vault-token": f"hvs.{_A}",
    "doppler-token": f"dp.pt.{_A}",
    "linear-key": f"lin_api_{_A}",
    "notion-token": f"ntn_{_A}{_A}",
    "databricks-token": f"dapi{_LOWER}",
    "supabase-key": f"sbp_{_LOWER}",
    "vercel-blob-token": f"vercel_blob_rw_{_A}",
    "netlify-token": f"nfp_{_A}",
    "heroku-key": f"HRKU-{_A}",
    "shopify-token": f"shpat_{_LOWER}",
    "atlassian-token": f"ATATT3xFfGF0{_A}",
    "sentry-token": f"sntrys_{_A}",
    "grafana-token": f"glsa_{_A}",
    "docker-token": f"dckr_pat_{_A}",
    "tailscale-key": f"tskey-auth-{_A}",
    "fly-token": f"fm2_{_A}",
    "postman-key": f"PMAK-{_LOWER}",
    "new-relic-key": f"NRAK-{_A}",
    "dynatrace-token": f"dt0c01.{_A.upper()}",
    "pulumi-token": f"pul-{_LOWER}{_LOWER}",
    "sourcegraph-token": f"sgp_{_LOWER}",
    "posthog-key": f"phx_{_A}",
    "figma-token": f"figd_{_A}",
    "rubygems-key": f"rubygems_{_LOWER}{_LOWER}",
    "webhook-secret": f"whsec_{_A}",
    "square-token": f"sq0atp-{_A}",
    "mailgun-key": f"key-{_LOWER}",
    "twilio-key": f"SK{_LOWER}",
    "telegram-token": f"123456789:AA{_A}",
    "airtable-token": f"pat{_A[:14]}.{_LOWER}{_LOWER}",
    "discord-token": f"M{_A[:23]}.{_A[:6]}.{_A}",
    "aws-signature": f"{_LOWER}{_LOWER}",
    "password-in-command": _A[:12],
    "form-field": _A,
    "json-web-token": f"eyJhbGciOiJIUzI1NiJ9.eyJ{_A}.{_A}",
    "private-key": f"MIIEow{_A}",
    "authorization": _A,
    "cookie": f"sid={_A}",
    "password-in-url": f"me:{_A}",
    "key-in-query": _A,
    "azure-key": _LOWER,
    "assigned-secret": f"hunter2-{_A}",
    "said-password": f"hunter2-{_A}",
    "openai-organization": f"org-{_A[:24]}",
    "openai-project": f"proj_{_A[:24]}",
    "openai-user": f"user-{_A[:24]}",
    "request-id": f"req_{_A[:24]}",
}
SAID = {
    "private-key": _PEM,
    "authorization": f"Authorization: Bearer {_A}",
    "cookie": f"Cookie: sid={_A}",
    "aws-signature": f"AWS4-HMAC-SHA256 Credential=x/20260101/y, SignedHeaders=host, Signature={_LOWER}{_LOWER}",
    "password-in-command": f"curl -s -u admin:{_A[:12]} https://example.com",
    "form-field": f'Content-Disposition: form-data; name="api_key"\r\n\r\n{_A}\r\n--BOUND--',
    "password-in-url": f"postgres://me:{_A}@db.internal/x",
    "key-in-query": f"https://example.com/v1?x=1&key={_A}",
    "azure-key": f"api-key: {_LOWER}",
    "assigned-secret": f"DB_PASSWORD=hunter2-{_A}",
    "said-password": f"my password is hunter2-{_A}",
}


def _hidden(text: str) -> str:
    letters = list(text)
    for start, end, _ in Search().find(text):
        letters[start:end] = "·" * (end - start)
    return "".join(letters)


def test_every_rule_has_a_row_here() -> None:
    assert {rule.name for rule in (*RULES, *PERSON_RULES)} == set(KEYS)


@one_test_for("rule", KEYS)
def test_a_rule_finds_its_key(rule: str) -> None:
    text = f"It said {SAID.get(rule, KEYS[rule])} and went on."
    found = Search().find(text)
    assert rule in {one.rule for one in found}
    hidden = _hidden(text)
    assert KEYS[rule] not in hidden
    assert not any(KEYS[rule][at : at + 6] in hidden for at in range(len(KEYS[rule]) - 5))
    assert hidden.startswith("It said ")


@one_test_for(
    "name", ["private_key_id", "privateKeyId", "AWS_ACCESS_KEY_ID", "access-key-id", "secret_id", "VAULT_SECRET_ID"]
)
@one_test_for("form", ['"%s": "%s"', "%s=%s", "%s: %s", '\\"%s\\":\\"%s\\"'])
def test_an_id_that_opens_something_is_a_secret_by_its_name(name: str, form: str) -> None:
    assert _LOWER not in _hidden(form % (name, _LOWER))


@one_test_for("name", ["token_id", "key_id", "session_id", "response_id"])
def test_an_id_that_opens_nothing_stays(name: str) -> None:
    assert _LOWER[:8] in _hidden(f'"{name}": "{_LOWER[:8]}"')


SHAPED = [rule for rule in KEYS if rule not in SAID]


@one_test_for("rule", SHAPED)
@one_test_for(
    "form",
    [
        lambda key: json.dumps({"a": f"x\n{key}"}),
        lambda key: json.dumps(json.dumps(f"x\n{key}")),
        lambda key: "".join(f"\\u{ord(letter):04x}" for letter in key),
        lambda key: quote(key, safe=""),
        lambda key: "".join(f"%{ord(letter):02X}" for letter in key),
        lambda key: b64encode(key.encode()).decode(),
        lambda key: b64encode(f"me:{key}".encode()).decode(),
        lambda key: urlsafe_b64encode(f"??>{key}".encode()).decode(),
        lambda key: b64encode(b64encode(key.encode())).decode(),
        lambda key: key.encode().hex(),
    ],
    ids=[
        "JSON",
        "JSON in JSON",
        "escapes",
        "URL",
        "every letter for a URL",
        "base64",
        "Basic",
        "base64url",
        "twice",
        "hex",
    ],
)
def test_a_key_is_found_in_every_form(rule: str, form: object) -> None:
    assert callable(form)
    said = form(KEYS[rule])
    hidden = _hidden(f"before {said} behind")
    assert said[len(said) // 4 : len(said) // 4 + 12] not in hidden
    assert said[-14:-2] not in hidden or not said[-14:-2].strip('"}\\')


@one_test_for(
    "text",
    [
        "Max tokens: 4096, max_completion_tokens=100, token_count: 12",
        "The key point is that a token is a piece of a word; see the basic idea of authorization.",
        "task-1 ask-me risk-averse desk-top-publishing-software",
        "import { useState } from 'react' // https://example.com/a/b?page=2&sort=asc",
        "9f86d081-884c-4d63-a0c7-1b2c3d4e5f60",
        "compass: north, bypass: none, monkey=banana",
        "user-agent: Mozilla/5.0, org-mode, project_name, request_id",
    ],
)
def test_plain_text_is_no_key(text: str) -> None:
    assert _hidden(text) == text


def test_a_known_secret_is_found_whatever_it_looks_like() -> None:
    text = "it is correct horse, or Y29ycmVjdCBob3JzZQ== in base64"
    found = Search(["correct horse"]).find(text)
    assert {one.rule for one in found} == {"known-secret"}
    assert [text[one.start : one.end] for one in found] == ["correct horse", "Y29ycmVjdCBob3JzZQ=="]


@one_test_for("rule", SHAPED)
def test_a_key_that_is_cut_off_at_the_end_is_found(rule: str) -> None:
    cut = KEYS[rule][:-6]
    assert _hidden(f"the key {cut}").startswith("the key ·")
