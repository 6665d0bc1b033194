/** The wizard *Add Models* in VS Code: its pages as VS Code's own boxes and lists, and what it does outside of them. */
import * as l10n from "@vscode/l10n";
import * as vscode from "vscode";
import type { NewGroup } from "./addModels/answers";
import { AddModels, type AddModelsParts } from "./addModels/command";
import {
  answer,
  BACK,
  type Button,
  CLOSED,
  type Dialog,
  type Heading,
  type Item,
  type ListPage,
  type ManyPage,
  type Reply,
  type TextPage,
  type WorkPage,
} from "./addModels/dialog";

import { answeringServers } from "./addModels/localServers";
import type { Added, WizardWorld } from "./addModels/step";
import { groupNamesIn } from "./groupNames";
import { PRESETS } from "./presets.generated";
import { StoredLists } from "./storedLists";
import { editGroups, readGroups, readSettings, VENDOR } from "./vscodeApi";

/** Makes a group and keeps its key in VS Code's secret storage. No document knows it: it may be gone one day. */
const ADD_GROUP = "lm.addLanguageModelsProviderGroup";

/** The wizard for the command and for VS Code's own button. */
export function createAddModels(
  context: vscode.ExtensionContext,
  {
    tryServer,
    localModel,
    ...others
  }: Pick<AddModelsParts, "announce" | "expectModels" | "expectNone" | "askForModels" | "failed"> &
    Pick<WizardWorld, "tryServer" | "localModel">,
): AddModels {
  const names = (): Promise<readonly string[]> => takenNames(context);
  const world: WizardWorld = {
    presets: PRESETS,
    probe: answeringServers,
    tryServer,
    localModel,
    hasVariable: (name) => (process.env[name] ?? "") !== "",
    takenNames: names,
    add: addGroup,
    openPage: (url) => void vscode.env.openExternal(vscode.Uri.parse(url)),
  };
  return new AddModels({
    dialog: new VSCodeDialog(),
    world,
    hasModels: async () => (readSettings().providers as unknown[]).length > 0 || (await hasGroups(context)),
    offer: async (message, buttons) => vscode.window.showInformationMessage(message, ...buttons),
    openChat: async () => vscode.commands.executeCommand("workbench.action.chat.open"),
    chooseProvider,
    useProvider,
    newProvider: async () => vscode.commands.executeCommand("partstream.newProviderFile"),
    useEverywhere: async () => vscode.commands.executeCommand("partstream.useEverywhere"),
    handOver,
    memory: context.globalState,
    ...others,
  });
}

/** The names of the groups that there are, as far as they are known. */
export async function takenNames(context: vscode.ExtensionContext): Promise<readonly string[]> {
  try {
    return groupNamesIn(await readGroups(context.globalStorageUri), VENDOR);
  } catch {
    return []; // There is no such file yet, or it is on another machine: VS Code itself refuses a second name.
  }
}

/** Whether there are groups; in a remote window, whose file of groups may be on the other machine, whether there were. */
async function hasGroups(context: vscode.ExtensionContext): Promise<boolean> {
  if ((await takenNames(context)).length > 0) return true;
  return vscode.env.remoteName !== undefined && !new StoredLists(context.globalState).isEmpty;
}

export async function canAddGroups(): Promise<boolean> {
  return (await vscode.commands.getCommands(true)).includes(ADD_GROUP);
}

export async function addGroup({ name, configuration }: NewGroup): Promise<Added> {
  if (!(await canAddGroups())) return "no way to add";
  try {
    await vscode.commands.executeCommand(ADD_GROUP, { vendor: VENDOR, name, ...configuration });
  } catch (error) {
    if (/already exists/.test(String(error))) {
      throw new Error(l10n.t("A group of this name already exists."), { cause: error });
    }
    throw error;
  }
  return "added";
}

/** Opens VS Code's file of groups, with the group in the clipboard. */
async function handOver(group: Readonly<Record<string, unknown>>): Promise<void> {
  await vscode.env.clipboard.writeText(JSON.stringify(group, undefined, 2));
  await editGroups();
  void vscode.window.showInformationMessage(
    l10n.t(
      "This VS Code does not let extensions add a group. The group is in the clipboard: paste it into the list, and save. Enter its key with Update API Key, in the gear menu of the group in Partstream: Manage Models.",
    ),
  );
}

/** Lets the person choose a Python file, and adds it to the setting. */
async function chooseProvider(): Promise<void> {
  const filters = { Python: ["py"] };
  const [file] =
    (await vscode.window.showOpenDialog({
      title: l10n.t("A provider in Python"),
      openLabel: l10n.t("Use"),
      filters,
    })) ?? [];
  if (file) await useProvider(file.fsPath);
}

/** Adds a provider to the setting, unless it is there. */
async function useProvider(source: string): Promise<void> {
  const settings = vscode.workspace.getConfiguration("partstream");
  const before = settings.get<unknown[]>("providers", []);
  if (before.includes(source)) return;
  await settings.update("providers", [...before, source], vscode.ConfigurationTarget.Global);
}

