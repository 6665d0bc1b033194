/** The replay upstream as the checks see it: where it listens, and what each finished exchange was. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { until } from "./wait.js";

const SCRIPT = fileURLToPath(new URL("../upstream.py", import.meta.url));

/** The key that the upstream wants at its second address. */
export const KEY = "sk-desk-81f0c6ae-not-for-logs";

/** The paths at which a model answers. */
const ANSWERS = /\/(responses|language-model|completions|messages|chat|models\/[^/]+:streamGenerateContent)$/;

export class Upstream {
  #log;
  /** The lines of the log that were read, and where they end: an agent's requests are long, and waits look often. */
  #read = [];
  #end = 0;
  #taken = 0;
  url = "";
  /** Where it speaks each protocol, by name. */
  urls = {};
  /** Where it answers nobody without {@link KEY}. */
  keyedUrl = "";
  /** Where it speaks Chat Completions and nothing else. */
  chatUrl = "";
  /** The ports of servers at which no models are: `login`, `nothing`, `encrypted`. */
  ports = {};

  /** Starts it with the project's own Python. */
  async start(processes, folder, python) {
    this.#log = join(folder, "upstream.jsonl");
    processes.start(python, [SCRIPT, KEY], { log: this.#log });
    const listening = await until("the upstream to listen", () => this.#lines()[0], { describe: () => this.#text() });
    this.url = listening.base_url;
    this.urls = listening.base_urls;
    this.keyedUrl = listening.keyed_url;
    this.chatUrl = listening.chat_url;
    this.ports = listening.ports;
  }

  /** Every finished request for an answer, in the order in which they ended; not those that ask what is spoken. */
  get exchanges() {
    return this.#lines().filter(
      ({ type, path, body }) => type === "exchange" && ANSWERS.test(path) && Object.keys(body ?? {}).length > 1,
    );
  }

  /** From here on, `next` and `since` look at new exchanges only. */
  mark() {
    this.#taken = this.exchanges.length;
  }

  get since() {
    return this.exchanges.slice(this.#taken);
  }

  /** The first exchange after the mark that fits. */
  next(what, fits, limit = 10_000) {
    return until(`an exchange at the upstream: ${what}`, () => this.since.find(fits), {
      limit,
      describe: () => JSON.stringify(this.since.map(({ body, ...exchange }) => ({ ...exchange, headers: undefined }))),
    });
  }

  /** The exchanges after the mark that fit, once there are `count`: the panel may have an answer before its end is here. */
  rounds(count, fits = () => true) {
    const fitting = () => this.since.filter(fits);
    return until(`${count} exchanges at the upstream`, () => fitting().length >= count && fitting(), {
      describe: () => JSON.stringify(this.since.map(({ path, status }) => [path, status])),
    });
  }

  #text() {
    return readFileSync(this.#log, "utf8");
  }

  #lines() {
    const bytes = readFileSync(this.#log);
    const end = bytes.lastIndexOf("\n") + 1;
    const lines = bytes.toString("utf8", this.#end, end).split("\n");
    this.#read.push(...lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line)));
    this.#end = end;
    return this.#read;
  }
}
