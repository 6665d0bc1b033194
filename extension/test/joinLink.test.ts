import assert from "node:assert/strict";
import { test } from "node:test";
import { isRefusal, type LinkParts, readPasted, readUri } from "../src/hubs/joinLink";

const CODE = "psj_k3Jx-92_bQ7vLw0rXy";
const HUB = "https://hub.example.com";

const uri = (hub: string, fragment = CODE, path = "/join"): LinkParts => ({ path, query: `hub=${hub}`, fragment });

test("a link says the hub and the code, however its address is written", () => {
  for (const [written, hub] of [
    [HUB, HUB],
    [`${HUB}/`, HUB],
    [`${HUB}/v1`, HUB],
    [`${HUB}/hub/join`, HUB],
    [`${HUB}:8443/models/`, `${HUB}:8443/models`],
    ["HTTPS://Hub.Example.COM", HUB],
    [encodeURIComponent(HUB), HUB],
    ["http://127.0.0.1:8321", "http://127.0.0.1:8321"],
    ["http://localhost:8321", "http://localhost:8321"],
    ["http://[::1]:8321", "http://[::1]:8321"],
    // What looks like another letter is shown as what it is.
    ["https://hub.exаmple.com", "https://hub.xn--exmple-4nf.com"],
  ] as const) {
    assert.deepEqual(readUri(uri(written)), { hub, code: CODE }, written);
  }
});

test("a link that could mislead is refused in one sentence, which does not hold its code", () => {
  for (const [link, says] of [
    [uri("http://hub.example.com"), /hub\.example\.com without encryption/],
    [uri("http://127.0.0.1.example.com"), /without encryption/],
    [uri("http://localhost.example.com"), /without encryption/],
    [uri("https://me:secret@hub.example.com"), /more than the address/],
    [uri("https://hub.example.com@evil.example"), /names evil\.example with more/],
    [uri("https://hub.example.com?x=1"), /more than the address/],
    [uri("javascript://hub.example.com"), /no address of a hub/],
    [uri("file:///etc/passwd"), /no address of a hub/],
    [uri("hub.example.com"), /no address of a hub/],
    [uri(`https://${"a".repeat(400)}.example`), /no address of a hub/],
    [uri("https://hub.example.com evil"), /no address of a hub/],
    [uri(`${HUB}&hub=https://evil.example`), /does not name exactly one hub/],
    [{ path: "/join", query: "", fragment: CODE }, /does not name exactly one hub/],
    [uri(HUB, CODE, "/other"), /does not know this link/],
    [uri(HUB, ""), /no valid join code/],
    [uri(HUB, "short"), /no valid join code/],
    [uri(HUB, "x".repeat(201)), /no valid join code/],
    [uri(HUB, `${CODE}\r\nx: y`), /no valid join code/],
  ] as const) {
    const read = readUri(link);
    assert.ok(isRefusal(read), JSON.stringify(link));
    assert.match(read.refusal, says);
    assert.ok(!read.refusal.includes(CODE) && !read.refusal.includes("secret"), read.refusal);
  }
});

test("both forms of a link can be pasted", () => {
  for (const text of [
    `${HUB}/hub/join#${CODE}`,
    `  ${HUB}/hub/join#${CODE}\n`,
    `vscode://partstream.partstream/join?hub=${encodeURIComponent(HUB)}#${CODE}`,
    `vscode-insiders://partstream.partstream/join?hub=${HUB}#${CODE}`,
  ]) {
    assert.deepEqual(readPasted(text), { hub: HUB, code: CODE }, text);
  }
});

test("what is pasted and is no link is refused", () => {
  for (const text of [
    "",
    CODE,
    HUB,
    `http://hub.example.com/hub/join#${CODE}`,
    `vscode://partstream.partstream/x#${CODE}`,
  ]) {
    assert.ok(isRefusal(readPasted(text)), text);
  }
});
