/** A hub as somebody else runs it: its own database and process, its administration by command, one person. */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "./codeServer.js";
import { ownFolders } from "./ownFolders.js";
import { until } from "./wait.js";

const START_LIMIT = 30_000;

/**
 * Follows a link to join a hub, and gives what the extension's box says: first VS Code asks, then the extension, which
 * names the address. `look` is told which of the two boxes waits, `hub-link` or `hub-join`.
 */
export async function followLink({ panel, palette }, link, look) {
  await palette.run("Developer: Open URL");
  await palette.answer(link);
  await panel.answerDialog("open this URI", "Open", () => look("hub-link"));
  return panel.answerDialog("Join the hub at", "Join", () => look("hub-join"));
}

export class Hub {
  #processes;
  #folder;
  #python;
  url = "";
  /** The name of the person who joins. */
  person = "ada";

  constructor(processes, folder, python) {
    this.#processes = processes;
    this.#folder = join(folder, "hub");
    this.#python = python;
    mkdirSync(this.#folder);
  }

  /** Makes the hub and its person, with a budget, and serves the built-in model to whoever has a key. */
  async start(budget) {
    const port = await freePort();
    this.url = `http://127.0.0.1:${port}`;
    await this.#run("hub", "init");
    await this.#run("hub", "add", "person", this.person, "--budget", budget);
    const log = join(this.#folder, "serve.log");
    const words = ["serve", "--hub", "--demo", "--port", String(port), "--contact", "lamps@example.com"];
    this.#processes.start(this.#python, ["-m", "partstream", ...words], { log, environment: this.#environment });
    await until("the hub to serve", async () => (await fetch(`${this.url}/readyz`).catch(() => undefined))?.ok, {
      limit: START_LIMIT,
      describe: () => readFileSync(log, "utf8"),
    });
  }

  /** The link to VS Code with which the person joins, once. */
  async invite() {
    const printed = await this.#run("hub", "invite", this.person, "--url", this.url, "--json");
    return JSON.parse(printed).editor_link;
  }

  /** Gives the person another budget. */
  async setBudget(budget) {
    await this.#run("hub", "set", "person", this.person, "--budget", budget);
  }

  /** What answers took, by person, client or session, as `partstream hub usage` says it. */
  async usage(by) {
    return JSON.parse(await this.#run("hub", "usage", "--by", by, "--json"));
  }

  get #environment() {
    return {
      ...ownFolders(this.#folder),
      PARTSTREAM_HUB_DATABASE: join(this.#folder, "hub.db"),
      XDG_CONFIG_HOME: join(this.#folder, "config"),
    };
  }

  #run(...words) {
    return this.#processes.run(this.#python, ["-m", "partstream", ...words], { environment: this.#environment });
  }
}
