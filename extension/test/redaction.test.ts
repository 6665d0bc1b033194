import assert from "node:assert/strict";
import { test } from "node:test";
import { Log } from "../src/log";
import { Redactor } from "../src/redaction";

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

test("what looks like a key is hidden although nobody named it", () => {
  const redactor = new Redactor();
  for (const line of [
    "Authorization: Bearer abcdef123456",
    "authorization: abcdef123456",
    '{"apiKey": "abcdef123456"}',
    "api-key=abcdef123456",
    "sk-abcdef123456abcdef123456",
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
  const log = new Log((level, line) => lines.push([level, line]), redactor);
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
