/**
 * The pages of answers in VS Code, and a failure that leaves the machine as a file: recorded, shared, opened elsewhere.
 *
 * To be run behind all checks of models: one of them reloads the window, and one changes the level of the log.
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Elsewhere } from "../driver/elsewhere.js";
import { KEY } from "../driver/upstream.js";
import { until } from "../driver/wait.js";
import { HEADER } from "./configuration.js";

const INSPECTOR = / - Partstream$/;
const USAGE = /^Token usage$/;
const SAVED = "to-share.partstream.zip";
/** The name that the extension proposes for it. */
const PROPOSED = "answer.partstream.zip";
/** What cuts an event in two: the answer fails in its middle, and the error says at which event. */
const BROKEN_EVENT = 5;
const WHERE = new RegExp(`"sequence_number":${BROKEN_EVENT}`);
/** The exit code of commands for an answer that failed. */
const FAILED = 3;

export const INSPECTOR_CHECKS = [
  {
    name: "inspector: the page of the last answer is accessible, asks nobody for anything and breaks no policy",
    async run({ panel, palette, webviews, screenshot }) {
      await panel.newChat();
      await panel.ask("scenario:thinking");
      const before = webviews.offences.length;
      await palette.run("Partstream: Inspect Last Answer");
      const page = await webviews.frame(INSPECTOR);
      await until("the events of the answer", async () => (await page.locator("main").innerText()).includes("42"));
      await screenshot("inspector");
      assert.deepEqual(await webviews.axe(page), []);
      assert.deepEqual(webviews.offences.slice(before), []);
      await panel.closeEditors();
    },
  },
  {
    name: "inspector: a failing answer is recorded and shared, and fails in the same way on another machine",
    async run({ panel, palette, server, folder, screenshot }) {
      const elsewhere = new Elsewhere(join(folder, "elsewhere"));
      const installing = elsewhere.install();
      await panel.newChat();
      await palette.run("Partstream: Record Next Answer");
      await panel.showsInStatusBar("Recording the next answer");
      const said = await panel.ask(`fault:malformed=${BROKEN_EVENT}`);
      await screenshot("recorded");
      await panel.answerNotification("Partstream recorded", "Save to Share");
      const preview = await panel.answerDialog("What the file to share holds", "Save…", () => screenshot("share-preview"));
      const shared = join(server.workspace, SAVED);
      await palette.answerWithPath(shared, PROPOSED);
      await until("the shared file", () => existsSync(shared));
      await installing;

      // What the person's own file says is what the chat said; in the shared one other letters stand at the same places.
      const kept = join(folder, "partstream-data/recordings");
      const [recorded] = readdirSync(kept);
      const failures = [];
      for (const file of [join(kept, recorded), shared]) failures.push(await failureOf(elsewhere, file));
      for (const failure of failures) assert.match(failure, WHERE);
      assert.match(said, WHERE);
      assert.ok(said.includes(failures[0]), `${said}\nis not:\n${failures[0]}`);
      assert.equal(failures[0].length, failures[1].length);
      for (const file of [join(kept, recorded), shared]) {
        const everything = await elsewhere.contents(file);
        for (const key of [HEADER.value, KEY]) assert.ok(!everything.includes(key), `${file} holds ${key}`);
      }
      const words = await elsewhere.partstream("inspect", "--what-is-in-it", shared);
      assert.doesNotMatch(words.output, /fault:malformed|VS Code|workspace/, "what was asked is in the file to share");
      assert.match(preview, /1 answer, 1 request/);
      return failures[0];
    },
  },
  {
    name: "inspector: the level Trace of the output channel yields a line for each event of an answer",
    async run({ panel, palette, server }) {
      await palette.run("Developer: Set Log Level");
      await palette.answer("Partstream");
      await palette.answer("Trace");
      await panel.newChat();
      const traced = await until("lines of the trace", async () => {
        await panel.ask("scenario:text"); // The level reaches the sidecar a moment after it was chosen.
        const lines = server.readOutputChannel().split("\n").filter((line) => /\[trace\].*answer \d+ #\d+/.test(line));
        return lines.some((line) => line.includes("response.completed")) && lines;
      });
      assert.ok(!server.readOutputChannel().includes(HEADER.value), "the log holds a key");
      return `${traced.length} lines, the last: ${traced.at(-1).replace(/^.*?answer/, "answer")}`;
    },
  },
  {
    name: "inspector: the page of token usage comes back with the window",
    async run({ panel, palette, webviews, screenshot }) {
      await panel.newChat();
      await palette.run("Partstream: Show Token Usage");
      const page = await webviews.frame(USAGE);
      const answers = page.locator("#answers tbody tr");
      const before = await answers.count();
      await panel.ask("scenario:text");
      await until("the page to follow the answer", async () => (await answers.count()) > before);
      const offences = webviews.offences.length;
      await panel.reload(palette);
      const again = await webviews.frame(USAGE);
      await until("the answers from before", async () => (await again.locator("#answers tbody tr").count()) > 0);
      await screenshot("token-usage-reloaded");
      assert.deepEqual(await webviews.axe(again), []);
      assert.deepEqual(webviews.offences.slice(offences), []);
      await panel.closeEditors();
    },
  },
];

/** How an answer in a file failed, in the words of three commands that must agree; and that one event is named. */
async function failureOf(elsewhere, file) {
  const [checked, replayed, inspected] = [
    await elsewhere.partstream("check", file),
    await elsewhere.partstream("replay", file),
    await elsewhere.partstream("inspect", "--json", file),
  ];
  assert.deepEqual([checked.status, replayed.status], [FAILED, FAILED], checked.output + replayed.output);
  const [, failure] = /The stream is failed: (.*)/.exec(checked.output) ?? [];
  assert.ok(failure, checked.output);
  assert.ok(replayed.output.includes(failure), replayed.output);
  const [answer] = JSON.parse(inspected.output).answers;
  assert.equal(answer.outcome, "failed");
  assert.equal(answer.error.message, failure);
  const named = answer.events.filter(({ kind, marks }) => kind === "error" || marks.includes("broken"));
  assert.deepEqual(named.map(({ n }) => n), [BROKEN_EVENT + 1], JSON.stringify(answer.events.slice(-3)));
  return failure;
}
