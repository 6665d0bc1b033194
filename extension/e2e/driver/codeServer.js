/** A real VS Code (code-server) in a folder of its own, with the extensions that a run needs. Knows no browser. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { until } from "./wait.js";

const require = createRequire(import.meta.url);
const CODE_SERVER = join(dirname(require.resolve("code-server/package.json")), "out/node/entry.js");
/** The Node that setup.sh compiled code-server's modules for; the one that runs this may be another. */
const NODE = require.resolve(`node-${process.platform}-${process.arch}/bin/node`);
const START_LIMIT = 60_000;
/** What Node keeps of the code that it has compiled: each VS Code of a run, and of the next one, begins with it. */
const COMPILED = { NODE_COMPILE_CACHE: join(dirname(require.resolve("code-server/package.json")), "../.compiled") };

/**
 * What lets the chat panel work signed out and offline, and keeps out of the way what belongs to no check: welcome pages,
 * and notifications of other programs of the machine, which cover what a person would click. A fresh profile has none.
 */
export const SETTINGS = {
  "remote.autoForwardPorts": false,
  "chat.allowAnonymousAccess": true,
  "chat.byokUtilityModelDefault": "mainAgent",
  "chat.tips.enabled": false,
  "workbench.startupEditor": "none",
  "editor.autoClosingBrackets": "never",
  "editor.autoClosingQuotes": "never",
};

export class CodeServer {
  #processes;
  #folder;
  #server;
  url = "";

  /** `workspace` is the folder that VS Code opens; without it, one in `folder`. */
  constructor(processes, folder, workspace = join(folder, "workspace")) {
    this.#processes = processes;
    this.#folder = folder;
    this.workspace = workspace;
    for (const name of ["extensions", "data/User"]) mkdirSync(join(folder, name), { recursive: true });
    mkdirSync(workspace, { recursive: true });
  }

  get extensionsFolder() {
    return join(this.#folder, "extensions");
  }

  get logFolder() {
    return join(this.#folder, "data/logs");
  }

  writeSettings(settings) {
    this.#writeUserFile("settings.json", settings);
  }

  /** The person's settings as they are in the file now; undefined while VS Code writes it. */
  readSettings() {
    const text = readFileSync(join(this.#folder, "data/User/settings.json"), "utf8");
    return text === "" ? undefined : JSON.parse(text);
  }

  /** The groups of models, as VS Code's Manage Models writes them. */
  writeGroups(groups) {
    this.#writeUserFile("chatLanguageModels.json", groups);
  }

  /** The groups as they stand in the file now. */
  readGroups() {
    return JSON.parse(readFileSync(join(this.#folder, "data/User/chatLanguageModels.json"), "utf8"));
  }

  /** What our extension has logged in all windows of this run. */
  readOutputChannel() {
    const files = readdirSync(this.logFolder, { recursive: true }).filter((name) => name.endsWith("Partstream.log"));
    return files.map((name) => readFileSync(join(this.logFolder, name), "utf8")).join("");
  }

  /** Puts an unpacked extension where VS Code looks; to be done before any packed one is installed. */
  copyExtension(folder) {
    const { publisher, name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    cpSync(folder, join(this.extensionsFolder, `${publisher}.${name}-${version}`), { recursive: true });
  }

  /** Installs a packed extension the way a person does on the command line. */
  async installPackage(file) {
    if (!existsSync(file)) throw new Error(`there is no extension package ${file}`);
    return this.command(["--install-extension", file]);
  }

  /** Runs the command `code` with these arguments, and gives what it printed. */
  command(commandArguments) {
    return this.#processes.run(NODE, [CODE_SERVER, ...this.#folders(), ...commandArguments], { environment: COMPILED });
  }

  /** `nodeArguments` are for Node itself, in all processes; `isTrusting` keeps VS Code from asking about trust. */
  async start(environment = {}, { nodeArguments = [], isTrusting = true } = {}) {
    const port = await freePort();
    this.url = `http://127.0.0.1:${port}`;
    this.#server = this.#processes.start(
      NODE,
      [
        ...nodeArguments,
        CODE_SERVER,
        "--auth=none",
        `--bind-addr=127.0.0.1:${port}`,
        "--disable-telemetry",
        "--disable-update-check",
        ...(isTrusting ? ["--disable-workspace-trust"] : []),
        ...this.#folders(),
      ],
      { log: join(this.#folder, "code-server.log"), environment: { ...COMPILED, ...environment } },
    );
    await until("code-server to answer", () => isUp(this.url, this.#server), { limit: START_LIMIT });
  }

  /** Ends VS Code, and with it all that it started, in its own way. */
  stop() {
    this.#server.kill("SIGTERM");
  }

  #folders() {
    const folder = this.#folder;
    return [
      `--extensions-dir=${this.extensionsFolder}`,
      `--user-data-dir=${join(folder, "data")}`,
      `--config=${join(folder, "config.yaml")}`,
    ];
  }

  #writeUserFile(name, content) {
    writeFileSync(join(this.#folder, "data/User", name), JSON.stringify(content, undefined, 2));
  }
}

async function isUp(url, server) {
  if (server.exitCode !== null) throw new Error(`code-server ended with status ${server.exitCode}`);
  try {
    return (await fetch(`${url}/healthz`)).ok;
  } catch {
    return false; // Not listening yet.
  }
}

export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
