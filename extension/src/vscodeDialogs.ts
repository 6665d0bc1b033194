/**
 * What the dialogs in Python ask of this window, each request once: lists, boxes, questions, files, settings.
 *
 * A dialog is a request to Python, which asks back meanwhile. What it shows is closed when Python cancels the request,
 * and when the process ends. `protocol.generated.ts` says what each request means.
 */
import { homedir } from "node:os";
import { posix } from "node:path";
import * as l10n from "@vscode/l10n";
import * as vscode from "vscode";
import { type CancellationToken, ErrorCodes, ResponseError } from "vscode-jsonrpc/node";
import { sentenceOf } from "./errors";
import { groupNamesIn } from "./groups";
import type { ListView, Storage } from "./modelList";
import { withoutLinks } from "./problems";
import type {
  BoxParams,
  DebugInformation,
  Heading,
  ListItem,
  ListParams,
  MessageParams,
  PageReply,
  PathParams,
  PathResult,
  ProgressTitle,
  ProviderDidLoadParams,
  RequestsToExtension,
  RunParams,
  RunResult,
  SettingChange,
  WindowFacts,
  WriteParams,
} from "./protocol.generated";
import type { Sidecar } from "./sidecar";
import { readGroups, trustedFolder, VENDOR } from "./vscodeApi";

/** Makes a group and keeps its key in VS Code's secret storage. No document knows it: it may be gone one day. */
const ADD_GROUP = "lm.addLanguageModelsProviderGroup";
/** Milliseconds for which the status bar shows a message. */
const STATUS_SHOWN = 20_000;

type Params<Method extends keyof RequestsToExtension> = RequestsToExtension[Method]["params"];
type Result<Method extends keyof RequestsToExtension> = RequestsToExtension[Method]["result"];
type Handlers = {
  readonly [Method in keyof RequestsToExtension]: (
    parameters: Params<Method>,
    token: CancellationToken,
  ) => Result<Method> | PromiseLike<Result<Method>>;
};
type Process = Pick<Sidecar, "request">;
/** A row of a list, and its place among those that Python knows; headings have none. */
type Row = vscode.QuickPickItem & { readonly place?: number };
type Input = vscode.QuickPick<Row> | vscode.InputBox;

export interface DialogsParts {
  /** Calls `action` with the running process; starts one if there is none. */
  readonly use: <Said>(action: (process: Process) => Promise<Said>) => Promise<Said>;
  readonly running: () => Process | undefined;
  /** A text as notifications and boxes show it. */
  readonly shown: (text: string) => string;
  /** Hides a text in all logs from now on; those of a configuration as its settings say. */
  readonly hide: (secret: string) => void;
  readonly hideConfiguration: (configuration: Readonly<Record<string, unknown>>) => void;
  readonly memory: Storage;
  readonly globalStorage: vscode.Uri;
  readonly account: () => Promise<Pick<WindowFacts, "isSignedOut" | "isChatOn" | "asksForAccount">>;
  readonly setUpChat: () => Promise<boolean>;
  readonly lists: () => readonly ListView[];
  readonly loads: () => readonly ProviderDidLoadParams[];
  readonly debugInformation: () => Promise<DebugInformation>;
  readonly showPage: (page: Params<"ui/page">["page"], path: string | undefined) => Promise<void>;
  /** What outlives the window has changed. */
  readonly remembered: () => void;
  /** A dialog has named a provider in the settings; whether another one tells what becomes of it. */
  readonly providersChanged: (isTold: boolean) => void;
  readonly failed: (error: unknown, dialog: string) => void;
}

export class Dialogs {
  /** What closes each page that is open. */
  readonly #open = new Set<() => void>();

  constructor(private readonly parts: DialogsParts) {}

  /** Runs a dialog to its end, and what follows it; never rejects. */
  async run(dialog: string, given: Readonly<Record<string, unknown>> = {}): Promise<void> {
    try {
      await this.#waitForProcess();
      let next: RunParams | undefined = { dialog, given };
      while (next) {
        const { change, then }: RunResult = await this.#ran(next, next.dialog !== dialog);
        if (change) {
          await write(change);
          this.parts.providersChanged(then !== undefined);
        }
        next = then;
      }
    } catch (error) {
      this.parts.failed(error, dialog);
    }
  }

