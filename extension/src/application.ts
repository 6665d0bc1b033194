/** Creates the parts of the extension and connects them; defines what each command does. */
import { join } from "node:path";
import type { ExtensionContext } from "vscode";
import type { AddModels } from "./addModels/command";
import { Backend } from "./backend";
import { type Abandoned, Children } from "./children";
import { SYSTEM_CLOCK } from "./clock";
import { debugInformation } from "./debugInformation";
import { sentenceOf, type SidecarError, SidecarRefusedError } from "./errors";
import { inFolderThatExists, isThere, type Plan, sidecarCommand } from "./launch";
import { GroupNames } from "./groupNames";
import { Log } from "./log";
import type { Storage } from "./storedLists";
import { Notifier } from "./notifier";
import {
  type DidAnswerParams,
  type DidRecordParams,
  type InitializeParams,
  PROTOCOL_VERSION,
  type ProviderDidLoadParams,
  type ProviderError,
  type TokenCountsDidChangeParams,
  type TryServerResult,
} from "./protocol.generated";
import { modelKey, PartstreamProvider } from "./provider";
import { candidatesInOrder, runIn, type Search, sentenceOnSetting } from "./python";
import { Redactor } from "./redaction";
import { ignoredLocalValues, resolveConfiguration, resolveNetwork, resolveProviders, resolvePython } from "./settings";
import { Sidecar } from "./sidecar";
import { Spacing } from "./spacing";
import type { Start } from "./supervisor";
import { TokenCache } from "./tokenCache";
import { Twins } from "./twins";
import * as api from "./vscodeApi";
import { createAnswers } from "./vscodeAnswers";
import { showLoadProblems } from "./vscodeProblems";
import * as status from "./vscodeStatus";
import { createAddModels, manage } from "./vscodeWizard";
import { WaitingItem } from "./waitingItem";

/** Milliseconds between two events that tell VS Code to ask for the models again. */
const EVENT_INTERVAL = 1000;

