import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import type { InlineCompletionItem, TextDocument } from "vscode";
import { ResponseError } from "vscode-jsonrpc/node";
import { type CompleteParams, type CompleteResult, type CompletionCounts, ErrorCode } from "../src/protocol.generated";
import { Completions } from "../src/vscodeCompletions";
import { createItem, showItem } from "../src/vscodeStatus";
import { TokenSource } from "./vscodeDouble";
import { accounts, MarkdownString, Position, world } from "./vscodeModule";

const model = (id: string, extra = {}): object => ({ id, name: id.toUpperCase(), extra });
const GROUP = { id: "g", name: "Desk", configuration: {} };
const LISTS = [{ group: GROUP, models: [model("chat"), model("fill", { completesText: true })] }];
const item = (): { text: string; tooltip: string } =>
  world.items.get("partstream.completions") ?? { text: "", tooltip: "" };
const heard = (): string => world.heard.get("partstream.completions") ?? "";
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Question {
  readonly params: CompleteParams;
  readonly token: TokenSource["token"];
  readonly answer: (result: Partial<CompleteResult> | Error) => void;
}

class Editor {
  readonly asked: Question[] = [];
  readonly logged: string[] = [];
  /** What the sidecar has counted, of other windows too. */
  readonly counted = { shown: 40, accepted: 20 };
  readonly completions = new Completions({
    lists: () => LISTS as never,
    ask: (params, token) =>
      new Promise((resolve, reject) => {
        const answer = (result: Partial<CompleteResult> | Error): void => {
          if (result instanceof Error) reject(result);
          else resolve({ text: "", ...result });
        };
        this.asked.push({ params, token, answer });
      }),
    count: ({ shown, accepted }: CompletionCounts) => {
      this.counted.shown += shown;
      this.counted.accepted += accepted;
      return Promise.resolve({ ...this.counted });
    },
    log: (line) => this.logged.push(line),
  });
  readonly document = {
    uri: { scheme: "file", path: "src/a.py", toString: () => "file:a.py" },
    languageId: "python",
    getText: () => "text",
  } as unknown as TextDocument;

  complete(triggerKind = 1): {
    readonly source: TokenSource;
    readonly items: Promise<InlineCompletionItem[] | undefined>;
  } {
    const source = new TokenSource();
    const context = { triggerKind, selectedCompletionInfo: undefined, requestUuid: "" };
    const at = new Position(3) as never;
    return { source, items: this.completions.provideInlineCompletionItems(this.document, at, context, source.token) };
  }

  /** The question that was asked last; one must be there after a turn. */
  async question(): Promise<Question> {
    await turn();
    const question = this.asked.at(-1);
    assert.ok(question);
    return question;
  }
}

afterEach(() => {
  world.settings = {};
  world.chatExtension = {};
  world.chosen = undefined;
  world.documents = [];
  world.editor = undefined;
  accounts.length = 0;
});

test("the first model that completes text answers, and its text is an item that counts its acceptance", async () => {
  const editor = new Editor();
  const { items } = editor.complete();
  const { params, answer } = await editor.question();
  assert.equal(params.model, "fill");
  assert.deepEqual([params.path, params.language, params.delay, params.isManual], ["src/a.py", "python", 250, false]);
  answer({ text: "x", isNew: true });
  const shown = (await items)?.[0];
  assert.equal(shown?.insertText, "x");
  await world.commands.get("partstream.completionAccepted")?.();
  assert.deepEqual(editor.counted, { shown: 41, accepted: 21 });
  assert.match(item().text, /FILL$/);
  assert.match(item().tooltip, /41 shown, 21 accepted/);
});

test("what is shown again from memory is not counted again", async () => {
  const editor = new Editor();
  const { items } = editor.complete();
  (await editor.question()).answer({ text: "x" });
  assert.equal((await items)?.length, 1);
  assert.deepEqual(editor.counted, { shown: 40, accepted: 20 });
});

test("the item has the counts of all windows before anything is shown, and again when the window has the focus", async () => {
  const editor = new Editor();
  editor.completions.refresh();
  await turn();
  assert.match(item().tooltip, /40 shown, 20 accepted/);
  editor.counted.accepted = 30; // In another window
  world.windowState.fire({ focused: true });
  await turn();
  assert.match(item().tooltip, /40 shown, 30 accepted/);
});

test("an item is heard with its name, without icons, and with the lines of a plain tooltip", () => {
  const rows: [text: string, tooltip: string | MarkdownString, label: string][] = [
    ["$(watch) M: asked again", "It is busy.\n\nClick to stop.", "Name: M: asked again. It is busy. Click to stop"],
    ["M", "", "Name: M"],
    ["$(a~spin) $(b) M", new MarkdownString("**more**"), "Name: M"],
  ];
  for (const [text, tooltip, label] of rows) {
    showItem(createItem("named", 1, "Name"), { text, tooltip: tooltip as string });
    assert.equal(world.heard.get("partstream.named"), label);
  }
});

