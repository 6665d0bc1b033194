import assert from "node:assert/strict";
import { test } from "node:test";
import { answer, models, NEW, OLD, start, until } from "./applicationWorld";
import { Panel, set, shownItem, world } from "./vscodeModule";

const USAGE = "partstream.usage";
const show = (): unknown => world.commands.get("partstream.showUsage")?.();
const html = (): string => world.panels.get(USAGE)?.webview.html ?? "";

async function restore(): Promise<Panel> {
  const panel = new Panel(USAGE);
  world.panels.set(USAGE, panel);
  await world.serializers.get(USAGE)?.deserializeWebviewPanel(panel);
  return panel;
}

test("the page of token usage is that of Python, for this webview and with a nonce of its own", async () => {
  set("python", NEW);
  await models(start());
  await show();
  const [, nonce] = /nonce="([\w-]{20,})" data-source="'self' https:\/\/\*\.vscode-cdn\.net"/.exec(html()) ?? [];
  assert.ok(nonce, html());
  await show();
  assert.equal(world.panels.size, 1);
  assert.doesNotMatch(html(), new RegExp(nonce), "each page has another one");
});

test("an open page takes a newer one when an answer ends; one that is covered is made again when it is seen", async () => {
  set("python", NEW);
  const provider = start();
  await show();
  const panel = world.panels.get(USAGE);
  assert.ok(panel);
  await answer(provider);
  await until(() => panel.posted.length === 1);
  assert.match(JSON.stringify(panel.posted[0]), /"type":"page","html":"<script nonce=.*Echo/);
  panel.see(false);
  const before = html();
  await answer(provider);
  assert.equal(panel.posted.length, 1);
  panel.see(true);
  await until(() => html() !== before);
});

test("the page comes back with the window", async () => {
  set("python", NEW);
  start();
  const panel = await restore();
  assert.match(panel.webview.html, /Echo/);
  assert.deepEqual(panel.webview.options, { enableScripts: true, enableForms: false, localResourceRoots: [] });
});

test("a page that cannot come back says why in its place, as text", async () => {
  set("python", `${OLD}<b>`);
  start();
  const { webview } = await restore();
  assert.match(webview.html, /Python 3\.11/);
  assert.match(webview.html, /default-src 'none'; style-src 'nonce-/);
  assert.doesNotMatch(webview.html, /<b>/);
});

test("in a folder that is not trusted a page that comes back starts nothing until it is", async () => {
  set("python", NEW);
  world.isTrusted = false;
  start();
  const panel = await restore();
  assert.match(panel.webview.html, /Trust the folder to see this page/);
  assert.doesNotMatch(world.lines.join("\n"), /starting Python/);
  world.isTrusted = true;
  world.trustGranted.fire(undefined);
  await until(() => panel.webview.html.includes("Echo"));
});

test("a page that is closed is not made any more, and what it was never allowed to ask for is ignored", async () => {
  set("python", NEW);
  const provider = start();
  await show();
  const panel = world.panels.get(USAGE);
  for (const message of ["save", { type: "save" }, { type: "constructor" }, null]) panel?.send(message);
  assert.equal(world.lines.filter((line) => line.includes("ignored a message of the page usage")).length, 4);
  panel?.dispose();
  await answer(provider);
  await until(() => shownItem("usage") !== undefined);
  assert.deepEqual(panel?.posted, []);
});
