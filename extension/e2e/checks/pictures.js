/**
 * What the README and the docs show: each check goes through what a page tells, and takes its pictures on the way.
 *
 * tools/vscode_pictures.py has the table of the pictures, and of the pages that show them.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Film } from "../driver/film.js";
import { followLink, Hub } from "../driver/hub.js";
import { PYTHON } from "../driver/session.js";
import { until } from "../driver/wait.js";

/** The group of the models in the picker. */
export const GROUP = "My Server";
const MODEL = "coder-30b";
const OTHER_MODEL = "coder-7b";
/** The file that the model edits. */
export const FILE = "stats.py";
const CODE = `def average(numbers: list[float]) -> float:
    """The mean of all numbers."""
    return sum(numbers) / len(numbers)


print(average([3, 4, 8]))
print(average([]))
`;
const QUESTION = "average([]) crashes. Please fix it.";
/** What the answer shows when a person has something to read, and for how many milliseconds the film stays there. */
const MOMENTS = [
  ["before the division.", 1000],
  ["Edited", 1400],
  ["All other results stay as they are.", 400],
];
/** For how many milliseconds the film shows each step between them. */
const STEP = 250;

/** How wide the chat is: less than half of the window. */
const CHAT_PIXELS = 430;
const TALL_PIXELS = 800;
const BOX = ".quick-input-widget:visible";
const CHAT = ".part.auxiliarybar";
const USAGE_ITEM = '.statusbar-item[id$="partstream.usage"]';
const HUB_ITEM = '.statusbar-item[id$="partstream.hub"]';
const HOVER = ".workbench-hover:visible";

export const PICTURE_CHECKS = [
  {
    name: "pictures: a question, thinking, an edit, the answer and its tokens",
    async run({ panel, palette, wizard, server, artifacts, screenshot }) {
      const film = new Film(panel, join(artifacts, "film"));
      const file = join(server.workspace, FILE);
      writeFileSync(file, CODE);
      await palette.run("View: Close Primary Side Bar");
      await panel.widen(CHAT_PIXELS);
      await palette.run("Go to File...");
      await wizard.choose(FILE);
      await panel.page.locator(".part.editor .view-line", { hasText: "average([])" }).first().waitFor();
      await panel.pickModel(OTHER_MODEL); // Waits until the models are there.
      await panel.openWholePicker();
      await film.show(2000);
      await screenshot("picker");
      await panel.page.keyboard.press("Escape");
      await panel.pickModel(MODEL);
      await film.show(800);
      await panel.write(QUESTION);
      await film.show(1200);
      await panel.sendWritten();
      await film.show(400);
      for (const [words, milliseconds] of MOMENTS) {
        await film.follow("the answer to go on", () => panel.text(), (text) => text.includes(words), STEP);
        await film.show(milliseconds);
      }
      await panel.answer();
      await until("the tokens in the status bar", async () => (await panel.tokenUsage()).includes("out"));
      await film.show(4000);
      assert.ok(readFileSync(file, "utf8").includes("if not numbers:"));
      await screenshot("question");
    },
  },
  {
    name: "pictures: the steps of an answer, and what it took",
    async run({ panel, screenshot }) {
      await inTallWindow(panel, async () => {
        await panel.openSteps();
        await until("the thinking in its block", async () => (await panel.thinking()).includes("before the division"), {
          describe: () => panel.text(),
        });
        await panel.openSteps();
        await panel.shows(/Edited/);
        await leave(panel);
        await screenshot("steps", await around(panel, [CHAT]));
      });
      await panel.tooltipOfUsage(async () => screenshot("usage", await around(panel, [HOVER, USAGE_ITEM])));
    },
  },
  {
    name: "pictures: the last answer in the inspector",
    async run({ panel, palette, webviews, screenshot }) {
      await palette.run("View: Close All Editors");
      await palette.run("View: Hide Secondary Side Bar");
      await palette.run("Partstream: Inspect Last Answer");
      const page = await webviews.frame(/ - Partstream$/);
      await until("the events of the answer", async () => (await page.locator("main").innerText()).includes("Finish"));
      await inTallWindow(panel, () => screenshot("inspector-in-vscode"));
      await palette.run("View: Close All Editors");
      await palette.run("View: Show Secondary Side Bar");
    },
  },
  {
    name: "pictures: the models of a server are added",
    async run({ wizard, panel, server, screenshot }) {
      const [{ baseUrl }] = server.readGroups();
      await wizard.open();
      await leave(panel);
      await screenshot("add-models-server", await around(panel, [BOX]));
      await wizard.choose("Another server…");
      await wizard.shows("The address of the server");
      await wizard.write(baseUrl);
      await wizard.shows("Which models should the picker show?");
      await screenshot("add-models-models", await around(panel, [BOX]));
      await wizard.close();
    },
  },
  {
    name: "pictures: a provider is written from a template, and answers",
    async run({ wizard, palette, panel, screenshot }) {
      await palette.run("Partstream: New Provider File…");
      await leave(panel);
      await wizard.shows("Choose a template");
      await screenshot("new-provider-template", await around(panel, [BOX]));
      await wizard.choose("Echo");
      await wizard.shows("The new file, below the folder");
      await wizard.write("parrot.py");
      await panel.answerNotification("Parrot is in the picker", "Open Chat");
      await panel.newChat();
      await panel.pickModel("Parrot");
      await panel.ask("Polly wants a cracker");
      await screenshot("new-provider-answer");
      await palette.run("View: Close All Editors");
    },
  },
  {
    name: "pictures: a hub is joined, and the budget is shown",
    async run(session) {
      const { panel, screenshot } = session;
      const hub = new Hub(session.processes, session.folder, PYTHON);
      await hub.start("5 USD/day");
      await followLink(session, await hub.invite(), async (box) => {
        if (box === "hub-join") await screenshot("hub-join-question", await around(panel, [".monaco-dialog-box"]));
      });
      await panel.answerNotification("You have joined", "Open Chat");
      await until("the budget in the status bar", async () => (await panel.hubBudget()).includes("left today"));
      await panel.tooltipOfBudget(async () =>
        screenshot("hub-budget", await around(panel, [HOVER, HUB_ITEM])),
      );
    },
  },
];

/** Takes the mouse away from what it was on, which would show a tooltip. */
async function leave({ page }) {
  await page.mouse.move(0, 0);
}

/** Does something while the window is as tall as what it shows then. */
async function inTallWindow({ page }, act) {
  const size = page.viewportSize();
  await page.setViewportSize({ ...size, height: TALL_PIXELS });
  await act();
  await page.setViewportSize(size);
}

/** The part of the window that elements are in. */
async function around({ page }, selectors) {
  const boxes = await Promise.all(selectors.map((one) => page.locator(one).first().boundingBox()));
  const left = Math.min(...boxes.map(({ x }) => x));
  const top = Math.min(...boxes.map(({ y }) => y));
  const right = Math.max(...boxes.map(({ x, width }) => x + width));
  const bottom = Math.max(...boxes.map(({ y, height }) => y + height));
  return { x: left, y: top, width: right - left, height: bottom - top };
}
