/** Our own surfaces in each of VS Code's themes: pages without a fault that axe finds, and names for who hears them. */
import assert from "node:assert/strict";
import { MODEL } from "./configuration.js";

/** The themes as a person chooses them, by the kind that VS Code tells a page of; the last is the one of all checks. */
const THEMES = {
  "vscode-dark": "Dark Modern",
  "vscode-high-contrast": "Dark High Contrast",
  "vscode-high-contrast-light": "Light High Contrast",
  "vscode-light": "Light Modern",
};

const PAGES = [
  {
    page: "inspector",
    title: / - Partstream$/,
    open: ({ palette }) => palette.run("Partstream: Inspect Last Answer"),
  },
  {
    page: "token usage",
    title: /^Token usage$/,
    open: ({ palette }) => palette.run("Partstream: Show Token Usage"),
  },
  {
    page: "connection",
    title: /^Connection of Replay$/,
    async open({ palette, wizard, panel }) {
      await palette.run("Partstream: Test Connection…");
      await wizard.shows(/Replay/);
      await wizard.choose("Replay");
      await panel.answerDialog(`Also ask ${MODEL} of Replay`, "Without It", () => undefined);
    },
  },
];

/** What axe finds in a frame in each theme, with a picture of each. */
async function faultsInThemes({ palette, webviews, screenshot }, frame, name) {
  const faults = [];
  for (const [kind, theme] of Object.entries(THEMES)) {
    await palette.run("Preferences: Color Theme");
    await palette.answer(theme);
    await frame.locator(`body[data-vscode-theme-kind="${kind}"]`).waitFor();
    await screenshot(`accessibility-${name.replace(" ", "-")}-${kind.replace("vscode-", "")}`);
    faults.push(...(await webviews.axe(frame)).map((fault) => `${theme}: ${fault}`));
  }
  return faults;
}

export const ACCESSIBILITY_CHECKS = [
  ...PAGES.map(({ page, title, open }) => ({
    name: `accessibility: the page ${page} has no fault in a light, a dark and both themes of high contrast`,
    async run(session) {
      const { panel, webviews } = session;
      await panel.newChat();
      await panel.ask("scenario:thinking");
      await open(session);
      assert.deepEqual(await faultsInThemes(session, await webviews.frame(title), page), []);
      await panel.closeEditors();
    },
  })),
  {
    name: "accessibility: an item of the status bar is heard by its name, its text and its tooltip, without icons",
    async run({ panel, palette, screenshot }) {
      await panel.newChat();
      await panel.ask("scenario:text");
      await palette.run("Partstream: Record Next Answer");
      await panel.showsInStatusBar("Recording the next answer");
      const heard = await panel.heardInStatusBar();
      await screenshot("accessibility-status-bar");
      await palette.run("Partstream: Cancel Recording");
      const recording = "Partstream Recording: Recording the next answer. The next answer of a Partstream model will be";
      assert.ok(
        heard.some((name) => name.startsWith(recording)),
        heard.join("\n"),
      );
      assert.ok(heard.some((name) => /^Partstream Token Usage: .* in · .* out/.test(name)), heard.join("\n"));
      return heard.join("; ");
    },
  },
  {
    name: "accessibility: lists and boxes of ours have a title, and the field in them a name",
    async run({ palette, wizard, panel }) {
      for (const [command, title] of [
        ["Partstream: Help…", "Partstream: Help"],
        ["Partstream: Add Models…", "Add Models"],
        ["Partstream: New Provider File…", "New Provider File"],
        ["Partstream: Join a Hub…", "Join a Hub"],
      ]) {
        await palette.run(command);
        await panel.page.locator(".quick-input-title:visible", { hasText: title }).waitFor();
        assert.ok(await palette.input.getAttribute("aria-label"), `the field of ${command} has no name`);
        await wizard.close();
      }
    },
  },
];
