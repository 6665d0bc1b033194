/** Ghost text in the editor: of a scripted server that counts what runs, and of a Python file. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { bound, patience, until } from "../driver/wait.js";

const FILE = "area.py";
const COMPLETION = "3.14159 * radius ** 2";
const OF_PYTHON = "from_a_python_file()";
const MODEL = "Desk/coder";
/** A model whose first answer takes the whole budget. */
const THRIFTY = "Thrifty";
const BUDGET = "0.0001 USD/day";
/** Milliseconds between two keys, and those without a key before a model is asked: each key interrupts a question. */
const KEY = 150;
const DELAY = 60;
/** Milliseconds in which the next key must have closed the connection of the question before, on a quiet machine. */
const CANCELLED_IN = 50;

const PROVIDER = `
from partstream import completion_model

@completion_model(name="Fill")
async def provider(request):
    yield "${OF_PYTHON}"
`;

/** A server of `/v1/completions` that answers after `wait` milliseconds, and notes when each question ends. */
class Scripted {
  wait = 0;
  asked = [];
  most = 0;

  get running() {
    return this.asked.filter(({ endedAt }) => endedAt === undefined).length;
  }

  async start() {
    this.server = createServer((request, response) => void this.#answer(request, response));
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    this.server.unref(); // it ends with the checks, and keeps no process alive after them
    this.url = `http://127.0.0.1:${this.server.address().port}/v1`;
  }

  async #answer(request, response) {
    const begunAt = performance.now();
    let body = "";
    for await (const piece of request) body += piece;
    if (!request.url.endsWith("/completions")) return response.writeHead(404).end("{}");
    const asked = { begunAt, body: JSON.parse(body), isCancelled: false };
    this.asked.push(asked);
    this.most = Math.max(this.most, this.running);
    response.on("close", () => {
      asked.endedAt = performance.now();
      asked.isCancelled = !response.writableFinished;
    });
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    await new Promise((resolve) => setTimeout(resolve, this.wait));
    const event = { choices: [{ index: 0, text: COMPLETION, finish_reason: "stop" }] };
    response.end(`data: ${JSON.stringify(event)}\n\ndata: [DONE]\n\n`);
  }
}

export async function prepareCompletions(session) {
  session.scripted = new Scripted();
  await session.scripted.start();
  writeText(session);
  writeFileSync(join(session.folder, "fill.py"), PROVIDER);
}

/** A file that ends where a completion belongs. */
export const writeText = ({ server }) => writeFileSync(join(server.workspace, FILE), "def area(radius):\n    return ");

export const completionGroups = ({ scripted, upstream }) => [
  {
    name: "Desk",
    vendor: "partstream",
    baseUrl: scripted.url,
    protocol: "chat-completions",
    discover: false,
    models: [{ id: "coder", name: "Coder", family: "coder", maxInputTokens: 8000, maxOutputTokens: 1000 }],
  },
  {
    name: "Thrift",
    vendor: "partstream",
    baseUrl: upstream.url,
    protocol: "openresponses",
    discover: false,
    budget: BUDGET,
    prices: { "*": { input: 10, output: 20 } },
    models: [{ id: "text", name: THRIFTY, maxInputTokens: 100_000, maxOutputTokens: 8_000, toolCalling: true }],
  },
];

export const completionSettings = ({ folder }) => ({
  "partstream.providers": [join(folder, "fill.py")],
  "partstream.completions.model": MODEL,
  "partstream.completions.delay": DELAY,
});

/** Opens the file, with the cursor at its end. */
export async function opened({ page }) {
  await page.locator(".explorer-folders-view .monaco-list-row", { hasText: FILE }).dblclick();
  await page.locator(".part.editor .view-line").first().waitFor();
  await page.locator(".part.editor .view-lines").click();
  await page.keyboard.press("Control+End");
}

export const ghost = ({ page }) => page.locator(".part.editor .ghost-text-decoration, .part.editor .ghost-text");
export const item = ({ page }) => page.locator('.statusbar-item[id^="partstream.partstream.partstream.completions"]');
const shows = (panel, text) =>
  until(
    `${text} as ghost text`,
    async () => (await ghost(panel).allInnerTexts()).join("").replaceAll("\u00a0", " ").includes(text),
    {
      describe: async () => JSON.stringify(await ghost(panel).allInnerTexts()),
      limit: 30_000,
    },
  );

/** Chooses a model for completions, and waits until it is the one that is asked. */
async function choose({ panel, palette }, name) {
  await palette.run("Partstream: Choose the Model for Completions");
  await palette.answer(name);
  await until(`the item to name ${name}`, async () => (await item(panel).innerText()).includes(name), {
    describe: () => item(panel).innerText(),
    limit: 30_000,
  });
}

