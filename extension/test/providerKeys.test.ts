import assert from "node:assert/strict";
import { test } from "node:test";
import type { Group, ProviderError } from "../src/protocol.generated";
import { ProviderKeys } from "../src/vscodeKeys";
import { groupId } from "../src/settings";
import { EventEmitter, window, world } from "./vscodeModule";

const FILE = "/models/gated.py";
const GROUP = { provider: FILE, city: "Porto" };

/** The keys of a person who answers as the test says. */
class Person {
  readonly secrets = new Map<string, string>();
  /** Everything that the person sees. */
  readonly seen: string[] = [];
  readonly hidden: string[] = [];
  readonly changes: boolean[] = [];
  changed = new EventEmitter<{ key: string }>();
  isReadable = true;
  presses = true;
  /** What the person writes into the next boxes; undefined closes one. */
  written: (string | undefined)[] = [];
  chosen: string | undefined;
  readonly keys = this.open();

  constructor() {
    Object.assign(world, { isTrusted: true });
    Object.assign(window, {
      showInformationMessage: (message: string, button?: string) => {
        this.seen.push(button === undefined ? message : `${message} [${button}]`);
        return Promise.resolve(this.presses ? button : undefined);
      },
      showInputBox: ({ title, prompt }: { title: string; prompt: string }) => {
        this.seen.push(`${title}: ${prompt}`);
        return Promise.resolve(this.written.shift());
      },
      showQuickPick: (names: readonly string[]) => {
        this.seen.push(names.join(" or "));
        return Promise.resolve(this.chosen);
      },
    });
  }

  /** Another window over the same storage. */
  open(): ProviderKeys {
    const changed = new EventEmitter<{ key: string }>();
    const keep = (key: string, value: string | undefined): Promise<void> => {
      if (value === undefined) this.secrets.delete(key);
      else this.secrets.set(key, value);
      changed.fire({ key });
      return Promise.resolve();
    };
    this.changed = changed;
    return new ProviderKeys({
      secrets: {
        get: (name) =>
          this.isReadable ? Promise.resolve(this.secrets.get(name)) : Promise.reject(new Error("no keyring")),
        store: keep,
        delete: (key) => keep(key, undefined),
        onDidChange: changed.event as never,
      },
      shown: (text) => text,
      hide: (key) => this.hidden.push(key),
      changed: (isOfSettings) => this.changes.push(isOfSettings),
      log: (message) => this.seen.push(message),
    });
  }
}

function failed(hadKey = false, source = FILE): ProviderError {
  return { provider: "gated", message: "The key of the gate.", kind: "key", keyNeed: { source, hadKey } };
}

function group(configuration: Record<string, unknown>, name = "Gate"): Group {
  return { id: groupId(configuration), name, configuration };
}

test("a silent list asks by a notification, once, and a person who does not press its button sees no box", async () => {
  const person = new Person();
  person.presses = false;
  await person.keys.needed(null, failed(), true);
  await person.keys.needed(null, failed(), true);
  assert.deepEqual(person.seen, ["gated needs an API key. [Enter Key…]"]);
});

test("the button opens a box; the key is kept, hidden and handed over to that provider alone", async () => {
  const person = new Person();
  person.written = [" sk-gate "];
  await person.keys.needed(null, failed(), true);
  assert.deepEqual(person.seen, ["gated needs an API key. [Enter Key…]", "API Key of gated: The key of the gate."]);
  assert.deepEqual([[...person.secrets.values()], person.hidden], [["sk-gate"], ["sk-gate"]]);
  assert.deepEqual(person.changes, [true], "the providers of the settings get it with a new process");
  const other = { source: "/models/other.py" };
  assert.deepEqual(await person.keys.sources([{ source: FILE }, other]), [{ source: FILE, apiKey: "sk-gate" }, other]);
});

test("a list that is not silent opens the box at once, and one that the person closes does not come again", async () => {
  const person = new Person();
  for (const silent of [false, false, true]) await person.keys.needed(null, failed(), silent);
  assert.deepEqual(person.seen, ["API Key of gated: The key of the gate."]);
  assert.deepEqual([[...person.secrets], person.changes], [[], []]);
});

