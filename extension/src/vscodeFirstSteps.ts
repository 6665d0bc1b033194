/**
 * What leads a new person to a first answer, before and beside the dialogs in Python.
 *
 * The first window without models says so, once. VS Code's chat asks who is signed out for a GitHub account, although
 * the models here need none: who is asked, and has not answered us yet, is offered the way without one when models are
 * listed that nothing else has announced.
 */
import * as l10n from "@vscode/l10n";
import * as vscode from "vscode";
import type { WindowFacts } from "./protocol.generated";
import { StoredLists } from "./modelList";
import { onceTrusted, readSettings } from "./vscodeApi";
import type { Dialogs } from "./vscodeDialogs";

/** The keys under which it is remembered that the first start was noticed, and that the person has answered. */
const NOTICED = "noModelsNoticed";
const ANSWERED = "accountAnswered";
/** The key under which a dialog keeps what it wrote for a chat without an account. */
const WRITTEN = "offer.account";
/** VS Code reads it, and lets extensions write it only because our manifest has it too. */
const ANONYMOUS = "chat.allowAnonymousAccess";
const AI_IS_OFF = "chat.disableAIFeatures";
/** By this VS Code and its chat extension know that a chat needs no account. VS Code sets it for groups, not for files. */
const HAS_OWN_MODELS = "github.copilot.hasByokModels";
/** VS Code's own set-up of the chat without signing in. No document knows it: it may be gone one day. */
const SET_UP = "workbench.action.chat.triggerSetupAnonymousWithoutDialog";
/** VS Code's chat extension, which it disables in a new profile until the chat is set up. */
const CHAT = "GitHub.copilot-chat";
/** Milliseconds that this extension has to start. */
const CHAT_LIMIT = 30_000;
const PROVIDERS = ["github", "github-enterprise"];

export interface FirstStepsParts {
  readonly memory: vscode.Memento;
  readonly dialogs: Pick<Dialogs, "run" | "groups">;
  /** Has VS Code ask for the models. */
  readonly askForModels: () => void;
  readonly failed: (error: unknown) => void;
}

export class FirstSteps {
  /** Whether this window has seen no models. */
  #isExpecting = false;
  #hasModels = false;
  readonly disposables: readonly vscode.Disposable[];

  constructor(private readonly parts: FirstStepsParts) {
    this.refresh();
    this.disposables = [
      vscode.authentication.onDidChangeSessions(this.refresh),
      vscode.extensions.onDidChange(this.refresh),
      vscode.lm.onDidChangeChatModels(() => this.#vouch()),
      onceTrusted(() => void this.#begin().catch(parts.failed)),
    ];
  }

  /** Tells VS Code whether the walkthrough has a step for the account, and whether that step is done. */
  readonly refresh = (): void => {
    void this.#isWalled().then((isWalled) => {
      if (isWalled) setContext("partstream.asksForAccount", true); // Stays, so that the step gets its mark.
      setContext("partstream.chatIsOn", isChatOn());
      const written = this.parts.memory.get<object>(WRITTEN);
      setContext("partstream.withoutAccount", Object.keys(written ?? {}).length > 0);
    }, this.parts.failed);
  };

  /** Announces the models that are listed from now on; `areThere` says whether some are known already. */
  expectModels(areThere: boolean): void {
    this.#isExpecting = true;
    this.#hasModels ||= areThere;
    this.#vouch();
  }

  /** Runs a dialog that tells of its models itself. */
  runWithModels(dialog: string): Promise<void> {
    this.#isExpecting = false;
    return this.parts.dialogs.run(dialog);
  }

