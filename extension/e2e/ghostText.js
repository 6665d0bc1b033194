#!/usr/bin/env node
/**
 * Measures how long a person waits for ghost text, beside an extension of others in the same VS Code; run by hand.
 *
 *     node ghostText.js --peer FOLDER [--turns N] [--only WORDS] [--vsix FILE] [--artifacts FOLDER]
 *
 * FOLDER is llama.vscode, unpacked and bundled, without the page that greets a person at the first start. Both ask the
 * same scripted server at llama.cpp's `/infill`, in turns: each is on for one language. The time is the page's own, from
 * the key to the first ghost text in the document.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { median } from "./bench/measure.js";
import { SETTINGS } from "./driver/codeServer.js";
import { findPackage } from "./driver/extensionPackage.js";
import { ROOT, Session } from "./driver/session.js";
import { until } from "./driver/wait.js";

const { values } = parseArgs({
  options: {
    peer: { type: "string" },
    turns: { type: "string", default: "6" },
    only: { type: "string", default: "" },
    vsix: { type: "string" },
    artifacts: { type: "string", default: join(ROOT, "artifacts") },
  },
});

/** Each is on for the language of its file alone. */
const FILES = { partstream: "notes.txt", peer: "notes.ini" };
const MODEL = "Desk/coder";
const OF_A_TURN = 4;
/** Milliseconds without a request after which nothing is under way at the server. */
const QUIET = 400;
const LINE = ["one", " answer", " of", " a", " model", " that", " has", " a", " line"];
const FURTHER = Array.from({ length: 31 }, (_, index) => (index % 8 === 0 ? "\nmore" : " words"));

/** What the model writes, the milliseconds of each token, and what is before the cursor. */
const SCENES = [
  { name: "an answer of one line, at once", tokens: LINE, pace: 0, before: "line" },
  { name: "an answer of one line, 20 ms a token", tokens: LINE, pace: 20, before: "line" },
  { name: "a line, and a model that writes on", tokens: [...LINE, ...FURTHER], pace: 20, before: "line" },
  { name: "several lines, and a model that writes on", tokens: [...LINE, ...FURTHER], pace: 20, before: "lines:" },
];

const server = { scene: SCENES[0], running: 0, last: 0, asked: [] };
const http = createServer(async (request, response) => {
  let text = "";
  for await (const piece of request) text += piece;
  if (request.url !== "/infill") return response.end("{}");
  const body = JSON.parse(text);
  server.asked.push(body.stream ? "partstream" : "peer");
  server.running++;
  response.on("close", () => {
    server.running--;
    server.last = performance.now();
  });
  const { tokens, pace } = server.scene;
  const began = performance.now();
  let said = "";
  response.setHeader("content-type", body.stream ? "text/event-stream" : "application/json");
  for (const token of tokens) {
    if (pace) await new Promise((done) => setTimeout(done, pace));
    if (response.destroyed) return;
    if (body.stop?.some((one) => token.includes(one))) break;
    // As llama.cpp does it: so long after the first token, once there was a line break.
    if (said.includes("\n") && performance.now() - began > (body.t_max_predict_ms || Infinity)) break;
    said += token;
    if (body.stream) response.write(`data: ${JSON.stringify({ content: token, stop: false })}\n\n`);
  }
  const last = { content: body.stream ? "" : said, stop: true, stop_type: "eos", tokens_predicted: 1, timings: {} };
  response.end(body.stream ? `data: ${JSON.stringify(last)}\n\n` : JSON.stringify(last));
});
await new Promise((done) => http.listen(0, "127.0.0.1", done));
const url = `http://127.0.0.1:${http.address().port}`;

const SETTINGS_OF_BOTH = {
  ...SETTINGS,
  "editor.quickSuggestions": { other: "off", comments: "off", strings: "off" },
  "partstream.completions.model": MODEL,
  "partstream.completions.delay": 0, // as the peer's `debounce_ms` is of itself
  "partstream.completions.languages": { "*": false, plaintext: true },
  "llama-vscode.languageSettings": { plaintext: false },
  "llama-vscode.endpoint": url,
  "llama-vscode.ask_install_llamacpp": false,
  "llama-vscode.env_start_last_used": false,
};

