/**
 * Writes each JSON-RPC message in one piece.
 *
 * The library's writer writes header and content to the pipe one after the other, which wakes the reader twice: a
 * short request took about twice as long.
 */
import type { Writable } from "node:stream";
import * as l10n from "@vscode/l10n";
import { AbstractMessageWriter, type Message, type MessageWriter } from "vscode-jsonrpc/node";

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
