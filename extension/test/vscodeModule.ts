/** As much of the module `vscode` as the application touches; tests look at `world` and change it. */
import { BACK, Box } from "./vscodeBoxes";
import * as double from "./vscodeDouble";
import { EventEmitter, Panel } from "./vscodePanel";
import {
  type Diagnostic,
  type MarkdownString,
  type Range,
  type RelativePattern,
  type ThemeColor,
  Uri,
} from "./vscodeValues";

export { EventEmitter, Panel };
export * from "./vscodeValues";

interface Serializer {
  deserializeWebviewPanel: (panel: Panel) => Promise<void>;
}

interface InputBoxOptions {
  readonly title: string;
  readonly prompt: string;
  readonly password: boolean;
  readonly validateInput?: (text: string) => string | undefined;
}

/** What the window is like. */
export const world = {
  settings: {} as Record<string, unknown>,
  /** The folder that is open, if any. */
  folder: undefined as string | undefined,
  /** Where the extension put each setting that it changed. */
  targets: [] as string[],
  isTrusted: true,
  errors: [] as string[],
  /** The labels of the buttons of the last error. */
  buttons: [] as string[],
  informed: [] as string[],
  lines: [] as string[],
  clipboard: "",
  chosen: undefined as string | undefined,
  opened: [] as string[],
  commands: new Map<string, () => unknown>(),
  contexts: new Map<string, unknown>(),
  provider: undefined as unknown,
  /** Whether VS Code has the command that adds groups. */
  canAddGroups: true,
  /** What that command was given. */
  groups: [] as unknown[],
  pythonExtension: undefined as unknown,
  /** VS Code's chat extension; undefined while VS Code has it disabled. */
  chatExtension: {} as unknown,
  /** What VS Code knows about its own settings, by their names; another one is not known. */
  defaults: {} as Record<string, unknown>,
  configurationChanged: new EventEmitter<{ affectsConfiguration: () => boolean }>(),
  documentChanged: new EventEmitter<unknown>(),
  trustGranted: new EventEmitter<undefined>(),
  windowState: new EventEmitter<{ focused: boolean }>(),
  /** The level that the person chose for the output channel. */
  logLevel: 3,
  logLevelChanged: new EventEmitter<number>(),
  /** What the status bar shows of ours, by the ids of the items: texts, and the name of the background. */
  items: new Map<string, { text: string; background: string | undefined; tooltip: string }>(),
  /** Their texts for a screen reader, by their ids. */
  heard: new Map<string, string | undefined>(),
  /** The schemes of the documents that are completed. */
  completedSchemes: [] as string[],
  /** The other documents that are open. */
  documents: [] as unknown[],
  /** The editor that has the focus. */
  editor: undefined as unknown,
  /** What opens links to the extension. */
  openUri: undefined as ((uri: { path: string; query: string; fragment: string }) => unknown) | undefined,
  /** The questions that stop everything else, with what is said below them. */
  questions: [] as string[],
  /** What the person pastes where a link is asked for. */
  pasted: undefined as string | undefined,
  /** The boxes that asked for a text: the title, what is asked, and whether the text is hidden. */
  boxes: [] as string[],
  /** VS Code's secret storage, and what tells of its changes. */
  secrets: new Map<string, string>(),
  secretsChanged: new EventEmitter<{ key: string }>(),
  /** The pages that were opened in the browser. */
  browsed: [] as string[],
  /** The problems of all files. */
  problems: [] as { file: string; line: number; message: string }[],
  /** The watched files, with what tells of a change. */
  watched: new Map<string, () => void>(),
  /** The file and the line that were opened last. */
  shown: undefined as { file: string; line: number } | undefined,
  /** What the User settings of the person's own machine hold, by the names of settings. */
  localValues: {} as Record<string, unknown>,
  /** The buttons that the person clicks in notifications and dialogs, wherever they stand. */
  choices: [] as string[],
  /** The path that the person names in the dialog to save. */
  saved: undefined as string | undefined,
  /** What was written into files, by their paths. */
  files: new Map<string, string>(),
  /** The forms that the dialog offered. */
  saveDialog: undefined as Record<string, string[]> | undefined,
  /** The titles of notifications about work that goes on. */
  titles: [] as string[],
  /** What stops the work behind a notification. */
  progress: new double.TokenSource(),
  /** The configurations of the groups in VS Code's file, for which it asks after the providers in the settings. */
  configured: [] as Record<string, unknown>[],
  /** The pages that are open, by their kinds. */
  panels: new Map<string, Panel>(),
  /** The texts of the extension in the person's language, by those in the code; undefined in English. */
  translations: undefined as Record<string, string> | undefined,
  /** What opens pages again after a reload of the window, by their kinds. */
  serializers: new Map<string, Serializer>(),
};

/** What an item of the status bar shows; undefined while it is hidden. */
export function shownItem(
  name: "usage" | "waiting" | "recording" | "hub" | "trouble",
): { text: string; background: string | undefined } | undefined {
  const shown = world.items.get(`partstream.${name}`);
  return shown && { text: shown.text, background: shown.background };
}

