import * as l10n from "@vscode/l10n";
import type { Readable, Writable } from "node:stream";
import {
  AbstractMessageWriter,
  Disposable,
  type Message,
  type MessageStrategy,
  type MessageWriter,
  type RAL,
} from "vscode-jsonrpc/node";

/** Turns of the event loop without a message after which none is left: a message takes two from the pipe to its handler. */
const QUIET_TURNS = 5;

export class HandledMessages implements MessageStrategy {
  #handled = 0;

  readonly handleMessage: MessageStrategy["handleMessage"] = (message, next) => {
    this.#handled++;
    return next(message);
  };

  /** Resolves when no message is left. */
  async allHandled(): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TURNS; quiet++) {
      const before = this.#handled;
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#handled !== before) quiet = 0;
    }
  }
}

/** The most bytes of a message that the process reads; `DEFAULT_MAX_BODY_SIZE` of `vscode/rpc.py`. */
export const MESSAGE_LIMIT = 256 * 1024 * 1024;

export class SinglePieceWriter extends AbstractMessageWriter implements MessageWriter {
  constructor(
    private readonly stream: Writable,
    private readonly limit = MESSAGE_LIMIT,
  ) {
    super();
    stream.on("error", (error) => this.fireError(error));
    stream.on("close", () => this.fireClose());
  }

  write(message: Message): Promise<void> {
    const content = JSON.stringify(message);
    const size = Buffer.byteLength(content);
    // The process could not tell which request it was, and would never answer it.
    if (size > this.limit) return Promise.reject(new Error(tooLarge(size, this.limit)));
    const piece = `Content-Length: ${size}\r\n\r\n${content}`;
    return new Promise((resolve, reject) => {
      this.stream.write(piece, "utf8", (error) => (error ? reject(error) : resolve()));
    });
  }

  end(): void {
    this.stream.end();
  }
}

function tooLarge(size: number, limit: number): string {
  const megabytes = (bytes: number): string => l10n.t`${Math.ceil(bytes / 1024 / 1024)} MB`;
  return l10n.t`The request has ${megabytes(size)}; at most ${megabytes(limit)} can be sent: leave out images or files.`;
}

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