interface PickItem<Value> extends vscode.QuickPickItem {
  readonly value?: Value;
}

type Settle<Value> = (reply: Reply<Value>) => void;

/** Shows each page in a box of its own, and disposes of it when the person has answered. */
export class VSCodeDialog implements Dialog {
  choose<Value>({ sections, placeholder, prompt, ...heading }: ListPage<Value>): Promise<Reply<Value>> {
    const pick = vscode.window.createQuickPick<PickItem<Value>>();
    pick.items = sections.flatMap(({ title, items }) => [...separator<Value>(title), ...items.map(pickItem<Value>)]);
    pick.placeholder = placeholder;
    pick.prompt = prompt;
    pick.matchOnDescription = true;
    return shown(pick, heading, (settle) =>
      pick.onDidAccept(() => {
        const [item] = pick.selectedItems;
        if (item && "value" in item) settle(answer(item.value));
      }),
    );
  }

  chooseMany<Value>(page: ManyPage<Value>): Promise<Reply<readonly Value[]>> {
    const { items, chosen, placeholder, prompt, refuse, ...heading } = page;
    const pick = vscode.window.createQuickPick<PickItem<Value>>();
    pick.canSelectMany = true;
    pick.items = items.map(pickItem);
    pick.selectedItems = pick.items.filter(({ value }) => chosen.includes(value as Value));
    pick.placeholder = placeholder;
    pick.prompt = prompt;
    pick.matchOnDescription = true;
    pick.matchOnDetail = true;
    return shown(pick, heading, (settle) =>
      pick.onDidAccept(() => {
        const values = pick.selectedItems.map(({ value }) => value as Value);
        const refusal = refuse(values);
        if (refusal === undefined) settle(answer(values));
        else pick.prompt = refusal;
      }),
    );
  }

  ask(page: TextPage): Promise<Reply<string | Button>> {
    const { prompt, placeholder, value, isSecret, buttons, refuse, ...heading } = page;
    const box = vscode.window.createInputBox();
    box.prompt = prompt;
    box.placeholder = placeholder;
    box.value = value;
    box.password = isSecret;
    const shownButtons = buttons.map(inputButton);
    box.buttons = shownButtons;
    return shown(box, heading, (settle) =>
      vscode.Disposable.from(
        // What is being written is wrong until it is whole: nothing is said of it before Enter.
        box.onDidChangeValue(() => (box.validationMessage = undefined)),
        box.onDidAccept(() => {
          const refusal = refuse(box.value);
          if (refusal === undefined) settle(answer(box.value));
          else box.validationMessage = refusal;
        }),
        box.onDidTriggerButton((pressed) => {
          const button = buttons[shownButtons.indexOf(pressed)];
          if (button) settle(answer(button));
        }),
      ),
    );
  }

  wait<Result>({ placeholder, ...heading }: WorkPage, work: Promise<Result>): Promise<Reply<Result>> {
    const pick = vscode.window.createQuickPick();
    pick.placeholder = placeholder;
    pick.busy = true;
    return new Promise((resolve, reject) => {
      const page = shown<Result>(pick, heading, (settle) => {
        work.then(
          (result) => settle(answer(result)),
          (error: unknown) => {
            reject(error instanceof Error ? error : new Error(String(error)));
            pick.dispose();
          },
        );
        return new vscode.Disposable(() => undefined);
      });
      void page.then(resolve);
    });
  }
}

/** Shows a box until the person has answered it, gone back or closed it. */
function shown<Value>(
  input: vscode.QuickPick<vscode.QuickPickItem> | vscode.InputBox,
  { title, step, steps, hasBack }: Heading,
  listen: (settle: Settle<Value>) => vscode.Disposable,
): Promise<Reply<Value>> {
  input.title = title;
  input.step = step;
  input.totalSteps = steps;
  // A key is copied from a browser meanwhile.
  input.ignoreFocusOut = true;
  if (hasBack) input.buttons = [vscode.QuickInputButtons.Back, ...input.buttons];
  return new Promise((resolve) => {
    const settle: Settle<Value> = (reply) => {
      resolve(reply);
      listening.dispose();
      input.dispose();
    };
    const listening = vscode.Disposable.from(
      listen(settle),
      input.onDidTriggerButton((button) => {
        if (button === vscode.QuickInputButtons.Back) settle(BACK);
      }),
      input.onDidHide(() => settle(CLOSED)),
    );
    input.show();
  });
}

function pickItem<Value>({ label, description, detail, value }: Item<Value>): PickItem<Value> {
  return { label, ...(description && { description }), ...(detail && { detail }), value };
}

function separator<Value>(title: string): PickItem<Value>[] {
  return title === "" ? [] : [{ label: title, kind: vscode.QuickPickItemKind.Separator }];
}

function inputButton({ icon, tooltip }: Button): vscode.QuickInputButton {
  return { iconPath: new vscode.ThemeIcon(icon), tooltip: tooltip() };
}