const quiet = () =>
  until("a quiet server", () => server.running === 0 && performance.now() - server.last > QUIET, { interval: 20 });

/** Milliseconds from the last key of a new line to the ghost text. */
async function once(page, number) {
  await page.keyboard.press("Control+1");
  await page.keyboard.press("Control+End");
  await page.keyboard.press("Enter");
  await page.keyboard.insertText(`${number} ${server.scene.before}`);
  await quiet();
  await page.keyboard.press("Escape");
  await page.evaluate(() => {
    const shown = () => document.querySelector(".part.editor .ghost-text-decoration, .part.editor .ghost-text");
    globalThis.waited = new Promise((done) => {
      let began;
      document.addEventListener("keydown", () => (began = performance.now()), { capture: true, once: true });
      const watcher = new MutationObserver(() => {
        if (began === undefined || !shown()?.textContent.trim()) return;
        watcher.disconnect();
        done(performance.now() - began);
      });
      watcher.observe(document.body, { subtree: true, childList: true, characterData: true });
    });
  });
  server.asked.length = 0;
  await page.keyboard.press("Space");
  const waited = await page.evaluate(() => Promise.race([waited, new Promise((done) => setTimeout(done, 10_000))]));
  const by = [...new Set(server.asked)].join();
  await quiet();
  await page.keyboard.press("Escape");
  return { waited, by };
}

async function measured({ panel }) {
  const { page } = panel;
  await page.locator(".explorer-folders-view .monaco-list-row", { hasText: FILES.partstream }).dblclick();
  await page.locator('.statusbar-item[id^="partstream.partstream.partstream.completions"]').waitFor({ timeout: 120_000 });
  const found = [];
  let number = 0;
  for (const scene of SCENES.filter(({ name }) => name.includes(values.only))) {
    server.scene = scene;
    const times = { partstream: [], peer: [] };
    for (let turn = 0; turn <= Number(values.turns); turn++) {
      const names = Object.keys(times);
      for (const name of turn % 2 ? names : names.toReversed()) {
        await page.locator(".explorer-folders-view .monaco-list-row", { hasText: FILES[name] }).dblclick();
        await until(`the turn of ${name}`, async () => (await once(page, ++number)).by === name, { limit: 60_000 });
        for (let one = 0; one < OF_A_TURN; one++) {
          const { waited, by } = await once(page, ++number);
          if (turn > 0 && waited !== undefined && by === name) times[name].push(waited);
        }
      }
    }
    const [own, other] = Object.values(times).map(median);
    found.push({ scene: scene.name, own, other, ratio: own / other, times });
    console.log(`${scene.name}: ${own.toFixed(0)} ms, ${other.toFixed(0)} ms, ratio ${(own / other).toFixed(2)}`);
  }
  return found;
}

const session = new Session(join(resolve(values.artifacts), "ghost-text"));
try {
  const { version } = JSON.parse(readFileSync(join(values.peer, "package.json"), "utf8"));
  await session.start({
    extension: findPackage(values.vsix),
    prepare: ({ server: vscode }) => {
      vscode.copyExtension(values.peer);
      for (const file of Object.values(FILES)) writeFileSync(join(vscode.workspace, file), "notes\n");
    },
    groups: () => [
      {
        name: "Desk",
        vendor: "partstream",
        baseUrl: `${url}/v1`,
        protocol: "chat-completions",
        completions: "infill",
        discover: false,
        models: [{ id: "coder", name: "Coder", family: "coder", maxInputTokens: 8000, maxOutputTokens: 1000 }],
      },
    ],
    settings: () => SETTINGS_OF_BOTH,
  });
  const found = await measured(session);
  writeFileSync(join(session.artifacts, "results.json"), JSON.stringify({ version, found }, undefined, 2));
} finally {
  await session.screenshot("last").catch(() => undefined);
  await session.stop();
  http.close();
}
