/** A window with the whole extension over a machine whose Pythons are scripts; a file that imports it gets a fresh window each test. */
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach } from "node:test";
import type { ExtensionContext } from "vscode";
import { activate, deactivate } from "../src/extension";
import type { Model } from "../src/modelInformation";
import type { PartstreamProvider } from "../src/provider";
import { TextPart, TokenSource } from "./vscodeDouble";
import { world } from "./vscodeModule";

export const folder = mkdtempSync(join(tmpdir(), "partstream-"));

/** A program that says it is Python of some version, and is the fake sidecar when it is asked to be one. */
export function fakePython(name: string, version: string): string {
  const path = join(folder, name);
  const sidecar = `exec "${process.execPath}" "${join(__dirname, "fakeSidecar.cjs")}"`;
  writeFileSync(
    path,
    `#!/bin/sh\ncase "$1" in -I) echo "partstream-probe:$0"; echo "partstream-probe:${version}";; *) ${sidecar};; esac\n`,
  );
  chmodSync(path, 0o755);
  return path;
}

export const NEW = fakePython("python-new", "3.12.1");
export const OLD = fakePython("python-old", "3.9.1");
const path = process.env["PATH"];

before(() => {
  process.env["PATH"] = folder;
  mkdirSync(join(folder, "bundled", "libs", "partstream"), { recursive: true });
});
after(() => {
  process.env["PATH"] = path;
  rmSync(folder, { recursive: true });
});
beforeEach(async () => {
  await deactivate();
  delete process.env["FAKE_DIALOGS"];
  Object.assign(world, {
    settings: {},
    folder: undefined,
    targets: [],
    errors: [],
    informed: [],
    lines: [],
    opened: [],
    contexts: new Map(),
    pythonExtension: undefined,
    chatExtension: {},
    defaults: {},
    isTrusted: true,
    items: new Map(),
    questions: [],
    pasted: undefined,
    boxes: [],
    secrets: new Map(),
    browsed: [],
    problems: [],
    shown: undefined,
    localValues: {},
    chosen: undefined,
    canAddGroups: true,
    groups: [],
    panels: new Map(),
    titles: [],
    progress: new TokenSource(),
    configured: [],
    choices: [],
    saved: undefined,
    files: new Map(),
    saveDialog: undefined,
    translations: undefined,
  });
});
after(deactivate);

/** What the fake sidecar's dialogs ask of the window, by their names, and what they leave to it. */
export function playDialogs(
  dialogs: Readonly<Record<string, { asks?: readonly (readonly [string, unknown])[]; result?: unknown }>>,
): void {
  process.env["FAKE_DIALOGS"] = JSON.stringify(dialogs);
}

/** Opens a window with the extension; closed when the next test begins. */
export function start(
  memory: Record<string, unknown> = {},
  manifest: Record<string, unknown> = {},
): PartstreamProvider {
  const stored: Record<string, unknown> = { ...memory };
  activate({
    subscriptions: [],
    extensionPath: folder,
    extensionUri: { fsPath: folder },
    globalStorageUri: { fsPath: join(folder, "globalStorage", "partstream.partstream") },
    extension: { id: "partstream.partstream", packageJSON: { version: "0.1.0", ...manifest } },
    secrets: {
      get: (key: string) => Promise.resolve(world.secrets.get(key)),
      store: (key: string, value: string) => {
        world.secrets.set(key, value);
        world.secretsChanged.fire({ key });
        return Promise.resolve();
      },
      onDidChange: world.secretsChanged.event,
    },
    globalState: {
      get: (key: string) => stored[key],
      update: (key: string, value: unknown) => Promise.resolve(void (stored[key] = value)),
    },
  } as unknown as ExtensionContext);
  return world.provider as PartstreamProvider;
}

export async function until(what: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 5000; performance.now() < end;) {
    if (await what()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail(`not within 5 s: ${what.toString()}`);
}

export async function models(provider: PartstreamProvider): Promise<string[]> {
  return (await provider.provideLanguageModelChatInformation({ silent: true })).map(({ id }) => id);
}

const HELLO = [{ role: 1, name: undefined, content: [new TextPart("hello there")] }];

/** Has a question answered. */
export async function answer(
  provider: PartstreamProvider,
  source?: string,
  asked?: Model,
  options: object = { toolMode: 1 },
): Promise<void> {
  const [first] = await provider.provideLanguageModelChatInformation({ silent: true });
  const listed = asked ?? first;
  assert.ok(listed);
  const model = source === undefined ? listed : { ...listed, source };
  await provider.provideLanguageModelChatResponse(
    model,
    HELLO,
    options as never,
    { report: () => 0 },
    new TokenSource().token,
  );
}

/** Closes the window, as VS Code does. */
export async function close(): Promise<void> {
  await deactivate();
}
