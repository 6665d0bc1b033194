/**
 * The command *Report Issue*: a report in Markdown, with the last answer beside it if the person wants that.
 *
 * The report is a file, which can be sent anywhere; where the extension says where issues go, VS Code's own reporter opens
 * with it too. Knows no VS Code.
 */
import * as l10n from "@vscode/l10n";
import type { Dialog } from "./addModels/dialog";
import type { ShareForm, SharePreviewResult } from "./protocol.generated";
import { type SaveTarget, saveToShare, type SharingWorld } from "./recording";

const REPORT = "partstream-issue.md";
/** The last answer in Python's memory. */
const LAST_ANSWER = { path: null, isLast: true };

export interface IssueReportParts extends SharingWorld {
  readonly dialog: Dialog;
  /** Whether there may be an answer to include: Python runs, and the folder is trusted. */
  readonly mayHaveAnswer: () => boolean;
  /** Versions, settings and models as Markdown, without keys. */
  readonly debugInformation: () => Promise<string>;
  /** Opens VS Code's issue reporter with a text, where the extension says where issues go. */
  readonly openReporter: (body: string) => Promise<void>;
  /** Shows a notification with a button; gives it if it was pressed. */
  readonly offer: (message: string, button: string) => Promise<string | undefined>;
  readonly openFile: (file: string) => Promise<void>;
  readonly failed: (error: unknown) => void;
}

export class IssueReport {
  constructor(private readonly parts: IssueReportParts) {}

  /** Asks what the report shall hold, and saves it; never rejects. */
  async run(): Promise<void> {
    await this.#run().catch(this.parts.failed);
  }

  async #run(): Promise<void> {
    const preview = await this.#preview();
    const isWanted = preview ? await this.#asksForAnswer() : false;
    if (isWanted === undefined) return;
    const answer = isWanted ? preview : undefined;
    const { whereToSave, openReporter } = this.parts;
    const target = answer ? await saveToShare(this.parts, LAST_ANSWER, answer) : await whereToSave(REPORT, markdown());
    if (!target) return;
    const body = bodyOf(textOnAnswer(target, answer), await this.parts.debugInformation());
    const file = await this.#save(target, answer !== undefined, `# ${l10n.t("An issue of Partstream")}\n\n${body}`);
    await openReporter(body);
    await this.#tell(file);
  }

  /** Writes the report where the person wants it, beside the answer if there is one; gives its whole path. */
  async #save(target: SaveTarget, isBeside: boolean, report: string): Promise<string> {
    const content = Buffer.from(report);
    if (isBeside) return target.writeBeside(REPORT, content);
    await target.write(content);
    return target.path;
  }

  async #tell(file: string): Promise<void> {
    const said = l10n.t`The report is saved in ${file}. Describe in it what happened, then send it. It holds no keys.`;
    const openReport = l10n.t("Open Report");
    if ((await this.parts.offer(said, openReport)) === openReport) await this.parts.openFile(file);
  }

  async #preview(): Promise<SharePreviewResult | undefined> {
    if (!this.parts.mayHaveAnswer()) return undefined;
    const preview = await this.parts.ask("languageModels/sharePreview", LAST_ANSWER);
    return preview.preview === "" ? undefined : preview;
  }

  /** Whether the answer is wanted; undefined where the person closes the question. */
  async #asksForAnswer(): Promise<boolean | undefined> {
    const items = [
      {
        label: l10n.t("With the Last Answer"),
        description: l10n.t("without keys and texts; a preview shows what it holds"),
        value: true,
      },
      {
        label: l10n.t("Without an Answer"),
        description: l10n.t("versions, settings and models alone"),
        value: false,
      },
    ];
    const sections = [{ title: "", items }];
    const reply = await this.parts.dialog.choose({
      title: l10n.t("Report Issue"),
      step: undefined,
      steps: undefined,
      hasBack: false,
      placeholder: l10n.t("What should the report contain?"),
      prompt: "",
      sections,
    });
    return reply.kind === "answer" ? reply.value : undefined;
  }
}

function markdown(): ShareForm[] {
  return [{ name: l10n.t("Markdown"), endings: ["md"] }];
}

/** The report's text about the answer beside it. */
function textOnAnswer({ name }: SaveTarget, answer: SharePreviewResult | undefined): string {
  if (!answer) return l10n.t("It is not part of this report.");
  return `${l10n.t`The file \`${name}\` beside this one holds it.`}\n\n${asCode(answer.preview)}`;
}

/** A text as a block of code in Markdown, whatever marks are in it. */
function asCode(text: string): string {
  return text.replace(/^/gm, "    ");
}

function bodyOf(answer: string, debugInformation: string): string {
  const sections = [
    [l10n.t("What happened"), l10n.t("What did you do, what happened, and what did you expect?")],
    [l10n.t("The last answer"), answer],
    [l10n.t("Debug information"), debugInformation],
  ];
  return `${sections.map(([title, text]) => `## ${title}\n\n${text}`).join("\n\n")}\n`;
}