test("the setting names another model, by its group and its id", async () => {
  world.settings["completions.model"] = "Desk/chat";
  const editor = new Editor();
  editor.complete();
  assert.equal((await editor.question()).params.model, "chat");
});

test("files, new texts and cells of notebooks are completed, with the open texts that were edited last", async (t) => {
  let now = 0;
  t.mock.method(Date, "now", () => ++now);
  const editor = new Editor();
  assert.deepEqual(world.completedSchemes, ["file", "untitled", "vscode-notebook-cell"]);
  const open = (path: string, scheme = "file"): TextDocument =>
    ({ uri: { scheme, path, toString: () => path }, getText: () => `text of ${path}` }) as unknown as TextDocument;
  const documents = ["1.py", "2.py", "3.py", "4.py", "5.py"].map((path) => open(path));
  world.documents = [editor.document, open("log", "output"), ...documents];
  for (const document of documents.slice(2)) {
    world.documentChanged.fire({ document, contentChanges: [{ range: { start: { line: 0 } } }] });
  }
  editor.complete();
  const { params } = await editor.question();
  assert.deepEqual(
    params.others.map(({ path }) => path),
    ["5.py", "4.py", "3.py", "1.py"],
  );
  assert.equal(params.others[0]?.text, "text of 5.py");
});

test("a person turns completions off for a language, and chooses another model", async () => {
  world.editor = { document: { languageId: "python" } };
  world.chosen = "Turn Off for python";
  const editor = new Editor();
  await world.commands.get("partstream.completions")?.();
  assert.deepEqual(world.settings["completions.languages"], { "*": true, python: false });
  world.chosen = "CHAT";
  world.provider = { provideLanguageModelChatInformation: () => Promise.resolve([]) };
  await world.commands.get("partstream.chooseCompletionModel")?.();
  assert.equal(world.settings["completions.model"], "Desk/chat");
  editor.complete();
  const { params } = await editor.question();
  assert.deepEqual([params.model, params.languages], ["chat", { "*": true, python: false }]);
});

test("the next key cancels the question at once, and so does the host", async () => {
  const editor = new Editor();
  const first = editor.complete();
  const { token } = await editor.question();
  const change = { range: { start: { line: 3 } } };
  world.documentChanged.fire({ document: editor.document, contentChanges: [change] });
  assert.ok(token.isCancellationRequested);
  const second = editor.complete();
  const question = await editor.question();
  second.source.cancel();
  assert.ok(question.token.isCancellationRequested);
  for (const { answer } of editor.asked) answer(new ResponseError(ErrorCode.RequestCancelled, "cancelled"));
  assert.deepEqual([await first.items, await second.items, editor.logged], [undefined, undefined, []]);
});

test("a failure that the next key came after is shown all the same", async () => {
  const editor = new Editor();
  const { source, items } = editor.complete();
  const { answer } = await editor.question();
  source.cancel();
  answer(new Error("no key"));
  assert.equal(await items, undefined);
  assert.match(item().tooltip, /no key/);
});

test("a failure is in the tooltip and the log, and goes with the next answer", async () => {
  const editor = new Editor();
  editor.complete();
  (await editor.question()).answer(new Error("no key"));
  await editor.question();
  assert.match(item().tooltip, /no key/);
  assert.equal(heard(), "Partstream Completions: FILL. Completions today: 40 shown, 20 accepted. no key");
  assert.deepEqual(editor.logged, ["a completion failed: no key"]);
  editor.complete();
  (await editor.question()).answer({});
  await editor.question();
  assert.doesNotMatch(item().tooltip, /no key/);
});

test("nothing is asked unasked while Copilot completes, unless a setting wants both", async () => {
  world.chatExtension = { isActive: true };
  world.settings["enable"] = { "*": true };
  accounts.push("somebody");
  const editor = new Editor();
  assert.equal(await editor.complete().items, undefined);
  assert.equal(editor.asked.length, 0);
  editor.complete(0);
  await editor.question(); // By hand
  world.settings["enable"] = { "*": true, python: false };
  editor.complete();
  await editor.question();
  world.settings["enable"] = { "*": true };
  world.settings["completions.besideCopilot"] = true;
  editor.complete();
  await editor.question();
  assert.equal(editor.asked.length, 3);
});

test("a person snoozes completions, and asks for one by hand all the same", async () => {
  world.chosen = "Snooze Completions for 5 Minutes";
  const editor = new Editor();
  await world.commands.get("partstream.completions")?.();
  assert.match(item().text, /bell-slash/);
  assert.equal(await editor.complete().items, undefined);
  editor.complete(0);
  assert.ok((await editor.question()).params.isManual);
});
