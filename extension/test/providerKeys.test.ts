import assert from "node:assert/strict";
import { test } from "node:test";
import type { Group, ProviderError } from "../src/protocol.generated";
import { ProviderKeys } from "../src/vscodeKeys";
import { groupId } from "../src/settings";

const FILE = "/models/gated.py";
const GROUP = { provider: FILE, city: "Porto" };

/** Keys in a window where a person answers as the test says. */
class Window {
  readonly secrets = new Map<string, string>();
  /** Everything that the person sees. */
  readonly seen: string[] = [];
  readonly hidden: string[] = [];
  readonly changes: boolean[] = [];
  isTrusted = true;
  isReadable = true;
  presses = true;
  /** What the person writes into the next boxes; undefined closes one. */
  written: (string | undefined)[] = [];
  chosen: string | undefined;
  readonly keys = this.open();

  /** Another window over the same storage. */
  open(): ProviderKeys {
    const keys: ProviderKeys = new ProviderKeys({
      isTrusted: () => this.isTrusted,
      secrets: {
        get: (name) =>
          this.isReadable ? Promise.resolve(this.secrets.get(name)) : Promise.reject(new Error("no keyring")),
        store: (name, value) => {
          this.secrets.set(name, value);
          keys.changed(name);
          return Promise.resolve();
        },
        delete: (name) => {
          this.secrets.delete(name);
          keys.changed(name);
          return Promise.resolve();
        },
      },
      offer: (message, button) => {
        this.seen.push(`${message} [${button}]`);
        return Promise.resolve(this.presses);
      },
      ask: ({ title, prompt }) => {
        this.seen.push(`${title}: ${prompt}`);
        return Promise.resolve(this.written.shift());
      },
      choose: (names) => {
        this.seen.push(names.join(" or "));
        return Promise.resolve(this.chosen);
      },
      inform: (message) => this.seen.push(message),
      hide: (key) => this.hidden.push(key),
      changed: (isOfSettings) => this.changes.push(isOfSettings),
      log: (message) => this.seen.push(message),
    });
    return keys;
  }
}

function failed(hadKey = false, source = FILE): ProviderError {
  return { provider: "gated", message: "The key of the gate.", kind: "key", keyNeed: { source, hadKey } };
}

function group(configuration: Record<string, unknown>, name = "Gate"): Group {
  return { id: groupId(configuration), name, configuration };
}

test("a silent list asks by a notification, once, and a person who does not press its button sees no box", async () => {
  const window = new Window();
  window.presses = false;
  await window.keys.needed(null, failed(), true);
  await window.keys.needed(null, failed(), true);
  assert.deepEqual(window.seen, ["gated needs an API key. [Enter Key…]"]);
});

test("the button opens a box; the key is kept, hidden and handed over to that provider alone", async () => {
  const window = new Window();
  window.written = [" sk-gate "];
  await window.keys.needed(null, failed(), true);
  assert.deepEqual(window.seen, ["gated needs an API key. [Enter Key…]", "API Key of gated: The key of the gate."]);
  assert.deepEqual([[...window.secrets.values()], window.hidden], [["sk-gate"], ["sk-gate"]]);
  assert.deepEqual(window.changes, [true], "the providers of the settings get it with a new process");
  const other = { source: "/models/other.py" };
  assert.deepEqual(await window.keys.sources([{ source: FILE }, other]), [{ source: FILE, apiKey: "sk-gate" }, other]);
});

test("a list that is not silent opens the box at once, and one that the person closes does not come again", async () => {
  const window = new Window();
  for (const silent of [false, false, true]) await window.keys.needed(null, failed(), silent);
  assert.deepEqual(window.seen, ["API Key of gated: The key of the gate."]);
  assert.deepEqual([[...window.secrets], window.changes], [[], []]);
});

