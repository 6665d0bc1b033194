/**
 * A turn of Copilot's agent, and ghost text in the editor, with a real model: the llama-server that `make real` has built,
 * and SmolLM2 of 135 million parameters. A template of ours makes it call, and llama.cpp's grammar makes the call fit the
 * tool's schema. Without tokens for the middle, it goes on with the text before the cursor.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { freePort } from "../driver/codeServer.js";
import { ROOT } from "../driver/session.js";
import { patience, until } from "../driver/wait.js";
import { ghost, item, opened, writeText } from "./completions.js";

const { PARTSTREAM_REAL_CACHE, XDG_CACHE_HOME } = process.env;
const CACHE = PARTSTREAM_REAL_CACHE || join(XDG_CACHE_HOME || join(homedir(), ".cache"), "partstream-real");
const PROGRAM = join(CACHE, "llama-server-b11434");
const MODEL = join(CACHE, "SmolLM2-135M-Instruct.Q4_1.gguf");
const TEMPLATE = join(ROOT, "interop/real/calls.jinja");
const GROUP = "llama.cpp";
const ID = "smollm2";
const NAME = "SmolLM2";
const WINDOW = 8192;
const START_LIMIT = 60_000;
const TURN_LIMIT = 240_000;

/** Why the checks cannot be run, if they cannot. */
export function missingReal() {
  return existsSync(PROGRAM) && existsSync(MODEL) ? [] : ["no real model is built, as `make real` does"];
}

/** Starts the server, of which the group tells the address alone. */
export async function prepareReal(session) {
  writeText(session);
  const port = await freePort();
  session.real = `http://127.0.0.1:${port}`;
  const words = ["-m", MODEL, "--alias", ID, "--host", "127.0.0.1", "--port", String(port), "-t", "1", "-tb", "1"];
  const options = ["-c", String(WINDOW), "-np", "1", "--temp", "0", "--seed", "1", "--chat-template-file", TEMPLATE];
  session.processes.start(PROGRAM, [...words, ...options], { log: join(session.folder, "llama-server.log") });
  await until("the model to be loaded", async () => (await fetch(`${session.real}/health`).catch(() => undefined))?.ok, {
    limit: START_LIMIT,
  });
}

export const realSettings = () => ({ "partstream.completions.model": `${GROUP}/${ID}` });

/** The window is one that the agent takes: its own words are longer than this model's, and the template leaves them out. */
export const realGroups = ({ real }) => [
  {
    name: GROUP,
    vendor: "partstream",
    baseUrl: real,
    protocol: "auto",
    completions: "prefix",
    request: { extraBody: { max_tokens: 100 } },
    models: [{ id: ID, name: NAME, family: "smollm2", maxInputTokens: 100_000, maxOutputTokens: 8_000, toolCalling: true }],
  },
];

const isIdle = async (url) =>
  (await (await fetch(`${url}/slots`)).json()).every(({ is_processing: isBusy }) => !isBusy);

export const REAL_CHECKS = [
  {
    name: "real: the agent answers with a real model, which calls a tool of VS Code",
    async run({ panel, real, screenshot }) {
      await panel.newChat();
      await panel.pickModel(NAME);
      await panel.send("Call get_errors: which problems are there?");
      const text = await panel.answer(TURN_LIMIT);
      await panel.page.locator("details:not([open]) > summary").last().click();
      await panel.shows("Checked workspace, no problems found"); // what VS Code says of the call
      await screenshot("real-model");
      assert.match(text, /No errors found/); // what the model makes of its result
      assert.ok(await isIdle(real), "the server is still busy");
      return text.replaceAll(/\s+/g, " ").slice(0, 100);
    },
  },
  {
    name: "real: ghost text of a real model, which typing through keeps and another key ends",
    async run({ panel, real, screenshot }) {
      const { keyboard } = panel.page;
      const shown = async () => (await ghost(panel).allInnerTexts()).join("").replaceAll("\u00a0", " ");
      await item(panel).waitFor({ timeout: patience(START_LIMIT) });
      await opened(panel);
      await keyboard.type(" ");
      await keyboard.press("Backspace");
      await until("ghost text", async () => (await shown()).includes("radius"), { describe: shown, limit: START_LIMIT });
      await screenshot("real-ghost-text");
      const whole = await shown();
      await keyboard.type(whole[0]);
      await until("the rest of it", async () => (await shown()) === whole.slice(1), { describe: shown });
      await keyboard.press("Tab");
      await keyboard.press("Enter");
      await keyboard.type("# the area of a circle of radius");
      await keyboard.press("Escape");
      await until("the server to be idle", () => isIdle(real));
      return whole;
    },
  },
];