export const COMPLETION_CHECKS = [
  {
    name: "completions: ghost text of a server, which Tab takes, and an item that counts it",
    async run({ panel, scripted, screenshot }) {
      const { keyboard } = panel.page;
      await item(panel).waitFor({ timeout: patience(60_000) }); // The models are known then.
      await opened(panel);
      await keyboard.type(" ");
      await keyboard.press("Backspace");
      await shows(panel, COMPLETION);
      await screenshot("ghost-text");
      const { body } = scripted.asked.at(-1);
      assert.deepEqual([body.prompt, body.model, body.stop], ["def area(radius):\n    return ", "coder", ["\n"]]);
      await keyboard.press("Tab");
      await until("the text in the editor", async () =>
        (await panel.page.locator(".part.editor .view-lines").innerText())
          .replaceAll("\u00a0", " ")
          .includes(`return ${COMPLETION}`),
      );
      assert.match(await item(panel).innerText(), /Coder/);
      const label = () => item(panel).locator("a").first().getAttribute("aria-label");
      const isCounted = async () => /today: [1-9]\d* shown, 1 accepted/.test((await label()) ?? "");
      await until("a screen reader to hear the counts", isCounted, { describe: label });
      await screenshot("ghost-text-taken");
      return label();
    },
  },
  {
    name: "completions: typing sends one question at a time, the next key ends it, and none is left",
    async run({ panel, scripted }) {
      const { keyboard } = panel.page;
      scripted.wait = 2000;
      scripted.asked.length = 0;
      scripted.most = 0;
      await keyboard.press("Enter");
      const keys = [];
      for (const key of "total = area(2) + area(3)") {
        keys.push(performance.now());
        await keyboard.press(key === " " ? "Space" : key);
        await new Promise((resolve) => setTimeout(resolve, KEY - (performance.now() - keys.at(-1))));
      }
      await keyboard.press("Escape");
      await panel.page.keyboard.press("Backspace");
      scripted.wait = 0;
      await until("no question to run", () => scripted.running === 0, { limit: 10_000 });
      const cancelled = scripted.asked.filter(({ isCancelled }) => isCancelled);
      const late = cancelled
        .map(({ begunAt, endedAt }) => endedAt - (keys.find((key) => key > begunAt) ?? endedAt))
        .sort((one, other) => one - other);
      // Each ends before the next one begins, and long before its answer.
      assert.equal(scripted.most, 1, `${scripted.most} questions ran at a time`);
      assert.ok(cancelled.length >= 5, `only ${cancelled.length} of ${scripted.asked.length} questions were ended`);
      const median = late[Math.floor(late.length / 2)];
      assert.ok(median < bound(CANCELLED_IN), `a question ended ${median} ms after the next key`);
      return `${scripted.asked.length} questions, ${cancelled.length} ended by the next key, in ${median.toFixed(0)} ms (at most ${late.at(-1).toFixed(0)})`;
    },
  },
  {
    name: "completions: a Python file completes once it is chosen",
    async run({ panel, palette, screenshot }) {
      const { keyboard } = panel.page;
      await choose({ panel, palette }, "Fill");
      await opened(panel);
      await keyboard.press("Enter");
      await keyboard.type("value = ");
      await shows(panel, OF_PYTHON);
      await screenshot("ghost-text-python");
      await palette.run("File: Revert File");
    },
  },
  {
    name: "completions: a spent budget refuses answers and completions, with whose it is, what is spent and until when",
    async run({ panel, palette, upstream, screenshot }) {
      await panel.newChat();
      await panel.pickModel(THRIFTY);
      let said;
      const isRefused = async () => (said = await panel.ask("scenario:text")).includes("is used up");
      await until("an answer to be refused", isRefused, { describe: () => said });
      const budget = BUDGET.replaceAll(".", "\\.");
      const refusal = new RegExp(`budget of the server [^ ]+ \\(${budget}\\) is used up: [\\d.]+ USD spent; it begins anew on`);
      assert.match(said, refusal);
      await screenshot("budget-spent");
      upstream.mark();
      await choose({ panel, palette }, THRIFTY);
      await opened(panel);
      await panel.page.keyboard.press("Enter");
      await panel.page.keyboard.type("cost = ");
      await item(panel).locator(".codicon-warning").waitFor();
      const tooltip = await panel.tooltipOfCompletions("is used up", () => screenshot("budget-spent-completion"));
      assert.match(tooltip, refusal);
      assert.equal(upstream.since.length, 0, "the server was asked");
      return said.match(/[^\n]*is used up[^\n]*/)[0];
    },
  },
];
