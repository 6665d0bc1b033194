/** What a person sees in the real chat panel, signed out, with the packed extension. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bound, patience, until } from "../driver/wait.js";
import { GATEWAY_MODEL, MAX_INPUT_TOKENS, MAX_OUTPUT_TOKENS, MODEL, SIDECAR } from "./configuration.js";

/** The milliseconds after which Stop hangs on a quiet machine. */
const AT_ONCE = 1000;
/** The seconds that the extension waits at most before it asks again. */
const LONGEST_WAIT = 30;
const FILE = { name: "harbour-lights.txt", content: "The lamp burns green at low tide.\n" };
/** What no person should meet in an error: stacks, paths of programs, objects printed as such. */
const NOISE = /\n\s+at |Traceback|\.js:\d|\.py"?[,:]|node:internal|\[object |undefined|null\b/;

/** The agent's own requests; those for a title and the like offer no tools. */
const isAgentRequest = ({ body }) => body.tools?.length > 0;

/** A picture of one grey point. */
const PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";

export const PANEL_CHECKS = [
  {
    name: "panel: the model is in the picker",
    needed: true,
    async run({ panel, screenshot }) {
      await panel.openPicker(MODEL);
      await screenshot("picker");
      await panel.page.keyboard.press("Escape");
      await panel.pickModel(MODEL);
    },
  },
  {
    name: "panel: text is shown while the upstream still sends",
    async run({ panel, upstream, screenshot }) {
      upstream.mark();
      await panel.send(`scenario:long=62 pace:${patience(40)}`);
      const lengths = new Set();
      await panel.shows("A heading");
      assert.equal(
        upstream.since.filter(isAgentRequest).length,
        0,
        "the upstream had ended before the first text was shown",
      );
      await screenshot("streaming");
      await until("the answer to be whole", async () => {
        lengths.add((await panel.text()).length);
        return !(await panel.isBusy());
      });
      assert.ok(lengths.size >= 10, `the text grew in ${lengths.size} steps only`);
      assert.equal((await panel.text()).match(/A paragraph with bold, code and a link/g).length, 62 / 31);
    },
  },
  {
    name: "panel: thinking is a block that opens",
    async run({ panel, screenshot }) {
      await panel.newChat();
      const text = await panel.ask("scenario:thinking");
      assert.match(text, /Six times seven is 42\./);
      await panel.openSteps();
      const thought = "Six times seven is the same as six times five plus six times two";
      await until("the thinking in its block", async () => (await panel.thinking()).includes(thought), {
        describe: () => panel.text(),
      });
      await screenshot("thinking");
    },
  },
  {
    name: "panel: Copilot runs a tool call and its result goes back in a second round",
    async run({ panel, upstream, server, screenshot }) {
      writeFileSync(join(server.workspace, FILE.name), FILE.content);
      upstream.mark();
      await panel.newChat();
      const path = join(server.workspace, FILE.name);
      const calls = [
        `call:list_dir${JSON.stringify({ path: server.workspace })}`,
        `call:read_file${JSON.stringify({ filePath: path, startLine: 1, endLine: 5 })}`,
      ];
      const text = await panel.ask(`scenario:tools ${calls.join(" ")}`);
      assert.match(text, /Here is what I found/);
      assert.match(text, /lamp burns green/);
      const rounds = await upstream.rounds(2, isAgentRequest);
      assert.equal(rounds.length, 2, "the upstream should have been asked twice");
      const outputs = rounds[1].body.input.filter(({ type }) => type === "function_call_output");
      const called = rounds[1].body.input.filter(({ type }) => type === "function_call");
      assert.deepEqual(
        called.map(({ name }) => name),
        ["list_dir", "read_file"],
      );
      assert.deepEqual(
        outputs.map((output) => output.call_id),
        called.map((call) => call.call_id),
      );
      assert.match(JSON.stringify(outputs[0]), new RegExp(FILE.name));
      assert.match(JSON.stringify(outputs[1]), /lamp burns green/);
      await panel.openSteps();
      await panel.shows(/Read/);
      await screenshot("tool-call");
    },
  },
  {
    name: "panel: a tool call, its result and signed thinking travel over the AI Gateway's protocol",
    async run({ panel, upstream, server, screenshot }) {
      const filePath = join(server.workspace, FILE.name);
      writeFileSync(filePath, FILE.content);
      upstream.mark();
      await panel.newChat();
      await panel.pickModel(GATEWAY_MODEL);
      const call = `call:read_file${JSON.stringify({ filePath, startLine: 1, endLine: 5 })}`;
      assert.match(await panel.ask(`scenario:tools ${call}`), /lamp burns green/);
      await screenshot("gateway-tool-call");
      const rounds = await upstream.rounds(2, isAgentRequest);
      assert.deepEqual(
        rounds.map(({ path, status }) => [path, status]),
        [
          ["/v3/ai/language-model", 200],
          ["/v3/ai/language-model", 200],
        ],
      );
      const parts = rounds[1].body.prompt.flatMap(({ content }) => content).filter(({ type }) => type);
      const [reasoning, called, output] = ["reasoning", "tool-call", "tool-result"].map((kind) =>
        parts.find(({ type }) => type === kind),
      );
      // The upstream refuses signatures that do not belong to what they come with.
      assert.ok(reasoning?.providerOptions.anthropic.signature, JSON.stringify(parts));
      assert.ok(called.providerOptions.google.thoughtSignature);
      assert.equal(output.toolCallId, called.toolCallId);
      assert.match(JSON.stringify(output.output), /lamp burns green/);
      await panel.pickModel(MODEL);
    },
  },
  {
    name: "panel: the context widget shows the upstream's numbers",
    async run({ panel, upstream, screenshot }) {
      upstream.mark();
      await panel.newChat();
      await panel.ask("scenario:text");
      const { usage } = await upstream.next("the agent's request", isAgentRequest);
      const text = await panel.contextWindow();
      await screenshot("context-window");
      await panel.closeHover();
      const thousands = (usage.total_tokens / 1000).toFixed(1);
      const window = (MAX_INPUT_TOKENS + MAX_OUTPUT_TOKENS) / 1000;
      const shown = `${thousands}K / ${window}K tokens`;
      assert.ok(text.includes(shown), `${JSON.stringify(usage)} is shown as:\n${text}`);
      return shown;
    },
  },
  {
    name: "panel: Stop ends the answer and the upstream's connection within a second",
    async run({ panel, upstream, screenshot }) {
      upstream.mark();
      await panel.newChat();
      await panel.send("scenario:long=2000 pace:50");
      await panel.shows("A heading");
      const pressedAt = Date.now();
      const took = await panel.stop();
      const { ended_at: endedAt } = await upstream.next(
        "closed by the client",
        (one) => isAgentRequest(one) && one.outcome === "client_closed",
      );
      await screenshot("stopped");
      assert.ok(took < bound(AT_ONCE), `the panel took ${took.toFixed(0)} ms`);
      assert.ok(endedAt - pressedAt < bound(AT_ONCE), `the connection was closed after ${(endedAt - pressedAt).toFixed(0)} ms`);
      assert.match(await panel.ask("scenario:text"), /Hello from Partstream/);
      return `the panel after ${took.toFixed(0)} ms, the connection after ${(endedAt - pressedAt).toFixed(0)} ms`;
    },
  },
  failure("an upstream's 401", "fault:status=401", /401|key|unauthori[sz]ed|authenticat|permission/i, "error-401"),
  failure("an upstream's 429", "fault:status=429:1", /429|rate|too many|limit/i, "error-429"),
  failure(
    "a cut connection",
    "scenario:long=300 pace:20 fault:cut=20",
    /connection|broke|cut|closed|ended/i,
    "error-cut",
  ),
  failure(
    "an answer of thinking only",
    "scenario:thinking_only",
    /no (text|answer)|empty|without|only/i,
    "error-thinking-only",
  ),
  {
    name: "panel: a killed sidecar gives one clear sentence, and the next message works",
    async run({ panel, processes, screenshot }) {
      await panel.newChat();
      await panel.send("scenario:long=2000 pace:50");
      await panel.shows("A heading");
      const [sidecar] = processes.find(SIDECAR);
      assert.ok(sidecar, "there is no sidecar");
      process.kill(sidecar, "SIGKILL");
      const reason = reasonIn(await panel.answer());
      assertSentence(reason, /python|partstream|sidecar/i);
      await screenshot("sidecar-killed");
      assert.match(await panel.ask("scenario:text"), /Hello from Partstream/);
      assert.notEqual(processes.find(SIDECAR)[0], sidecar);
      await screenshot("sidecar-restarted");
      return reason;
    },
  },
  {
    name: "panel: the person's own Python provider answers, and answers differently once its file is edited",
    async run({ panel, folder, screenshot }) {
      await panel.newChat();
      await panel.pickModel("Echo");
      assert.match(await panel.ask("say cheese"), /say cheese/);
      const file = join(folder, "echo_provider.py");
      const source = readFileSync(file, "utf8");
      writeFileSync(file, source.replace("yield word", "yield word[::-1]"));
      await panel.newChat();
      assert.match(await panel.ask("say cheese"), /yas eseehc/);
      await screenshot("edited-provider");
      await panel.pickModel(MODEL);
    },
  },
  {
    name: "panel: an answer of a picture alone links to the file that was kept",
    async run({ panel, folder, screenshot }) {
      const file = join(folder, "echo_provider.py");
      const source = readFileSync(file, "utf8");
      const picture = `__import__("partstream").DataPart(__import__("base64").b64decode("${PICTURE}"), "image/png")`;
      writeFileSync(file, source.replace(/yield word.*/, `yield ${picture}`));
      await panel.newChat();
      await panel.pickModel("Echo");
      const text = await panel.ask("draw");
      await screenshot("picture");
      assert.match(text, /image\/png, 67 bytes/);
      assert.doesNotMatch(text, /no response/i);
      writeFileSync(file, source);
      await panel.pickModel(MODEL);
    },
  },
  {
    name: "panel: the provider of the README answers what the person said, and nothing that Copilot sends around it",
    async run({ panel, screenshot }) {
      await panel.newChat();
      await panel.pickModel("Parrot");
      const text = await panel.ask("hello there");
      await screenshot("readme-provider");
      assert.match(text, /You said: hello there/);
      assert.doesNotMatch(text, /context>|reminder/);
    },
  },
  {
    name: "panel: a broken edit of that provider is told without a message, opens at its line, and mending it renews the picker",
    async run({ panel, folder, screenshot }) {
      const file = join(folder, "echo_provider.py");
      const source = readFileSync(file, "utf8");
      writeFileSync(file, `${source}\nthis is no Python\n`);
      const line = source.split("\n").length + 1;
      await until("a problem of the file", async () => (await panel.problems()) === 1, {
        describe: () => panel.problems(),
      });
      await screenshot("broken-provider");
      await panel.answerNotification(`echo_provider.py, line ${line}: SyntaxError`, "Open File");
      await panel.page.locator(".part.editor .tab", { hasText: "echo_provider.py" }).waitFor();
      await screenshot("broken-provider-opened");
      await panel.newChat();
      await panel.pickModel("Echo");
      assert.match(await panel.ask("say cheese"), /yas eseehc/, "the version before should answer");
      writeFileSync(file, source.replace('"Echo"', '"Echo again"'));
      await until("no problem", async () => (await panel.problems()) === 0, { describe: () => panel.problems() });
      await panel.openPicker("Echo again");
      await screenshot("mended-provider");
      await panel.page.keyboard.press("Escape");
      writeFileSync(file, source);
      await panel.closeEditors();
      await panel.newChat();
      await panel.pickModel(MODEL);
    },
  },
  {
    name: "panel: while the upstream asks to wait, the status bar counts the seconds",
    async run({ panel, screenshot }) {
      await panel.newChat();
      await panel.send(`scenario:text fault:status_then_ok=1:429:${Math.min(LONGEST_WAIT, patience(2))}`);
      let shown;
      const counts = async () => /asked again in \d+ s/.test((shown = await panel.waiting()));
      await until("the status bar to count", counts, { describe: () => shown });
      await screenshot("waiting");
      assert.match(await panel.answer(), /Hello from Partstream/);
      assert.equal(await panel.waiting(), "");
      return shown;
    },
  },
];

/** A check that something wrong at the upstream is said in one sentence that fits `expected`. */
function failure(what, message, expected, picture) {
  return {
    name: `panel: ${what} is one clear sentence`,
    async run({ panel, screenshot }) {
      await panel.newChat();
      const text = await panel.ask(message);
      await screenshot(picture);
      const reason = reasonIn(text);
      assertSentence(reason, expected);
      // A new chat, because the upstream finds the fault in the history too.
      await panel.newChat();
      assert.match(await panel.ask("scenario:text"), /Hello from Partstream/);
      return reason;
    },
  };
}

/** What Copilot prints behind its own words. */
function reasonIn(text) {
  const [, reason] = /Reason:\s*([^]*?)\n*(?:\d+:\d+ [AP]M[^]*)?$/.exec(text) ?? [];
  assert.ok(reason, `no reason is given in:\n${text}`);
  return reason.trim().replace(/\s*(?:Try Again|Retry)$/i, "");
}

function assertSentence(reason, expected) {
  assert.match(reason, expected);
  assert.doesNotMatch(reason, NOISE);
  assert.ok(reason.length < 300, `too long: ${reason}`);
  assert.equal(reason.split("\n").length, 1, `more than one line: ${reason}`);
}
