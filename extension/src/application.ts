/** Creates the parts of the extension and connects them; defines what each command does. */
import type { ExtensionContext } from "vscode";
import { within } from "./addModels/localServers";
import { Backend, type BackendListener } from "./backend";
import { Children } from "./children";
import { SYSTEM_CLOCK } from "./clock";
import { debugInformation } from "./debugInformation";
import { type Remedy, sentenceOf } from "./errors";
import type { Plan } from "./launch";
import { GroupNames } from "./groupNames";
import { Harness } from "./harness";
import { Log } from "./log";
import { FirstLoads } from "./newProvider/firstLoads";
import { Notifier } from "./notifier";
import type { Ask } from "./pages";
import { planSurroundings } from "./planSurroundings";
import { ProcessNotices } from "./processNotices";
import type { TryServerResult } from "./protocol.generated";
import { modelKey, PartstreamProvider } from "./provider";
import { runIn } from "./python";
import { Redactor } from "./redaction";
import { resolveConfiguration } from "./settings";
import { SettingsNotices } from "./settingsNotices";
import type { Sidecar } from "./sidecar";
import { Throttle } from "./throttle";
import { startSidecar } from "./startSidecar";
import type { Start } from "./supervisor";
import { TokenCache } from "./tokenCache";
import { DuplicateModels } from "./duplicateModels";
import * as api from "./vscodeApi";
import { createAnswers } from "./vscodeAnswers";
import { everywhereCommands } from "./vscodeEverywhere";
import { createFirstSteps } from "./vscodeFirstSteps";
import { createKeys } from "./vscodeKeys";
import { createHubs, openPage } from "./vscodeHubs";
import { help } from "./vscodeHelp";
import { createNewProvider } from "./vscodeNewProvider";
import { showLoadProblems } from "./vscodeLoadProblems";
import * as status from "./vscodeStatus";
import { createProblems } from "./vscodeProblems";
import { WaitingItem } from "./waitingItem";

/** Milliseconds between two events that tell VS Code to ask for the models again. */
const EVENT_INTERVAL = 1000;
/** Milliseconds for which the wizard waits for the sidecar, which may have to start. */
const LOCAL_MODEL_LIMIT = 1500;

