/**
 * Shows thinking in a host without thinking parts: as a Markdown quote in the answer, or not at all.
 *
 * The quote has an empty line before and after it, and between two thoughts. Knows no VS Code class.
 */
import type { ResponsePart, TextPart, ThinkingPart } from "./protocol.generated";

/** How to show thinking in a host without thinking parts. */
export type ThinkingFallback = "off" | "text";

/** CommonMark 0.31 section 5.1: the start of a line of a block quote. */
const MARK = "> ";
const EMPTY_LINE = ">\n";

/** The parts of one answer without thinking parts: `shown` for each in order. */
export class ThinkingText {
  #isOpen = false;
  #isLineBegun = false;
  #thought = "";
  /** The last two characters of the answer; an answer begins at the begin of a paragraph. */
  #tail = "\n\n";

  constructor(private readonly fallback: ThinkingFallback) {}

  /** The parts to show instead of one part. */
  shown(part: ResponsePart): ResponsePart[] {
    if (part.type === "thinking") return this.fallback === "text" && part.value !== "" ? [this.#quote(part)] : [];
    if (part.type === "text") {
      if (part.value === "") return [part];
      const closing = this.#close();
      this.#tail = (this.#tail + part.value).slice(-2);
      return [...closing, part];
    }
    return [...this.#close(), part];
  }

  #quote({ value, id }: ThinkingPart): TextPart {
    let said = this.#opening(id ?? "");
    value.split("\n").forEach((line, index) => {
      if (index > 0) {
        said += this.#isLineBegun ? "\n" : EMPTY_LINE;
        this.#isLineBegun = false;
      }
      if (line === "") return;
      said += this.#isLineBegun ? line : MARK + line;
      this.#isLineBegun = true;
    });
    return { type: "text", value: said };
  }

  /** What precedes the next piece of a thought. */
  #opening(thought: string): string {
    if (this.#isOpen && thought === this.#thought) return "";
    const said = this.#isOpen ? (this.#isLineBegun ? "\n" : "") + EMPTY_LINE : lineEnds(this.#tail);
    this.#isOpen = true;
    this.#isLineBegun = false;
    this.#thought = thought;
    return said;
  }

  #close(): TextPart[] {
    if (!this.#isOpen) return [];
    this.#isOpen = false;
    this.#tail = "\n\n";
    return [{ type: "text", value: this.#isLineBegun ? "\n\n" : "\n" }];
  }
}

/** The end of a text that makes an empty line after it. */
function lineEnds(tail: string): string {
  if (tail.endsWith("\n\n")) return "";
  return tail.endsWith("\n") ? "\n" : "\n\n";
}
