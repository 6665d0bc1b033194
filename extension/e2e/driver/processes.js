/** Starts processes that never outlive this one: each run marks its processes in their environment and ends them by it. */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { bound, patience, until } from "./wait.js";

const MARK = "E2E_RUN";
const STOP_LIMIT = 5000;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

/** The processes of one run, grandchildren included: they all inherit the mark, even from a group of their own. */
export class Processes {
  #mark = randomUUID();
  #endAtExit = () => this.#signalAll("SIGKILL");
  #exit = () => process.exit(1);

  constructor() {
    process.on("exit", this.#endAtExit);
    for (const signal of SIGNALS) process.once(signal, this.#exit);
  }

  get environment() {
    return { ...process.env, [MARK]: this.#mark };
  }

  /** Starts a program whose output goes to a file. */
  start(command, programArguments, { log, environment = {}, folder } = {}) {
    const output = openSync(log, "a");
    const child = spawn(command, programArguments, {
      stdio: ["ignore", output, output],
      detached: true,
      cwd: folder,
      env: { ...this.environment, ...environment },
    });
    closeSync(output);
    return child;
  }

  /** Runs a program to its end and gives what it printed; rejects when it fails or takes longer than `limit`, as on a quiet machine. */
  run(command, programArguments, { limit = 60_000, environment = {} } = {}) {
    return new Promise((resolve, reject) => {
      const child = spawn(command, programArguments, {
        stdio: ["ignore", "pipe", "pipe"],
        env: { ...this.environment, ...environment },
        timeout: bound(limit),
        killSignal: "SIGKILL",
      });
      let output = "";
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
      child.once("error", reject);
      child.once("close", (status, signal) => {
        if (status === 0) resolve(output);
        else reject(new Error(`${command} ended with ${signal ?? `status ${status}`}:\n${output}`));
      });
    });
  }

  /** Process ids of this run whose command line has `text` in it. */
  find(text = "") {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
      .filter((id) => read(id, "environ").includes(`${MARK}=${this.#mark}`))
      .filter((id) => read(id, "cmdline").replaceAll("\0", " ").includes(text))
      .map(Number);
  }

  /** Asks all that is left to end, then ends it. */
  async stopAll() {
    this.#signalAll("SIGTERM");
    try {
      await until("the processes to end", () => this.find().length === 0, { limit: STOP_LIMIT, within: patience });
    } catch {
      this.#signalAll("SIGKILL"); // They had their time.
    }
    process.off("exit", this.#endAtExit);
    for (const signal of SIGNALS) process.off(signal, this.#exit);
  }

  #signalAll(signal) {
    for (const id of this.find()) {
      try {
        process.kill(id, signal);
      } catch (error) {
        if (error.code !== "ESRCH") throw error; // ESRCH: it ended by itself just now.
      }
    }
  }
}

/** A file of /proc, or nothing when the process has ended or belongs to somebody else. */
function read(id, file) {
  try {
    return readFileSync(`/proc/${id}/${file}`, "utf8");
  } catch {
    return "";
  }
}
