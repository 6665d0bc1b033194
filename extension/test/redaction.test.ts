import assert from "node:assert/strict";
import { test } from "node:test";
import { Log } from "../src/log";
import { Redactor } from "../src/redaction";
import { type Nesting, type Secrecy, type SecretRow, SETTINGS } from "../src/settings.generated";

test("the key and the headers of a group never show, however often", () => {
  const redactor = new Redactor();
  redactor.rememberConfiguration({
    apiKey: "my.secret*key",
    headers: { "X-Team": "team-secret" },
    baseUrl: "http://x",
  });
  const text = redactor.redact("my.secret*key at http://x, again my.secret*key, and team-secret");
  assert.doesNotMatch(text, /secret/);
  assert.match(text, /http:\/\/x/);
});

const SECRET = "planted-4f1d0c9ba37e";

const FORMS: Readonly<Record<Secrecy, (secret: string) => unknown>> = {
  nothing: () => undefined,
  whole: (secret) => secret,
  headers: (secret) => ({ "x-planted": `Bearer ${secret}` }),
  body: (secret) => ({ one: { two: [{ three: secret }, 3] } }),
  url: (secret) => `http://me:${secret}@host/v1?key=${secret}2`,
  arguments: (secret) => ["vault", "read", secret],
};

const AROUND: Readonly<Record<Nesting, (fields: unknown) => unknown>> = {
  object: (fields) => fields,
  "by name": (fields) => ({ m: fields }),
  list: (fields) => [fields],
};

type Planted = readonly [name: string, group: Record<string, unknown>];

/** For each setting that may hold a secret its name, and a group with a secret there. */
function planted(rows: Readonly<Record<string, SecretRow>>): Planted[] {
  return Object.entries(rows).flatMap(([name, row]): Planted[] => {
    if (!("rows" in row)) return row.secrecy === "nothing" ? [] : [[name, { [name]: FORMS[row.secrecy](SECRET) }]];
    const around = AROUND[row.nesting];
    return planted(row.rows).map(([inner, fields]) => [`${name}.${inner}`, { [name]: around(fields) }]);
  });
}

test("a secret in any setting of a group that may hold one never shows", () => {
  const groups = planted(SETTINGS);
  const names = groups.map(([name]) => name);
  for (const expected of ["apiKey", "request.extraBody", "modelRequests.extraHeaders", "proxy"]) {
    assert.ok(names.includes(expected), expected);
  }
  for (const [name, group] of groups) {
    const misspelt = Object.fromEntries(Object.entries(group).map(([key, value]) => [`${key}Z`, value]));
    for (const configuration of [group, misspelt]) {
      const redactor = new Redactor();
      redactor.rememberConfiguration(configuration);
      assert.doesNotMatch(redactor.redact(`said ${SECRET}, Bearer ${SECRET} and ${SECRET}2`), /4f1d0c9ba37e/, name);
    }
  }
});

test("ordinary words of a group stay", () => {
  const redactor = new Redactor();
  redactor.rememberConfiguration({
    baseUrl: "https://gateway.example.com/v1",
    models: ["anthropic/claude-sonnet-4.5", { id: "openai/gpt-5.1" }],
    request: { providerOptions: { gateway: { order: ["bedrock", "anthropic"] } }, extraBody: { service_tier: "flex" } },
  });
  const line = "https://gateway.example.com/v1 anthropic/claude-sonnet-4.5 openai/gpt-5.1 bedrock anthropic flex";
  assert.equal(redactor.redact(line), line);
});

test("what looks like a key is hidden although it was not named", () => {
  const redactor = new Redactor();
  for (const line of [
    "Authorization: Bearer abcdef123456",
    "authorization: abcdef123456",
    '{"apiKey": "abcdef123456"}',
    "api-key=abcdef123456",
    "sk-abcdef123456abcdef123456",
    "psk_ada1_abcdef123456abcdef123456",
    "vscode://partstream.partstream/join?hub=https%3A%2F%2Fhub.example.com#psj_abcdef123456abcdef123456",
  ]) {
    assert.doesNotMatch(redactor.redact(line), /abcdef123456/, line);
  }
});

