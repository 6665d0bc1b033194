/** Gives jobs to the consumer extension in the extension host, and waits for what it saw. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "./wait.js";

export class Consumer {
  #folder;
  #given = 0;

  constructor(folder) {
    this.#folder = folder;
  }

  /** One job; see fixtures/consumer/main.js for the kinds and what each gives. */
  async perform(job, limit = 60_000) {
    const id = ++this.#given;
    appendFileSync(join(this.#folder, "jobs.jsonl"), `${JSON.stringify({ id, ...job })}\n`);
    const file = join(this.#folder, "results.jsonl");
    const result = await until(
      `the consumer's result of ${JSON.stringify(job).slice(0, 200)}`,
      () => existsSync(file) && resultsIn(file).find((one) => one.id === id),
      { limit, interval: 100 },
    );
    if (result.error) throw new Error(`the consumer failed: ${JSON.stringify(result.error)}`);
    return result;
  }

  /** One request that is answered in one round. */
  async request(job, limit) {
    const { rounds } = await this.perform({ kind: "request", ...job }, limit);
    return rounds[0];
  }
}

function resultsIn(file) {
  return readFileSync(file, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}
