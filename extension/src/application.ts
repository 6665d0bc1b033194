/** Creates the parts of the extension and connects them; defines what each command does. */
import * as l10n from "@vscode/l10n";
import * as vscode from "vscode";
import { Backend, type BackendListener } from "./backend";
import { Children } from "./children";
import { SYSTEM_CLOCK, Throttle } from "./clock";
import { sentenceOf, SidecarError, SidecarRefusedError } from "./errors";
import { isFolder, isThere, type Plan, type Surroundings } from "./launch";
import { GroupNames, DuplicateModels } from "./groups";
import { Harness } from "./harness";
import { Log } from "./log";
import { modelKey, PartstreamProvider } from "./provider";
import { candidatesInOrder, PROBE_LIMIT, type Run } from "./python";
import { Redactor } from "./redaction";
import { resolveConfiguration, resolveNetwork, resolveProviders, resolvePython } from "./settings";
import { type Sidecar, startSidecar } from "./sidecar";
import type { Start } from "./supervisor";
import { TokenCache } from "./tokenCache";
import { PROBLEM_COMMANDS, ProblemsItem, withoutLinks } from "./problems";
import * as api from "./vscodeApi";
import { Answers } from "./vscodeAnswers";
import { Completions } from "./vscodeCompletions";
import { Dialogs } from "./vscodeDialogs";
import { FirstSteps } from "./vscodeFirstSteps";
import { showHelp } from "./vscodeHelp";
import { HubItem } from "./vscodeHubs";
import { ProviderKeys } from "./vscodeKeys";
import { LoadProblems } from "./vscodeLoadProblems";
import { Notices } from "./vscodeNotices";
import type { Ask } from "./vscodePages";
import * as status from "./vscodeStatus";
import { WaitingItem } from "./waitingItem";

/** Milliseconds between two events that tell VS Code to ask for the models again. */
const EVENT_INTERVAL = 1000;