test("the key of a group is that of the group, and a key in its own configuration wins", async () => {
  const person = new Person();
  person.written = ["sk-gate"];
  await person.keys.needed(group(GROUP), failed(), false);
  assert.deepEqual(person.seen, ["API Key of Gate: The key of the gate."]);
  assert.deepEqual(person.changes, [false], "VS Code asks for the groups again");
  const own = { ...GROUP, apiKey: "sk-own" };
  for (const [given, handed] of [
    [GROUP, { ...GROUP, apiKey: "sk-gate" }],
    [own, own],
    [{ ...GROUP, city: "Faro" }, undefined],
    [{ baseUrl: "http://x" }, undefined],
  ] as const) {
    assert.deepEqual(await person.keys.configured(given, "Gate"), handed ?? given);
  }
  assert.deepEqual(await person.keys.sources([{ source: FILE }]), [{ source: FILE }]);
  // VS Code itself changes a key of the configuration that is wrong.
  await person.keys.needed(group(own), failed(true), false);
  assert.equal(person.seen.length, 1);
});

test("a wrong key is asked for again, and the new one replaces it", async () => {
  const person = new Person();
  person.written = ["sk-wrong", "sk-gate"];
  await person.keys.needed(group(GROUP), failed(), true);
  await person.keys.needed(group(GROUP), failed(), true); // What was listed before the key was there.
  assert.equal(person.seen.length, 2);
  const wrong = await person.keys.configured(GROUP, "Gate");
  await person.keys.needed(group(wrong), failed(true), true);
  assert.deepEqual(person.seen.slice(2), [
    "Gate rejected the API key. [Enter Key…]",
    "API Key of Gate: The key of the gate. It replaces the stored key; an empty box deletes that key.",
  ]);
  assert.deepEqual(await person.keys.configured(GROUP, "Gate"), { ...GROUP, apiKey: "sk-gate" });
  assert.deepEqual([...person.secrets.values()], ["sk-gate"]);
});

test("the command asks for the key of a provider that has asked in an answer", async () => {
  const person = new Person();
  await person.keys.run();
  assert.deepEqual(person.seen, ["No provider of yours has asked for an API key."]);
  assert.equal(await person.keys.isNeeded(null, failed()), true);
  person.written = ["sk-gate"];
  await person.keys.run();
  assert.deepEqual([...person.secrets.values()], ["sk-gate"]);
});

test("the command of a later window lists the providers with a key as well, and forgets a key", async () => {
  const person = new Person();
  person.written = ["sk-gate", ""];
  await person.keys.needed(null, failed(), false);
  person.changed.fire({ key: "the name of another secret" });
  assert.deepEqual(person.changes, [true]);
  const later = person.open();
  await later.sources([{ source: FILE }]);
  assert.equal(await later.isNeeded(group(GROUP, "Almanac"), failed()), true);
  person.seen.length = 0;
  person.chosen = "gated.py";
  await later.run();
  assert.deepEqual(person.seen, [
    "gated.py or Almanac",
    "API Key of gated.py: It replaces the stored key; an empty box deletes that key.",
  ]);
  assert.deepEqual([[...person.secrets], await later.sources([{ source: FILE }])], [[], [{ source: FILE }]]);
});

test("boxes of two providers come one after the other", async () => {
  const person = new Person();
  person.written = ["sk-one", "sk-two"];
  const sources = ["/models/one.py", "/models/two.py"];
  await Promise.all(sources.map((source) => person.keys.needed(null, failed(false, source), false)));
  const given = await person.keys.sources(sources.map((source) => ({ source })));
  assert.deepEqual(
    given.map(({ apiKey }) => apiKey),
    ["sk-one", "sk-two"],
  );
});

test("in a folder that is not trusted no provider gets a key, and none asks for one", async () => {
  const person = new Person();
  person.written = ["sk-gate"];
  await person.keys.needed(null, failed(), false);
  world.isTrusted = false;
  assert.deepEqual(await person.keys.sources([{ source: FILE }]), [{ source: FILE }]);
  assert.deepEqual(await person.keys.configured(GROUP, "Gate"), GROUP);
  for (const silent of [true, false]) await person.keys.needed(group(GROUP), failed(), silent);
  assert.equal(await person.keys.isNeeded(group(GROUP), failed()), false);
  assert.equal(person.keys.asksBy(failed()), false, "the error is shown as any other");
  assert.equal(person.seen.length, 1);
});

test("a storage that cannot be read is logged, and the provider goes without a key", async () => {
  const person = new Person();
  person.isReadable = false;
  assert.deepEqual(await person.keys.sources([{ source: FILE }]), [{ source: FILE }]);
  assert.deepEqual(person.seen, ["VS Code's secret storage cannot be read: no keyring"]);
});
