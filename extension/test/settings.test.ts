import assert from "node:assert/strict";
import { homedir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import {
  ignoredLocalValues,
  resolveConfiguration,
  resolveNetwork,
  resolveProviders,
  resolvePython,
  resolveSource,
} from "../src/settings";
import { unexpected } from "./testClock";

test("a relative file starts at the folder, everything else stays", () => {
  const table: [string, string][] = [
    ["models/mine.py", join("/work", "models/mine.py")],
    ["mine.py:provider", join("/work", "mine.py:provider")],
    ["/abs/mine.py", "/abs/mine.py"],
    ["~/mine.py", join(homedir(), "mine.py")],
    ["package.module:attribute", "package.module:attribute"],
    ["package.python", "package.python"],
  ];
  for (const [source, expected] of table) assert.equal(resolveSource(source, "/work"), expected);
});

test("without a trusted folder a relative file is left out, with a word in the log", () => {
  const lines: string[] = [];
  const resolved = resolveProviders(["mine.py", "/abs/mine.py"], undefined, (line) => lines.push(line));
  assert.deepEqual(resolved, [{ source: "/abs/mine.py", name: null }]);
  assert.match(lines.join(), /mine\.py.*trusted/);
});

test("a provider may have a name", () => {
  const providers = [{ source: "m:a", name: "mine" }, { source: "m:b" }];
  assert.deepEqual(resolveProviders(providers, undefined, unexpected), [
    { source: "m:a", name: "mine" },
    { source: "m:b", name: null },
  ]);
});

test("a group's provider file is resolved, empty keys are left out, all others pass as they are", () => {
  assert.deepEqual(resolveConfiguration({ baseUrl: "x", apiKey: "k" }, undefined), { baseUrl: "x", apiKey: "k" });
  assert.deepEqual(resolveConfiguration({ provider: "", apiKey: null, models: [] }, undefined), { models: [] });
  assert.deepEqual(resolveConfiguration({ callIdPrefix: "", proxy: "" }, undefined), { callIdPrefix: "" });
  assert.deepEqual(resolveConfiguration({ provider: "a.py" }, "/work"), { provider: join("/work", "a.py") });
  assert.throws(() => resolveConfiguration({ provider: "a.py" }, undefined), /a\.py.*trusted folder/);
});

test("of VS Code's network settings the sidecar gets what is not as by default", () => {
  const none = { proxy: undefined, proxyStrictSSL: undefined, proxySupport: undefined };
  const table: [Partial<typeof none>, object][] = [
    [{}, {}],
    [{ proxy: "", proxyStrictSSL: true, proxySupport: "override" }, {}],
    [{ proxy: "http://proxy:8080" }, { proxy: "http://proxy:8080" }],
    [
      { proxy: "HTTPS://proxy", proxyStrictSSL: false },
      { proxy: "HTTPS://proxy", proxyStrictSSL: false },
    ],
    [{ proxy: "http://proxy:8080", proxySupport: "off" }, {}],
  ] as never;
  for (const [settings, expected] of table) {
    assert.deepEqual(resolveNetwork({ ...none, ...settings }, unexpected), expected);
  }
});

test("a proxy that the sidecar cannot use is left out, with a word in the log that does not show it", () => {
  const lines: string[] = [];
  const network = { proxy: "socks5://me:secret@proxy", proxyStrictSSL: true, proxySupport: "on" };
  assert.deepEqual(
    resolveNetwork(network, (line) => lines.push(line)),
    {},
  );
  assert.match(lines.join(), /http\.proxy/);
  assert.doesNotMatch(lines.join(), /secret/);
});

test("settings of the person's own machine that a remote window does not take are named, and no others", () => {
  const values = [
    { name: "partstream.python", local: "/usr/bin/python3", inForce: "" },
    { name: "partstream.providers", local: ["a.py"], inForce: ["a.py"] },
  ];
  assert.match(
    ignoredLocalValues(values, "ssh-remote") ?? "",
    /^Partstream ignores partstream\.python in the User settings, .*\(ssh-remote\)\. Set it in the Remote settings/,
  );
  assert.equal(ignoredLocalValues(values, undefined), undefined);
  assert.equal(ignoredLocalValues(values.slice(1), "wsl"), undefined);
  assert.equal(ignoredLocalValues([{ name: "x", local: undefined, inForce: "b" }], "wsl"), undefined);
  const both = values.map((value) => ({ ...value, inForce: null }));
  assert.match(ignoredLocalValues(both, "wsl") ?? "", /partstream\.python and partstream\.providers .* Set them in/);
});

test("a value of another type than the setting's is left out, with a word, and is no error", () => {
  const lines: string[] = [];
  const log = (line: string): void => void lines.push(line);
  for (const value of ["mine.py", 5, null, { source: "m" }, true])
    assert.deepEqual(resolveProviders(value, "/w", log), []);
  for (const value of [5, null, [], {}]) assert.equal(resolvePython(value, log), "");
  assert.equal(lines.length, 9);
  lines.length = 0;
  const mixed = [null, 5, ["a.py"], {}, { source: 5 }, { source: "m:a", name: 5 }, "m:b"];
  assert.deepEqual(resolveProviders(mixed, "/w", log), [
    { source: "m:a", name: null },
    { source: "m:b", name: null },
  ]);
  assert.equal(lines.length, 5);
});
