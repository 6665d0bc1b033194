import assert from "node:assert/strict";
import { test } from "node:test";
import { toModels } from "../src/modelInformation";
import type { Group, LanguageModelChatInformation } from "../src/protocol.generated";
import { unexpected } from "./testClock";

const MODEL: LanguageModelChatInformation = {
  id: "gpt",
  name: "GPT",
  family: "gpt-5",
  version: "1",
  maxInputTokens: 100_000,
  maxOutputTokens: 8000,
  tooltip: null,
  detail: null,
  capabilities: { imageInput: true, toolCalling: 64 },
  extra: {},
};

test("a model keeps its real name, family and limits, can be selected, and knows its group", () => {
  const group = { id: "g", configuration: {} };
  const { tooltip, detail, extra, ...rest } = MODEL;
  assert.deepEqual([tooltip, detail, extra], [null, null, {}]);
  assert.deepEqual(toModels([MODEL], group, unexpected), [{ ...rest, isUserSelectable: true, group, source: "gpt" }]);
});

test("what is left of a budget is shown with the models, after their text, and is no markup", () => {
  const group = { id: "g", name: "Lab", configuration: { baseUrl: "https://hub.example.com/v1" } };
  const shown = (model: typeof MODEL, of = group as Group): unknown[] => {
    const [one] = toModels([model], of, unexpected, undefined, "$3.20 of $5.00 left today");
    return [one?.detail, one?.tooltip, (one as { infoText?: unknown } | undefined)?.infoText];
  };
  const info = { "partstream.budget": "\\$3.20 of \\$5.00 left today" };
  assert.deepEqual(shown(MODEL), ["Lab · $3.20 of $5.00 left today", "Budget: $3.20 of $5.00 left today", info]);
  const told = { ...MODEL, detail: "fast", tooltip: "A model", extra: { infoText: { other: "x" } } };
  assert.deepEqual(shown(told), [
    "fast · $3.20 of $5.00 left today",
    "A model\nBudget: $3.20 of $5.00 left today",
    { other: "x", ...info },
  ]);
  assert.equal(
    shown(MODEL, { id: "g", configuration: group.configuration })[0],
    "hub.example.com · $3.20 of $5.00 left today",
  );
});

test("what the host reads of extra is passed on, and may hide the model", () => {
  const configurationSchema = {
    properties: {
      reasoningEffort: { type: "string", enum: ["low", "high"], default: "low", group: "navigation" },
      contextSize: { type: "number", enum: [64_000, 128_000], group: "tokens" },
    },
  };
  const warningText = { "partstream.settings": "unknown setting" };
  const extra = {
    configurationSchema,
    isUserSelectable: false,
    pricing: "$1",
    statusIcon: { id: "warning" },
    warningText,
  };
  const [model] = toModels([{ ...MODEL, tooltip: "t", detail: "d", extra }], null, unexpected);
  assert.deepEqual({ ...model, ...extra, tooltip: "t", detail: "d" }, { ...model });
});

const LINKS: [text: string, shown: string][] = [
  ["GPT [new](command:workbench.action.terminal.new)", "GPT [new] (command:workbench.action.terminal.new)"],
  ["[a]: command:x\n[a]", "[a] : command:x\n[a]"],
  ["<command:x> or <HTTPS://x>", "< command:x> or < HTTPS://x>"],
  ["llama-3 [8B] (q4)", "llama-3 [8B] (q4)"],
];

test("no text of a server makes a link in VS Code's editor of models, which lets links run commands", () => {
  for (const [text, shown] of LINKS) {
    const [model] = toModels([{ ...MODEL, id: text, name: text, version: text, tooltip: text }], null, unexpected);
    assert.deepEqual([model?.id, model?.name, model?.version, model?.tooltip], [shown, shown, shown, shown]);
    assert.equal(model?.source, text);
  }
});

test("a price comes with the number without which the picker's row hides it", () => {
  const multiplierOf = (extra: Record<string, unknown>): unknown =>
    (toModels([{ ...MODEL, extra }], null, unexpected)[0] as { multiplierNumeric?: unknown }).multiplierNumeric;
  assert.equal(multiplierOf({ pricing: "$1" }), 0);
  assert.equal(multiplierOf({ pricing: "$1", multiplierNumeric: 3 }), 3);
  assert.equal(multiplierOf({}), undefined);
});

test("what would fail the list, or change who the model is, is never passed on", () => {
  const extra = { isDefault: true, requiresAuthorization: true, editTools: ["x"], id: "other", group: "other" };
  const capabilities = { ...MODEL.capabilities, editTools: ["find-replace"] };
  const [model] = toModels([{ ...MODEL, extra, capabilities }], null, unexpected);
  assert.doesNotMatch(JSON.stringify(model), /isDefault|requiresAuthorization|editTools|other/);
});

test("of two models with one id the first stays, and that is logged", () => {
  const lines: string[] = [];
  const models = toModels([MODEL, { ...MODEL, name: "second" }], null, (line) => lines.push(line));
  assert.deepEqual(models.map(({ name }) => name), ["GPT"]); // prettier-ignore
  assert.match(lines.join(), /gpt/);
});

const ICONS: [unknown, unknown][] = [
  ["warning", { id: "warning" }],
  ["$(warning)", { id: "warning" }],
  [{ id: "warning" }, { id: "warning" }],
  [
    { id: "flame", color: "charts.red" },
    { id: "flame", color: { id: "charts.red" } },
  ],
  [
    { id: "flame", color: { id: "charts.red" } },
    { id: "flame", color: { id: "charts.red" } },
  ],
  ["", undefined],
  [7, undefined],
  [null, undefined],
  [{ id: 7 }, undefined],
];

test("a status icon becomes what the host takes for an icon, and anything else is none", () => {
  for (const [statusIcon, expected] of ICONS) {
    const [model] = toModels([{ ...MODEL, extra: { statusIcon } }], null, unexpected);
    assert.deepEqual((model as { statusIcon?: unknown }).statusIcon, expected, JSON.stringify(statusIcon));
  }
});