  /** The names of the groups that there are, as far as they are known. */
  async groups(): Promise<string[]> {
    try {
      return groupNamesIn(await readGroups(this.parts.globalStorage), VENDOR);
    } catch {
      return []; // There is no such file yet, or it is on another machine: VS Code itself refuses a second name.
    }
  }

  /** The process has ended: no caller waits for the pages any more. */
  closeAll(): void {
    for (const close of [...this.#open]) close();
  }

  /** Does what a dialog asks for; rejects with a sentence for the person. */
  async handle(method: string, parameters: unknown, token: CancellationToken): Promise<unknown> {
    const handlers = this.#handlers as Readonly<
      Record<string, (parameters: never, token: CancellationToken) => unknown>
    >;
    const handler = Object.hasOwn(handlers, method) ? handlers[method] : undefined;
    if (!handler) throw new ResponseError(ErrorCodes.MethodNotFound, method);
    try {
      return await handler(parameters as never, token);
    } catch (error) {
      throw new ResponseError(ErrorCodes.UnknownErrorCode, sentenceOf(error));
    }
  }

  readonly #handlers: Handlers = {
    "ui/list": (parameters, token) => this.#list(parameters, token),
    "ui/box": (parameters, token) => this.#box(parameters, token),
    "ui/message": (parameters) => this.#message(parameters),
    "ui/progress": (parameters, token) => this.#progress(parameters, token),
    "ui/path": askPath,
    "ui/write": async (parameters) => ({ path: await writeFile(parameters) }),
    "ui/command": async ({ command, given }) => {
      const isThere = (await vscode.commands.getCommands(true)).includes(command);
      const said: unknown =
        isThere && given ? await vscode.commands.executeCommand(command, ...given.map(decoded)) : null;
      return { isThere, said: typeof said === "string" || typeof said === "boolean" ? said : null };
    },
    "ui/open": async ({ file, page }) => {
      if (file !== undefined) await vscode.window.showTextDocument(vscode.Uri.file(file));
      if (page !== undefined) await vscode.env.openExternal(vscode.Uri.parse(page, true));
      return null;
    },
    "ui/copy": async ({ text }) => {
      await vscode.env.clipboard.writeText(text);
      return null;
    },
    "ui/settings": ({ keys }) => ({
      settings: keys.map((key) => {
        const settings = vscode.workspace.getConfiguration();
        const found = settings.inspect(key);
        return { isKnown: found?.defaultValue !== undefined, value: settings.get(key), own: found?.globalValue };
      }),
    }),
    "ui/change": async (change) => {
      await write(change);
      return null;
    },
    "ui/memory": async (parameters) => {
      const { key } = parameters;
      if ("value" in parameters) {
        await this.parts.memory.update(key, parameters.value);
        this.parts.remembered();
      }
      return { value: this.parts.memory.get(key) ?? null };
    },
    "ui/facts": async () => ({
      isTrusted: vscode.workspace.isTrusted,
      hasFolder: (vscode.workspace.workspaceFolders ?? []).length > 0,
      folder: trustedFolder() ?? null,
      remoteName: vscode.env.remoteName ?? null,
      isWeb: vscode.env.uiKind === vscode.UIKind.Web,
      groups: await this.groups(),
      ...(await this.parts.account()),
    }),
    "ui/models": async () => ({
      models: (await vscode.lm.selectChatModels()).map(({ vendor, id, name, family }) => ({
        vendor,
        id,
        name,
        family,
      })),
    }),
    "ui/lists": async () => {
      await vscode.lm.selectChatModels({ vendor: VENDOR }); // VS Code asks for every group, which nothing else lists.
      const lists = this.parts.lists().map(({ group, models, error }) => ({
        group,
        models: models.map(({ id, name, extra }) => ({ id, name, isShown: extra["isUserSelectable"] !== false })),
        error: error?.message ?? null,
      }));
      return { lists, loads: [...this.parts.loads()] };
    },
    "ui/debugInformation": () => this.parts.debugInformation(),
    "ui/page": async ({ page, path }) => {
      await this.parts.showPage(page, path);
      return null;
    },
    "ui/setUpChat": async () => ({ isDone: await this.parts.setUpChat() }),
    "ui/addGroup": async ({ name, configuration }) => {
      this.parts.hideConfiguration(configuration);
      if (!(await vscode.commands.getCommands(true)).includes(ADD_GROUP)) return { isDone: false };
      await vscode.commands.executeCommand(ADD_GROUP, { vendor: VENDOR, name, ...configuration }).then(null, refused);
      return { isDone: true };
    },
  };

  /** What runs says in the status bar while a process is started; why none can be is said by the caller. */
  async #waitForProcess(): Promise<void> {
    if (this.parts.running()) return;
    const options = { location: vscode.ProgressLocation.Window, title: l10n.t("Partstream starts Python…") };
    await vscode.window.withProgress(options, () => this.parts.use(() => Promise.resolve()));
  }

