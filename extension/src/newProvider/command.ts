/** The command *New Provider File*: from a template to a model in the picker. Knows no VS Code. */
import * as l10n from "@vscode/l10n";
import type { Dialog } from "../addModels/dialog";
import type { ProviderDidLoadParams } from "../protocol.generated";
import { PROVIDER_TEMPLATES, type ProviderTemplate } from "../providerTemplates.generated";
import { keptPath, sourceOf, suggestedPath, titleOf, withProvider, wrongPath } from "./providerFile";

const STEPS = 2;

/** Where a new file may be written, or the one thing that prevents it. */
export type Place = { readonly folder: string } | { readonly obstacle: Obstacle };

export type Obstacle = "no folder" | "not trusted" | "elsewhere";

type Text = () => string;

/** What is said of each obstacle, and the button and the command that help. */
const OBSTACLES: Readonly<Record<Obstacle, { says: Text; button?: Text; command?: string }>> = {
  "no folder": {
    says: () => l10n.t("A new provider is a file in a folder, and no folder is open."),
    button: () => l10n.t("Open Folder…"),
    command: "vscode.openFolder",
  },
  "not trusted": {
    says: () => l10n.t("Partstream does not run Python from a folder that you do not trust."),
    button: () => l10n.t("Manage Trust"),
    command: "workbench.trust.manage",
  },
  elsewhere: {
    says: () => l10n.t("A new provider needs a folder on the machine on which Partstream runs; this one is elsewhere."),
  },
};

/** What became of the new provider; undefined if nothing was heard of it in time. */
export type FirstLoad = ProviderDidLoadParams | undefined;

export interface NewProviderParts {
  readonly dialog: Dialog;
  readonly place: () => Place;
  /** Whether there is something at a path below the folder. */
  readonly isThere: (folder: string, path: string) => boolean;
  /** Writes a file that is not there yet; gives its whole path. */
  readonly write: (folder: string, path: string, source: string) => Promise<string>;
  /** The value of the setting `partstream.providers` that is in force. */
  readonly providers: () => unknown;
  /** Puts the list into the setting of the workspace. */
  readonly keepProviders: (providers: readonly unknown[]) => Promise<void>;
  readonly openFile: (file: string) => Promise<void>;
  /** Calls `register`, which makes the file a provider, and waits for the file's first load. */
  readonly firstLoad: (file: string, register: () => Promise<void>) => Promise<FirstLoad>;
  /** Shows a notification with buttons; gives the one that was pressed. */
  readonly offer: (message: string, buttons: readonly string[]) => Promise<string | undefined>;
  /** Says that the model is in the picker, in a notification with buttons; gives the one that was pressed. */
  readonly announce: NewProviderParts["offer"];
  readonly runCommand: (command: string) => Promise<unknown>;
  readonly failed: (error: unknown) => void;
}

export class NewProviderFile {
  #isOpen = false;

  constructor(private readonly parts: NewProviderParts) {}

  /** Asks for the template and the name, and does the rest; never rejects. */
  async run(): Promise<void> {
    if (this.#isOpen) return;
    this.#isOpen = true;
    let asked: Asked | undefined;
    try {
      const place = this.parts.place();
      if ("folder" in place) asked = await this.#ask(place.folder);
      else await this.#say(place.obstacle);
    } catch (error) {
      this.parts.failed(error);
    } finally {
      this.#isOpen = false;
    }
    if (asked) await this.#create(asked).catch(this.parts.failed);
  }

  async #say(obstacle: Obstacle): Promise<void> {
    const { says, button, command } = OBSTACLES[obstacle];
    const label = button?.();
    const chosen = await this.parts.offer(says(), label === undefined ? [] : [label]);
    if (command !== undefined && chosen === label) await this.parts.runCommand(command);
  }

  async #create({ folder, template, path }: Asked): Promise<void> {
    const { providers, keepProviders, write, openFile, firstLoad } = this.parts;
    const kept = withProvider(providers(), path);
    if (!kept) throw new Error(l10n.t("The setting partstream.providers is not a list: correct it, then try again."));
    const file = await write(folder, path, sourceOf(template, path));
    await openFile(file);
    await this.#tell(template, path, await firstLoad(file, () => keepProviders(kept)));
  }

  async #ask(folder: string): Promise<Asked | undefined> {
    for (;;) {
      const template = await this.#template();
      if (!template) return undefined;
      const reply = await this.#path(folder, template);
      if (reply === "closed") return undefined;
      if (reply !== "back") return { folder, template, path: reply };
    }
  }

  async #template(): Promise<ProviderTemplate | undefined> {
    const isAgent = ({ requirements }: ProviderTemplate): boolean => requirements.length > 0;
    const items = (templates: readonly ProviderTemplate[]): Item[] =>
      templates.map((template) => ({
        label: template.title(),
        description: template.requirements.join(", "),
        detail: template.says(),
        value: template,
      }));
    const reply = await this.parts.dialog.choose({
      title: l10n.t("New Provider File"),
      step: 1,
      steps: STEPS,
      hasBack: false,
      placeholder: l10n.t("Choose a template"),
      prompt: "",
      sections: [
        { title: "", items: items(PROVIDER_TEMPLATES.filter((one) => !isAgent(one))) },
        {
          title: l10n.t("agents, with the package of their framework"),
          items: items(PROVIDER_TEMPLATES.filter(isAgent)),
        },
      ],
    });
    return reply.kind === "answer" ? reply.value : undefined;
  }

  /** The path below the folder. */
  async #path(folder: string, template: ProviderTemplate): Promise<string> {
    const isThere = (path: string): boolean => this.parts.isThere(folder, path);
    const reply = await this.parts.dialog.ask({
      title: l10n.t("New Provider File"),
      step: 2,
      steps: STEPS,
      hasBack: true,
      prompt: l10n.t(
        "The new file, below the folder. It is added to partstream.providers in the settings of this workspace.",
      ),
      placeholder: "models/echo.py",
      value: suggestedPath(template, isThere),
      isSecret: false,
      buttons: [],
      refuse: (text) => wrongPath(text, isThere),
    });
    return reply.kind === "answer" ? keptPath(reply.value as string) : reply.kind;
  }

  async #tell({ requirements }: ProviderTemplate, path: string, load: FirstLoad): Promise<void> {
    const { offer, announce, runCommand } = this.parts;
    if (!load) {
      const message = l10n.t`${path} was written, but Python has not loaded it yet. See the log.`;
      const showLog = l10n.t("Show Log");
      if ((await offer(message, [showLog])) === showLog) await runCommand("partstream.showLog");
    } else if (!load.problem) {
      const openChat = l10n.t("Open Chat");
      if ((await announce(l10n.t`${titleOf(path)} is in the picker.`, [openChat])) === openChat)
        await runCommand("workbench.action.chat.open");
    } else if (requirements.length > 0) {
      // What is wrong is said where all problems of providers are; this says what helps.
      const packages = requirements.map((one) => `"${one}"`).join(" ");
      const install = `python -m pip install ${packages}`;
      const message = l10n.t`${path} needs ${requirements.join(", ")}. Run: ${install} in the Python that Partstream uses.`;
      const choosePython = l10n.t("Choose Python");
      if ((await offer(message, [choosePython])) === choosePython) await runCommand("partstream.choosePython");
    }
  }
}

interface Asked {
  readonly folder: string;
  readonly template: ProviderTemplate;
  readonly path: string;
}

interface Item {
  readonly label: string;
  readonly description: string;
  readonly detail: string;
  readonly value: ProviderTemplate;
}
