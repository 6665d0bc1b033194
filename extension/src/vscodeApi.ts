/**
 * Calls VS Code: the functions that other modules need, without logic of their own. Only the other files `vscode*.ts`
 * do too.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as l10n from "@vscode/l10n";
import * as vscode from "vscode";
import type { PartClasses } from "./conversion";
import type { HostFacts } from "./debugInformation";
import type { LanguageModelErrorClass, Remedy } from "./errors";
import type { LogLevel } from "./protocol.generated";
import type { LocalValue, Network, Settings } from "./settings";

/** Milliseconds that the Python extension has to name the active interpreter. */
const PYTHON_EXTENSION_LIMIT = 5000;
const SECTION = "partstream";
export const VENDOR = "partstream";
interface NotificationButton {
  readonly label: () => string;
  readonly command: string;
}
const SHOW_LOG: NotificationButton = { label: () => l10n.t("Show Log"), command: "partstream.showLog" };
const BUTTONS: Readonly<Record<Remedy | "none", readonly NotificationButton[]>> = {
  "choose Python": [{ label: () => l10n.t("Choose Python"), command: "partstream.choosePython" }, SHOW_LOG],
  reload: [{ label: () => l10n.t("Reload Window"), command: "workbench.action.reloadWindow" }, SHOW_LOG],
  // Where no Python runs that could write a report.
  report: [
    { label: () => l10n.t("Copy Debug Information"), command: "partstream.copyDebugInformation" },
    { label: () => l10n.t("Choose Python"), command: "partstream.choosePython" },
    SHOW_LOG,
  ],
  none: [SHOW_LOG],
};

export const vscodeVersion = vscode.version;
export const LanguageModelError: LanguageModelErrorClass = vscode.LanguageModelError;

/** All keys and texts in the tools' descriptions: Copilot has every one of them counted. */
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

export function registerProvider(provider: vscode.LanguageModelChatProvider): vscode.Disposable {
  return vscode.lm.registerLanguageModelChatProvider(VENDOR, provider);
}

/** Tells whether the window has the focus: at once, and whenever that changes. */
export function followFocus(tell: (isFocused: boolean) => void): vscode.Disposable {
  tell(vscode.window.state.focused);
  return vscode.window.onDidChangeWindowState(({ focused }) => tell(focused));
}

/** Calls `opened` with each link to the extension. */
export function onLink(opened: (uri: vscode.Uri) => Promise<void>): vscode.Disposable {
  return vscode.window.registerUriHandler({ handleUri: opened });
}

export function registerCommands(
  commands: Readonly<Record<string, (source?: vscode.SourceControl) => unknown>>,
): vscode.Disposable[] {
  return Object.entries(commands).map(([id, run]) => vscode.commands.registerCommand(id, run));
}

/** Facts about this VS Code, for debugging. */
export function facts(): Omit<HostFacts, "extensionVersion"> {
  return {
    vscodeVersion: vscode.version,
    // eslint-disable-next-line partstream/localisable -- debug information
    platform: `${process.platform} ${process.arch}, Node ${process.version}`,
    remoteName: vscode.env.remoteName,
    isTrusted: vscode.workspace.isTrusted,
    settings: readSettings(),
  };
}

/** The used parts of the Python extension's exported API, https://github.com/microsoft/vscode-python/wiki/Python-Environment-APIs. */
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
  return {
    text: vscode.LanguageModelTextPart,
    data: vscode.LanguageModelDataPart,
    toolCall: vscode.LanguageModelToolCallPart,
    toolResult: vscode.LanguageModelToolResultPart,
    promptTsx: vscode.LanguageModelPromptTsxPart,
    // Every host that our manifest admits exports the class to everyone, although its type is a proposal.
    thinking: (vscode as unknown as { LanguageModelThinkingPart: PartClasses["thinking"] }).LanguageModelThinkingPart,
  };
}

export function readSettings(): Settings {
  const settings = vscode.workspace.getConfiguration(SECTION);
  return {
    python: settings.get<unknown>("python", ""),
    providers: settings.get<unknown>("providers", []),
    usageInStatusBar: settings.get("usageInStatusBar", true),
  };
}

interface Inspected {
  readonly globalLocalValue?: unknown;
  readonly workspaceValue?: unknown;
  readonly workspaceFolderValue?: unknown;
}

/** The settings that a remote window takes from its own settings and from the folder's, and not from the User's. */
export function readLocalValues(): LocalValue[] {
  const settings = vscode.workspace.getConfiguration(SECTION);
  return ["python", "providers"].map((name) => {
    // VS Code tells the value of the person's own machine apart, although the types do not.
    const found = settings.inspect(name) as Inspected | undefined;
    // Where the folder says something, the User's value is overridden in every window, and nothing is ignored.
    const isOfFolder = found?.workspaceValue !== undefined || found?.workspaceFolderValue !== undefined;
    return {
      name: `${SECTION}.${name}`,
      local: isOfFolder ? undefined : found?.globalLocalValue,
      inForce: settings.get(name),
    };
  });
}

