/**
 * *Partstream: Use a Model Everywhere…* in a window in which nobody is signed in: which model VS Code asks for what, once
 * the settings are written, and that they are as before once they are taken back.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { bound, until } from "../driver/wait.js";
import { MODEL, REPLAY, SMALL, SMALL_MODEL, groups } from "./configuration.js";

const FILE = "harbour.ts";
const CODE = "export function harbourMaster(lamp: number): number {\n  return lamp + 1;\n}\n";
const LONG = 30_000;
/** VS Code's own values, beside those of the other checks. */
const SIGNED_OUT = { "chat.allowAnonymousAccess": false, "chat.byokUtilityModelDefault": "copilot" };
const WRITTEN = {
  // Another vendor has a model of the same id.
  "chat.defaultModel": "replay",
  "inlineChat.defaultModel": `${MODEL} (partstream)`,
  "chat.utilityModel": `partstream/${REPLAY.id}`,
  "chat.utilitySmallModel": `partstream/${SMALL.id}`,
};
const HARNESS = ["chat.agentHost.byokModels.enabled", "chat.agentHost.allowSignedOutWhenUsable"];

/** The workspace is a repository with a file that was changed since its commit. */
export function everywhereSettings({ server }) {
  const git = (...command) => execFileSync("git", command, { cwd: server.workspace, stdio: "pipe" });
  const file = join(server.workspace, FILE);
  writeFileSync(file, CODE);
  git("init", "--quiet");
  git("add", ".");
  git("-c", "user.name=Harbour", "-c", "user.email=harbour@example.com", "commit", "--quiet", "--message", "Begin");
  writeFileSync(file, CODE.replace("lamp + 1", "lamp + 2"));
  return SIGNED_OUT;
}

export const everywhereGroups = groups;

const isOf = (model) => ({ body }) => body.model === model.id;