  /** Models were listed. */
  async listed(): Promise<void> {
    this.#hasModels = true;
    if (!this.#isExpecting) return;
    this.#isExpecting = false;
    if (await this.#isNeeded()) await this.parts.dialogs.run("offerAccount");
  }

  /** The number of groups is known: says once, and never again, that there is no model at all. */
  async counted(groups: number): Promise<void> {
    const { memory } = this.parts;
    if (memory.get(NOTICED) === true) return;
    const isEmpty = groups === 0 && !(await this.#isConfigured());
    if (memory.get(NOTICED) === true) return;
    await memory.update(NOTICED, true);
    if (!isEmpty) return;
    const [add, create] = [l10n.t("Add Models…"), l10n.t("New Provider File…")];
    const text = l10n.t("Partstream has no models yet.");
    const chosen = await vscode.window.showInformationMessage(text, add, create, l10n.t("Not Now"));
    if (chosen === add) await this.runWithModels("addModels");
    if (chosen === create) await this.runWithModels("newProvider");
  }

  /** The facts that a dialog depends on. */
  async account(): Promise<Pick<WindowFacts, "isSignedOut" | "isChatOn" | "asksForAccount">> {
    return { isSignedOut: await isSignedOut(), isChatOn: isChatOn(), asksForAccount: await this.#isNeeded() };
  }

  /** Sets up VS Code's chat without signing in, where it is not; false where this VS Code has no way to, or it failed. */
  async setUpChat(): Promise<boolean> {
    this.#vouch();
    if (isChatOn()) return true;
    if (!(await vscode.commands.getCommands(true)).includes(SET_UP)) return false;
    const isDone = (await vscode.commands.executeCommand(SET_UP)) === true;
    // Until the extension runs, VS Code's own stand-in takes messages, and asks for an account.
    if (isDone) await chatRuns();
    return isDone;
  }

  /** A window has opened: has VS Code ask for the models where there are some, and once where none were seen yet. */
  async #begin(): Promise<void> {
    const isConfigured = await this.#isConfigured();
    // Right after the folder is trusted its settings may still be missing: what is listed counts.
    this.expectModels(isConfigured);
    if (isConfigured || this.parts.memory.get(NOTICED) !== true) this.parts.askForModels();
  }

  /** Whether there are groups or providers; in a remote window, whose groups may be on another machine, whether there were. */
  async #isConfigured(): Promise<boolean> {
    if ((readSettings().providers as unknown[]).length > 0) return true;
    if ((await this.parts.dialogs.groups()).length > 0) return true;
    return vscode.env.remoteName !== undefined && !new StoredLists(this.parts.memory).isEmpty;
  }

  /**
   * Tells VS Code that a chat needs no account, where the person wants it like that and there are models.
   *
   * VS Code takes that back with changes of models; without it a message that is sent while the chat extension starts
   * gets "Please try again.".
   */
  #vouch(): void {
    if (this.#hasModels && value(ANONYMOUS) === true) setContext(HAS_OWN_MODELS, true);
  }

  /** Whether the chat would ask for an account, and the person has not answered yet. */
  async #isNeeded(): Promise<boolean> {
    return this.parts.memory.get(ANSWERED) !== true && (await this.#isWalled());
  }

  async #isWalled(): Promise<boolean> {
    // Who turned the AI features off has made a choice.
    return !isChatOn() && value(AI_IS_OFF) !== true && value(ANONYMOUS) !== true && (await isSignedOut());
  }
}

function value(key: string): unknown {
  return vscode.workspace.getConfiguration().get(key);
}

function setContext(name: string, is: boolean): void {
  void vscode.commands.executeCommand("setContext", name, is);
}

/** Whether VS Code's chat extension is on: then it hands messages to these models without asking for an account. */
function isChatOn(): boolean {
  return vscode.extensions.getExtension(CHAT) !== undefined;
}

/** Whether VS Code knows of no account at GitHub; false where it does not say. */
async function isSignedOut(): Promise<boolean> {
  // A VS Code may lack one of them, and then says so by an error.
  const asked = await Promise.allSettled(PROVIDERS.map(async (id) => vscode.authentication.getAccounts(id)));
  const told = asked.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  return told.length > 0 && told.every((accounts) => accounts.length === 0);
}

/** Waits until the chat extension runs, as long as that may take. */
async function chatRuns(): Promise<void> {
  let listening: vscode.Disposable | undefined;
  let timer: NodeJS.Timeout | undefined;
  const isThere = new Promise<void>((resolve) => {
    const look = (): void => {
      if (isChatOn()) resolve();
    };
    listening = vscode.extensions.onDidChange(look);
    look();
  });
  const runs = isThere.then(async () => vscode.extensions.getExtension<unknown>(CHAT)?.activate());
  const tooLate = new Promise((resolve) => (timer = setTimeout(resolve, CHAT_LIMIT)));
  await Promise.race([runs, tooLate]).finally(() => {
    listening?.dispose();
    clearTimeout(timer);
  });
}
