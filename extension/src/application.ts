/** Creates the parts of the extension and connects them; defines what each command does. */
import { join } from "node:path";
import type { ExtensionContext } from "vscode";
import { Backend } from "./backend";
import { type Abandoned, Children } from "./children";
import { SYSTEM_CLOCK } from "./clock";
import { debugInformation } from "./debugInformation";
import { type SidecarError, SidecarRefusedError } from "./errors";
import { inFolderThatExists, isThere, type Plan, sidecarCommand } from "./launch";
import { Log } from "./log";
import type { Storage } from "./modelList";
import { Notifier } from "./notifier";
import {
  type DidAnswerParams,
  type InitializeParams,
  PROTOCOL_VERSION,
  type Requests,
  type TokenCountsDidChangeParams,
} from "./protocol.generated";
import { modelKey, PartstreamProvider } from "./provider";
import { candidatesInOrder, runIn, type Search, sentenceOnSetting } from "./python";
import { Redactor } from "./redaction";
import { resolveConfiguration, resolveNetwork, resolveProviders } from "./settings";
import { Sidecar } from "./sidecar";
import { Spacing } from "./spacing";
import type { Start } from "./supervisor";
import { TokenCache } from "./tokenCache";
import { Twins } from "./twins";
import { UsageItem } from "./usageItem";
import { usagePage } from "./usageText";
import * as api from "./vscodeApi";

/** Milliseconds between two events that tell VS Code to ask for the models again. */
const EVENT_INTERVAL = 1000;

export class Application {
  readonly #channel = api.createLogChannel();
  readonly #redactor = new Redactor();
  readonly #log = new Log((level, line) => api.writeLog(this.#channel, level, line), this.#redactor);
  readonly #notifier = new Notifier((message, remedy) => void api.notify(this.#redactor.redact(message), remedy));
  readonly #didChange = api.createEventEmitter();
  readonly #counts = new TokenCache(SYSTEM_CLOCK, this.#log.debug, api.toolTexts);
  readonly #statusItem = api.createStatusItem("partstream.showUsage");
  readonly #usage = new UsageItem(
    (view) => api.showStatus(this.#statusItem, view),
    () => api.readSettings().usageInStatusBar,
  );
  readonly #pages = new api.Pages();
  readonly #children = new Children();
  readonly #run = runIn(this.#children);
  readonly #backend: Backend<Sidecar>;
  readonly #events = new Spacing(SYSTEM_CLOCK, EVENT_INTERVAL, () => setImmediate(() => this.#didChange.fire()));
  /** What was last said about the setting `partstream.python`; undefined while nothing is wrong with it. */
  #saidOnSetting: string | undefined;
  /** Whether a notification about a start that failed may still be on the screen. */
  #saidNotRunning = false;

  constructor(private readonly context: ExtensionContext) {
    const surroundings = {
      candidates: (abandoned: Abandoned) =>
        candidatesInOrder(
          api.readSettings().python,
          () => this.#activeInterpreter(),
          (command, commandArguments) => this.#run(command, commandArguments, abandoned),
          process.platform,
        ),
      configuration: () => this.#configuration(),
      folder: api.trustedFolder,
      run: this.#run,
      isThere,
      searched: (search: Search) => this.#sayOnSetting(search),
    };
    this.#backend = new Backend<Sidecar>(
      {
        surroundings,
        start: (plan, start) => this.#start(plan, start),
        storage: context.globalState,
        clock: SYSTEM_CLOCK,
      },
      {
        started: () => this.#started(),
        processFailed: (error, wasRunning) => this.#processFailed(error, wasRunning),
        changed: this.#events.request,
        otherModels: (groupId, models) => this.#counts.forget(models.map((model) => modelKey(groupId, model))),
        failed: (group, sentence) => this.#listFailed(group !== null, sentence),
      },
    );
    context.subscriptions.push(
      this.#channel,
      this.#didChange,
      this.#statusItem,
      this.#pages,
      api.registerProvider(this.#provider(context.globalState)),
      api.onDidChangeEnvironment(
        () => {
          this.#usage.refresh();
          this.#backend.reconsider();
        },
        () => this.#backend.state === "refused" || this.#backend.state === "waiting",
      ),
      ...api.registerCommands({
        "partstream.restart": () => this.#restart(),
        "partstream.showLog": () => this.#channel.show(),
        "partstream.showUsage": () => this.#showUsage(),
        "partstream.copyDebugInformation": async () => api.copy(this.#redactor.redact(await this.#debugInformation())),
        "partstream.manageModels": api.manageModels,
        "partstream.choosePython": api.choosePython,
      }),
    );
  }

  /** Ends everything that runs: in order where there is time for it. */
  async close(): Promise<void> {
    this.#events.cancel();
    await this.#backend.close();
    this.#children.killAll();
  }

  /** Ends all programs at once. */
  readonly kill = (): void => this.#children.killAll();

  #provider(storage: Storage): PartstreamProvider {
    return new PartstreamProvider({
      use: (action) => this.#backend.use(action),
      models: this.#backend.models,
      twins: new Twins(storage, (groupId) => this.#backend.models.idsOf(groupId), this.#events.request),
      counts: this.#counts,
      classes: api.partClasses(),
      errors: api.LanguageModelError,
      thinkingFallback: () => api.readSettings().thinkingWithoutSupport,
      configuration: (configuration) => {
        this.#redactor.rememberConfiguration(configuration);
        return resolveConfiguration(configuration, api.trustedFolder());
      },
      didChange: this.#didChange.event,
      log: this.#log.warning,
      clock: SYSTEM_CLOCK,
    });
  }

  #configuration(): Plan["configuration"] {
    const network = resolveNetwork(api.readNetwork(), this.#log.warning);
    this.#redactor.rememberConfiguration(network); // The proxy's URL may hold a password.
    const leftOut = (sentence: string): void => {
      this.#log.warning(sentence);
      this.#notifier.tell(`Partstream ${sentence}.`);
    };
    return { providers: resolveProviders(api.readSettings().providers, api.trustedFolder(), leftOut), ...network };
  }

  /** Another extension's failure must not keep a Python on the PATH from being found. */
  async #activeInterpreter(): Promise<string | undefined> {
    try {
      return await api.activeInterpreter();
    } catch (error) {
      this.#log.warning(`the Python extension does not name its interpreter: ${String(error)}`);
      return undefined;
    }
  }

