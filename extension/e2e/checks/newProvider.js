/**
 * *Partstream: New Provider File…* and *Help…* as a person goes through them.
 *
 * To be run after the checks of agents: the new provider stands beside those that the folder's settings name by then.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { patience, until } from "../driver/wait.js";

const FILE = "models/harbour.py";

export const NEW_PROVIDER_CHECKS = [
  {
    name: "new provider: from a template to an answer, and an edit of the file is in the next answer",
    async run({ wizard, palette, panel, server, screenshot }) {
      await panel.closeEditors();
      await palette.run("Partstream: New Provider File…");
      await wizard.shows("Choose a template");
      await screenshot("new-provider-1-template");
      await wizard.choose("Echo");
      await wizard.shows("The new file, below the folder");
      await wizard.write("../harbour.py");
      await wizard.shows("The file must be inside the folder.");
      await screenshot("new-provider-2-refused");
      await wizard.write(FILE);
      await panel.answerNotification("Harbour is in the picker", "Open Chat");
      await screenshot("new-provider-3-opened");
      const settings = JSON.parse(readFileSync(join(server.workspace, ".vscode/settings.json"), "utf8"));
      assert.ok(settings["partstream.providers"].includes(FILE), JSON.stringify(settings));
      assert.equal(await panel.page.locator(".part.editor .tab", { hasText: "harbour.py" }).count(), 1);

      await panel.newChat();
      await panel.pickModel("Harbour");
      assert.match(await panel.ask("the lamp is green"), /You said: the lamp is green/);
      await screenshot("new-provider-4-answer");

      const path = join(server.workspace, FILE);
      writeFileSync(path, readFileSync(path, "utf8").replaceAll("You said", "You wrote"));
      await until("the edited code to answer", async () => {
        await panel.newChat();
        return (await panel.ask("the lamp is red")).includes("You wrote: the lamp is red");
      });
      await panel.closeEditors();
    },
  },
  {
    name: "help: one page leads to what adds models and to what helps",
    async run({ wizard, palette, panel, walkthrough, screenshot }) {
      await palette.run("Partstream: Help…");
      const page = await wizard.shows("Restart Python Process");
      await screenshot("help");
      for (const label of ["Add Models…", "Test Connection…", "Show Log", "Report Issue…", "Copy Debug Information"]) {
        assert.ok(page.includes(label), `${label} is not on the page: ${page}`);
      }
      await wizard.choose("Get Started");
      // Python runs by then, so the first step has its mark.
      await walkthrough.isMarked("Python is ready");
      await screenshot("help-walkthrough");
      const picture = panel.page.locator(".gettingStartedContainer .getting-started-media img").first();
      await until("the packed picture", async () => {
        await walkthrough.openStep("Say hello", '.getting-started-step.expanded:has-text("Say hello")');
        const limit = { timeout: patience(2000) };
        return picture.evaluate(({ naturalWidth }) => naturalWidth > 0, undefined, limit).catch(() => false);
      });
      await screenshot("help-walkthrough-picture");
    },
  },
  {
    name: "help: the documentation opens without a network, with its pictures, and leads from page to page",
    async run({ wizard, palette, panel, webviews, screenshot }) {
      await panel.closeEditors();
      await palette.run("Partstream: Help…");
      await wizard.shows("to read");
      await wizard.choose("Documentation");
      // The preview of Markdown has no title of its own: a page is known by its heading.
      const contents = await webviews.frameWith("h1", "Partstream");
      await screenshot("help-documentation");
      await contents.locator("a", { hasText: "Quick start: a model server in VS Code" }).first().click();
      const page = await webviews.frameWith("h1", "Quick start: a model server");
      const picture = page.locator('img[src*="add-models-server"]').first();
      await picture.scrollIntoViewIfNeeded();
      await until("the carried picture", () => picture.evaluate(({ naturalWidth }) => naturalWidth > 0));
      await screenshot("help-documentation-page");
      await page.locator('a[data-href="vscode.md"]').first().click();
      await webviews.frameWith("h1", "Partstream in VS Code");
      await panel.closeEditors();
    },
  },
];
