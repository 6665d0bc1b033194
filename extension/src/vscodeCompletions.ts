/**
 * Ghost text in the editor: asks the sidecar, which decides what is asked and what is shown, and shows what it says.
 *
 * VS Code calls at each key. The next key cancels the question at once, before VS Code does. The models are those of the
 * groups and of the settings; without a setting, the first one that only completes text. Nothing is asked unasked while
 * Copilot completes, while a person snoozes, and where no model is chosen.
 */
import * as l10n from "@vscode/l10n";
import * as vscode from "vscode";
import { isCancelled } from "./errors";
import type { ListView } from "./modelList";
import type {
  CompleteParams,
  CompleteResult,
  CompletionCounts,
  Group,
  LanguageModelChatInformation,
  OpenText,
} from "./protocol.generated";
import { VENDOR } from "./vscodeApi";
import { showItem } from "./vscodeStatus";

export interface CompletionsParts {
  readonly lists: () => readonly ListView[];
  readonly ask: (params: CompleteParams, token: vscode.CancellationToken) => Promise<CompleteResult>;
  /** Counts completions; says how many all windows have shown today, and how many were accepted. */
  readonly count: (counts: CompletionCounts) => Promise<CompletionCounts>;
  readonly log: (line: string) => void;
}

interface Chosen {
  readonly group: Group | null;
  readonly model: LanguageModelChatInformation;
}

const SECTION = "partstream";
const SETTINGS = "partstream.completions";
const SCHEMES = ["file", "untitled", "vscode-notebook-cell"];
const ACCEPTED = "partstream.completionAccepted";
/** Lines before and after the cursor that are sent at most; the sidecar cuts them by characters. */
const BEFORE = 400;
const AFTER = 120;
/** Other open texts, and the lines and characters of each. */
const MOST_OTHERS = 4;
const OTHER_LINES = 120;
const OTHER_CHARACTERS = 6000;
const SNOOZE = 5 * 60_000;
/** Milliseconds after which VS Code may be asked for the models again, where the chosen one is not there. */
const LOOK_AGAIN = 30_000;
const COPILOT = ["GitHub.copilot", "GitHub.copilot-chat"];

