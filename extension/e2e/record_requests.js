#!/usr/bin/env node
/**
 * Records what Copilot's agent mode sends, as fixtures for the tests of the request converter.
 *
 *     node record_requests.js [--vsix FILE] [--output FOLDER] [--artifacts FOLDER]
 *
 * A model of our own writes each request down (fixtures/recorder/provider.py); this drives the chat panel through what
 * makes requests differ: tools in three rounds, an image, a switch of the model, an edited message, a summary.
 */
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { findPackage } from "./driver/extensionPackage.js";
import { ROOT, Session } from "./driver/session.js";
import { until } from "./driver/wait.js";

const { values } = parseArgs({
  options: {
    vsix: { type: "string" },
    output: { type: "string", default: join(ROOT, "tests/fixtures/copilot") },
    artifacts: { type: "string", default: join(ROOT, "artifacts/recording") },
  },
});
/** A red square of two by two pixels. */
const PICTURE =
  "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg==";

const session = new Session(resolve(values.artifacts));
const { panel } = session;
const requests = join(session.folder, "requests");
const recorded = () => (existsSync(requests) ? readdirSync(requests).filter((name) => name.endsWith(".json")) : []);

/** Does a step and keeps the agent's requests that it made, under its name; a step that fails is said and left out. */
async function record(name, act) {
  const before = new Set(recorded());
  try {
    await act();
    const made = recorded().filter((file) => !before.has(file));
    const agent = made
      .map((file) => readFileSync(join(requests, file), "utf8"))
      .filter((text) => JSON.parse(text).options.tools.length > 0 || name === "summary");
    for (const [index, text] of agent.entries()) {
      writeFileSync(join(values.output, `${name}-${index + 1}.json`), `${text}\n`);
    }
    console.log(`${name}: ${agent.length} requests`);
    if (!agent.length) process.exitCode = 1;
  } catch (error) {
    console.log(`${name}: left out: ${error.message}`);
    process.exitCode = 1;
  }
  await session.screenshot(name);
}

async function pasteImage() {
  const input = panel.page.locator(".interactive-session .interactive-input-editor .monaco-editor").first();
  await input.click();
  await panel.page.evaluate((base64) => {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    const data = new DataTransfer();
    data.items.add(new File([bytes], "square.png", { type: "image/png" }));
    const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
    document.activeElement.dispatchEvent(event);
  }, PICTURE);
  await panel.page.locator(".chat-attached-context-attachment").filter({ hasText: /image|png|square/i }).first().waitFor();
}

async function editLastMessage(text) {
  const last = panel.page.locator(".interactive-session .interactive-item-container.interactive-request").last();
  await last.locator(".rendered-markdown, .value").first().click();
  await panel.page.keyboard.press("Control+A");
  await panel.page.keyboard.insertText(text);
  await panel.page.keyboard.press("Enter");
  const proceed = panel.page.locator(".monaco-dialog-box .monaco-button").first();
  await proceed.click({ timeout: 3000 }).catch(() => console.log("nothing was asked before the edit"));
  await until("the answer to the edited message", async () => !(await panel.isBusy()) && /Answer/.test(await panel.text()));
}

try {
  mkdirSync(values.output, { recursive: true });
  await session.start({
    extension: findPackage(values.vsix),
    settings: ({ folder }) => {
      copyFileSync(join(ROOT, "extension/e2e/fixtures/recorder/provider.py"), join(folder, "recorder.py"));
      return { "partstream.providers": [join(folder, "recorder.py")] };
    },
  });
  await panel.pickModel("Recorder One");
  await record("rounds", () => panel.ask("Look around, rounds:3"));
  await record("next-turn", () => panel.ask("And now? rounds:0"));
  await record("model-switch", async () => {
    await panel.pickModel("Recorder Two");
    await panel.ask("Who are you? rounds:1");
  });
  await record("image", async () => {
    await pasteImage();
    await panel.ask("What is this? rounds:1");
  });
  await record("edited", () => editLastMessage("Look elsewhere, rounds:1"));
  await record("summary", () => panel.ask("/compact"));
  await record("after-summary", () => panel.ask("Go on. rounds:0"));
} finally {
  await session.stop({ keepLogs: true });
}
