/** As much of the module `vscode` as the application touches; tests look at `world` and change it. */
import { BACK, Box } from "./vscodeBoxes";
import * as double from "./vscodeDouble";

type Listener<T> = (event: T) => void;

export class EventEmitter<T> {
  readonly #listeners = new Set<Listener<T>>();
  readonly event = (listener: Listener<T>): double.Disposable => {
    this.#listeners.add(listener);
    return new double.Disposable(() => this.#listeners.delete(listener));
  };
  fire(event: T): void {
    for (const listener of this.#listeners) listener(event);
  }
  dispose(): void {
    this.#listeners.clear();
  }
}

/** A page in the window; a test covers it, closes it, and sends messages as its script would. */
export class Panel {
  readonly #disposed = new EventEmitter<undefined>();
  readonly #viewState = new EventEmitter<undefined>();
  readonly #received = new EventEmitter<unknown>();
  visible = true;
  /** What was posted to the page. */
  readonly posted: unknown[] = [];
  readonly webview = {
    html: "",
    options: undefined as unknown,
    cspSource: "'self' https://*.vscode-cdn.net",
    onDidReceiveMessage: this.#received.event,
    postMessage: (message: unknown) => Promise.resolve(this.posted.push(message) > 0),
  };
  readonly onDidDispose = this.#disposed.event;
  readonly onDidChangeViewState = this.#viewState.event;
  constructor(readonly viewType: string) {}
  reveal(): void {
    this.see(true);
  }
  dispose(): void {
    if (world.panels.get(this.viewType) === this) world.panels.delete(this.viewType);
    this.#disposed.fire(undefined);
  }
  see(isVisible: boolean): void {
    if (this.visible === isVisible) return;
    this.visible = isVisible;
    this.#viewState.fire(undefined);
  }
  send(message: unknown): void {
    this.#received.fire(message);
  }
}

interface Serializer {
  deserializeWebviewPanel: (panel: Panel) => Promise<void>;
}

/** What the window is like. */
export const world = {
  settings: {} as Record<string, unknown>,
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
  provider: undefined as unknown,
  /** Whether VS Code has the command that adds groups. */
  canAddGroups: true,
  /** What that command was given. */
  groups: [] as unknown[],
  pythonExtension: undefined as unknown,
  configurationChanged: new EventEmitter<{ affectsConfiguration: () => boolean }>(),
  trustGranted: new EventEmitter<undefined>(),
  windowState: new EventEmitter<{ focused: boolean }>(),
  /** The level that the person chose for the output channel. */
  logLevel: 3,
  logLevelChanged: new EventEmitter<number>(),
  /** What the status bar shows of ours, its text and the name of its background; undefined while it is hidden. */
  status: undefined as { text: string; background: string | undefined } | undefined,
  /** What the status bar shows of an answer that does not begin; undefined while it is hidden. */
  waiting: undefined as string | undefined,
  /** The problems of all files. */
  problems: [] as { file: string; line: number; message: string }[],
  /** The watched files, with what tells of a change. */
  watched: new Map<string, () => void>(),
  /** The file and the line that were opened last. */
  shown: undefined as { file: string; line: number } | undefined,
  /** What the User settings of the person's own machine hold, by the names of settings. */
  localValues: {} as Record<string, unknown>,
  /** The pages that are open, by their kinds. */
  panels: new Map<string, Panel>(),
  /** What opens pages again after a reload of the window, by their kinds. */
  serializers: new Map<string, Serializer>(),
};

/** Changes a setting as the person would. */
export function set(name: string, value: unknown): void {
  world.settings[name] = value;
  world.configurationChanged.fire({ affectsConfiguration: () => true });
}

export const version = "1.127.0";
export const ConfigurationTarget = { Global: 1 };
export { Disposable, LanguageModelError } from "./vscodeDouble";
export {
  DataPart as LanguageModelDataPart,
  TextPart as LanguageModelTextPart,
  ThinkingPart as LanguageModelThinkingPart,
  ToolCallPart as LanguageModelToolCallPart,
  ToolResultPart as LanguageModelToolResultPart,
} from "./vscodeDouble";

const line = (text: string): void => void world.lines.push(text);

class StatusBarItem {
  text = "";
  backgroundColor: ThemeColor | undefined;
  constructor(private readonly id: string) {}
  show(): void {
    if (this.id === "partstream.waiting") world.waiting = this.text;
    else world.status = { text: this.text, background: this.backgroundColor?.id };
  }
  hide(): void {
    if (this.id === "partstream.waiting") world.waiting = undefined;
    else world.status = undefined;
  }
  dispose(): void {
    this.hide();
  }
}

export const LogLevel = { Off: 0, Trace: 1, Debug: 2, Info: 3, Warning: 4, Error: 5 };
export const StatusBarAlignment = { Right: 2 };
export class ThemeColor {
  constructor(readonly id: string) {}
}
export class MarkdownString {
  constructor(readonly value: string) {}
}
export const Uri = {
  from: (parts: { scheme: string; path: string }) => parts,
  file: (fsPath: string) => ({ fsPath }),
};
export class Position {
  constructor(readonly line: number) {}
}
export class Range {
  readonly line: number;
  constructor(start: number | Position) {
    this.line = typeof start === "number" ? start : start.line;
  }
}
export const DiagnosticSeverity = { Error: 0 };
export class Diagnostic {
  constructor(
    readonly range: Range,
    readonly message: string,
  ) {}
}
export class RelativePattern {
  constructor(
    readonly base: { fsPath: string },
    readonly pattern: string,
  ) {}
}
export const languages = {
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
export const QuickPickItemKind = { Separator: -1 };
export class ThemeIcon {
  constructor(readonly id: string) {}
}

export const ViewColumn = { Active: -1 };
export const window = {
  createWebviewPanel: (viewType: string) => {
    const panel = new Panel(viewType);
    world.panels.set(viewType, panel);
    return panel;
  },
  registerWebviewPanelSerializer: (viewType: string, serializer: Serializer) => {
    world.serializers.set(viewType, serializer);
    return new double.Disposable(() => world.serializers.delete(viewType));
  },
  createQuickPick: () => new Box(),
  createInputBox: () => new Box(),
  createStatusBarItem: (id: string) => new StatusBarItem(id),
  showTextDocument: ({ fsPath }: { fsPath: string }, { selection }: { selection: Range }) =>
    Promise.resolve(void (world.shown = { file: fsPath, line: selection.line + 1 })),
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
  showErrorMessage: (message: string, ...buttons: string[]) => {
    world.errors.push(message);
    world.buttons = buttons;
    return Promise.resolve(world.chosen);
  },
  showInformationMessage: (message: string, ...buttons: string[]) => {
    world.informed.push(message);
    return Promise.resolve(buttons.find((button) => button === world.chosen));
  },
  showOpenDialog: () => Promise.resolve([{ fsPath: world.settings["file to choose"] }]),
  setStatusBarMessage: () => undefined,
  onDidChangeWindowState: world.windowState.event,
};

export const workspace = {
  createFileSystemWatcher: ({ base, pattern }: RelativePattern) => {
    const file = `${base.fsPath}/${pattern}`;
    const watch = (changed: () => void): double.Disposable => {
      world.watched.set(file, changed);
      return new double.Disposable(() => world.watched.delete(file));
    };
    return { onDidChange: watch, onDidCreate: watch, onDidDelete: watch, dispose: () => undefined };
  },
  workspaceFolders: undefined,
  get isTrusted(): boolean {
    return world.isTrusted;
  },
  getConfiguration: () => ({
    get: (name: string, fallback: unknown) => world.settings[name] ?? fallback,
    inspect: (name: string) => ({ globalLocalValue: world.localValues[name] }),
    update: (name: string, value: unknown) => {
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
  executeCommand: (id: string, argument?: unknown) => {
    world.opened.push(id);
    if (id === ADD_GROUP) world.groups.push(argument);
    return Promise.resolve(world.commands.get(id)?.());
  },
};

export const extensions = {
  getExtension: () => world.pythonExtension,
  onDidChange: new EventEmitter().event,
};

export const env = {
  remoteName: undefined as string | undefined,
  clipboard: { writeText: (text: string) => Promise.resolve(void (world.clipboard = text)) },
};

export const lm = {
  tools: [{ name: "list", description: "lists", inputSchema: { properties: { path: { enum: ["a", "b"] } } } }],
  registerLanguageModelChatProvider: (_vendor: string, provider: unknown) => {
    world.provider = provider;
    return new double.Disposable();
  },
};
