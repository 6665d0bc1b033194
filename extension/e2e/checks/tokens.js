/** Tokens as a person and another extension meet them: the status bar, limits that are learned, the cost of counting. */
import assert from "node:assert/strict";
import { bound, until } from "../driver/wait.js";
import { MAX_INPUT_TOKENS, MODEL, REPLAY, SMALL, SMALL_MODEL } from "./configuration.js";

/** What an agent's turn may take in counting, in milliseconds, on a quiet machine. */
const FIRST_TURN_LIMIT = 2000;
const NEXT_TURN_LIMIT = 250;
const TURN = { calls: 4900, texts: 440, messages: 20 };
const LEARNED_LIMIT = 60_000;

const isAgentRequest = ({ body }) => body.tools?.length > 0;
const short = (count) => (count < 1000 ? `${count}` : `${(count / 1000).toFixed(1).replace(/\.0$/, "")}K`);

export const TOKEN_CHECKS = [
  {
    name: "tokens: the status bar says what the answer took, and opens the page behind it",
    async run({ panel, upstream, webviews, screenshot }) {
      upstream.mark();
      await panel.newChat();
      await panel.ask("scenario:thinking");
      const { usage } = await upstream.next("the agent's request", isAgentRequest);
      const expected = `${short(usage.input_tokens)} in · ${short(usage.output_tokens)} out`;
      await until(`the status bar to say ${expected}`, async () => (await panel.tokenUsage()).includes(expected), {
        describe: () => panel.tokenUsage(),
      });
      const shown = await panel.tokenUsage();
      await panel.openTokenUsage();
      const page = await webviews.frame(/^Token usage$/);
      const text = await page.locator("main").innerText();
      assert.ok(text.includes(usage.input_tokens.toLocaleString("en-US")), text);
      assert.deepEqual(await webviews.axe(page), []);
      await screenshot("token-usage");
      await panel.closeEditors();
      assert.deepEqual(webviews.offences, []);
      return shown;
    },
  },
  {
    name: "tokens: an answer that fails leaves the status bar as it was, one that is stopped is named behind it",
    async run({ panel }) {
      const before = await panel.tokenUsage();
      await panel.newChat();
      await panel.ask("fault:status=401");
      assert.equal(await panel.tokenUsage(), before);
      await panel.newChat();
      await panel.send("scenario:long=2000 pace:50");
      await panel.shows("A heading");
      await panel.stop();
      await until(
        "the status bar to say that the answer was stopped",
        async () =>
          (await panel.tokenUsage()).startsWith(before) && (await panel.tokenUsage()).endsWith("then stopped"),
        { describe: () => panel.tokenUsage() },
      );
    },
  },
  {
    name: "tokens: a conversation that is too long corrects the limit of its model",
    async run({ panel, consumer, upstream, screenshot }) {
      const limit = async () => {
        const { models } = await consumer.perform({ kind: "select", selector: SMALL });
        return models[0]?.maxInputTokens;
      };
      assert.equal(await limit(), MAX_INPUT_TOKENS);
      await panel.newChat();
      await panel.pickModel(SMALL_MODEL);
      upstream.mark();
      const text = await panel.ask(`fault:context_length=${LEARNED_LIMIT}:70000`);
      assert.match(
        text,
        /too long for Small Model: it has 70,000 tokens and may have 60,000; send a shorter message, or/,
      );
      await screenshot("too-long");
      await until("the limit to be corrected", async () => (await limit()) === LEARNED_LIMIT, { describe: limit });
      assert.equal((await upstream.rounds(1, isAgentRequest)).length, 1, "the request was sent again by itself");
      await panel.newChat();
      await panel.pickModel(MODEL);
      return text.match(/the conversation is too long[^\n]*/)?.[0];
    },
  },
  {
    name: "tokens: counting for a turn of the agent costs little, with the ledger behind it",
    async run({ consumer }) {
      const texts = Array.from({ length: TURN.texts }, (_, index) =>
        index < TURN.messages
          ? `Message ${index} of the turn. `.repeat(60)
          : `A description, number ${index}, of a tool`,
      );
      const job = { kind: "countAll", selector: REPLAY, texts, messages: TURN.messages, calls: TURN.calls };
      const { total: first } = await consumer.perform(job);
      const { total: next } = await consumer.perform(job);
      assert.ok(first < bound(FIRST_TURN_LIMIT), `the first turn took ${first} ms`);
      assert.ok(next < bound(NEXT_TURN_LIMIT), `the next turn took ${next} ms`);
      return `${first.toFixed(0)} ms the first time, ${next.toFixed(0)} ms the second`;
    },
  },
];