test("the key of a group is that of the group, and a key in its own configuration wins", async () => {
  const window = new Window();
  window.written = ["sk-gate"];
  await window.keys.needed(group(GROUP), failed(), false);
  assert.deepEqual(window.seen, ["API Key of Gate: The key of the gate."]);
  assert.deepEqual(window.changes, [false], "VS Code asks for the groups again");
  const own = { ...GROUP, apiKey: "sk-own" };
  for (const [given, handed] of [
    [GROUP, { ...GROUP, apiKey: "sk-gate" }],
    [own, own],
    [{ ...GROUP, city: "Faro" }, undefined],
    [{ baseUrl: "http://x" }, undefined],
  ] as const) {
    assert.deepEqual(await window.keys.configured(given, "Gate"), handed ?? given);
  }
  assert.deepEqual(await window.keys.sources([{ source: FILE }]), [{ source: FILE }]);
  // VS Code itself changes a key of the configuration that is wrong.
  await window.keys.needed(group(own), failed(true), false);
  assert.equal(window.seen.length, 1);
});

test("a wrong key is asked for again, and the new one replaces it", async () => {
  const window = new Window();
  window.written = ["sk-wrong", "sk-gate"];
  await window.keys.needed(group(GROUP), failed(), true);
  await window.keys.needed(group(GROUP), failed(), true); // What was listed before the key was there.
  assert.equal(window.seen.length, 2);
  const wrong = await window.keys.configured(GROUP, "Gate");
  await window.keys.needed(group(wrong), failed(true), true);
  assert.deepEqual(window.seen.slice(2), [
    "Gate rejected the API key. [Enter Key…]",
    "API Key of Gate: The key of the gate. It replaces the stored key; an empty box deletes that key.",
  ]);
  assert.deepEqual(await window.keys.configured(GROUP, "Gate"), { ...GROUP, apiKey: "sk-gate" });
  assert.deepEqual([...window.secrets.values()], ["sk-gate"]);
});

test("the command asks for the key of a provider that has asked in an answer", async () => {
  const window = new Window();
  await window.keys.run();
  assert.deepEqual(window.seen, ["No provider of yours has asked for an API key."]);
  assert.equal(await window.keys.isNeeded(null, failed()), true);
  window.written = ["sk-gate"];
  await window.keys.run();
  assert.deepEqual([...window.secrets.values()], ["sk-gate"]);
});

test("the command of a later window lists the providers with a key as well, and forgets a key", async () => {
  const window = new Window();
  window.written = ["sk-gate", ""];
  await window.keys.needed(null, failed(), false);
  window.keys.changed("the name of another secret");
  assert.deepEqual(window.changes, [true]);
  const later = window.open();
  await later.sources([{ source: FILE }]);
  assert.equal(await later.isNeeded(group(GROUP, "Almanac"), failed()), true);
  window.seen.length = 0;
  window.chosen = "gated.py";
  await later.run();
  assert.deepEqual(window.seen, [
    "gated.py or Almanac",
    "API Key of gated.py: It replaces the stored key; an empty box deletes that key.",
  ]);
  assert.deepEqual([[...window.secrets], await later.sources([{ source: FILE }])], [[], [{ source: FILE }]]);
});

test("boxes of two providers come one after the other", async () => {
  const window = new Window();
  window.written = ["sk-one", "sk-two"];
  const sources = ["/models/one.py", "/models/two.py"];
  await Promise.all(sources.map((source) => window.keys.needed(null, failed(false, source), false)));
  const given = await window.keys.sources(sources.map((source) => ({ source })));
  assert.deepEqual(
    given.map(({ apiKey }) => apiKey),
    ["sk-one", "sk-two"],
  );
});

test("in a folder that is not trusted no provider gets a key, and none asks for one", async () => {
  const window = new Window();
  window.written = ["sk-gate"];
  await window.keys.needed(null, failed(), false);
  window.isTrusted = false;
  assert.deepEqual(await window.keys.sources([{ source: FILE }]), [{ source: FILE }]);
  assert.deepEqual(await window.keys.configured(GROUP, "Gate"), GROUP);
  for (const silent of [true, false]) await window.keys.needed(group(GROUP), failed(), silent);
  assert.equal(await window.keys.isNeeded(group(GROUP), failed()), false);
  assert.equal(window.keys.asksBy(failed()), false, "the error is shown as any other");
  assert.equal(window.seen.length, 1);
});

test("a storage that cannot be read is logged, and the provider goes without a key", async () => {
  const window = new Window();
  window.isReadable = false;
  assert.deepEqual(await window.keys.sources([{ source: FILE }]), [{ source: FILE }]);
  assert.deepEqual(window.seen, ["VS Code's secret storage cannot be read: no keyring"]);
});