/** Changes a setting as the person would. */
export function set(name: string, value: unknown): void {
  world.settings[name] = value;
  world.configurationChanged.fire({ affectsConfiguration: () => true });
}

export const version = "1.127.0";
export const ConfigurationTarget = { Global: "User", Workspace: "Workspace" };
export { Disposable, LanguageModelError, TokenSource as CancellationTokenSource } from "./vscodeDouble";
export {
  DataPart as LanguageModelDataPart,
  TextPart as LanguageModelTextPart,
  ThinkingPart as LanguageModelThinkingPart,
  ToolCallPart as LanguageModelToolCallPart,
  PromptTsxPart as LanguageModelPromptTsxPart,
  ToolResultPart as LanguageModelToolResultPart,
} from "./vscodeDouble";

const line = (text: string): void => void world.lines.push(text);
class StatusBarItem {
  text = "";
  name = "";
  accessibilityInformation: { label: string } | undefined;
  tooltip: MarkdownString | string | undefined;
  backgroundColor: ThemeColor | undefined;
  constructor(private readonly id: string) {}
  show(): void {
    const tooltip = typeof this.tooltip === "object" ? this.tooltip.value : (this.tooltip ?? "");
    world.items.set(this.id, { text: this.text, background: this.backgroundColor?.id, tooltip });
    world.heard.set(this.id, this.accessibilityInformation?.label);
  }
  hide(): void {
    world.items.delete(this.id);
  }
  dispose(): void {
    this.hide();
  }
}

export const languages = {
  registerInlineCompletionItemProvider: (selector: readonly { scheme: string }[]) => {
    world.completedSchemes = selector.map(({ scheme }) => scheme);
    return new double.Disposable();
  },
  createDiagnosticCollection: () => ({
    clear: () => (world.problems = []),
    set: ({ fsPath }: { fsPath: string }, diagnostics: Diagnostic[]) => {
      for (const { range, message } of diagnostics)
        world.problems.push({ file: fsPath, line: range.line + 1, message });
    },
    dispose: () => undefined,
  }),
};

export const QuickInputButtons = { Back: BACK };

export const window = {
  get activeTextEditor(): unknown {
    return world.editor;
  },
  createWebviewPanel: (viewType: string) => {
    const panel = new Panel(viewType, () => world.panels.delete(viewType));
    world.panels.set(viewType, panel);
    return panel;
  },
  registerWebviewPanelSerializer: (viewType: string, serializer: Serializer) => {
    world.serializers.set(viewType, serializer);
    return new double.Disposable(() => world.serializers.delete(viewType));
  },
  createQuickPick: () => new Box(),
  showQuickPick: (
    items: readonly { label: string; kind?: number }[],
    heading: { title?: string; placeHolder?: string } = {},
  ) => {
    const chosen = items.find(({ label }) => label === world.chosen);
    if (chosen) return Promise.resolve(chosen);
    return new Promise((resolve) => {
      const box = Object.assign(new Box(), { title: heading.title ?? "", placeholder: heading.placeHolder ?? "" });
      box.items = items.filter(({ kind }) => kind === undefined);
      box.onDidAccept(() => {
        resolve(box.selectedItems[0]);
        box.dispose();
      });
      box.onDidHide(() => resolve(undefined));
      box.show();
    });
  },
  createInputBox: () => new Box(),
  createStatusBarItem: (id: string) => new StatusBarItem(id),
  showTextDocument: ({ fsPath }: { fsPath: string }, options?: { selection: Range }) =>
    Promise.resolve(void (world.shown = { file: fsPath, line: (options?.selection.line ?? 0) + 1 })),
  createOutputChannel: () => ({
    trace: line,
    debug: line,
    info: line,
    warn: line,
    error: line,
    show: () => world.opened.push("log"),
    get logLevel(): number {
      return world.logLevel;
    },
    onDidChangeLogLevel: world.logLevelChanged.event,
    dispose: () => undefined,
  }),
  showErrorMessage: (message: string, ...rest: (string | object)[]) => {
    const buttons = rest.filter((one) => typeof one === "string");
    world.errors.push(message);
    world.buttons = buttons;
    return Promise.resolve(buttons.find((button) => world.choices.includes(button)) ?? world.chosen);
  },
  showInformationMessage: (message: string, ...rest: (string | { detail?: string })[]) => {
    const [first, ...others] = rest;
    const detail = typeof first === "object" ? first.detail : undefined;
    world.informed.push(detail === undefined ? message : `${message}\n${detail}`);
    const buttons = detail === undefined ? rest : others;
    const answer = buttons.find((button) => world.choices.includes(button as string));
    return Promise.resolve(answer ?? buttons.find((button) => button === world.chosen));
  },
  showWarningMessage: (message: string, { detail }: { detail: string }, ...buttons: string[]) => {
    world.questions.push(`${message}\n${detail}`);
    return Promise.resolve(buttons.find((button) => world.choices.includes(button)));
  },
  showInputBox: ({ validateInput, title, prompt, password }: InputBoxOptions) => {
    world.boxes.push(`${title}: ${prompt}${password ? " (hidden)" : ""}`);
    return Promise.resolve(validateInput?.(world.pasted ?? "") === undefined ? world.pasted : undefined);
  },
  withProgress: ({ title }: { title: string }, work: (progress: unknown, token: unknown) => unknown) => {
    world.titles.push(title);
    return work(undefined, world.progress.token);
  },
  registerUriHandler: ({ handleUri }: { handleUri: (typeof world)["openUri"] }) => {
    world.openUri = handleUri;
    return new double.Disposable();
  },
  state: { focused: true },
  showSaveDialog: (options: { filters: Record<string, string[]> }) => {
    world.saveDialog = options.filters;
    return Promise.resolve(world.saved === undefined ? undefined : Uri.file(world.saved));
  },
  showOpenDialog: () => Promise.resolve([Uri.file(world.settings["file to choose"] as string)]),
  setStatusBarMessage: () => undefined,
  onDidChangeWindowState: world.windowState.event,
};

