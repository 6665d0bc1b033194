import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { helpRows } from "../src/vscodeHelp";
import { localised, TEXTS } from "./localised";
import { Uri } from "./vscodeModule";

type Media = { markdown: string } | { image: Record<string, string>; altText: string };
interface Setting {
  type: string;
  default: unknown;
  order: number;
  scope?: string;
  markdownDescription: string;
  markdownDeprecationMessage?: string;
  keywords: string[];
}

const read = (path: string): string => readFileSync(path, "utf8");
const manifest = localised(JSON.parse(read("package.json")), TEXTS) as {
  version: string;
  engines: { vscode: string };
  icon: string;
  files: string[];
  activationEvents: string[];
  enabledApiProposals?: unknown;
  extensionKind?: unknown;
  extensionDependencies?: unknown;
  dependencies: Record<string, string>;
  capabilities: { untrustedWorkspaces: { restrictedConfigurations: string[] } };
  contributes: {
    commands: { command: string; title: string; enablement?: string }[];
    menus: Record<string, unknown>;
    walkthroughs: {
      steps: { description: string; when?: string; media: Media; completionEvents: string[] }[];
    }[];
    configuration: { title: string; order: number; properties: Record<string, Setting> }[];
    languageModelChatProviders: {
      vendor: string;
      displayName: string;
      managementCommand?: string;
      configuration: {
        properties: Record<string, { secret?: boolean }>;
        allOf: { properties: Record<string, unknown> }[];
      };
    }[];
  };
};
const { contributes } = manifest;
/** The themes in which VS Code shows the picture of a walkthrough. */
const THEMES = ["dark", "hc", "hcLight", "light"];
/** All settings that have an effect, as the groups of the settings editor have them. */
const settings = Object.entries(
  Object.assign({}, ...contributes.configuration.map((group) => group.properties)) as Record<string, Setting>,
).filter(([, { markdownDeprecationMessage }]) => markdownDeprecationMessage === undefined);

test("the manifest needs no proposal, no other extension, and runs where the folder is", () => {
  assert.deepEqual(
    [manifest.enabledApiProposals, manifest.extensionKind, manifest.extensionDependencies],
    [undefined, undefined, undefined],
  );
  assert.deepEqual(Object.keys(manifest.dependencies), ["@vscode/l10n", "vscode-jsonrpc"]);
});

test("the manifest names the vendor as the code registers it, and as people read it", () => {
  const vendors = contributes.languageModelChatProviders.map(({ vendor, displayName }) => [vendor, displayName]);
  assert.deepEqual(vendors, [["partstream", "Partstream"]]);
  assert.match(read("src/vscodeApi.ts"), /export const VENDOR = "partstream";/);
});

test("a VS Code before 1.127 does not install the extension", () => {
  assert.equal(manifest.engines.vscode, "^1.127.0");
});

test("the page of the extension has an icon of 256 pixels a side and the history of changes", () => {
  const png = readFileSync(manifest.icon);
  assert.deepEqual([png.toString("latin1", 1, 4), png.readUInt32BE(16), png.readUInt32BE(20)], ["PNG", 256, 256]);
  assert.ok(manifest.files.includes("CHANGELOG.md"));
});

test("settings that name programs or Python files, or say what is never sent, are restricted in untrusted folders", () => {
  const naming = settings.filter(([, { scope }]) => scope === "machine-overridable").map(([name]) => name);
  const restricted = [...naming, "partstream.completions.exclude", "partstream.completions.languages"];
  assert.deepEqual(restricted.sort(), [...manifest.capabilities.untrustedWorkspaces.restrictedConfigurations].sort());
});

test("answers are looked at and recorded, and hubs are joined, in trusted folders alone, and a recording can be taken back everywhere", () => {
  const enablement = Object.fromEntries(contributes.commands.map((one) => [one.command, one.enablement]));
  assert.equal(enablement["partstream.inspectLastAnswer"], "isWorkspaceTrusted");
  assert.equal(enablement["partstream.recordNextAnswer"], "isWorkspaceTrusted && !partstream.isRecording");
  assert.equal(enablement["partstream.joinHub"], "isWorkspaceTrusted");
  assert.equal(enablement["partstream.enterKey"], "isWorkspaceTrusted");
  assert.equal(enablement["partstream.cancelRecording"], "partstream.isRecording");
});

test("VS Code starts the extension when it has started, for a link to it, and for a page that comes back with the window", () => {
  assert.deepEqual(manifest.activationEvents, ["onStartupFinished", "onUri", "onWebviewPanel:partstream.usage"]);
});

test("no command takes the place of VS Code's own menu of a group, and VS Code asks for the address, the protocol and the key", () => {
  const [provider] = contributes.languageModelChatProviders;
  assert.equal(provider?.managementCommand, undefined);
  assert.deepEqual(Object.keys(provider?.configuration.properties ?? {}), ["baseUrl", "protocol", "apiKey"]);
});

test("every page of the walkthrough is packed, and each of its buttons runs a command that there is", () => {
  const known = contributes.commands.map(({ command }) => command);
  for (const { description, media } of contributes.walkthroughs.flatMap(({ steps }) => steps)) {
    for (const file of "markdown" in media ? [media.markdown] : Object.values(media.image)) {
      assert.ok(read(file).trim() !== "" && manifest.files.includes("media/**"));
    }
    const commands = [...description.matchAll(/\(command:([\w.]+)\)/g)].map(([, command]) => command ?? "");
    assert.ok(commands.length > 0, description);
    for (const command of commands) assert.ok(known.includes(command) || command.startsWith("workbench."), command);
  }
});

