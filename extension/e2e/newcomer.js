#!/usr/bin/env node
/**
 * What a newcomer does by hand in VS Code, as the README says it: from an extension that was just installed to an answer.
 *
 *     node newcomer.js --folder FOLDER --workspace FOLDER --artifacts FOLDER server|provider
 *
 * The last line that it prints is a document: the steps, each with its seconds, and the text of the answer.
 */
import { parseArgs } from "node:util";
import { Session } from "./driver/session.js";
import { KEY } from "./driver/upstream.js";

const GROUP = "Mine";

/** Milliseconds for what VS Code does by itself after its start. */
const START_LIMIT = 60_000;

const DOORS = {
  /** A model server that wants a key: from the first notification to the answer of one of its models. */
  async server({ wizard, panel, upstream, screenshot }, step) {
    await step("choose Add Models… in the notification", async () => {
      await panel.notification("Partstream has no models yet.", START_LIMIT);
      await screenshot("first-start");
      await panel.answerNotification("Partstream has no models yet.", "Add Models…");
      await wizard.shows("Where are the models?");
    });
    await step("choose another server", () => wizard.choose("Another server…"));
    await step("write its address", async () => {
      await wizard.shows("The address of the server");
      await wizard.write(upstream.keyedUrl);
    });
    await step("enter its key", async () => {
      await wizard.shows("needs an API key");
      await wizard.choose("Enter a key");
      await wizard.shows("VS Code keeps it in its secret storage");
      await wizard.write(KEY);
    });
    await step("take its models", async () => {
      await wizard.shows("Which models should the picker show?");
      await screenshot("models");
      await wizard.accept();
    });
    await step("name the group", async () => {
      await wizard.shows("Group name shown in the model picker");
      await wizard.write(GROUP);
      await panel.notification(`models of ${GROUP} are in the picker`);
    });
    await withoutAccount({ wizard, panel, screenshot }, step);
    await step("choose a model in the picker", () => panel.pickModel("citations"));
    return asked("How high is the Eiffel Tower?", panel, step);
  },

  /** The folder that `partstream new` wrote is open: the picker shows its model before anything was sent. */
  async provider({ wizard, panel, screenshot }, step) {
    await step("wait for the model in the picker", () => panel.showsModel("My model", START_LIMIT));
    await withoutAccount({ wizard, panel, screenshot }, step);
    return asked("hello", panel, step);
  },
};

async function withoutAccount({ wizard, panel, screenshot }, step) {
  await step("choose Use Without an Account in the notification", async () => {
    await panel.notification("asks for a GitHub account", START_LIMIT);
    await screenshot("models-are-there");
    await panel.answerNotification("asks for a GitHub account", "Use Without an Account");
    await wizard.shows("without signing in");
    await screenshot("without-an-account");
  });
  await step("take its settings", async () => {
    await wizard.accept();
    await panel.isSetUp();
  });
}

async function asked(question, panel, step) {
  let answer = "";
  await step("ask", async () => {
    answer = await panel.ask(question);
  });
  return answer;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { folder: { type: "string" }, workspace: { type: "string" }, artifacts: { type: "string" } },
});
const go = DOORS[positionals[0]];
if (!go) throw new Error(`got the door ${positionals[0]}, expected one of ${Object.keys(DOORS).join(", ")}`);
const session = new Session(values.artifacts, { folder: values.folder, workspace: values.workspace });
const steps = [];

async function step(what, run) {
  const begin = performance.now();
  await run();
  steps.push({ what, seconds: (performance.now() - begin) / 1000 });
}

let answer;
try {
  await step("open VS Code, signed out, with an empty profile", () => session.start({ isFresh: true }));
  await step("trust the folder", () => session.panel.trustFolder());
  answer = await go(session, step);
  await session.screenshot("answer");
} catch (error) {
  await session.screenshot("failed").catch(() => undefined); // There may be no page yet: what failed is what counts.
  throw error;
} finally {
  await session.stop({ keepLogs: answer === undefined });
}
console.log(JSON.stringify({ steps, answer }));
