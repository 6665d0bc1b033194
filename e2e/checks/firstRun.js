/** The first minutes of a person: VS Code with a fresh profile, in which nothing but the extension is installed. */
import assert from "node:assert/strict";
import { until } from "../driver/wait.js";

const BOX_LIMIT = 5000;
const WALKTHROUGH = ".gettingStartedContainer";

/** The steps with a button, in their order, and what shows that the button did what it says. */
const STEPS = [
  { step: "Connect a model server", button: "Add Models…", shows: ({ wizard }) => wizard.shows("Where are the models?") },
  {
    step: "Or write a model in Python",
    button: "New Provider File…",
    shows: ({ wizard }) => wizard.shows("What does the provider begin with?"),
  },
  {
    step: "Say hello",
    button: "Open Chat",
    shows: ({ panel }) => panel.page.locator(".interactive-session .interactive-input-part:focus-within").waitFor(),
  },
  { step: "See what it took", button: "Show Token Usage", shows: ({ webviews }) => webviews.frame(/^Token usage$/) },
];

/** By the page of help, which VS Code closes when a chat that was just opened takes the focus: then it is opened again. */
async function openWalkthrough({ palette, wizard, panel }) {
  await until("the walkthrough to be chosen", async () => {
    await palette.run("Partstream: Help…");
    return wizard.choose("Get Started", { timeout: BOX_LIMIT }).then(
      () => true,
      () => false,
    );
  });
  await panel.page.locator(WALKTHROUGH, { hasText: "Connect a model server" }).waitFor();
}

function stepNamed({ panel }, name) {
  return panel.page.locator(`${WALKTHROUGH} .getting-started-step`, { hasText: name });
}

/** Waits until a step has its mark. */
async function isMarked(session, name) {
  await stepNamed(session, name).locator(".codicon-getting-started-step-checked").waitFor();
}

export const FIRST_RUN_CHECKS = [
  {
    name: "first run: one notification says that there are no models yet, and its button begins the wizard",
    async run({ panel, wizard, screenshot }) {
      const notification = panel.page.locator(".notifications-toasts .notification-list-item", {
        hasText: "Partstream has no models yet.",
      });
      await notification.waitFor({ timeout: 60_000 });
      const buttons = await notification.locator(".monaco-button").allInnerTexts();
      await screenshot("first-run-1-notification");
      assert.deepEqual(
        ["Add Models…", "New Provider File…", "Not Now"].filter((label) => !buttons.includes(label)),
        [],
        buttons.join(),
      );
      await panel.answerNotification("Partstream has no models yet.", "Add Models…");
      await wizard.shows("Where are the models?");
      await screenshot("first-run-2-wizard");
      await wizard.close();
    },
  },
  {
    name: "first run: each step of the walkthrough opens what its button says, and gets its mark",
    async run(session) {
      const { wizard, screenshot } = session;
      await openWalkthrough(session);
      await isMarked(session, "Python is ready");
      await screenshot("first-run-3-walkthrough");
      for (const [index, { step, button, shows }] of STEPS.entries()) {
        await stepNamed(session, step).click();
        await stepNamed(session, step).locator(".monaco-button", { hasText: button }).click();
        await shows(session);
        await screenshot(`first-run-${index + 4}-${step.replaceAll(" ", "-").toLowerCase()}`);
        await wizard.close();
        await openWalkthrough(session);
        await isMarked(session, step);
      }
      await screenshot("first-run-8-all-marks");
    },
  },
];