export class Application {
  readonly #channel = api.createLogChannel();
  readonly #redactor = new Redactor();
  readonly #log = new Log((level, line) => api.writeLog(this.#channel, level, line), this.#redactor);
  readonly #show = (message: string, remedy?: Remedy): void => void api.notify(this.#redactor.redact(message), remedy);
  readonly #settingsNotices = new SettingsNotices(this.#show, this.#log.warning, this.#log.info);
  readonly #notifier = new Notifier(this.#show);
  readonly #processNotices = new ProcessNotices({
    tell: (message, remedy) => this.#notifier.tell(message, remedy),
    inform: api.inform,
    setReady: api.setReady,
    log: (level, message) => this.#log.add(level, "extension", message),
  });
  readonly #didChange = api.createEventEmitter();
  readonly #counts = new TokenCache(SYSTEM_CLOCK, this.#log.debug, api.toolTexts);
  readonly #waitingStatus = status.createWaitingItem();
  readonly #waiting = new WaitingItem(status.showWaiting(this.#waitingStatus), this.#log.info, SYSTEM_CLOCK);
  readonly #harness = new Harness(SYSTEM_CLOCK, this.#log.info, api.inform);
  readonly #loadProblems = showLoadProblems(
    (text) => this.#redactor.redact(text),
    (file) => this.#providerFileChanged(file),
  );
  readonly #firstLoads = new FirstLoads(SYSTEM_CLOCK);
  readonly #newProvider = createNewProvider(
    async (file, register) => {
      const load = this.#firstLoads.of(file);
      this.#firstSteps.account.expectNone();
      await register();
      this.#events.request(); // Makes VS Code ask for the models, and so Python start, if nothing else did.
      return load;
    },
    (message, buttons) => this.#firstSteps.account.announce(message, buttons),
    (error) => this.#show(sentenceOf(error)),
  );
  readonly #ask: Ask = (method, parameters, token) =>
    this.#backend.use((sidecar) => sidecar.request(method, parameters, token));
  readonly #answerParts = createAnswers({
    ask: this.#ask,
    running: () => this.#backend.process,
    redact: (text) => this.#redactor.redact(text),
    notify: (sentence) => this.#notifier.tell(sentence),
    log: this.#log.info,
  });
  readonly #answers = this.#answerParts.answers;
  readonly #problems = createProblems({
    ask: this.#ask,
    extension: () => this.context.extension,
    isRunning: () => this.#backend.process !== undefined,
    debugInformation: () => this.#debugInformation(),
    process: () => this.#processNotices.problem,
    models: () => this.#backend.models,
    loads: () => this.#loadProblems.problems.loads,
    redact: (text) => this.#redactor.redact(text),
    addModels: () => this.#firstSteps.addModels.run(),
    failed: (error) => this.#show(sentenceOf(error)),
    log: this.#log.info,
  });
  readonly #keys: ReturnType<typeof createKeys>;
  readonly #firstSteps: ReturnType<typeof createFirstSteps>;
  readonly #hubs: ReturnType<typeof createHubs>;
  readonly #children = new Children();
  readonly #backend: Backend<Sidecar>;
  readonly #events = new Throttle(SYSTEM_CLOCK, EVENT_INTERVAL, () => setImmediate(() => this.#didChange.fire()));

  constructor(private readonly context: ExtensionContext) {
    this.#keys = createKeys({
      context,
      hide: (apiKey) => this.#redactor.rememberConfiguration({ apiKey }),
      redact: (text) => this.#redactor.redact(text),
      inform: api.inform,
      changed: (isOfSettings) => (isOfSettings ? this.#backend.reconsider() : this.#events.request()),
      log: this.#log.warning,
    });
    this.#backend = new Backend<Sidecar>(
      {
        surroundings: planSurroundings({
          run: runIn(this.#children),
          notices: this.#settingsNotices,
          warn: this.#log.warning,
          remember: (configuration) => this.#redactor.rememberConfiguration(configuration),
          keys: this.#keys.keys,
        }),
        start: (plan, start) => this.#start(plan, start),
        storage: context.globalState,
        clock: SYSTEM_CLOCK,
      },
      this.#backendListener,
    );
    this.#firstSteps = createFirstSteps(context, {
      tryServer: this.#tryServer,
      localModel: () =>
        within(
          this.#backend.use((sidecar) => sidecar.request("languageModels/localModel", null)),
          { name: null, source: null },
          LOCAL_MODEL_LIMIT,
        ),
      askForModels: this.#events.request,
      failed: (error) => this.#notifier.tell(sentenceOf(error)),
    });
    this.#hubs = createHubs({
      context,
      ask: (group) => this.#backend.process?.request("languageModels/hubStanding", { group }),
      join: (link) => this.#backend.use((sidecar) => sidecar.request("languageModels/joinHub", link)),
      changed: this.#events.request,
      hide: (secret) => this.#redactor.remember(secret),
      tell: this.#show,
      log: this.#log.info,
      clock: SYSTEM_CLOCK,
    });
    context.subscriptions.push(
      this.#channel,
      this.#didChange,
      this.#waitingStatus,
      ...this.#loadProblems.disposables,
      ...this.#answerParts.disposables,
      ...this.#problems.disposables,
      ...this.#hubs.disposables,
      ...this.#keys.disposables,
      ...this.#firstSteps.disposables,
      api.registerProvider(this.#provider()),
      api.onDidChangeEnvironment(
        () => {
          this.#answers.usage.refresh();
          this.#backend.reconsider();
        },
        () => this.#backend.state === "refused" || this.#backend.state === "waiting",
      ),
      ...api.registerCommands({
        ...this.#commands,
        ...everywhereCommands(context, () => this.#firstSteps.addModels.run()),
      }),
    );
  }

  readonly #backendListener: BackendListener = {
    started: () => this.#started(),
    unchanged: () => this.#log.debug("the process goes on: Python, the providers and the folder are the same"),
    processFailed: (error, wasRunning) => {
      this.#processNotices.failed(error, wasRunning);
      this.#problems.item.refresh();
    },
    changed: this.#events.request,
    otherModels: (groupId, models) => this.#counts.forget(models.map((model) => modelKey(groupId, model))),
    failed: (group, sentence, error) =>
      this.#processNotices.listFailed(
        group !== null || this.#keys.keys.asksBy(error),
        sentence,
        error,
        this.#backend.state === "running",
      ),
    forgotten: (groupId) => {
      this.#loadProblems.problems.forget(groupId);
      this.#hubs.budgets.forgotten(groupId);
      this.#problems.item.refresh();
    },
    hubListed: (group, isHub) => this.#hubs.budgets.listed(group, isHub),
    keyNeeded: (group, failed, silent) =>
      void this.#keys.keys.needed(group, failed, silent).catch((error: unknown) => this.#show(sentenceOf(error))),
    counted: (groups) => void this.#firstSteps.addModels.counted(groups),
    fetched: () => {
      this.#problems.item.refresh();
      if (this.#backend.models.lists.some(({ models }) => models.length > 0)) void this.#firstSteps.account.listed();
    },
  };

  readonly #commands: Readonly<Record<string, () => unknown>> = {
    "partstream.addModels": () => this.#firstSteps.addModels.run(),
    "partstream.newProviderFile": () => this.#newProvider.run(),
    "partstream.useWithoutAccount": () => this.#firstSteps.account.run(),
    "partstream.undoUseWithoutAccount": () => this.#firstSteps.account.undo(),
    "partstream.testConnection": () => this.#problems.test.run(),
    "partstream.help": () => help(this.context.extensionUri),
    "partstream.joinHub": () => this.#hubs.joining.pasted(),
    "partstream.openHubPage": () => openPage(this.#hubs.budgets.page),
    "partstream.enterKey": () => this.#keys.keys.run(),
    "partstream.stopAnswers": () => this.#harness.stopAll(),
    "partstream.restart": () => this.#restart(),
    "partstream.showLog": () => this.#channel.show(),
    "partstream.showUsage": () => this.#answers.showPage("usage"),
    "partstream.inspectLastAnswer": () => this.#answers.inspect(null),
    "partstream.recordNextAnswer": () => this.#answers.recording.arm(),
    "partstream.cancelRecording": () => this.#answers.recording.cancel(),
    "partstream.reportIssue": () => this.#problems.report.run(),
    "partstream.copyDebugInformation": async () => api.copy(await this.#debugInformation()),
    ...api.COMMANDS,
  };

  /** Ends everything that runs: in order where there is time for it. */
  async close(): Promise<void> {
    this.#events.cancel();
    this.#harness.close();
    this.#hubs.budgets.close();
    this.#problems.item.close();
    await this.#backend.close();
    this.#children.killAll();
  }

  /** Ends all programs at once. */
  readonly kill = (): void => this.#children.killAll();

  #provider(): PartstreamProvider {
    return new PartstreamProvider({
      use: (action) => this.#backend.use(action),
      models: this.#backend.models,
      duplicateModels: new DuplicateModels(
        this.context.globalState,
        (groupId) => this.#backend.models.idsOf(groupId),
        this.#events.request,
      ),
      counts: this.#counts,
      classes: api.partClasses(),
      errors: api.LanguageModelError,
      thinkingFallback: () => api.readSettings().thinkingWithoutSupport,
      configuration: (configuration) => {
        this.#redactor.rememberConfiguration(configuration);
        return resolveConfiguration(configuration, api.trustedFolder());
      },
      keys: this.#keys.keys,
      groupNames: new GroupNames(() => api.readGroups(this.context.globalStorageUri), "partstream"),
      addModels: () => setImmediate(() => void this.#firstSteps.addModels.run()),
      harness: this.#harness,
      begin: (model, asker) => this.#waiting.begin(model, asker),
      ended: ({ group }) => this.#hubs.budgets.answered(group?.id),
      budget: (groupId) => this.#hubs.budgets.pickerText(groupId),
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

  #start(plan: Plan, start: Start): Promise<Sidecar> {
    this.#loadProblems.problems.processStarted();
    return startSidecar(plan, start, {
      folder: this.context.extensionPath,
      version: this.#version,
      vscodeVersion: api.vscodeVersion,
      log: this.#log,
      children: this.#children,
      followLogLevel: (tell) => api.followLogLevel(this.#channel, tell),
      listener: {
        log: this.#log.add.bind(this.#log),
        modelsDidChange: (groupId) => this.#backend.models.invalidate(groupId),
        tokenCountsDidChange: ({ group, models }) => this.#counts.forget(models.map((model) => modelKey(group, model))),
        didAnswer: (usage) => this.#answers.answered(usage),
        didRecord: (recorded) => void this.#answers.recording.recorded(recorded),
        providerDidLoad: (load) => {
          this.#loadProblems.problems.told(load);
          this.#firstLoads.told(load);
          this.#problems.item.refresh();
        },
      },
    });
  }

  #restart(): void {
    this.#harness.close();
    this.#notifier.reset();
    this.#settingsNotices.reset();
    this.#loadProblems.problems.reset();
    this.#counts.clear(); // A provider that was edited may count differently.
    this.#backend.restart();
  }

  #started(): void {
    this.#notifier.reset();
    this.#processNotices.started();
    this.#problems.item.refresh();
    this.#answers.recording.processStarted();
    this.#settingsNotices.ignored(api.readLocalValues(), api.remoteName());
  }

  /** Asks for the list anew, which loads the file. */
  #providerFileChanged(file: string): void {
    for (const group of this.#loadProblems.problems.groupsOf(file)) this.#backend.models.invalidate(group);
  }

  async #debugInformation(): Promise<string> {
    const host = { ...api.facts(), extensionVersion: this.#version };
    return this.#redactor.redact(await debugInformation(this.#backend, host, this.#log.warning));
  }

  get #version(): string {
    return (this.context.extension.packageJSON as { version: string }).version;
  }
}