export class Application {
  readonly #channel = api.createLogChannel();
  readonly #redactor = new Redactor();
  readonly #log = new Log((level, line) => api.writeLog(this.#channel, level, line), this.#redactor);
  /** Tells what is wrong with a setting, which a process that starts does not mend. */
  readonly #settingsNotifier = new Notifier((message) => void api.notify(this.#redactor.redact(message), undefined));
  readonly #notifier = new Notifier((message, remedy) => void api.notify(this.#redactor.redact(message), remedy));
  readonly #didChange = api.createEventEmitter();
  readonly #counts = new TokenCache(SYSTEM_CLOCK, this.#log.debug, api.toolTexts);
  readonly #waitingStatus = status.createWaitingItem("partstream.showLog");
  readonly #waiting = new WaitingItem(status.showWaiting(this.#waitingStatus), this.#log.info, SYSTEM_CLOCK);
  readonly #loadProblems = showLoadProblems(
    (text) => this.#redactor.redact(text),
    (file) => this.#providerFileChanged(file),
  );
  readonly #answerParts = createAnswers({
    ask: (method, parameters) => this.#backend.use((sidecar) => sidecar.request(method, parameters)),
    running: () => this.#backend.process,
    redact: (text) => this.#redactor.redact(text),
    notify: (sentence) => this.#notifier.tell(sentence),
    log: this.#log.info,
  });
  readonly #answers = this.#answerParts.answers;
  readonly #addModels: AddModels;
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
          resolvePython(api.readSettings().python, this.#leftOut),
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
        unchanged: () => this.#log.debug("the process goes on: Python, the providers and the folder are the same"),
        processFailed: (error, wasRunning) => this.#processFailed(error, wasRunning),
        changed: this.#events.request,
        otherModels: (groupId, models) => this.#counts.forget(models.map((model) => modelKey(groupId, model))),
        failed: (group, sentence, error) => this.#listFailed(group !== null, sentence, error),
        forgotten: (groupId) => this.#loadProblems.problems.forget(groupId),
        counted: (groups) => void this.#addModels.counted(groups),
      },
    );
    this.#addModels = createAddModels(context, this.#tryServer, (error) => this.#notifier.tell(sentenceOf(error)));
    context.subscriptions.push(
      this.#channel,
      this.#didChange,
      this.#waitingStatus,
      ...this.#loadProblems.disposables,
      ...this.#answerParts.disposables,
      api.registerProvider(this.#provider(context.globalState)),
      api.onDidChangeEnvironment(
        () => {
          this.#answers.usage.refresh();
          this.#backend.reconsider();
        },
        () => this.#backend.state === "refused" || this.#backend.state === "waiting",
      ),
      ...api.registerCommands(this.#commands),
    );
  }

  readonly #commands: Readonly<Record<string, () => unknown>> = {
    "partstream.addModels": () => this.#addModels.run(),
    "partstream.manage": manage,
    "partstream.restart": () => this.#restart(),
    "partstream.showLog": () => this.#channel.show(),
    "partstream.showUsage": () => this.#answers.showPage("usage"),
    "partstream.inspectLastAnswer": () => this.#answers.inspect(null),
    "partstream.recordNextAnswer": () => this.#answers.recording.arm(),
    "partstream.cancelRecording": () => this.#answers.recording.cancel(),
    "partstream.copyDebugInformation": async () => api.copy(this.#redactor.redact(await this.#debugInformation())),
    "partstream.manageModels": api.manageModels,
    "partstream.editGroups": api.editGroups,
    "partstream.choosePython": api.choosePython,
  };

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
      groupNames: new GroupNames(() => api.readGroups(this.context.globalStorageUri), "partstream"),
      addModels: () => setImmediate(() => void this.#addModels.run()),
      begin: (model) => this.#waiting.begin(model),
      stopped: () => this.#answers.usage.stopped(),
      didChange: this.#didChange.event,
      log: this.#log.warning,
      clock: SYSTEM_CLOCK,
    });
  }

  readonly #tryServer = (configuration: Record<string, unknown>): Promise<TryServerResult> => {
    this.#redactor.rememberConfiguration(configuration);
    return this.#backend.use((sidecar) => sidecar.request("languageModels/tryServer", { configuration }));
  };

  readonly #leftOut = (sentence: string): void => {
    this.#log.warning(sentence);
    this.#settingsNotifier.tell(`Partstream ${sentence}.`);
  };

  #configuration(): Plan["configuration"] {
    const network = resolveNetwork(api.readNetwork(), this.#log.warning);
    this.#redactor.rememberConfiguration(network); // The proxy's URL may hold a password.
    return {
      providers: resolveProviders(api.readSettings().providers, api.trustedFolder(), this.#leftOut),
      ...network,
    };
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
      didAnswer: (usage: DidAnswerParams) => this.#answers.answered(usage),
      didRecord: (recorded: DidRecordParams) => void this.#answers.recording.recorded(recorded),
      providerDidLoad: (load: ProviderDidLoadParams) => this.#loadProblems.problems.told(load),
    };
    this.#loadProblems.problems.processStarted();
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
    this.#settingsNotifier.reset();
    this.#loadProblems.problems.reset();
    this.#counts.clear(); // A provider that was edited may count differently.
    this.#backend.restart();
  }

  #started(): void {
    this.#notifier.reset();
    this.#answers.recording.processStarted();
    this.#sayIgnoredSettings();
    // A notification cannot be taken back: the person learns that the problem is solved.
    if (this.#saidNotRunning) api.inform("Partstream's Python process is running now: the problem is solved.");
    this.#saidNotRunning = false;
  }

  #processFailed(error: SidecarError, wasRunning: boolean): void {
    this.#log.add("error", "extension", error.message);
    const isRefused = error instanceof SidecarRefusedError;
    // The chat shows a crash during a request, and the next start may succeed; nothing else shows a failed start.
    if (wasRunning && !isRefused) return;
    this.#notifier.tell(error.message, isRefused ? error.remedy : "choose Python");
    this.#saidNotRunning = true;
  }

  /** The settings of the person's own machine do not hold in a remote window, which VS Code does not say. */
  #sayIgnoredSettings(): void {
    const sentence = ignoredLocalValues(api.readLocalValues(), api.remoteName());
    if (sentence === undefined) return;
    this.#log.warning(sentence);
    this.#settingsNotifier.tell(sentence);
  }

  /** `error` is what the process said, which it has logged. */
  #listFailed(isGroup: boolean, sentence: string, error: ProviderError | undefined): void {
    if (!error) this.#log.warning(sentence);
    // VS Code shows the error beside a group; the providers in the settings have no such place.
    const isShown = isGroup || error?.isLoadProblem;
    if (!isShown && this.#backend.state === "running") this.#notifier.tell(sentence);
  }

  /** Asks for the list anew, which loads the file. */
  #providerFileChanged(file: string): void {
    for (const group of this.#loadProblems.problems.groupsOf(file)) this.#backend.models.invalidate(group);
  }

  #debugInformation(): Promise<string> {
    return debugInformation(this.#backend, { ...api.facts(), extensionVersion: this.#version }, this.#log.warning);
  }

  get #version(): string {
    return (this.context.extension.packageJSON as { version: string }).version;
  }
}