  /** One dialog; one that goes on after a change of the providers runs in the process that has them. */
  async #ran(next: RunParams, goesOn: boolean): Promise<RunResult> {
    for (;;) {
      const before = this.parts.running();
      try {
        return await this.parts.use((process) => process.request("ui/run", next));
      } catch (error) {
        if (!goesOn || before === undefined || before === this.parts.running()) throw error;
      }
    }
  }

  #list(parameters: ListParams, token: CancellationToken): Promise<PageReply> {
    const { heading, placeholder, prompt, items, chosen, refusal = "", isBusy = false } = parameters;
    const pick = vscode.window.createQuickPick<Row>();
    const rows = items.map(row);
    pick.items = rows.flatMap((one, place) => [...separator(items[place]?.section), one]);
    pick.placeholder = placeholder;
    pick.prompt = this.parts.shown(prompt);
    pick.busy = isBusy;
    pick.matchOnDescription = true;
    pick.canSelectMany = pick.matchOnDetail = chosen !== undefined;
    if (chosen) pick.selectedItems = rows.filter((_, place) => chosen.includes(place));
    return this.#shown(pick, heading, token, (settle) =>
      pick.onDidAccept(() => {
        const places = pick.selectedItems.flatMap(({ place }) => place ?? []);
        if (places.length > 0 || (chosen && refusal === "")) settle({ end: "answered", chosen: places });
        else if (chosen) pick.prompt = this.parts.shown(refusal);
      }),
    );
  }

  #box(parameters: BoxParams, token: CancellationToken): Promise<PageReply> {
    const { box: number, heading, prompt, placeholder, value, isSecret, buttons } = parameters;
    const box = vscode.window.createInputBox();
    box.prompt = this.parts.shown(prompt);
    box.placeholder = placeholder;
    box.value = value;
    box.password = isSecret;
    const shown = buttons.map(({ icon, tooltip }) => ({ iconPath: new vscode.ThemeIcon(icon), tooltip }));
    box.buttons = shown;
    const take = async (settle: (reply: PageReply) => void): Promise<void> => {
      const text = box.value;
      // The address of a link may be known, and what follows its # not.
      if (isSecret) for (const secret of [text.trim(), ...text.split("#").slice(1)]) this.parts.hide(secret);
      const checked = await this.parts.running()?.request("ui/check", { box: number, text });
      if (typeof checked?.refusal === "string") box.validationMessage = withoutLinks(checked.refusal);
      else settle({ end: "answered", text });
    };
    return this.#shown(box, heading, token, (settle) =>
      vscode.Disposable.from(
        // What is being written is wrong until it is whole: nothing is said of it before Enter.
        box.onDidChangeValue(() => (box.validationMessage = undefined)),
        box.onDidAccept(() => void take(settle).catch(() => settle({ end: "closed" }))), // The process has ended.
        box.onDidTriggerButton((pressed) => {
          const place = (shown as vscode.QuickInputButton[]).indexOf(pressed);
          if (place >= 0) settle({ end: "answered", chosen: [place] });
        }),
      ),
    );
  }

  /** Shows an input until the person has answered it, gone back or closed it, or no caller waits for it. */
  #shown(
    input: Input,
    { title, step, steps, hasBack }: Heading,
    token: CancellationToken,
    listen: (settle: (reply: PageReply) => void) => vscode.Disposable,
  ): Promise<PageReply> {
    input.title = title;
    input.step = step;
    input.totalSteps = steps;
    // A key is copied from a browser meanwhile.
    input.ignoreFocusOut = true;
    if (hasBack) input.buttons = [vscode.QuickInputButtons.Back, ...input.buttons];
    return new Promise((resolve) => {
      const settle = (reply: PageReply): void => {
        resolve(reply);
        this.#open.delete(close);
        listening.dispose();
        input.dispose();
      };
      const close = (): void => settle({ end: "closed" });
      this.#open.add(close);
      const listening = vscode.Disposable.from(
        listen(settle),
        input.onDidTriggerButton((button) => {
          if (button === vscode.QuickInputButtons.Back) settle({ end: "back" });
        }),
        input.onDidHide(close),
        token.onCancellationRequested(close),
      );
      input.show();
    });
  }

  async #message({ level, text, detail, buttons }: MessageParams): Promise<Result<"ui/message">> {
    const said = this.parts.shown(text);
    if (level === "status") {
      vscode.window.setStatusBarMessage(said, STATUS_SHOWN);
      return { button: null };
    }
    const options = detail === undefined ? {} : { modal: true, detail: this.parts.shown(detail) };
    const { showInformationMessage, showWarningMessage, showErrorMessage } = vscode.window;
    const show = { info: showInformationMessage, warning: showWarningMessage, error: showErrorMessage }[level];
    const pressed = await show(said, options, ...buttons);
    return { button: pressed === undefined ? null : buttons.indexOf(pressed) };
  }

  async #progress({ title, isCancellable }: ProgressTitle, token: CancellationToken): Promise<null> {
    const shown = this.parts.shown(title);
    const options = { location: vscode.ProgressLocation.Notification, title: shown, cancellable: isCancellable };
    await vscode.window.withProgress(options, (_, stopped) => {
      return new Promise<void>((resolve) => {
        const end = (): void => {
          this.#open.delete(end);
          resolve();
        };
        this.#open.add(end);
        token.onCancellationRequested(end);
        stopped.onCancellationRequested(end);
      });
    });
    return null;
  }
}

