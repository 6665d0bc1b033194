/**
 * Calls VS Code: the functions that other modules need, without logic of their own. Only the other files `vscode*.ts`
 * and `application.ts` do too.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as l10n from "@vscode/l10n";
import * as vscode from "vscode";
import type { PartClasses } from "./conversion";
import type { LogLevel } from "./protocol.generated";
import type { LocalValue, Network, Settings } from "./settings";

/** Milliseconds that the Python extension has to name the active interpreter. */
const PYTHON_EXTENSION_LIMIT = 5000;
const SECTION = "partstream";
export const VENDOR = "partstream";
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

/** Tells whether the window has the focus: at once, and whenever that changes. */
export function followFocus(tell: (isFocused: boolean) => void): vscode.Disposable {
  tell(vscode.window.state.focused);
  return vscode.window.onDidChangeWindowState(({ focused }) => tell(focused));
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

/**
 * The Python extension's interpreter; undefined in an untrusted folder, which may contain that interpreter, and, with a
 * line in the log, where that extension fails.
 */
export async function activeInterpreter(log: (line: string) => void): Promise<string | undefined> {
  if (!vscode.workspace.isTrusted) return undefined;
  const tooLate = new Promise<undefined>((resolve) => setTimeout(resolve, PYTHON_EXTENSION_LIMIT, undefined));
  const found = async (): Promise<string | undefined> => {
    const environments = (await pythonExtension())?.environments;
    const active = environments?.getActiveEnvironmentPath();
    return active && (await environments?.resolveEnvironment(active))?.executable.uri?.fsPath;
  };
  try {
    return await Promise.race([found(), tooLate]);
  } catch (error) {
    log(`the Python extension does not name its interpreter: ${String(error)}`);
    return undefined;
  }
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

/** VS Code's own levels by number; nothing is shown at the first, `Off`, whatever is written. */
const LEVELS: readonly LogLevel[] = ["error", "trace", "debug", "info", "warning", "error"];

/** Tells which messages a channel shows: at once, and whenever the person chooses another level. */
export function followLogLevel(channel: vscode.LogOutputChannel, tell: (level: LogLevel) => void): vscode.Disposable {
  const follow = (level: vscode.LogLevel): void => tell(LEVELS[level] ?? "error");
  follow(channel.logLevel);
  return channel.onDidChangeLogLevel(follow);
}
