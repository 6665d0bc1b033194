import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import type { Message } from "vscode-jsonrpc/node";
import { SinglePieceWriter } from "../src/sidecarStreams";

test("a message is one piece; one that is too large to be read is refused in words, and the next one is written", async () => {
  const pieces: string[] = [];
  const stream = new PassThrough().setEncoding("utf8").on("data", (piece: string) => pieces.push(piece));
  const writer = new SinglePieceWriter(stream, 1024 * 1024);
  const message = (text: string): Message => ({ jsonrpc: "2.0", text }) as Message;
  await assert.rejects(writer.write(message("é".repeat(600_000))), /has 2 MB; at most 1 MB can be sent: leave out/);
  await writer.write(message("é"));
  assert.deepEqual(pieces, ['Content-Length: 29\r\n\r\n{"jsonrpc":"2.0","text":"é"}']);
});
