/** Token usage as text: the line in the status bar, its tooltip, and the page with tables. Knows no VS Code. */
import type { AnswerUsage, DidAnswerParams, UsageResult, UsageSums } from "./protocol.generated";

/** The shares of a model's input limit at which the item changes its colour. */
export const WARNING_SHARE = 0.75;
export const ERROR_SHARE = 0.9;

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
    `${about(answer)}${tokens(answer.inputTokens)} in`,
    `${tokens(answer.outputTokens)} out`,
    ...(cached === undefined ? [] : [`${cached} cached`]),
    ...(answer.cost === null ? [] : [dollars(answer.cost)]),
  ];
  const icon = answer.edits.length > 0 ? "$(fold)" : "$(symbol-number)";
  return `${icon} ${pieces.join(" · ")}`;
}

/** The tooltip of the line, as Markdown. */
export function statusTooltip({ answer, conversation, day }: DidAnswerParams): string {
  // VS Code's own widget measures against the whole context window.
  const limit = `${percent(answer.inputTokens / answer.maxInputTokens)} of the ${tokens(answer.maxInputTokens)} that a prompt may take`;
  const lines = [
    `**${plain(answer.model)}**`,
    `Input: ${limit} (the context window less what is kept for the answer)`,
    ...answer.edits.map((edit) => `Removed by the server: ${plain(edit)}`),
    ...(conversation ? [`This conversation: ${sumsInWords(conversation)}`] : []),
    `Today: ${sumsInWords(day)}`,
    ...(answer.source === "estimated" ? ["~: estimated, because the server reported no numbers"] : []),
  ];
  return lines.join("\n\n");
}

/** The page that the command shows, as Markdown. */
export function usagePage({ answers, conversations, days }: UsageResult, now: Date): string {
  const today = now.toDateString();
  const when = (seconds: number): string => {
    const time = new Date(seconds * 1000);
    return time.toDateString() === today ? time.toLocaleTimeString() : time.toLocaleString();
  };
  const summed = (name: string, sums: UsageSums): string[] => [name, String(sums.answers), ...sumCells(sums)];
  return [
    "# Token usage",
    "Costs are those that the servers report, otherwise computed from known list prices. These numbers never leave this machine.",
    "## Answers",
    table(
      ["ended", "model", "input", "of its limit", "cached", "output", "cost", "removed by the server"],
      answers.map((answer) => [
        when(answer.endedAt),
        plain(answer.model),
        about(answer) + exact(answer.inputTokens),
        percent(answer.inputTokens / answer.maxInputTokens),
        cachedShare(answer) ?? "",
        about(answer) + exact(answer.outputTokens),
        answer.cost === null ? "" : dollars(answer.cost),
        answer.edits.map(plain).join("; "),
      ]),
    ),
    "## Conversations",
    table(
      ["last answer", "model", "answers", "input", "cached", "output", "cost"],
      conversations.map(({ endedAt, model, sums }) => [when(endedAt), ...summed(plain(model), sums)]),
    ),
    "## Days",
    table(
      ["day", "answers", "input", "cached", "output", "cost"],
      days.map(({ day, sums }) => summed(day, sums)),
    ),
    "~: includes estimates for answers whose server reported no numbers. ≥: without answers whose price is unknown.",
  ].join("\n\n");
}

/** A table without its empty columns; words are aligned left, numbers right. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return "None yet.";
  const columns = [...head.keys()].filter((column) => rows.some((row) => row[column] !== ""));
  const line = (cells: readonly string[]): string => `| ${columns.map((column) => cells[column]).join(" | ")} |`;
  const rule = head.map((name) => (WORDS.has(name) ? "---" : "---:"));
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}

const WORDS = new Set(["ended", "model", "last answer", "day", "removed by the server"]);

function sumsInWords(sums: UsageSums): string {
  const cost = costOf(sums);
  const sign = sums.estimated > 0 ? "~" : "";
  const answers = sums.answers === 1 ? "1 answer" : `${sums.answers} answers`;
  const read = `${sign}${tokens(sums.inputTokens)} in (${percent(share(sums.cachedTokens, sums.inputTokens))} cached)`;
  return [answers, read, `${sign}${tokens(sums.outputTokens)} out`, ...(cost === "" ? [] : [cost])].join(", ");
}

function sumCells(sums: UsageSums): string[] {
  const sign = sums.estimated > 0 ? "~" : "";
  const cached = percent(share(sums.cachedTokens, sums.inputTokens));
  return [sign + exact(sums.inputTokens), cached, sign + exact(sums.outputTokens), costOf(sums)];
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

/** 12,345, whatever the language of the machine. */
function exact(count: number): string {
  return count.toLocaleString("en-US");
}

function percent(part: number): string {
  return `${Math.round(part * 100)}%`;
}

/** Cents, or, below a cent, the two digits that matter. */
export function dollars(amount: number): string {
  if (amount === 0 || amount >= 0.01) return `$${amount.toFixed(2)}`;
  return amount < 0.00001 ? "< $0.00001" : `$${Number(amount.toPrecision(2)).toFixed(6).replace(/0+$/, "")}`;
}

/** Escapes a name from a server, so that nothing in it is markup or ends a cell. */
function plain(name: string): string {
  return name.replace(/[\\`*_{}[\]()#+!<>|$~]/g, "\\$&").replace(/\s+/g, " ");
}