export const EVERYWHERE_CHECKS = [
  {
    name: "everywhere: two models are chosen, and one question lists the settings that are written",
    needed: true,
    async run({ palette, wizard, server, panel, screenshot }) {
      await panel.openPicker(MODEL); // From then on VS Code knows the models.
      await panel.page.keyboard.press("Escape");
      const before = server.readSettings();
      await palette.run("Partstream: Use a Model Everywhere…");
      await wizard.shows("Which model answers chats and inline chat?");
      await screenshot("everywhere-1-main");
      await wizard.choose(MODEL);
      await wizard.shows("Which model writes titles, commit messages and new names?");
      await wizard.choose(SMALL_MODEL);
      const question = await wizard.shows("Choose the settings to write");
      await screenshot("everywhere-2-settings");
      for (const key of Object.keys(WRITTEN)) assert.ok(question.includes(key), `${key} is not in: ${question}`);
      // A browser's window is remote.
      assert.match(question, /only in local windows/);
      for (const key of HARNESS) assert.ok(!question.includes(key), question);
      await wizard.accept();
      await until("the settings in their file", () => server.readSettings()?.["chat.utilitySmallModel"], { limit: LONG });
      await screenshot("everywhere-3-written");
      assert.deepEqual(server.readSettings(), { ...before, ...WRITTEN });
    },
  },
  {
    name: "everywhere: the small model writes the title of a chat",
    async run({ panel, palette, upstream, screenshot }) {
      await palette.clearNotifications();
      await until("the picker to have the main model", async () => (await panel.chosenModel()).includes(MODEL));
      upstream.mark();
      await panel.ask("scenario:text");
      const { body } = await upstream.next("the request for a title", isOf(SMALL), LONG);
      assert.equal(body.tools?.length ?? 0, 0);
      await upstream.next("the main model's answer in the chat", isOf(REPLAY));
      await screenshot("everywhere-title");
    },
  },
  {
    name: "everywhere: the button in Source Control fills the commit message, without a sign-in",
    async run({ panel, palette, upstream, screenshot }) {
      await panel.page.getByRole("tab", { name: /^Source Control/ }).click();
      await panel.page.locator(".scm-view .monaco-list-row").first().hover({ timeout: bound(LONG) });
      await screenshot("everywhere-commit-button");
      const button = panel.page.locator(".part.sidebar .action-label.codicon-sparkle").and(panel.page.locator('[aria-label^="Generate Commit Message"]'));
      await button.first().waitFor({ timeout: bound(LONG) });
      upstream.mark();
      await button.first().click();
      const { body } = await upstream.next("the request for a commit message", isOf(SMALL), LONG);
      assert.match(JSON.stringify(body.input), /lamp \+ 2/);
      const box = panel.page.locator(".scm-editor .view-lines").first();
      await until("the commit message", async () => (await box.innerText()).trim() !== "", { limit: LONG });
      await screenshot("everywhere-commit-message");
      assert.equal(await panel.page.locator(".monaco-dialog-box").count(), 0, "a dialog asks for something");
      return (await box.innerText()).trim().slice(0, 60);
    },
  },
  {
    name: "everywhere: the small model suggests new names",
    async run({ panel, palette, upstream, screenshot }) {
      await palette.open(FILE);
      const name = panel.page.locator(".part.editor .view-line span", { hasText: "harbourMaster" }).last();
      await name.click();
      upstream.mark();
      await panel.page.keyboard.press("F2");
      const { body } = await upstream.next("the request for names", isOf(SMALL), LONG);
      assert.match(JSON.stringify(body.input), /harbourMaster/);
      await screenshot("everywhere-rename");
      await panel.page.keyboard.press("Escape");
    },
  },
  {
    name: "everywhere: the main model answers inline chat",
    async run({ panel, palette, upstream, screenshot }) {
      await palette.open(FILE);
      await panel.page.locator(".part.editor .view-line", { hasText: "return lamp" }).first().click();
      upstream.mark();
      await panel.page.keyboard.press("Control+i");
      await panel.page.locator(".inline-chat-widget, .inline-chat, .inline-chat-input-widget").first().waitFor({ timeout: bound(LONG) });
      await panel.page.keyboard.insertText("scenario:text");
      await panel.page.keyboard.press("Enter");
      const { body } = await upstream.next("the request of inline chat", isOf(REPLAY), LONG);
      await screenshot("everywhere-inline-chat");
      assert.match(JSON.stringify(body.input), /harbourMaster/);
      await panel.page.keyboard.press("Escape");
    },
  },
  {
    name: "everywhere: the main model answers the chat of a terminal",
    async run({ panel, palette, upstream, screenshot }) {
      await palette.run("Terminal: Create New Terminal");
      await panel.page.locator(".terminal-wrapper.active .xterm-helper-textarea").first().focus({ timeout: bound(LONG) });
      await panel.page.keyboard.press("Control+i");
      const box = panel.page.locator(".terminal-inline-chat .interactive-input-editor .monaco-editor").first();
      await box.click({ timeout: bound(LONG) });
      upstream.mark();
      await panel.page.keyboard.insertText("scenario:text");
      await panel.page.keyboard.press("Enter");
      await upstream.next("the request of the terminal's chat", isOf(REPLAY), LONG);
      await screenshot("everywhere-terminal-chat");
      await panel.page.keyboard.press("Escape");
    },
  },
  {
    name: "everywhere: the same command takes the settings back",
    async run({ palette, wizard, server, screenshot }) {
      await palette.run("Partstream: Use a Model Everywhere…");
      await wizard.shows("The settings are written. What now?");
      await screenshot("everywhere-undo");
      await wizard.choose("Undo");
      const left = () => Object.keys(WRITTEN).filter((key) => key in (server.readSettings() ?? WRITTEN));
      await until("the settings to be gone", () => left().length === 0, { limit: LONG, describe: () => left().join() });
    },
  },
];
