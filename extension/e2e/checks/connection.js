/**
 * *Partstream: Test Connection…* as a person goes through it: of a group that works, of one whose key is refused, and of
 * one whose server was stopped.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../driver/codeServer.js";
import { PYTHON } from "../driver/session.js";
import { KEY } from "../driver/upstream.js";
import { until } from "../driver/wait.js";
import { HEADER, MODEL } from "./configuration.js";

// The first by the alphabet: the table of models shows no more rows than fit.
const REFUSED = "A wrong key";
const WRONG_KEY = "sk-of-somebody-else";
const STOPPED = "A stopped server";
const START_LIMIT = 30_000;

/** The page of what was found, once it is there. */
async function found(webviews, name) {
  const page = await webviews.frame(new RegExp(`^Connection of ${name}$`));
  return { page, text: await page.locator("main").innerText() };
}

/** A server of its own, which a check can stop. */
async function ownServer({ processes, folder }) {
  const port = await freePort();
  const log = join(folder, "own-server.log");
  const words = ["upstream", "--port", String(port), "--token-env", "E2E_KEY"];
  const server = processes.start(PYTHON, ["-m", "partstream", ...words], { log, environment: { E2E_KEY: KEY } });
  await until("the server to listen", () => readFileSync(log, "utf8").includes("http://"), { limit: START_LIMIT });
  return {
    address: `http://127.0.0.1:${port}/v1`,
    async stop() {
      const ended = once(server, "exit");
      server.kill("SIGTERM");
      await ended;
    },
  };
}

export const CONNECTION_CHECKS = [
  {
    name: "connection: a group that works is tested up to an answer, which is asked for only after a question",
    async run({ wizard, palette, panel, webviews, upstream, screenshot }) {
      await palette.run("Partstream: Test Connection…");
      await wizard.shows(/Replay[^]*groups/);
      await screenshot("connection-1-targets");
      upstream.mark();
      const before = webviews.offences.length;
      await wizard.choose("Replay");
      const question = await panel.answerDialog(`Also ask ${MODEL} of Replay`, "Ask the Model", () =>
        screenshot("connection-2-question"),
      );
      assert.match(question, /may cost something/);
      const { page, text } = await found(webviews, "Replay");
      await screenshot("connection-3-works");
      assert.match(text, /No problem found/);
      assert.match(text, /✓[^]*base URL[^]*key[^]*server[^]*endpoint[^]*model: .*answers, for \d+ tokens in/);
      assert.ok(!text.includes(HEADER.value), "the value of a header is on the page");
      assert.deepEqual(await webviews.axe(page), []);
      assert.deepEqual(webviews.offences.slice(before), []);
      const { body } = await upstream.next("the short question", ({ body }) => body.max_output_tokens === 16);
      assert.equal(body.stream, true);
      await page.getByRole("button", { name: "Copy" }).click();
      await page.getByText("The report is in the clipboard.").waitFor();
      await panel.closeEditors();
      return text.split("\n").filter((line) => line.includes("answers, for")).join();
    },
  },
  {
    name: "connection: a refused key is a problem with what helps, and without the answer nothing is asked that costs",
    async run({ wizard, palette, panel, models, webviews, server, upstream, screenshot }) {
      await models.open();
      await models.addModels({ name: REFUSED, address: upstream.keyedUrl, key: KEY });
      await models.shows(new RegExp(`${REFUSED}\n`));
      await models.updateKey(REFUSED, WRONG_KEY);
      await models.shows(new RegExp(`${REFUSED}\n[^\n]*refused[^\n]*HTTP 401`));
      await models.close();
      await palette.run("Partstream: Test Connection…");
      await wizard.shows("Which connection do you want to test?");
      await wizard.filter(REFUSED);
      await wizard.shows(/The API key is refused/);
      await screenshot("connection-4-refused-target");
      await wizard.choose(REFUSED);
      const { text } = await found(webviews, REFUSED);
      await screenshot("connection-5-refused");
      assert.match(text, /1 problem and 1 warning found/);
      assert.match(text, /✗[^]*server[^]*HTTP 401[^]*What helps: the server rejected this API key.*Update API Key at the gear/);
      for (const key of [KEY, WRONG_KEY]) assert.ok(!text.includes(key), "a key is on the page");
      assert.ok(!server.readOutputChannel().includes(WRONG_KEY), "a key is in the log");
      await panel.closeEditors();
      await palette.clearNotifications();
    },
  },
  {
    name: "connection: of a server that was stopped, the page says where nothing listens, and to start it",
    async run(session) {
      const { wizard, palette, panel, models, webviews, screenshot } = session;
      const server = await ownServer(session);
      await models.open();
      await models.addModels({ name: STOPPED, address: server.address, key: KEY });
      await models.shows(new RegExp(`${STOPPED}\n`));
      await models.close();
      await server.stop();
      await palette.run("Partstream: Test Connection…");
      await wizard.shows(/Replay[^]*groups/);
      await wizard.choose(STOPPED);
      // Its models are still in the picker, so the question is asked.
      await panel.answerDialog(`of ${STOPPED}`, "Without It");
      const { page, text } = await found(webviews, STOPPED);
      await screenshot("connection-6-stopped");
      assert.match(text, /1 problem/);
      assert.match(text, /✗[^]*server[^]*[Nn]othing listens at 127\.0\.0\.1:\d+[^]*What helps: /);
      assert.ok(!text.includes(KEY), "a key is on the page");
      assert.deepEqual(await webviews.axe(page), []);
      await panel.closeEditors();
      await palette.clearNotifications();
      return text.split("\n").filter((line) => line.includes("othing listens")).join();
    },
  },
];