export class Application {
  readonly #channel = vscode.window.createOutputChannel("Partstream", { log: true });
  readonly #redactor = new Redactor();
  readonly #log = new Log(this.#channel, this.#redactor);
  /** A text as notifications and boxes show it: others may have written it. */
  readonly #shown = (text: string): string => withoutLinks(this.#redactor.redact(text));
  readonly #notices = new Notices(this.#log, this.#shown);
  readonly #didChange = new vscode.EventEmitter<void>();
  readonly #counts = new TokenCache(SYSTEM_CLOCK, this.#log.debug, api.toolTexts);
  readonly #waitingStatus = status.createItem("waiting", 101, l10n.t("Partstream Waiting"));
  readonly #waiting = new WaitingItem(
    (view) => {
      this.#waitingStatus.command = view?.command;
      status.showItem(this.#waitingStatus, view);
    },
    this.#log.info,
    SYSTEM_CLOCK,
  );
  readonly #harness = new Harness(inform);
  readonly #loadProblems = new LoadProblems(
    this.#shown,
    (group) => this.#backend.models.invalidate(group), // Asks for the list anew, which loads the file.
  );
  readonly #ask: Ask = (method, parameters, token) =>
    this.#backend.use((sidecar) => sidecar.request(method, parameters, token));
  readonly #run = (dialog: string, given?: Readonly<Record<string, unknown>>): Promise<void> =>
    this.#dialogs.run(dialog, given);
  readonly #answers = new Answers({
    ask: this.#ask,
    run: this.#run,
    running: () => this.#backend.process,
    redact: (text) => this.#redactor.redact(text),
    notify: (sentence) => this.#notices.tell(sentence),
    log: this.#log.info,
  });
  readonly #hubs = new HubItem(() => this.#events.request());
  readonly #problemsStatus = status.createItem("trouble", 103, l10n.t("Partstream Problems"), "partstream.help");
  readonly #problems = new ProblemsItem({
    show: (view) => {
      const redact = (text: string): string => this.#redactor.redact(text);
      const shown = view && { ...view, text: redact(view.text), tooltip: redact(view.tooltip) };
      const commands = PROBLEM_COMMANDS.map(([, command]) => command);
      status.showFullness(this.#problemsStatus, shown, commands);
    },
    circumstances: () => ({
      process: this.#notices.problem,
      loads: this.#loadProblems.loads,
      lists: this.#backend.models.lists,
    }),
    askAgain: (groupId) => this.#backend.models.invalidate(groupId),
    clock: SYSTEM_CLOCK,
  });
  readonly #completions = new Completions({
    lists: () => this.#backend.models.lists,
    ask: (parameters, token) => this.#ask("languageModels/complete", parameters, token),
    count: (counts) => this.#ask("languageModels/countCompletions", counts),
    log: this.#log.info,
  });
  readonly #keys: ProviderKeys;
  readonly #dialogs: Dialogs;
  readonly #firstSteps: FirstSteps;
  readonly #children = new Children();
  readonly #backend: Backend<Sidecar>;
  readonly #events = new Throttle(SYSTEM_CLOCK, EVENT_INTERVAL, () => setImmediate(() => this.#didChange.fire()));

  constructor(private readonly context: vscode.ExtensionContext) {
    this.#keys = new ProviderKeys({
      secrets: context.secrets,
      hide: (apiKey) => this.#redactor.rememberConfiguration({ apiKey }),
      shown: this.#shown,
      changed: (isOfSettings) => (isOfSettings ? this.#backend.reconsider() : this.#events.request()),
      log: this.#log.warning,
    });
    this.#backend = new Backend<Sidecar>(
      {
        surroundings: this.#surroundings(),
        start: (plan, start) => this.#start(plan, start),
        storage: context.globalState,
        clock: SYSTEM_CLOCK,
      },
      this.#backendListener,
    );
    this.#dialogs = this.#createDialogs();
    this.#firstSteps = new FirstSteps({
      memory: context.globalState,
      dialogs: this.#dialogs,
      askForModels: this.#events.request,
      failed: (error) => this.#notices.tell(sentenceOf(error)),
    });
    context.subscriptions.push(
      this.#channel,
      this.#didChange,
      this.#waitingStatus,
      this.#completions,
      this.#loadProblems,
      ...this.#answers.disposables,
      this.#problemsStatus,
      this.#hubs.item,
      ...this.#keys.disposables,
      ...this.#firstSteps.disposables,
      vscode.lm.registerLanguageModelChatProvider(api.VENDOR, this.#provider()),
      api.onDidChangeEnvironment(
        () => {
          this.#answers.refresh();
          this.#backend.reconsider();
        },
        () => this.#backend.state === "refused" || this.#backend.state === "waiting",
      ),
      ...Object.entries(this.#commands).map(([id, run]) => vscode.commands.registerCommand(id, run)),
      vscode.window.registerUriHandler({
        handleUri: ({ path, query, fragment }) => {
          this.#redactor.remember(fragment); // The code of a hub.
          return this.#run("joinHub", { path, query, fragment });
        },
      }),
    );
  }

  readonly #backendListener: BackendListener = {
    started: () => this.#started(),
    unchanged: () => this.#log.debug("the process goes on: Python, the providers and the folder are the same"),
    processFailed: (error, wasRunning) => {
      this.#notices.failed(error, wasRunning);
      this.#problems.refresh();
    },
    changed: this.#events.request,
    otherModels: (groupId, models) => this.#counts.forget(models.map((model) => modelKey(groupId, model))),
    failed: (group, sentence, error) =>
      this.#notices.listFailed(
        group !== null || this.#keys.asksBy(error),
        sentence,
        error,
        this.#backend.state === "running",
      ),
    forgotten: (groupId) => {
      this.#loadProblems.forget(groupId);
      this.#problems.refresh();
    },
    keyNeeded: (group, failed, silent) =>
      void this.#keys.needed(group, failed, silent).catch((error: unknown) => this.#notices.show(sentenceOf(error))),
    counted: (groups) => void this.#firstSteps.counted(groups),
    fetched: () => {
      this.#problems.refresh();
      this.#completions.refresh();
      if (this.#backend.models.lists.some(({ models }) => models.length > 0)) void this.#firstSteps.listed();
    },
  };

  readonly #commands: Readonly<Record<string, (source?: vscode.SourceControl) => unknown>> = {
    "partstream.addModels": () => this.#firstSteps.runWithModels("addModels"),
    "partstream.newProviderFile": () => this.#firstSteps.runWithModels("newProvider"),
    "partstream.useWithoutAccount": () => this.#run("useWithoutAccount"),
    "partstream.undoUseWithoutAccount": () => this.#run("undoUseWithoutAccount"),
    "partstream.useEverywhere": () => this.#run("useEverywhere"),
    // VS Code gives the repository whose button was pressed.
    "partstream.generateCommitMessage": (source) =>
      this.#run("generateCommitMessage", { root: source?.rootUri?.toString() }),
    "partstream.testConnection": () => this.#run("testConnection"),
    "partstream.reportIssue": () => this.#run("reportIssue"),
    "partstream.joinHub": () => this.#run("joinHub"),
    "partstream.help": () => showHelp(this.context.extensionUri),
    "partstream.openHubPage": () => this.#hubs.openPage(),
    "partstream.enterKey": () => this.#keys.run(),
    "partstream.stopAnswers": () => this.#harness.stopAll(),
    "partstream.restart": () => this.#restart(),
    "partstream.showLog": () => this.#channel.show(),
    "partstream.showUsage": () => this.#answers.showPage("usage"),
    "partstream.inspectLastAnswer": () => this.#answers.showPage("inspector"),
    "partstream.recordNextAnswer": () => this.#answers.record(true),
    "partstream.cancelRecording": () => this.#answers.record(false),
    "partstream.copyDebugInformation": async () => {
      await vscode.env.clipboard.writeText(await this.#debugInformation());
      vscode.window.setStatusBarMessage(l10n.t("Partstream: debug information copied"), 5000);
    },
    "partstream.choosePython": api.choosePython,
    // VS Code's own editor of models and groups, and its file of groups.
    "partstream.manageModels": () => vscode.commands.executeCommand("workbench.action.chat.manage"),
    "partstream.editGroups": () => vscode.commands.executeCommand("workbench.action.openLanguageModelsJson"),
  };

  /** Ends everything that runs: in order where there is time for it. */
  async close(): Promise<void> {
    this.#events.cancel();
    this.#problems.close();
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
      errors: vscode.LanguageModelError,
      configuration: (configuration) => {
        this.#redactor.rememberConfiguration(configuration);
        return resolveConfiguration(configuration, api.trustedFolder());
      },
      keys: this.#keys,
      groupNames: new GroupNames(() => api.readGroups(this.context.globalStorageUri), "partstream"),
      addModels: () => setImmediate(() => void this.#firstSteps.runWithModels("addModels")),
      harness: this.#harness,
      begin: (model, asker) => this.#waiting.begin(model, asker),
      budget: (groupId) => this.#hubs.texts[groupId],
      stopped: () => this.#answers.stopped(),
      didChange: this.#didChange.event,
      log: this.#log.warning,
      clock: SYSTEM_CLOCK,
    });
  }

  #createDialogs(): Dialogs {
    return new Dialogs({
      use: (action) => this.#backend.use(action),
      running: () => this.#backend.process,
      shown: this.#shown,
      hide: (secret) => this.#redactor.remember(secret),
      hideConfiguration: (configuration) => this.#redactor.rememberConfiguration(configuration),
      memory: this.context.globalState,
      globalStorage: this.context.globalStorageUri,
      account: () => this.#firstSteps.account(),
      setUpChat: () => this.#firstSteps.setUpChat(),
      lists: () => this.#backend.models.lists,
      loads: () => this.#loadProblems.loads,
      debugInformation: async () => {
        const { id, packageJSON } = this.context.extension as { id: string; packageJSON: { bugs?: unknown } };
        const reporter = packageJSON.bugs === undefined ? null : id;
        return { text: await this.#debugInformation(), reporter };
      },
      showPage: (page, path) => this.#answers.pages.show(page, path),
      remembered: () => this.#firstSteps.refresh(),
      providersChanged: (isTold) => {
        if (!isTold) this.#firstSteps.expectModels(false);
        this.#events.request(); // Makes VS Code ask for the models, and so Python start, if nothing else did.
      },
      failed: (error, dialog) => {
        const remedy = error instanceof SidecarRefusedError ? error.remedy : undefined;
        this.#notices.show(
          sentenceOf(error),
          dialog === "reportIssue" && error instanceof SidecarError ? "report" : remedy,
        );
      },
    });
  }

  async #start(plan: Plan, start: Start): Promise<Sidecar> {
    this.#loadProblems.processStarted();
    const sidecar = await startSidecar(plan, start, {
      folder: this.context.extensionPath,
      version: this.#version,
      vscodeVersion: vscode.version,
      log: this.#log,
      children: this.#children,
      followLogLevel: (tell) => api.followLogLevel(this.#channel, tell),
      listener: {
        log: this.#log.add.bind(this.#log),
        hearers: {
          "languageModels/didChange": ({ group }) => this.#backend.models.invalidate(group),
          "languageModels/tokenCountsDidChange": ({ group, models }) =>
            this.#counts.forget(models.map((model) => modelKey(group, model))),
          "languageModels/didAnswer": (usage) => this.#answers.answered(usage),
          "languageModels/didRecord": (recorded) => {
            this.#answers.recorded();
            void this.#run("recorded", { ...recorded });
          },
          "languageModels/providerDidLoad": (load) => {
            this.#loadProblems.told(load);
            this.#problems.refresh();
          },
          "ui/budgetsDidChange": (budgets) => this.#hubs.changed(budgets),
        },
        asked: (method, parameters, token) => this.#dialogs.handle(method, parameters, token),
      },
    });
    const following = api.followFocus((isFocused) => sidecar.notify("ui/focus", { isFocused }));
    void sidecar.ended.then(() => {
      following.dispose();
      this.#dialogs.closeAll();
    });
    return sidecar;
  }

  #restart(): void {
    this.#notices.reset();
    this.#loadProblems.reset();
    this.#counts.clear(); // A provider that was edited may count differently.
    this.#backend.restart();
  }

  #started(): void {
    this.#notices.started();
    this.#problems.refresh();
    this.#answers.processStarted();
  }

  /** Text for a person to paste into a bug report, without keys; starts no process. */
  async #debugInformation(): Promise<string> {
    const { search, state, process: running, lastError, models } = this.#backend;
    const lacks = (method: string) => (error: unknown) => {
      this.#log.warning(`the debug information lacks ${method}: ${String(error)}`);
      return undefined;
    };
    const counting = await running?.request("languageModels/counting", null).catch(lacks("languageModels/counting"));
    const facts = {
      vscodeVersion: vscode.version,
      // eslint-disable-next-line partstream/localisable -- debug information
      platform: `${process.platform} ${process.arch}, Node ${process.version}`,
      remoteName: vscode.env.remoteName,
      isTrusted: vscode.workspace.isTrusted,
      settings: api.readSettings(),
      extensionVersion: this.#version,
      search, // The Python that was found, and the candidates tried before it.
      state,
      server: running?.information,
      lastError: lastError?.message,
      lists: models.lists.map(({ group, models: { length }, error }) => ({
        group: group && (group.name ?? group.id), // Null means the providers in the settings.
        models: length,
        error: error?.message,
      })),
      models: models.lists.flatMap((list) => list.models.map(({ id }) => id)),
      counting: counting?.models,
      diagnostics: await running
        ?.request("languageModels/diagnostics", null)
        .catch(lacks("languageModels/diagnostics")),
    };
    return this.#redactor.redact(["```json", JSON.stringify(facts, null, 2), "```"].join("\n"));
  }

  /** What the plan of a start is made of: VS Code's settings and folder, and the programs of this machine. */
  #surroundings(): Surroundings {
    const { leftOut } = this.#notices;
    const run: Run = (command, commandArguments, abandoned) => {
      const folder = api.trustedFolder();
      const there = folder !== undefined && isFolder(folder) ? folder : undefined;
      return this.#children.output(command, commandArguments, PROBE_LIMIT, abandoned, there);
    };
    return {
      candidates: (abandoned) =>
        candidatesInOrder(
          resolvePython(api.readSettings().python, leftOut),
          () => api.activeInterpreter(this.#log.warning),
          (command, commandArguments) => run(command, commandArguments, abandoned),
          process.platform,
        ),
      configuration: async () => {
        const network = resolveNetwork(api.readNetwork(), this.#log.warning);
        this.#redactor.rememberConfiguration(network); // The proxy's URL may hold a password.
        const providers = resolveProviders(api.readSettings().providers, api.trustedFolder(), leftOut);
        return { providers: await this.#keys.sources(providers), ...network };
      },
      folder: api.trustedFolder,
      run,
      isThere,
      searched: (search) => this.#notices.searched(search),
    };
  }

  get #version(): string {
    return (this.context.extension.packageJSON as { version: string }).version;
  }
}

function inform(sentence: string): void {
  void vscode.window.showInformationMessage(sentence);
}