export class Completions implements vscode.InlineCompletionItemProvider, vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem("partstream.completions", vscode.StatusBarAlignment.Right, 99);
  readonly #disposables: readonly { dispose(): unknown }[];
  /** The moment and the line of the last edit, by the document. */
  readonly #edits = new Map<string, { readonly at: number; readonly line: number }>();
  #running: vscode.CancellationTokenSource | undefined;
  #snoozedUntil = 0;
  /** Of today, in all windows; undefined until they are known. */
  #counts: CompletionCounts | undefined;
  #counting: Promise<void> | undefined;
  #problem: string | undefined;
  #lookedAt = -LOOK_AGAIN;
  #isSignedIn: Promise<boolean> | undefined;

  constructor(private readonly parts: CompletionsParts) {
    this.#item.name = l10n.t("Partstream Completions");
    this.#item.command = "partstream.completions";
    const selector = SCHEMES.map((scheme) => ({ scheme }));
    this.#disposables = [
      this.#item,
      vscode.languages.registerInlineCompletionItemProvider(selector, this),
      vscode.commands.registerCommand("partstream.completions", () => this.#menu()),
      vscode.commands.registerCommand("partstream.chooseCompletionModel", () => this.#choose()),
      vscode.commands.registerCommand(ACCEPTED, () => this.#count({ shown: 0, accepted: 1 })),
      vscode.window.onDidChangeWindowState(({ focused }) => {
        if (focused && this.#counting) void this.#count();
      }),
      vscode.workspace.onDidChangeTextDocument((event) => this.#edited(event)),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#edits.delete(uri.toString())),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration(SETTINGS)) this.refresh();
      }),
      vscode.authentication.onDidChangeSessions(() => {
        this.#isSignedIn = undefined;
      }),
    ];
  }

  dispose(): void {
    this.#running?.cancel();
    for (const disposable of this.#disposables) disposable.dispose();
  }

  /** The models, or what is known of them, may have changed. */
  refresh(): void {
    const chosen = this.#chosen();
    showItem(this.#item, chosen && { text: this.#text(chosen.model.name), tooltip: this.#tooltip() });
    if (chosen) this.#counting ??= this.#count();
  }

  async provideInlineCompletionItems(
    document: vscode.TextDocument,
    position: vscode.Position,
    context: vscode.InlineCompletionContext,
    token: vscode.CancellationToken,
  ): Promise<vscode.InlineCompletionItem[] | undefined> {
    const isManual = context.triggerKind === vscode.InlineCompletionTriggerKind.Invoke;
    const chosen = this.#chosen() ?? (await this.#lookedFor(isManual));
    if (!chosen || token.isCancellationRequested || !(isManual || (await this.#isOn(document)))) return undefined;
    const text = await this.#asked(this.#params(chosen, document, position, isManual), token);
    return text === "" ? undefined : [itemOf(text, position)];
  }

  /** The text to show; the question before is cancelled. */
  async #asked(params: CompleteParams, token: vscode.CancellationToken): Promise<string> {
    this.#running?.cancel();
    const running = (this.#running = new vscode.CancellationTokenSource());
    const subscription = token.onCancellationRequested(() => running.cancel());
    try {
      const result = await this.parts.ask(params, running.token);
      this.#told(result);
      return result.text;
    } catch (error) {
      // A failure that the next key came after is one too: nothing is asked unasked for a while after it.
      if (!isCancelled(error)) this.#failed(error);
      return "";
    } finally {
      subscription.dispose();
      running.dispose();
      if (this.#running === running) this.#running = undefined;
    }
  }

  get #isSnoozed(): boolean {
    return Date.now() < this.#snoozedUntil;
  }

  async #isOn(document: vscode.TextDocument): Promise<boolean> {
    return !this.#isSnoozed && !(await this.#copilotCompletes(document));
  }

  #settings(document?: vscode.TextDocument): vscode.WorkspaceConfiguration {
    return vscode.workspace.getConfiguration(SECTION, document);
  }

  #params(
    { group, model }: Chosen,
    document: vscode.TextDocument,
    position: vscode.Position,
    isManual: boolean,
  ): CompleteParams {
    const settings = this.#settings(document);
    const end = new vscode.Position(position.line + AFTER, 0);
    return {
      group,
      model: model.id,
      path: vscode.workspace.asRelativePath(document.uri, true),
      language: document.languageId,
      prefix: document.getText(new vscode.Range(new vscode.Position(Math.max(position.line - BEFORE, 0), 0), position)),
      suffix: document.getText(new vscode.Range(position, end)),
      others: this.#others(document),
      languages: settings.get<Record<string, unknown>>("completions.languages", { "*": true }),
      exclude: settings.get<string[]>("completions.exclude", []),
      delay: settings.get<number>("completions.delay", 250),
      isManual,
    };
  }

  /** The other open texts, the one edited last first. */
  #others(current: vscode.TextDocument): OpenText[] {
    const at = ({ uri }: vscode.TextDocument): number => this.#edits.get(uri.toString())?.at ?? 0;
    return vscode.workspace.textDocuments
      .filter((one) => one !== current && SCHEMES.includes(one.uri.scheme))
      .sort((one, other) => at(other) - at(one))
      .slice(0, MOST_OTHERS)
      .map((one) => {
        const line = this.#edits.get(one.uri.toString())?.line ?? 0;
        const first = Math.max(line - OTHER_LINES / 2, 0);
        const text = one.getText(new vscode.Range(first, 0, first + OTHER_LINES, 0));
        return { path: vscode.workspace.asRelativePath(one.uri, true), text: text.slice(0, OTHER_CHARACTERS) };
      });
  }

  #edited({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    const [change] = contentChanges;
    if (!change || !SCHEMES.includes(document.uri.scheme)) return;
    this.#edits.set(document.uri.toString(), { at: Date.now(), line: change.range.start.line });
    this.#running?.cancel(); // The host cancels only when it asks again, some 35 milliseconds later.
  }

  // ---- The model ----

  get #models(): Chosen[] {
    return this.parts.lists().flatMap(({ group, models }) => models.map((model) => ({ group, model })));
  }

  /** The model of the setting, or the first one that only completes text; undefined where there is none. */
  #chosen(): Chosen | undefined {
    const wanted = this.#settings().get<string>("completions.model", "");
    if (wanted === "") return this.#models.find(({ model }) => model.extra.completesText === true);
    return this.#models.find((one) => nameOf(one) === wanted) ?? this.#models.find(({ model }) => model.id === wanted);
  }

  /** Has VS Code ask for the models, where nothing has asked for them in this window. */
  async #lookedFor(isManual: boolean): Promise<Chosen | undefined> {
    const now = Date.now();
    if (now - this.#lookedAt < LOOK_AGAIN && !isManual) return undefined;
    this.#lookedAt = now;
    await vscode.lm.selectChatModels({ vendor: VENDOR });
    this.refresh();
    return this.#chosen();
  }

  async #choose(): Promise<void> {
    await vscode.lm.selectChatModels({ vendor: VENDOR });
    const none = { label: l10n.t("None"), description: l10n.t("only models that complete text"), value: "" };
    const models = this.#models.map((one) => ({ label: one.model.name, description: nameOf(one), value: nameOf(one) }));
    const title = l10n.t("The Model for Completions in the Editor");
    const picked = await vscode.window.showQuickPick([...models, none], { title, matchOnDescription: true });
    if (!picked) return;
    await this.#settings().update("completions.model", picked.value, vscode.ConfigurationTarget.Global);
    this.#problem = undefined;
    this.refresh();
  }

  // ---- Copilot ----

  /** Whether Copilot's own completions are on here: two ghost texts at one place hide each other. */
  async #copilotCompletes(document: vscode.TextDocument): Promise<boolean> {
    if (this.#settings(document).get<boolean>("completions.besideCopilot", false)) return false;
    if (!COPILOT.some((id) => vscode.extensions.getExtension(id)?.isActive)) return false;
    const copilot = vscode.workspace.getConfiguration("github.copilot", document);
    const enabled = copilot.get<Partial<Record<string, boolean>>>("enable");
    if ((enabled?.[document.languageId] ?? enabled?.["*"]) !== true) return false;
    this.#isSignedIn ??= signedIn();
    return this.#isSignedIn;
  }

  // ---- The item of the status bar ----

  #text(name: string): string {
    if (this.#isSnoozed) return `$(bell-slash) ${name}`;
    return `${this.#problem === undefined ? "$(sparkle)" : "$(warning)"} ${name}`;
  }

  #tooltip(): string {
    const counts = this.#counts;
    const counted = counts && l10n.t`Completions today: ${counts.shown} shown, ${counts.accepted} accepted.`;
    const snoozed = this.#isSnoozed ? l10n.t("Completions are snoozed.") : undefined;
    return [counted, snoozed, this.#problem].filter((line) => line !== undefined).join("\n");
  }

  async #menu(): Promise<void> {
    const language = vscode.window.activeTextEditor?.document.languageId;
    const entries: [string, () => unknown][] = [
      this.#isSnoozed
        ? [l10n.t("Show Completions Again"), () => (this.#snoozedUntil = 0)]
        : [l10n.t("Snooze Completions for 5 Minutes"), () => this.#snooze()],
      [l10n.t("Choose Another Model…"), () => this.#choose()],
      [l10n.t("Settings"), () => vscode.commands.executeCommand("workbench.action.openSettings", SETTINGS)],
    ];
    if (language !== undefined) entries.push([l10n.t`Turn Off for ${language}`, () => this.#turnOff(language)]);
    const picked = await vscode.window.showQuickPick(
      entries.map(([label, run]) => ({ label, run })),
      { title: this.#tooltip() },
    );
    await picked?.run();
    this.refresh();
  }

  #snooze(): void {
    this.#snoozedUntil = Date.now() + SNOOZE;
    setTimeout(() => this.refresh(), SNOOZE + 1).unref();
  }

  async #turnOff(language: string): Promise<void> {
    const before = this.#settings().get<Record<string, unknown>>("completions.languages", { "*": true });
    await this.#settings().update(
      "completions.languages",
      { ...before, [language]: false },
      vscode.ConfigurationTarget.Global,
    );
  }

  #told({ isNew, off }: CompleteResult): void {
    if (isNew) void this.#count({ shown: 1, accepted: 0 });
    if (off !== "failure") this.#problem = undefined;
    this.refresh();
  }

  #failed(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.parts.log(`a completion failed: ${message}`);
    this.#problem = message;
    this.refresh();
  }

  async #count(more: CompletionCounts = { shown: 0, accepted: 0 }): Promise<void> {
    try {
      this.#counts = await this.parts.count(more);
      this.refresh();
    } catch (error) {
      this.parts.log(`completions were not counted: ${String(error)}`);
    }
  }
}

function itemOf(text: string, position: vscode.Position): vscode.InlineCompletionItem {
  const item = new vscode.InlineCompletionItem(text, new vscode.Range(position, position));
  item.command = { command: ACCEPTED, title: ACCEPTED };
  return item;
}

/** What the setting calls a model: the name of its group, if that is known, and its id. */
function nameOf({ group, model }: Chosen): string {
  return group?.name === undefined ? model.id : `${group.name}/${model.id}`;
}

/** Whether a person is signed in to GitHub; shows no question. */
async function signedIn(): Promise<boolean> {
  try {
    return (await vscode.authentication.getAccounts("github")).length > 0;
  } catch {
    return false; // There is no such provider here.
  }
}