  /** Says once that the setting cannot be used, also while the Python in use stays the same. */
  #sayOnSetting(search: Search): void {
    const sentence = sentenceOnSetting(search);
    if (sentence !== undefined && sentence !== this.#saidOnSetting) void api.notify(sentence, "choose Python");
    this.#saidOnSetting = sentence;
  }

  async #start(plan: Plan, { limit, abandoned }: Start): Promise<Sidecar> {
    const { executable, version, source } = plan.python;
    this.#log.info(`starting Python ${version} at ${executable} (${source})`);
    const libraries = join(this.context.extensionPath, "bundled", "libs");
    const command = inFolderThatExists(sidecarCommand(plan, libraries, process.env), libraries, this.#log.warning);
    const listener = {
      log: this.#log.add.bind(this.#log),
      modelsDidChange: (groupId: string | null) => this.#backend.models.invalidate(groupId),
      tokenCountsDidChange: ({ group, models }: TokenCountsDidChangeParams) =>
        this.#counts.forget(models.map((model) => modelKey(group, model))),
      didAnswer: (usage: DidAnswerParams) => this.#usage.answered(usage),
    };
    const sidecar = await Sidecar.start(command, this.#initializeParams(plan), listener, {
      limit,
      abandoned,
      children: this.#children,
    });
    const following = api.followLogLevel(this.#channel, (level) => sidecar.notify("setLogLevel", { level }));
    void sidecar.ended.then(() => void following.dispose());
    return sidecar;
  }

  #initializeParams({ configuration }: Plan): InitializeParams {
    const clientInfo = { name: "partstream-vscode", version: this.#version };
    return { protocolVersion: PROTOCOL_VERSION, clientInfo, vscodeVersion: api.vscodeVersion, configuration };
  }

  #restart(): void {
    this.#notifier.reset();
    this.#counts.clear(); // A provider that was edited may count differently.
    this.#backend.restart();
  }

  #started(): void {
    this.#notifier.reset();
    // A notification cannot be taken back: the person learns that the problem is solved.
    if (this.#saidNotRunning) api.inform("Partstream's Python process is running now: the problem is solved.");
    this.#saidNotRunning = false;
  }

  async #showUsage(): Promise<void> {
    try {
      const usage = await this.#backend.use((sidecar) => sidecar.request("languageModels/usage", null));
      await this.#pages.show("Token usage", usagePage(usage, new Date()));
    } catch (error) {
      this.#notifier.tell(error instanceof Error ? error.message : String(error));
    }
  }

  #processFailed(error: SidecarError, wasRunning: boolean): void {
    this.#log.add("error", "extension", error.message);
    const isRefused = error instanceof SidecarRefusedError;
    // The chat shows a crash during a request, and the next start may succeed; nothing else shows a failed start.
    if (wasRunning && !isRefused) return;
    this.#notifier.tell(error.message, isRefused ? error.remedy : "choose Python");
    this.#saidNotRunning = true;
  }

  #listFailed(isGroup: boolean, error: string): void {
    this.#log.debug(error); // The process has logged it as an error, with the facts.
    // VS Code shows the error beside a group; the providers in the settings have no such place.
    if (!isGroup && this.#backend.state === "running") this.#notifier.tell(error);
  }

  /** Asks the running process; starts none if there is none. */
  async #askedOfProcess<Method extends "languageModels/counting" | "languageModels/diagnostics">(
    method: Method,
  ): Promise<Requests[Method]["result"] | undefined> {
    try {
      return await this.#backend.process?.request(method, null);
    } catch (error) {
      this.#log.warning(`the debug information lacks ${method}: ${String(error)}`);
      return undefined;
    }
  }

  async #debugInformation(): Promise<string> {
    const counting = await this.#askedOfProcess("languageModels/counting");
    const diagnostics = await this.#askedOfProcess("languageModels/diagnostics");
    return debugInformation({
      ...api.facts(),
      extensionVersion: this.#version,
      search: this.#backend.search,
      state: this.#backend.state,
      server: this.#backend.process?.information,
      lastError: this.#backend.lastError?.message,
      models: this.#backend.models.all.flatMap((models) => models.map(({ id }) => id)),
      counting: counting?.models,
      diagnostics,
    });
  }

  get #version(): string {
    return (this.context.extension.packageJSON as { version: string }).version;
  }
}