test("ordinary words stay, and a short secret does not blot them out", () => {
  const redactor = new Redactor();
  redactor.rememberConfiguration({ apiKey: "a", headers: undefined });
  const line = "starting Python 3.12.1 at /usr/bin/python3 (PATH)";
  assert.equal(redactor.redact(line), line);
});

test("every line of the log goes through it", () => {
  const lines: unknown[] = [];
  const redactor = new Redactor();
  redactor.remember("my-secret");
  const [error, warn, info, debug, trace] = ["error", "warning", "info", "debug", "trace"].map(
    (level) => (line: string) => void lines.push([level, line]),
  );
  const log = new Log({ error, warn, info, debug, trace } as never, redactor);
  log.add("error", "provider", "failed with my-secret");
  log.warning("my-secret");
  log.info("x");
  log.debug("y");
  assert.deepEqual(lines, [
    ["error", "[provider] failed with [hidden]"],
    ["warning", "[extension] [hidden]"],
    ["info", "[extension] x"],
    ["debug", "[extension] y"],
  ]);
});

const KEY = "sk-PLAN/TED+key&<0123>/456789abcdef==";
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const everyLetter = (escape: (code: number) => string): string =>
  Array.from(KEY, (letter) => escape(letter.charCodeAt(0))).join("");

const REPEATED: Readonly<Record<string, string>> = {
  "JSON of PHP": KEY.replaceAll("/", "\\/"),
  "JSON of Go": KEY.replaceAll("&", "\\u0026").replaceAll("<", "\\u003C"),
  "JSON in JSON": JSON.stringify(JSON.stringify(KEY).replaceAll("/", "\\/")),
  "every letter for JSON": everyLetter((code) => `\\u00${code.toString(16)}`),
  "a URL": encodeURIComponent(KEY),
  "a URL in a URL": encodeURIComponent(encodeURIComponent(KEY)),
  HTML: KEY.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"),
  "HTML in digits": everyLetter((code) => `&#${String(code)};`),
  base64: base64(KEY),
  "base64 behind one byte": base64(`:${KEY}`),
  "base64 behind two bytes": base64(`a:${KEY}, refused`),
  base64url: Buffer.from(`me?:${KEY}`).toString("base64url"),
  "hexadecimal digits": Buffer.from(KEY).toString("hex").toUpperCase(),
};

test("a key is hidden in every form in which a server repeats it", () => {
  const redactor = new Redactor();
  redactor.remember(KEY);
  for (const [name, form] of Object.entries(REPEATED)) {
    assert.match(
      redactor.redact(`the key ${form} is wrong`),
      /^the key "?(?:\\")?\[hidden\](?:\\")?"? is wrong$/,
      name,
    );
  }
});

const LONG = ["A", "\\", "sk-", "bearer ", " ", "%25", "&amp;", "&#0", "api_key=", "\\u0073", "\\s", '"'];

test("a long text is searched once, whatever it repeats, and a key at its end is found", { timeout: 10_000 }, () => {
  const redactor = new Redactor();
  redactor.remember(KEY);
  for (const begin of ["", "bearer", "authorization:", "&#"]) {
    for (const piece of LONG) {
      const text = `${begin}${piece.repeat(100_000)} ${KEY}`;
      assert.match(redactor.redact(text).slice(-40), /\[hidden\]$/, `${begin} ${piece}`);
    }
  }
  assert.equal(redactor.redact(`\\${everyLetter((code) => `%${code.toString(16)}`)}`), "\\[hidden]");
});

test("a key that stands instead of a name is hidden, and names are not", () => {
  const redactor = new Redactor();
  redactor.rememberConfiguration({
    headers: { "sk-proj-4f1d0c9ba37e": "x", "x-team-of-2026": "y" },
    k4f1d0c9ba37e5: "",
  });
  assert.equal(
    redactor.redact("sk-proj-4f1d0c9ba37e, k4f1d0c9ba37e5, x-team-of-2026"),
    "[hidden], [hidden], x-team-of-2026",
  );
});
