/** One run: upstream, VS Code with its extensions, browser and consumer, in a folder of their own. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ChatPanel } from "./chatPanel.js";
import { CodeServer, SETTINGS } from "./codeServer.js";
import { Consumer } from "./consumer.js";
import { ModelsEditor } from "./modelsEditor.js";
import { ownFolders } from "./ownFolders.js";
import { Palette } from "./palette.js";
import { Processes } from "./processes.js";
import { Upstream } from "./upstream.js";
import { Walkthrough } from "./walkthrough.js";
import { Webviews } from "./webviews.js";
import { Wizard } from "./wizard.js";

export const E2E = fileURLToPath(new URL("..", import.meta.url));
export const ROOT = join(E2E, "../..");
export const PYTHON = process.env.PARTSTREAM_PYTHON ?? join(ROOT, ".venv/bin/python");
const BROWSERS = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export class Session {
  #remove;
  processes = new Processes();
  upstream = new Upstream();
  panel = new ChatPanel();

  /**
   * `artifacts` is where screenshots and the logs of a failed run go; what an earlier run left there goes away.
   *
   * `folder` is one that somebody made and keeps; without it, one is made and goes away. VS Code opens `workspace`.
   */
  constructor(artifacts, { folder, workspace } = {}) {
    this.artifacts = artifacts;
    this.folder = folder ?? mkdtempSync(join(tmpdir(), "partstream-e2e-"));
    this.server = new CodeServer(this.processes, this.folder, workspace);
    this.consumer = new Consumer(this.folder);
    // A process that was just killed may still write into it.
    this.#remove = () => folder ?? rmSync(this.folder, { recursive: true, force: true, maxRetries: 20 });
    process.on("exit", this.#remove);
    rmSync(artifacts, { recursive: true, force: true });
    mkdirSync(artifacts, { recursive: true });
  }

  /**
   * Starts everything and returns when the chat panel is there.
   *
   * `fixtures` are folders of unpacked extensions, `extension` is the packed one under test (or none),
   * `groups` and `settings` are functions of the session, which knows the upstream's URL by then; `window` is the
   * browser's window as the browser driver takes it; `prepare` is called with the session before VS Code starts, which
   * gets the variables of `environment`, a function too. `harness` joins the window with the agent host.
   *
   * `isFresh` starts VS Code as a person's first one: no setting is written, Copilot's extension is as VS Code ships it,
   * and VS Code asks whether the folder is trusted.
   */
  async start({
    fixtures = [],
    extension,
    groups,
    settings = () => ({}),
    environment: more = () => ({}),
    window,
    isFresh = false,
    prepare,
    harness,
  }) {
    await this.upstream.start(this.processes, this.folder, PYTHON);
    await prepare?.(this);
    if (groups) this.server.writeGroups(groups(this));
    if (!isFresh) this.server.writeSettings({ ...SETTINGS, ...settings(this) });
    for (const name of fixtures) this.server.copyExtension(join(E2E, "fixtures", name));
    if (extension) await this.server.installPackage(extension);
    const joined = await harness?.start(join(this.folder, "data"));
    const environment = { E2E_UPSTREAM: this.upstream.url, E2E_FOLDER: this.folder, ...ownFolders(this.folder) };
    await this.server.start(
      { ...environment, ...joined?.environment, ...more(this) },
      { nodeArguments: joined?.nodeArguments, isTrusting: !isFresh },
    );
    await this.panel.open(this.server.url, this.server.workspace, findBrowser(), {
      window,
      isEnabled: !isFresh,
      prepare: (page) => harness?.prepare(page),
    });
    this.harness = harness;
    this.palette = new Palette(this.panel.page);
    this.wizard = new Wizard(this.panel.page, this.palette);
    this.walkthrough = new Walkthrough(this.panel.page, this.palette, this.wizard);
    this.models = new ModelsEditor(this.panel.page, this.palette);
    this.webviews = new Webviews(this.panel.page, PYTHON);
  }

  /** A picture of the window, or of the part of it that `clip` is, among the artefacts. */
  screenshot = async (name, clip) => {
    await this.panel.screenshot(join(this.artifacts, `${name}.png`), clip);
  };

  /** Ends all that was started, and removes the folder that was made. `keepLogs` puts the logs into the artefacts. */
  async stop({ keepLogs = false } = {}) {
    await this.panel.close();
    this.harness?.close();
    await this.processes.stopAll();
    // What the consumer saw, with the time of every part, is a result and no log.
    this.#keep("results.jsonl", "consumer.jsonl");
    if (keepLogs) {
      for (const name of ["code-server.log", "upstream.jsonl", "data/logs"]) this.#keep(name, join("logs", name));
    }
    process.off("exit", this.#remove);
    this.#remove();
  }

  #keep(name, as) {
    const source = join(this.folder, name);
    if (existsSync(source)) cpSync(source, join(this.artifacts, as), { recursive: true });
  }
}

function findBrowser() {
  const found = BROWSERS.find((path) => path && existsSync(path));
  if (!found) throw new Error(`there is no browser at ${BROWSERS.filter(Boolean).join(", ")}; run extension/e2e/setup.sh`);
  return found;
}
