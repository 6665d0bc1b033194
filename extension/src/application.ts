/** Creates the parts of the extension and connects them; defines what each command does. */
import { join } from "node:path";
import type { ExtensionContext } from "vscode";
import { SYSTEM_CLOCK } from "./clock";
import { coalesced } from "./coalesce";
import { debugInformation } from "./debugInformation";
import { type SidecarError, SidecarRefusedError } from "./errors";
import { type Plan, Planner, sidecarCommand } from "./launch";
import { Log } from "./log";
import { ModelList, type Storage } from "./modelList";
import { Notifier } from "./notifier";
import { type InitializeParams, PROTOCOL_VERSION, type Requests } from "./protocol.generated";
import { modelKey, PartstreamProvider } from "./provider";
import { candidatesInOrder, runProgram } from "./python";
import { Redactor } from "./redaction";
import { resolveConfiguration, resolveNetwork, resolveProviders } from "./settings";
import { Sidecar } from "./sidecar";
import { Supervisor } from "./supervisor";
import { TokenCache } from "./tokenCache";
import { Twins } from "./twins";
import { UsageItem } from "./usageItem";
import { usagePage } from "./usageText";
import * as api from "./vscodeApi";

export class Application {
  readonly #channel = api.createLogChannel();
  readonly #redactor = new Redactor();
  readonly #log = new Log((level, line) => api.writeLog(this.#channel, level, line), this.#redactor);
  readonly #notifier = new Notifier((message) => void api.notify(this.#redactor.redact(message)));
  readonly #didChange = api.createEventEmitter();
  readonly #counts = new TokenCache(SYSTEM_CLOCK, this.#log.debug, api.toolTexts);
  readonly #statusItem = api.createStatusItem("partstream.showUsage");
  readonly #usage = new UsageItem(
    (view) => api.showStatus(this.#statusItem, view),
    () => api.readSettings().usageInStatusBar,
  );
  readonly #pages = new api.Pages();
  readonly #planner = new Planner({
    candidates: () => candidatesInOrder(api.readSettings().python, api.activeInterpreter, runProgram, process.platform),
    configuration: () => {
      const network = resolveNetwork(api.readNetwork(), this.#log.warning);
      this.#redactor.rememberConfiguration(network); // The proxy's URL may hold a password.
      const providers = resolveProviders(api.readSettings().providers, api.trustedFolder(), this.#log.warning);
      return { providers, ...network };
    },
    folder: api.trustedFolder,
    run: runProgram,
  });
  readonly #supervisor = new Supervisor<Sidecar>(
    () => this.#launch(),
    {
      started: () => {
        this.#notifier.reset();
        this.#models.refresh();
      },
      failed: (error, wasRunning) => this.#sidecarFailed(error, wasRunning),
    },
    SYSTEM_CLOCK,
  );
  readonly #models: ModelList;
  readonly #fireLater = (): void => void setImmediate(() => this.#didChange.fire());

  constructor(private readonly context: ExtensionContext) {
    this.#models = new ModelList(
      async (group, silent) =>
        (await this.#supervisor.running()).request("languageModels/information", { group, silent }),
      context.globalState,
      {
        changed: this.#fireLater,
        failed: (group, error) => this.#listFailed(group !== null, error),
      },
      SYSTEM_CLOCK,
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
          void this.#reconsider();
        },
        () => this.#supervisor.state === "refused",
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

  async close(): Promise<void> {
    await this.#supervisor.close();
  }

  #provider(storage: Storage): PartstreamProvider {
    return new PartstreamProvider({
      sidecar: () => this.#supervisor.running(),
      models: this.#models,
      twins: new Twins(storage, (groupId) => this.#models.idsOf(groupId), this.#fireLater),
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

  async #launch(): Promise<Sidecar> {
    const plan = await this.#planner.current();
    const { executable, version, source } = plan.python;
    this.#log.info(`starting Python ${version} at ${executable} (${source})`);
    const ignored = this.#planner.search?.attempts.find(({ source: tried }) => tried === "setting partstream.python");
    if (ignored) {
      this.#notifier.tell(
        `Partstream cannot use the setting partstream.python: ${ignored.command} (${ignored.reason}). ` +
          `It uses ${executable} instead.`,
      );
    }
    const command = sidecarCommand(plan, join(this.context.extensionPath, "bundled", "libs"), process.env);
    return Sidecar.start(command, this.#initializeParams(plan), {
      log: (level, logSource, message) => this.#log.add(level, logSource, message),
      modelsDidChange: (groupId) => {
        this.#counts.clear(); // A provider that was edited may count differently.
        this.#models.invalidate(groupId);
      },
      tokenCountsDidChange: ({ group, models }) => this.#counts.forget(models.map((model) => modelKey(group, model))),
      didAnswer: (usage) => this.#usage.answered(usage),
    });
  }

  #initializeParams({ configuration }: Plan): InitializeParams {
    const clientInfo = { name: "partstream-vscode", version: this.#version };
    return { protocolVersion: PROTOCOL_VERSION, clientInfo, vscodeVersion: api.vscodeVersion, configuration };
  }

  /** The settings, the folders or the Pythons may have changed: restarts the process only if the plan differs. */
  readonly #reconsider = coalesced(async () => {
    if (await this.#planner.renew()) await this.#restart();
  });

  readonly #restart = coalesced(async () => {
    await this.#supervisor.restart();
    this.#notifier.reset();
    this.#counts.clear();
    this.#models.refresh();
  });

  async #showUsage(): Promise<void> {
    try {
      const usage = await (await this.#supervisor.running()).request("languageModels/usage", null);
      await this.#pages.show("Token usage", usagePage(usage, new Date()));
    } catch (error) {
      this.#notifier.tell(error instanceof Error ? error.message : String(error));
    }
  }

  #sidecarFailed(error: SidecarError, wasRunning: boolean): void {
    this.#log.add("error", "extension", error.message);
    // The chat shows a crash during a request, and the next start may succeed; nothing else shows a failed start.
    if (!wasRunning || error instanceof SidecarRefusedError) this.#notifier.tell(error.message);
  }

  #listFailed(isGroup: boolean, error: string): void {
    this.#log.warning(error);
    // VS Code shows the error beside a group; the providers in the settings have no such place.
    if (!isGroup && this.#supervisor.state === "running") this.#notifier.tell(error);
  }

  /** Asks the running process; starts none if there is none. */
  async #askedOfProcess<Method extends "languageModels/counting" | "languageModels/diagnostics">(
    method: Method,
  ): Promise<Requests[Method]["result"] | undefined> {
    try {
      return await this.#supervisor.process?.request(method, null);
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
      search: this.#planner.search,
      state: this.#supervisor.state,
      server: this.#supervisor.process?.information,
      lastError: this.#supervisor.lastError?.message,
      models: this.#models.all.flatMap((models) => models.map(({ id }) => id)),
      counting: counting?.models,
      diagnostics,
    });
  }

  get #version(): string {
    return (this.context.extension.packageJSON as { version: string }).version;
  }
}
