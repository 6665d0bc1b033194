/**
 * What a Python prints before the sidecar claims its output: a banner, or a line of sitecustomize.
 *
 * The first header ends it; everything after is passed on untouched.
 */
import type { Readable } from "node:stream";
import { Disposable, type RAL } from "vscode-jsonrpc/node";

/** The start of the first header of the protocol. */
const HEADER = "Content-Length: ";
/** The most bytes of stray output that are kept for the log. */
export const STRAY_OUTPUT_LIMIT = 4096;

/** The output of a process without what precedes its first header; `heard` gets that once, cut at a limit. */
export class StdoutFilter implements RAL.ReadableStream {
  #hasBegun = false;
  /** What has come before the first header, at most so much that a header can still be found in it. */
  #unread = Buffer.alloc(0);
  #stray = "";

  constructor(
    private readonly output: Readable,
    private readonly heard: (stray: string) => void,
  ) {}

  onData(listener: (data: Uint8Array) => void): Disposable {
    return this.#on("data", (data) => {
      const rest = this.#hasBegun ? (data as Buffer) : this.#afterStray(data as Buffer);
      if (rest.length > 0) listener(rest);
    });
  }

  onClose(listener: () => void): Disposable {
    return this.#on("close", listener);
  }

  onError(listener: (error: unknown) => void): Disposable {
    return this.#on("error", listener);
  }

  onEnd(listener: () => void): Disposable {
    return this.#on("end", listener);
  }

  #afterStray(data: Buffer): Buffer {
    const seen = Buffer.concat([this.#unread, data]);
    const start = seen.indexOf(HEADER);
    const strayEnd = start >= 0 ? start : Math.max(0, seen.length - HEADER.length + 1);
    if (this.#stray.length < STRAY_OUTPUT_LIMIT)
      this.#stray += seen.toString("utf8", 0, Math.min(strayEnd, STRAY_OUTPUT_LIMIT));
    this.#unread = seen.subarray(strayEnd);
    if (start < 0) return Buffer.alloc(0);
    this.#hasBegun = true;
    if (this.#stray.trim()) this.heard(this.#stray.trim());
    return this.#unread;
  }

  #on(event: string, listener: (value: unknown) => void): Disposable {
    this.output.on(event, listener);
    return Disposable.create(() => void this.output.off(event, listener));
  }
}
