/** The first minutes of a person: VS Code with a fresh profile, in which nothing but the extension is installed. */
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../driver/session.js";
import { KEY } from "../driver/upstream.js";
import { until } from "../driver/wait.js";

const GROUP = "Mine";
/** Milliseconds for what VS Code does by itself after its start. */
const START_LIMIT = 60_000;

/** The steps with a button, in their order, and what shows that the button did what it says. */
const STEPS = [
  { step: "Connect a model server", button: "Add Models…", shows: ({ wizard }) => wizard.shows("Where are the models?") },
  {
    step: "Or write a model in Python",
    button: "New Provider File…",
    shows: ({ wizard }) => wizard.shows("Choose a template"),
  },
  {
    step: "Chat without an account",
    button: "Use Without an Account…",
    async shows({ wizard, panel }) {
      await wizard.shows("without signing in");
      await wizard.accept();
      await panel.isSetUp();
    },
  },
  {
    step: "Say hello",
    button: "Open Chat",
    // What VS Code opens for the chat meanwhile may take the focus away again.
    watch: ({ panel }) => panel.watchFocus(),
    shows: (_session, hadFocus) => until("the box for messages to get the focus", hadFocus),
  },
  { step: "See tokens and costs", button: "Show Token Usage", shows: ({ webviews }) => webviews.frame(/^Token usage$/) },
];

export const FIRST_RUN_CHECKS = [
  {
    name: "first run: one notification says that there are no models yet, and its button begins the wizard",
    async run({ panel, wizard, screenshot }) {
      await panel.trustFolder();
      const notification = await panel.notification("Partstream has no models yet.", START_LIMIT);
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
      const { walkthrough, wizard, screenshot } = session;
      await walkthrough.isMarked("Python is ready");
      await screenshot("first-run-3-walkthrough");
      for (const [index, { step, button, watch, shows }] of STEPS.entries()) {
        let watched;
        await walkthrough.press(step, button, async () => {
          watched = await watch?.(session);
        });
        await shows(session, watched);
        await screenshot(`first-run-${index + 4}-${step.replaceAll(" ", "-").toLowerCase()}`);
        await wizard.close();
        await walkthrough.isMarked(step);
      }
      await screenshot("first-run-9-all-marks");
    },
  },
  {
    name: "first run: the models of a first group answer, and stand in the picker of the next window before a message",
    async run({ panel, palette, wizard, server, upstream, screenshot }) {
      await palette.run("View: Close All Editors"); // The walkthrough would take the focus, and with it the key that sends.
      await wizard.open();
      await wizard.addServer({ address: upstream.keyedUrl, key: KEY, name: GROUP });
      const notification = await panel.notification(`models of ${GROUP} are in the picker`);
      assert.doesNotMatch(await notification.innerText(), /account/, "the chat is set up already");
      await panel.answerNotification(`models of ${GROUP} are in the picker`, "Open Chat");
      await panel.pickModel("citations");
      assert.match(await panel.ask("How high is the Eiffel Tower?"), /330 metres high/);
      await panel.reload(palette);
      await panel.showsModel("citations");
      await screenshot("first-run-10-next-window");
      await panel.showsInNextWindow("How high is it in metres?", /330 metres high/);
      assert.equal(server.readSettings()["chat.allowAnonymousAccess"], true);
    },
  },
];

/** A folder like those of `partstream new`: its settings name a file with a model. */
export function prepareProvider({ server }) {
  mkdirSync(join(server.workspace, ".vscode"));
  writeFileSync(join(server.workspace, ".vscode/settings.json"), JSON.stringify({ "partstream.providers": ["echo.py"] }));
  copyFileSync(join(ROOT, "examples/echo_provider.py"), join(server.workspace, "echo.py"));
}

export const FIRST_PROVIDER_CHECKS = [
  {
    name: "first provider: in a folder that is not trusted nothing runs; then the picker shows the model before a message",
    async run({ panel, server, screenshot }) {
      assert.doesNotMatch(server.readOutputChannel(), /starting Python/);
      await panel.trustFolder();
      await panel.showsModel("Echo", START_LIMIT);
      await screenshot("first-provider-1-picker");
    },
  },
  {
    name: "first provider: without an account the first message answers, in this window and in the next one",
    async run({ panel, palette, wizard, server, screenshot }) {
      await panel.answerNotification("asks for a GitHub account", "Use Without an Account", START_LIMIT);
      await wizard.shows("without signing in");
      await screenshot("first-provider-2-question");
      await wizard.accept();
      await panel.isSetUp();
      await panel.send("the very first message");
      await panel.shows("the very first message");
      await screenshot("first-provider-3-answer");
      assert.deepEqual(server.readSettings(), {
        "chat.allowAnonymousAccess": true,
        "chat.byokUtilityModelDefault": "mainAgent",
      });
      await panel.reload(palette);
      await panel.showsInNextWindow("at once in the next window", /at once in the next window/);
      assert.equal((await panel.notifications()).filter((text) => text.includes("account")).length, 0);
    },
  },
  {
    name: "first provider: what was written for a chat without an account is taken back",
    async run({ palette, server, panel, screenshot }) {
      await palette.run("Partstream: Undo Use Without an Account");
      await panel.notification("Settings restored");
      await screenshot("first-provider-4-undone");
      await until("the settings to be as before", () => Object.keys(server.readSettings()).length === 0);
    },
  },
];