export const workspace = {
  get textDocuments(): unknown[] {
    return world.documents;
  },
  asRelativePath: ({ path }: { path: string }) => path,
  onDidChangeTextDocument: world.documentChanged.event,
  onDidCloseTextDocument: new EventEmitter().event,
  fs: {
    writeFile: ({ fsPath }: { fsPath: string }, content: Uint8Array) =>
      Promise.resolve(void world.files.set(fsPath, Buffer.from(content).toString())),
    stat: ({ fsPath }: { fsPath: string }) =>
      world.files.has(fsPath) ? Promise.resolve({}) : Promise.reject(new Error(`no such file: ${fsPath}`)),
  },
  createFileSystemWatcher: ({ base, pattern }: RelativePattern) => {
    const file = `${base.fsPath}/${pattern}`;
    const watch = (changed: () => void): double.Disposable => {
      world.watched.set(file, changed);
      return new double.Disposable(() => world.watched.delete(file));
    };
    return { onDidChange: watch, onDidCreate: watch, onDidDelete: watch, dispose: () => undefined };
  },
  get workspaceFolders(): unknown {
    return world.folder === undefined ? undefined : [{ uri: { scheme: "file", fsPath: world.folder } }];
  },
  get isTrusted(): boolean {
    return world.isTrusted;
  },
  getConfiguration: () => ({
    get: (name: string, fallback: unknown) => world.settings[name] ?? fallback,
    inspect: (name: string) => ({
      globalLocalValue: world.localValues[name],
      globalValue: world.settings[name],
      defaultValue: world.defaults[name],
    }),
    update: (name: string, value: unknown, target: string) => {
      world.targets.push(target);
      set(name, value);
      return Promise.resolve();
    },
  }),
  onDidChangeConfiguration: world.configurationChanged.event,
  onDidGrantWorkspaceTrust: world.trustGranted.event,
  onDidChangeWorkspaceFolders: new EventEmitter().event,
};

const ADD_GROUP = "lm.addLanguageModelsProviderGroup";
export const commands = {
  registerCommand: (id: string, run: () => unknown) => {
    world.commands.set(id, run);
    return new double.Disposable();
  },
  getCommands: () => Promise.resolve([...world.commands.keys(), ...(world.canAddGroups ? [ADD_GROUP] : [])]),
  executeCommand: (id: string, argument?: unknown, value?: unknown) => {
    if (id === "setContext") return Promise.resolve(void world.contexts.set(argument as string, value));
    const { fsPath = argument } = (argument ?? {}) as { fsPath?: unknown };
    world.opened.push(typeof fsPath === "string" ? `${id} ${fsPath}` : id);
    if (id === ADD_GROUP) world.groups.push(argument);
    return Promise.resolve(world.commands.get(id)?.());
  },
};

export const extensions = {
  getExtension: (id: string) => (id === "GitHub.copilot-chat" ? world.chatExtension : world.pythonExtension),
  onDidChange: new EventEmitter().event,
};

export const UIKind = { Desktop: 1, Web: 2 };
export const env = {
  remoteName: undefined as string | undefined,
  uiKind: 1,
  openExternal: (page: string) => Promise.resolve(world.browsed.push(page)),
  clipboard: { writeText: (text: string) => Promise.resolve(void (world.clipboard = text)) },
};

export const l10n = {
  get bundle(): unknown {
    return world.translations;
  },
};

interface AskedProvider {
  provideLanguageModelChatInformation(options: unknown): Promise<unknown>;
}

export const lm = {
  selectChatModels: async () => {
    const provider = world.provider as AskedProvider;
    for (const configuration of [undefined, ...world.configured]) {
      const options = { silent: true, ...(configuration && { configuration }) };
      await provider.provideLanguageModelChatInformation(options).catch(() => []); // VS Code shows it beside the group.
    }
    return [];
  },
  onDidChangeChatModels: new EventEmitter().event,
  tools: [{ name: "list", description: "lists", inputSchema: { properties: { path: { enum: ["a", "b"] } } } }],
  registerLanguageModelChatProvider: (_vendor: string, provider: unknown) => {
    world.provider = provider;
    return new double.Disposable();
  },
};