function row({ label, description, detail }: ListItem, place: number): Row {
  return { label, ...(description && { description }), ...(detail && { detail }), place };
}

function separator(section: string | undefined): Row[] {
  return section === undefined ? [] : [{ label: section, kind: vscode.QuickPickItemKind.Separator }];
}

/** What a command is given, with the places that JSON has no form for. */
function decoded(given: unknown): unknown {
  const { uri } = (given ?? {}) as { uri?: unknown };
  return typeof uri === "string" ? vscode.Uri.parse(uri, true) : given;
}

async function write({ key, value, isOfWorkspace }: SettingChange): Promise<void> {
  const target = isOfWorkspace ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global;
  await vscode.workspace.getConfiguration().update(key, value, target);
}

function refused(error: unknown): never {
  if (/already exists/.test(String(error))) throw new Error(l10n.t("A group of this name already exists."));
  throw error;
}

async function askPath({ title, button, proposed, forms }: PathParams): Promise<PathResult> {
  const filters = Object.fromEntries(forms.map(({ name, endings }) => [name, endings]));
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri ?? vscode.Uri.file(homedir());
  const uri =
    proposed === undefined
      ? (
          await vscode.window.showOpenDialog({ title, filters, ...(button !== undefined && { openLabel: button }) })
        )?.[0]
      : await vscode.window.showSaveDialog({ title, filters, defaultUri: vscode.Uri.joinPath(folder, proposed) });
  return uri ? { uri: uri.toString(), path: uri.fsPath, name: posix.basename(uri.path) } : NO_PATH;
}

const NO_PATH: PathResult = { uri: null, path: "", name: "" };

/** Writes a file, or another one beside it: where one of that name is there, under a name with a number. */
async function writeFile({ uri, beside, content }: WriteParams): Promise<string> {
  const chosen = vscode.Uri.parse(uri, true);
  const { name, ext } = posix.parse(beside ?? "");
  let target = beside === undefined ? chosen : vscode.Uri.joinPath(chosen, "..", beside);
  for (let number = 2; beside !== undefined && (await isThere(target)); number++) {
    target = vscode.Uri.joinPath(chosen, "..", `${name}-${number}${ext}`);
  }
  await vscode.workspace.fs.writeFile(target, Buffer.from(content, "base64"));
  return target.fsPath;
}

async function isThere(uri: vscode.Uri): Promise<boolean> {
  return Promise.resolve(vscode.workspace.fs.stat(uri)).then(
    () => true,
    () => false,
  );
}