export const remoteName = (): string | undefined => vscode.env.remoteName;

/** VS Code's file of groups, which lies beside the folder for what extensions store. */
export async function readGroups(globalStorage: vscode.Uri): Promise<string> {
  return readFile(join(globalStorage.fsPath, "..", "..", "chatLanguageModels.json"), "utf8");
}

/** VS Code's own network settings. */
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

/** The Python extension's interpreter; undefined in an untrusted folder, which may contain that interpreter. */
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

/** Calls `listener` once the person trusts the folder: at once where they do already. */
export function onceTrusted(listener: () => void): vscode.Disposable {
  if (vscode.workspace.isTrusted) listener();
  return vscode.workspace.onDidGrantWorkspaceTrust(listener);
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
    // A person who has installed a Python comes back to this window.
    vscode.window.onDidChangeWindowState(({ focused }) => {
      if (focused && isWaiting()) listener();
    }),
  ];
  const followPythonExtension = async (): Promise<void> => {
    const extension = await pythonExtension();
    if (extension) disposables.push(extension.environments.onDidChangeActiveEnvironmentPath(listener));
  };
  followPythonExtension().catch(() => undefined); // Without that extension, it has no interpreter to follow.
  return new vscode.Disposable(() => {
    for (const disposable of disposables) disposable.dispose();
  });
}

/** Lets the person choose a Python, and puts it into the setting. */
export async function choosePython(): Promise<void> {
  const [file] =
    (await vscode.window.showOpenDialog({ title: l10n.t("Python 3.11 or newer"), openLabel: l10n.t("Use") })) ?? [];
  if (!file) return;
  await vscode.workspace.getConfiguration(SECTION).update("python", file.fsPath, vscode.ConfigurationTarget.Global);
}

/** Shows a notification with buttons for the remedy, if there is one, and for the log. */
export async function notify(message: string, remedy: Remedy | undefined): Promise<void> {
  const commands = new Map(BUTTONS[remedy ?? "none"].map(({ label, command }) => [label(), command]));
  const command = commands.get((await vscode.window.showErrorMessage(message, ...commands.keys())) ?? "");
  if (command !== undefined) await vscode.commands.executeCommand(command);
}

/** Tells VS Code whether a Python runs, for the first step of the walkthrough; neither is so before one was looked for. */
export function setReady(isReady: boolean): void {
  void vscode.commands.executeCommand("setContext", "partstream.ready", isReady);
  void vscode.commands.executeCommand("setContext", "partstream.noPython", !isReady);
}

/** Shows a notification that asks for nothing. */
export function inform(message: string): void {
  void vscode.window.showInformationMessage(message);
}

export async function copy(text: string): Promise<void> {
  await vscode.env.clipboard.writeText(text);
  vscode.window.setStatusBarMessage(l10n.t("Partstream: debug information copied"), 5000);
}

/** Opens VS Code's own editor of models and groups. */
export async function manageModels(): Promise<void> {
  await vscode.commands.executeCommand("workbench.action.chat.manage");
}

/** Opens VS Code's own file of groups. */
export async function editGroups(): Promise<void> {
  await vscode.commands.executeCommand("workbench.action.openLanguageModelsJson");
}

/** The commands that need nothing but VS Code. */
export const COMMANDS: Readonly<Record<string, () => unknown>> = {
  "partstream.manageModels": manageModels,
  "partstream.editGroups": editGroups,
  "partstream.choosePython": choosePython,
};

const WRITE: Record<LogLevel, (channel: vscode.LogOutputChannel, line: string) => void> = {
  trace: (channel, line) => channel.trace(line),
  debug: (channel, line) => channel.debug(line),
  info: (channel, line) => channel.info(line),
  warning: (channel, line) => channel.warn(line),
  error: (channel, line) => channel.error(line),
};

/** VS Code's own levels by number; nothing is shown at `Off`, whatever is written. */
const LEVELS: Readonly<Record<vscode.LogLevel, LogLevel>> = {
  [vscode.LogLevel.Off]: "error",
  [vscode.LogLevel.Trace]: "trace",
  [vscode.LogLevel.Debug]: "debug",
  [vscode.LogLevel.Info]: "info",
  [vscode.LogLevel.Warning]: "warning",
  [vscode.LogLevel.Error]: "error",
};

/** Tells which messages a channel shows: at once, and whenever the person chooses another level. */
export function followLogLevel(channel: vscode.LogOutputChannel, tell: (level: LogLevel) => void): vscode.Disposable {
  const follow = (level: vscode.LogLevel): void => tell(LEVELS[level]);
  follow(channel.logLevel);
  return channel.onDidChangeLogLevel(follow);
}

export function writeLog(channel: vscode.LogOutputChannel, level: LogLevel, line: string): void {
  WRITE[level](channel, line);
}
