/** Token usage as text: the line in the status bar and its tooltip. Knows no VS Code. */
import * as l10n from "@vscode/l10n";
import type { AnswerUsage, DidAnswerParams, UsageSums } from "./protocol.generated";

/** The shares of a model's input limit at which the item changes its colour. */
export const WARNING_SHARE = 0.75;
export const ERROR_SHARE = 0.9;

/** The commands that the tooltip leads to, and nothing else in it does. */
export const TOOLTIP_COMMANDS = [
  [() => l10n.t("Show Token Usage"), "partstream.showUsage"],
  [() => l10n.t("Inspect Last Answer"), "partstream.inspectLastAnswer"],
] as const;

export type Fullness = "normal" | "warning" | "error";

export function fullness({ inputTokens, maxInputTokens }: AnswerUsage): Fullness {
  const share = inputTokens / maxInputTokens;
  if (share >= ERROR_SHARE) return "error";
  return share >= WARNING_SHARE ? "warning" : "normal";
}

/** The line in the status bar: input, output, and, if known, the cached share of the input and the cost. */
export function statusText(answer: AnswerUsage): string {
  const cached = cachedShare(answer);
  const pieces = [
    l10n.t`${about(answer) + tokens(answer.inputTokens)} in`,
    l10n.t`${tokens(answer.outputTokens)} out`,
    ...(cached === undefined ? [] : [l10n.t`${cached} cached`]),
    ...(answer.cost === null ? [] : [dollars(answer.cost)]),
  ];
  const icon = answer.edits.length > 0 ? "$(fold)" : "$(symbol-number)";
  return `${icon} ${pieces.join(" · ")}`;
}

/** The tooltip of the line, as Markdown. */
export function statusTooltip({ answer, conversation, day, budget }: DidAnswerParams): string {
  // VS Code's own widget measures against the whole context window.
  const full = percent(answer.inputTokens / answer.maxInputTokens);
  const lines = [
    `**${plain(answer.model)}**`,
    l10n.t`Input: ${full} of the ${tokens(answer.maxInputTokens)} that a prompt may take (the context window less what is kept for the answer)`,
    ...answer.edits.map((edit) => l10n.t`Removed by the server: ${plain(edit)}`),
    ...(conversation ? [l10n.t`This conversation: ${sumsInWords(conversation)}`] : []),
    l10n.t`Today: ${sumsInWords(day)}`,
    ...(budget ? [plain(budget)] : []),
    ...(answer.cost === null && answer.source === "reported"
      ? [l10n.t("No price of this model is known: the setting prices of the group sets one")]
      : []),
    ...(answer.source === "estimated" ? [l10n.t("~: estimated, because the server reported no numbers")] : []),
    TOOLTIP_COMMANDS.map(([title, command]) => `[${title()}](command:${command})`).join(" · "),
  ];
  return lines.join("\n\n");
}

function sumsInWords(sums: UsageSums): string {
  const cost = costOf(sums);
  const sign = sums.estimated > 0 ? "~" : "";
  const answers = sums.answers === 1 ? l10n.t("1 answer") : l10n.t`${sums.answers} answers`;
  const cached = percent(share(sums.cachedTokens, sums.inputTokens));
  const read = l10n.t`${sign + tokens(sums.inputTokens)} in (${cached} cached)`;
  return [answers, read, l10n.t`${sign + tokens(sums.outputTokens)} out`, ...(cost === "" ? [] : [cost])].join(", ");
}

/** The sum of the known costs, marked as a minimum if some answers have no price. */
function costOf({ cost, withoutCost }: UsageSums): string {
  return cost === null ? "" : (withoutCost > 0 ? "≥ " : "") + dollars(cost);
}

function about({ source }: AnswerUsage): string {
  return source === "estimated" ? "~" : "";
}

function cachedShare({ cachedTokens, inputTokens }: AnswerUsage): string | undefined {
  return cachedTokens === null ? undefined : percent(share(cachedTokens, inputTokens));
}

function share(part: number, whole: number): number {
  return whole > 0 ? part / whole : 0;
}

/** 950, 42.1K, 128K, 1.2M. */
export function tokens(count: number): string {
  if (count < 1000) return String(count);
  const [value, unit] = count < 999_950 ? [count / 1000, "K"] : [count / 1_000_000, "M"];
  return value.toFixed(1).replace(/\.0$/, "") + unit;
}

function percent(part: number): string {
  return `${Math.round(part * 100)}%`;
}

/** Cents, or, below a cent, the two digits that matter. */
export function dollars(amount: number): string {
  if (amount === 0 || amount >= 0.01) return `$${amount.toFixed(2)}`;
  return amount < 0.00001 ? "< $0.00001" : `$${Number(amount.toPrecision(2)).toFixed(6).replace(/0+$/, "")}`;
}

/** Escapes a name from a server, so that nothing in it is markup. */
export function plain(name: string): string {
  return name.replace(/[\\`*_{}[\]()#+!<>|$~]/g, "\\$&").replace(/\s+/g, " ");
}
