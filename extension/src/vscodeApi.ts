/** The one door to VS Code: what the other modules need of it, and nothing that they could do themselves. */
import * as vscode from "vscode";
import type { HostThinkingPart, PartClasses } from "./conversion";
import type { HostFacts } from "./debugInformation";
import type { LanguageModelErrorClass } from "./errors";
import type { LogLevel } from "./protocol.generated";
import type { Network, Settings } from "./settings";
import type { UsageView } from "./usageItem";

/** Milliseconds that the Python extension has to say which interpreter is active. */
const PYTHON_EXTENSION_LIMIT = 5000;
const SECTION = "partstream";
const VENDOR = "partstream";
const PAGE_SCHEME = "partstream-page";
/** The backgrounds that an item of the status bar may have. */
const BACKGROUNDS: Readonly<Record<UsageView["fullness"], string | undefined>> = {
  normal: undefined,
  warning: "statusBarItem.warningBackground",
  error: "statusBarItem.errorBackground",
};
const BUTTONS: Readonly<Record<string, string>> = {
  "Choose Python": "partstream.choosePython",
  "Show Log": "partstream.showLog",
};

export const vscodeVersion = vscode.version;
export const LanguageModelError: LanguageModelErrorClass = vscode.LanguageModelError;

/** Every key and every text of the tools' descriptions: Copilot has them all counted, one by one. */
export function toolTexts(): Set<string> {
  const texts = new Set<string>();
  const collect = (value: unknown): void => {
    if (typeof value === "string") texts.add(value);
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if (!Array.isArray(value)) texts.add(key);
      collect(inner);
    }
  };
  for (const { name, description, inputSchema } of vscode.lm.tools) collect({ name, description, inputSchema });
  return texts;
}

export function createLogChannel(): vscode.LogOutputChannel {
  return vscode.window.createOutputChannel("Partstream", { log: true });
}

export function createEventEmitter(): vscode.EventEmitter<void> {
  return new vscode.EventEmitter<void>();
}

/** An item that runs a command when it is clicked; it is hidden until something is shown in it. */
export function createStatusItem(command: string): vscode.StatusBarItem {
  const item = vscode.window.createStatusBarItem("partstream.usage", vscode.StatusBarAlignment.Right, 100);
  item.name = "Partstream Token Usage";
  item.command = command;
  return item;
}

export function showStatus(item: vscode.StatusBarItem, view: UsageView | undefined): void {
  if (!view) {
    item.hide();
    return;
  }
  const background = BACKGROUNDS[view.fullness];
  item.text = view.text;
  item.tooltip = new vscode.MarkdownString(view.tooltip);
  item.backgroundColor = background === undefined ? undefined : new vscode.ThemeColor(background);
  item.show();
}

/** Read-only pages in Markdown, shown as an editor; the last content under a title stands until the next. */
export class Pages {
  readonly #contents = new Map<string, string>();
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly #registration = vscode.workspace.registerTextDocumentContentProvider(PAGE_SCHEME, {
    onDidChange: this.#changed.event,
    provideTextDocumentContent: ({ path }) => this.#contents.get(path) ?? "",
  });

  async show(title: string, content: string): Promise<void> {
    const uri = vscode.Uri.from({ scheme: PAGE_SCHEME, path: `/${title}.md` });
    this.#contents.set(uri.path, content);
    this.#changed.fire(uri);
    // The preview is an extension of VS Code's own, which a person can switch off.
    const preview = vscode.commands.executeCommand("markdown.showPreview", uri);
    await preview.then(undefined, () => vscode.window.showTextDocument(uri));
  }

  dispose(): void {
    this.#registration.dispose();
    this.#changed.dispose();
  }
}

export function registerProvider(provider: vscode.LanguageModelChatProvider): vscode.Disposable {
  return vscode.lm.registerLanguageModelChatProvider(VENDOR, provider);
}

export function registerCommands(commands: Readonly<Record<string, () => unknown>>): vscode.Disposable[] {
  return Object.entries(commands).map(([id, run]) => vscode.commands.registerCommand(id, run));
}

/** What this VS Code is, for debugging. */
export function facts(): HostFacts {
  return {
    vscodeVersion: vscode.version,
    platform: `${process.platform} ${process.arch}, Node ${process.version}`,
    remoteName: vscode.env.remoteName,
    isTrusted: vscode.workspace.isTrusted,
    hasThinkingPart: partClasses().thinking !== undefined,
    settings: readSettings(),
  };
}

