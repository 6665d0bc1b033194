/**
 * Answers token counts from memory; asks Python only for new texts.
 *
 * Copilot counts about 4,900 times per model call, one count after the other, about 440 different texts
 * (docs/wires/vscode.md#calls-of-the-token-counter). A count never fails: an estimate replaces an answer that Python
 * does not give in time, and a late answer is kept for the next time.
 */
import { createHash } from "node:crypto";
import type { Clock } from "./clock";
import { sentenceOf } from "./errors";
import type { TokenCountItem } from "./protocol.generated";

/** Asks Python: the counts of `items`, in order. */
export type CountRequest = (items: TokenCountItem[]) => Promise<number[]>;

/** Milliseconds that a caller waits for Python. */
export const ANSWER_LIMIT = 500;
/** Milliseconds without a request after Python failed to answer one. */
export const PAUSE_AFTER_FAILURE = 1000;
/** The most characters of remembered texts, for each model. */
export const CHARACTER_LIMIT = 4_000_000;
/** Characters from which on a text is remembered by its digest: one image must not take the room of all other texts. */
export const LONG_TEXT = 20_000;
/** The most texts that wait for an answer; further texts are only estimated. */
export const QUEUE_LIMIT = 5000;

const CHARACTERS_PER_TOKEN = 4;

interface Question {
  readonly item: TokenCountItem;
  readonly answer: Promise<number>;
  readonly settle: (count: number) => void;
}

/** The counts of all models. */
export class TokenCache {
  readonly #models = new Map<string, ModelCounts>();

  constructor(
    private readonly clock: Clock,
    private readonly log: (message: string) => void,
    /** Texts that will probably be counted too; requested together with a model's first text. */
    private readonly expected: () => Iterable<string> = () => [],
  ) {}

  /** The tokens of `item` for the model that `modelKey` names; `ask` asks that model's provider. */
  count(modelKey: string, item: TokenCountItem, ask: CountRequest): number | Promise<number> {
    let model = this.#models.get(modelKey);
    if (!model) {
      model = new ModelCounts(this.clock, this.log);
      this.#models.set(modelKey, model);
      model.expect(this.expected(), ask);
    }
    return model.count(item, ask);
  }

  /** Forgets the counts of these models, which have changed; answers that are on their way are not kept either. */
  forget(modelKeys: Iterable<string>): void {
    for (const key of modelKeys) this.#models.delete(key);
  }

  /** Forgets all counts: a provider may count differently from now on. */
  clear(): void {
    this.#models.clear();
  }
}

class ModelCounts {
  /** Counts by text, least recently used first. */
  readonly #known = new Map<string, number>();
  #characters = 0;
  #queued = new Map<string, Question>();
  #asked = new Map<string, Question>();
  #overdue = false;
  #pausedUntil = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly clock: Clock,
    private readonly log: (message: string) => void,
  ) {}

  count(item: TokenCountItem, ask: CountRequest): number | Promise<number> {
    const text = keyOf(item);
    const known = this.#known.get(text);
    if (known !== undefined) {
      this.#known.delete(text);
      this.#known.set(text, known);
      return known;
    }
    const question = this.#asked.get(text) ?? this.#queued.get(text) ?? this.#enqueue(text, item, ask);
    if (!question || this.#overdue) return estimate(item);
    return this.#inTime(question);
  }

  /** Requests counts before they are needed: one answer then serves hundreds of counts in a row. */
  expect(texts: Iterable<string>, ask: CountRequest): void {
    for (const text of texts) this.#enqueue(keyOf({ text }), { text }, ask);
  }

  #enqueue(text: string, item: TokenCountItem, ask: CountRequest): Question | undefined {
    if (this.#queued.size >= QUEUE_LIMIT || this.clock.now() < this.#pausedUntil) return undefined;
    let settle: (count: number) => void = () => undefined;
    const answer = new Promise<number>((resolve) => (settle = resolve));
    const question = { item, answer, settle };
    this.#queued.set(text, question);
    // All texts of this turn of the event loop, or those that came during another request, form one request.
    if (this.#queued.size === 1 && this.#asked.size === 0) queueMicrotask(() => void this.#askAll(ask));
    return question;
  }

  async #askAll(ask: CountRequest): Promise<void> {
    while (this.#queued.size > 0) {
      this.#asked = this.#queued;
      this.#queued = new Map();
      const stopWaiting = this.clock.after(ANSWER_LIMIT, () => (this.#overdue = true));
      try {
        await this.#answer([...this.#asked], ask);
      } catch (error) {
        this.log(`token counts are estimated: ${sentenceOf(error)}`);
        this.#pausedUntil = this.clock.now() + PAUSE_AFTER_FAILURE;
        for (const question of [...this.#asked.values(), ...this.#queued.values()]) {
          question.settle(estimate(question.item));
        }
        this.#queued.clear();
      }
      stopWaiting();
      this.#overdue = false;
      this.#asked.clear();
    }
  }

  async #answer(questions: [string, Question][], ask: CountRequest): Promise<void> {
    const counts = await ask(questions.map(([, question]) => question.item));
    if (counts.length !== questions.length)
      // eslint-disable-next-line partstream/localisable -- for the log
      throw new Error(`got ${counts.length} counts for ${questions.length} texts`);
    questions.forEach(([text, question], index) => {
      const count = counts[index] ?? 0;
      this.#remember(text, count);
      question.settle(count);
    });
  }

  #inTime(question: Question): Promise<number> {
    return new Promise((resolve) => {
      const cancel = this.clock.after(ANSWER_LIMIT, () => resolve(estimate(question.item)));
      void question.answer.then((count) => {
        cancel();
        resolve(count);
      });
    });
  }

  #remember(text: string, count: number): void {
    this.#known.set(text, count);
    this.#characters += text.length;
    for (const oldest of this.#known.keys()) {
      if (this.#characters <= CHARACTER_LIMIT) return;
      this.#known.delete(oldest);
      this.#characters -= oldest.length;
    }
  }
}

/** The key of a text or a message in memory; the leading zeros keep apart what is no short text. */
function keyOf(item: TokenCountItem): string {
  const text = item.text ?? `\0${JSON.stringify(item.message)}`;
  return text.length < LONG_TEXT ? text : `\0\0${createHash("sha256").update(text).digest("base64")}`;
}

/**
 * A fallback while Python does not answer, never remembered: a quarter of the characters, which is close for English
 * text and code; images and other data count as nothing. VS Code takes only a number, so the log tells of the estimate.
 */
export function estimate(item: TokenCountItem): number {
  let characters = item.text?.length ?? 0;
  for (const part of item.message?.content ?? []) {
    if (part.type !== "data") characters += "value" in part ? part.value.length : JSON.stringify(part).length;
  }
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}
