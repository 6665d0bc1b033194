import assert from "node:assert/strict";
import { test } from "node:test";
import { GroupNames } from "../src/groups";

const FILE = `[
  // Two of one address differ by their key only.
  { "name": "Desk", "vendor": "partstream", "baseUrl": "http://127.0.0.1:1/v1", "apiKey": "\${input:chat.lm.secret.-1}" },
  { "name": "Bad key", "vendor": "partstream", "baseUrl": "http://127.0.0.1:1/v1", "apiKey": "\${input:chat.lm.secret.2}",
    "settings": { "m": { "reasoningEffort": "high" } } }, /* another vendor's: */
  { "name": "Other", "vendor": "customendpoint", "baseUrl": "http://127.0.0.1:2/v1" },
  { "name": "Models", "vendor": "partstream", "models": [{ "id": "a", "name": "A // b, ]" }], "baseUrl": "https://host/v1", },
]`;

function start(read: () => Promise<string> = () => Promise.resolve(FILE)): GroupNames {
  return new GroupNames(read, "partstream");
}

test("a group is known by its keys, whatever their order, and by no key that is secret", async () => {
  const names = start();
  await names.beginRound();
  assert.equal(names.next({ baseUrl: "https://host/v1", models: [{ name: "A // b, ]", id: "a" }] }), "Models");
  assert.equal(names.next({ baseUrl: "http://127.0.0.1:2/v1" }), undefined);
});

test("groups that differ by their key alone are known by the order in which VS Code asks, in every round", async () => {
  const names = start();
  for (let round = 0; round < 2; round++) {
    await names.beginRound();
    const asked = ["sk-one", "sk-two"].map((apiKey) => names.next({ baseUrl: "http://127.0.0.1:1/v1", apiKey }));
    assert.deepEqual(asked, ["Desk", "Bad key"]);
  }
});

test("a file that is not there, is no JSON or holds something else leaves groups without a name", async () => {
  for (const read of [
    () => Promise.reject(new Error("ENOENT")),
    () => Promise.resolve("[{"),
    () => Promise.resolve("{}"),
    () => Promise.resolve("[null, 1]"),
  ]) {
    const names = start(read);
    await names.beginRound();
    assert.equal(names.next({ baseUrl: "https://host/v1" }), undefined);
  }
});