test("a picture of the walkthrough is there for every theme, and in words", () => {
  const media = contributes.walkthroughs.flatMap(({ steps }) => steps.map((step) => step.media));
  const pictures = media.flatMap((one) => ("image" in one ? [one] : []));
  assert.ok(pictures.length > 0);
  for (const { image, altText } of pictures) {
    assert.deepEqual(Object.keys(image).sort(), THEMES);
    assert.ok(altText.length > 40);
  }
});

// VS Code gives no mark for a context that is there before the page is first opened, so what runs by then is a step of
// its own, which is done as it is seen.
test("the walkthrough begins with a mark where Python runs, with a search where none was made, and with the choice of a Python where none runs", () => {
  const [ready, unknown, none] = contributes.walkthroughs.flatMap(({ steps }) => steps);
  assert.deepEqual([ready?.when, ready?.completionEvents], ["partstream.ready", ["onStepSelected"]]);
  assert.equal(unknown?.when, "!partstream.ready && !partstream.noPython");
  assert.match(unknown.description, /has not looked for one yet.*\(command:partstream\.restart\)/s);
  assert.deepEqual([none?.when, none?.completionEvents], ["partstream.noPython", ["onContext:partstream.ready"]]);
  assert.match(none?.description ?? "", /No working Python/);
});

test("the walkthrough has a step for the account where the chat asks for one, and its mark once it does not", () => {
  const steps = contributes.walkthroughs.flatMap(({ steps }) => steps);
  const account = steps.find(({ when }) => when === "partstream.asksForAccount");
  assert.deepEqual(account?.completionEvents, ["onContext:partstream.chatIsOn"]);
  assert.match(account.description, /\(command:partstream\.useWithoutAccount\)/);
});

test("a button for a commit message is there while VS Code is signed out, and Copilot's own does not work", () => {
  const command = "partstream.generateCommitMessage";
  const when = "scmProvider == git && chatEntitlementSignedOut && !chatSetupCompleted";
  assert.deepEqual(contributes.menus["scm/title"], [{ command, when, group: "navigation" }]);
});

test("New File offers a provider, and Help leads to commands that there are, in the words of the palette", () => {
  assert.deepEqual(contributes.menus["file/newFile"], [{ command: "partstream.newProviderFile", group: "file" }]);
  const titles = new Map(contributes.commands.map(({ command, title }) => [command, title]));
  for (const { label, command } of helpRows(Uri.file("/docs") as never, true)) {
    if (command?.startsWith("partstream.")) assert.equal(titles.get(command), label);
  }
});

test("the settings editor has groups in an order, and every link in it leads to a setting or a command that there is", () => {
  const inOrder = contributes.configuration.map(({ order }) => order);
  assert.deepEqual(
    inOrder,
    inOrder.map((_, index) => index + 1),
  );
  for (const { title, properties } of contributes.configuration) {
    const orders = Object.values(properties).map(({ order }) => order);
    assert.deepEqual([title !== "", orders], [true, orders.map((_, index) => index + 1)]);
  }
  const commands = contributes.commands.map(({ command }) => command);
  for (const [name, { markdownDescription, keywords }] of settings) {
    const linked = [...markdownDescription.matchAll(/`#(.+?)#`/g)].map(([, setting]) => setting);
    for (const setting of linked)
      assert.ok(
        settings.some(([known]) => known === setting),
        `${name}: ${String(setting)}`,
      );
    for (const [, label = "", command = ""] of markdownDescription.matchAll(/\[(.+?)\]\(command:(.+?)\)/g)) {
      assert.ok(label !== "" && commands.includes(command), `${name}: ${command}`);
    }
    assert.ok(keywords.length > 0, name);
  }
});

test("the key of a group is a secret", () => {
  const [provider] = contributes.languageModelChatProviders;
  assert.equal(provider?.vendor, "partstream");
  assert.equal(provider.configuration.properties["apiKey"]?.secret, true);
});

test("every command and every setting has its line in the documentation and its place in the code", () => {
  const pages = ["vscode", "configuration", "reference/settings"];
  const documentation = pages.map((name) => read(`../docs/${name}.md`)).join("");
  const sources = ["application", "vscodeApi", "vscodeFirstSteps", "vscodeCompletions"];
  const code = sources.map((name) => read(`src/${name}.ts`)).join("");
  for (const { command } of contributes.commands) assert.ok(code.includes(`"${command}"`), command);
  const group = contributes.languageModelChatProviders[0]?.configuration;
  const groupKeys = [group, ...(group?.allOf ?? [])].flatMap((schema) => Object.keys(schema?.properties ?? {}));
  for (const name of [...settings.map(([setting]) => setting), ...groupKeys]) {
    assert.ok(documentation.includes(`\`${name}\``), name);
  }
  for (const [setting] of settings) {
    assert.ok(code.includes(`"${setting.replace("partstream.", "")}"`), setting);
  }
});

test("the version is the Python package's, and the lock names no registry", () => {
  const version = /__version__ = "(.+)"/.exec(read("../packages/partstream/src/partstream/_version.py"))?.[1];
  const lock = read("package-lock.json");
  assert.equal(manifest.version, version);
  assert.equal((JSON.parse(lock) as { version: string }).version, version);
  assert.doesNotMatch(lock, /"resolved"/);
});
