/** A list of models whose process answers when a test says so. */
import assert from "node:assert/strict";
import { ModelList } from "../src/modelList";
import type { Group, InformationResult, LanguageModelChatInformation } from "../src/protocol.generated";
import { settled, TestClock } from "./testClock";

export const GROUP: Group = { id: "g", configuration: {} };

export function list(...ids: string[]): InformationResult {
  return { models: ids.map((id) => ({ id }) as LanguageModelChatInformation), errors: [] };
}

/** A list over a sidecar that answers when the test says so, and a storage that outlives the window. */
export class World {
  readonly clock = new TestClock();
  readonly stored: Record<string, unknown> = {};
  readonly failures: string[] = [];
  readonly others: string[] = [];
  /** How many groups each round had. */
  readonly counted: number[] = [];
  readonly forgotten: string[] = [];
  changes = 0;
  fetches = 0;
  /** How many calls of `models` are running; an event then would make VS Code ask again from inside. */
  #inside = 0;
  #open: [(result: InformationResult) => void, (error: Error) => void][] = [];
  models = this.newWindow();

  newWindow(): ModelList {
    return new ModelList(
      () => {
        this.fetches++;
        return new Promise((resolve, reject) => this.#open.push([resolve, reject]));
      },
      {
        get: (key) => this.stored[key],
        update: (key, value) => {
          this.stored[key] = value;
          return Promise.resolve();
        },
      },
      {
        changed: () => {
          assert.equal(this.#inside, 0);
          this.changes++;
        },
        otherModels: (_group, ids) => this.others.push(...ids),
        forgotten: (group) => this.forgotten.push(group),
        counted: (groups) => this.counted.push(groups),
        fetched: () => undefined,
        failed: (_group, sentence) => this.failures.push(sentence),
      },
      this.clock,
    );
  }

  async ask(group: Group | null = GROUP): Promise<string[]> {
    this.#inside++;
    try {
      return (await this.models.models(group, true)).map(({ id }) => id);
    } finally {
      this.#inside--;
    }
  }

  /** Whether a fetch is under way. */
  get isAsked(): boolean {
    return this.#open.length > 0;
  }

  async isSettled(asked: Promise<unknown>): Promise<boolean> {
    const open = Symbol("open");
    return (await Promise.race([asked, settled().then(() => open)])) !== open;
  }

  async answer(result: InformationResult | Error): Promise<void> {
    await settled();
    const [resolve, reject] = this.#open.shift() ?? assert.fail("nothing was asked");
    if (result instanceof Error) reject(result);
    else resolve(result);
    await settled();
  }
}
