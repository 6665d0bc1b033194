/**
 * Writes each JSON-RPC message in one piece.
 *
 * The library's writer writes header and content to the pipe one after the other, which wakes the reader twice: a
 * short request took about twice as long.
 */
import type { Writable } from "node:stream";
import { AbstractMessageWriter, type Message, type MessageWriter } from "vscode-jsonrpc/node";

export class SinglePieceWriter extends AbstractMessageWriter implements MessageWriter {
  constructor(private readonly stream: Writable) {
    super();
    stream.on("error", (error) => this.fireError(error));
    stream.on("close", () => this.fireClose());
  }

  write(message: Message): Promise<void> {
    const content = JSON.stringify(message);
    const piece = `Content-Length: ${Buffer.byteLength(content)}\r\n\r\n${content}`;
    return new Promise((resolve, reject) => {
      this.stream.write(piece, "utf8", (error) => (error ? reject(error) : resolve()));
    });
  }

  end(): void {
    this.stream.end();
  }
}
