/**
 * Spaces the parts of one answer so that the extension host shows them as they arrive.
 *
 * The host queues reported parts and flushes them 30 ms after the last report, or when more than 30 parts are queued:
 * a stream with gaps below 30 ms would reach the person in lumps of 31 parts (docs/wires/vscode.md#batches-of-parts).
 * Knows no VS Code class.
 */
import type { Clock } from "./clock";
import type { ResponsePart, TextPart, ThinkingPart } from "./protocol.generated";

/** Milliseconds between two reports: a little more than the host's 30. */
export const REPORT_INTERVAL = 35;

/** The number of empty parts after a part that makes the host flush at once. */
export const FLUSH_PADDING = 30;

const EMPTY: TextPart = { type: "text", value: "" };

/** The waiting fragments of one text, or of one thinking block. */
interface Waiting {
  readonly last: TextPart | ThinkingPart;
  readonly fragments: string[];
}

/** The parts of one answer on their way to the host: `push` each in order, `end` after the last, `dispose` always. */
export class Pacer {
  #waiting: Waiting | undefined;
  #lastReport = Number.NEGATIVE_INFINITY;
  #textShown = false;
  #isOver = false;
  #cancelTimer: (() => void) | undefined;

  constructor(
    private readonly report: (part: ResponsePart) => void,
    private readonly clock: Clock,
  ) {}

  /** Takes the next part; text and thinking may wait up to {@link REPORT_INTERVAL}, other parts are reported at once. */
  push(part: ResponsePart): void {
    if (this.#isOver) return; // The request was cancelled: further parts are unwanted.
    if (part.type !== "text" && part.type !== "thinking") {
      this.#flush();
      this.#send(part);
      return;
    }
    if (part.type === "thinking" || part.value !== "") this.#hold(part);
  }

  /** Reports the waiting fragments: the answer is complete, or broke off. */
  end(): void {
    this.#flush();
  }

  /** Drops the waiting fragments and all further parts, and stops the timer. */
  dispose(): void {
    this.#isOver = true;
    this.#waiting = undefined;
    this.#stopTimer();
  }

  #hold(part: TextPart | ThinkingPart): void {
    if (this.#waiting && !continues(this.#waiting.last, part)) this.#flush();
    const { last, fragments } = this.#waiting ?? { last: undefined, fragments: [] as string[] };
    fragments.push(part.value);
    this.#waiting = { last: merged(last, part), fragments };
    this.#schedule(part);
  }

  #schedule(part: TextPart | ThinkingPart): void {
    if (part.type === "text" && !this.#textShown) {
      this.#textShown = true;
      this.#flush();
      for (let count = 0; count < FLUSH_PADDING; count++) this.report(EMPTY);
      return;
    }
    if (this.#cancelTimer) return;
    const wait = this.#lastReport + REPORT_INTERVAL - this.clock.now();
    if (wait <= 0) {
      this.#flush();
      return;
    }
    this.#cancelTimer = this.clock.after(wait, () => this.#flush());
  }

  #flush(): void {
    this.#stopTimer();
    if (!this.#waiting) return;
    const { last, fragments } = this.#waiting;
    this.#waiting = undefined;
    this.#send({ ...last, value: fragments.join("") });
  }

  #send(part: ResponsePart): void {
    this.#lastReport = this.clock.now();
    this.report(part);
  }

  #stopTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }
}

/** Texts of one audience continue each other, and the thinking of one block; thinking in entries stays what it is. */
function continues(earlier: TextPart | ThinkingPart, part: TextPart | ThinkingPart): boolean {
  if (earlier.type === "text" && part.type === "text") return audience(earlier) === audience(part);
  if (earlier.type === "text" || part.type === "text" || earlier.entries || part.entries) return false;
  return (earlier.id ?? "") === (part.id ?? "");
}

function audience(part: TextPart): string {
  return JSON.stringify(part.audience ?? null);
}

/** Copilot keeps only the last metadata of a call: so the last metadata wins, and a part without any keeps it. */
function merged(earlier: TextPart | ThinkingPart | undefined, part: TextPart | ThinkingPart): TextPart | ThinkingPart {
  if (part.type === "text" || earlier?.type !== "thinking") return part;
  return { ...part, metadata: part.metadata ?? earlier.metadata ?? null };
}