/** What is used of the Python extension's exported API, https://github.com/microsoft/vscode-python/wiki/Python-Environment-APIs. */
interface PythonExtension {
  readonly environments: {
    getActiveEnvironmentPath(): { readonly path: string };
    resolveEnvironment(environment: { readonly path: string }): Promise<ResolvedEnvironment | undefined>;
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}
interface ResolvedEnvironment {
  readonly executable: { readonly uri?: vscode.Uri };
}

export function partClasses(): PartClasses {
  // Exported by the host for everyone, although the types are a proposal.
  const { LanguageModelThinkingPart } = vscode as { LanguageModelThinkingPart?: unknown };
  return {
    text: vscode.LanguageModelTextPart,
    data: vscode.LanguageModelDataPart,
    toolCall: vscode.LanguageModelToolCallPart,
    toolResult: vscode.LanguageModelToolResultPart,
    thinking:
      typeof LanguageModelThinkingPart === "function"
        ? (LanguageModelThinkingPart as new (value: string, id?: string) => HostThinkingPart)
        : undefined,
  };
}

export function readSettings(): Settings {
  const settings = vscode.workspace.getConfiguration(SECTION);
  return {
    python: settings.get("python", ""),
    providers: settings.get("providers", []),
    thinkingWithoutSupport: settings.get("thinkingWithoutSupport", "off"),
    usageInStatusBar: settings.get("usageInStatusBar", true),
  };
}

/** VS Code's own settings of the network. */
export function readNetwork(): Network {
  const settings = vscode.workspace.getConfiguration("http");
  return {
    proxy: settings.get<string>("proxy"),
    proxyStrictSSL: settings.get<boolean>("proxyStrictSSL"),
    proxySupport: settings.get<string>("proxySupport"),
  };
}

/** The first workspace folder, if it is on this machine and the person trusts it. */
export function trustedFolder(): string | undefined {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  return vscode.workspace.isTrusted && folder?.scheme === "file" ? folder.fsPath : undefined;
}

/** The Python extension's interpreter; none in a folder that is not trusted, because it may lie in that folder. */
export async function activeInterpreter(): Promise<string | undefined> {
  if (!vscode.workspace.isTrusted) return undefined;
  const tooLate = new Promise<undefined>((resolve) => setTimeout(resolve, PYTHON_EXTENSION_LIMIT, undefined));
  const found = async (): Promise<string | undefined> => {
    const environments = (await pythonExtension())?.environments;
    const active = environments?.getActiveEnvironmentPath();
    return active && (await environments?.resolveEnvironment(active))?.executable.uri?.fsPath;
  };
  return Promise.race([found(), tooLate]);
}

async function pythonExtension(): Promise<PythonExtension | undefined> {
  return vscode.extensions.getExtension<PythonExtension>("ms-python.python")?.activate();
}

/** Calls `listener` whenever the choice of Python or of providers may have changed. */
export function onDidChangeEnvironment(listener: () => void, isWaiting: () => boolean): vscode.Disposable {
  const disposables = [
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration(SECTION) || event.affectsConfiguration("http")) listener();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(listener),
    vscode.workspace.onDidChangeWorkspaceFolders(listener),
    vscode.extensions.onDidChange(listener),
    // Whoever installs a Python comes back to this window.
    vscode.window.onDidChangeWindowState(({ focused }) => {
      if (focused && isWaiting()) listener();
    }),
  ];
  const followPythonExtension = async (): Promise<void> => {
    const extension = await pythonExtension();
    if (extension) disposables.push(extension.environments.onDidChangeActiveEnvironmentPath(listener));
  };
  followPythonExtension().catch(() => undefined); // Without it, its interpreter is not looked at either.
  return new vscode.Disposable(() => {
    for (const disposable of disposables) disposable.dispose();
  });
}

/** Lets the person choose a Python, which becomes the setting. */
export async function choosePython(): Promise<void> {
  const [file] = (await vscode.window.showOpenDialog({ title: "Python 3.11 or newer", openLabel: "Use" })) ?? [];
  if (!file) return;
  await vscode.workspace.getConfiguration(SECTION).update("python", file.fsPath, vscode.ConfigurationTarget.Global);
}

/** One notification, with a button for what helps and one for the details. */
export async function notify(message: string): Promise<void> {
  const chosen = await vscode.window.showErrorMessage(message, ...Object.keys(BUTTONS));
  const command = chosen && BUTTONS[chosen];
  if (command) await vscode.commands.executeCommand(command);
}

export async function copy(text: string): Promise<void> {
  await vscode.env.clipboard.writeText(text);
  vscode.window.setStatusBarMessage("Partstream: debug information copied", 5000);
}

/** Opens VS Code's own editor of models and groups. */
export async function manageModels(): Promise<void> {
  await vscode.commands.executeCommand("workbench.action.chat.manage");
}

const WRITE: Record<LogLevel, (channel: vscode.LogOutputChannel, line: string) => void> = {
  trace: (channel, line) => channel.trace(line),
  debug: (channel, line) => channel.debug(line),
  info: (channel, line) => channel.info(line),
  warning: (channel, line) => channel.warn(line),
  error: (channel, line) => channel.error(line),
};

export function writeLog(channel: vscode.LogOutputChannel, level: LogLevel, line: string): void {
  WRITE[level](channel, line);
}
