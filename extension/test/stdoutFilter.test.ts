import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import fc from "fast-check";
import { STRAY_OUTPUT_LIMIT, StdoutFilter } from "../src/sidecarStreams";

/** What comes through, and what is heard of the stray output, when a process prints these pieces. */
function read(pieces: readonly Buffer[]): { through: string; stray: string[] } {
  const output = new PassThrough();
  const stray: string[] = [];
  const through: Uint8Array[] = [];
  new StdoutFilter(output, (heard) => stray.push(heard)).onData((data) => through.push(data));
  for (const piece of pieces) output.emit("data", piece);
  return { through: Buffer.concat(through).toString(), stray };
}

const MESSAGES = 'Content-Length: 2\r\n\r\n{}Content-Length: 4\r\n\r\n"é"';

test("what is printed before the first header is skipped and heard once, however it is cut into pieces", () => {
  const stray = fc.oneof(fc.string(), fc.constantFrom("a banner\n", "Content-Length", "Content-Content-", "é\n"));
  fc.assert(
    fc.property(fc.array(stray, { maxLength: 4 }), fc.array(fc.nat(200), { maxLength: 8 }), (lines, cuts) => {
      const printed = lines.join("");
      const bytes = Buffer.from(printed + MESSAGES);
      const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b), bytes.length];
      const pieces = places.slice(1).map((place, index) => bytes.subarray(places[index], place));
      const { through, stray: heard } = read(pieces);
      assert.equal(through, MESSAGES);
      assert.equal(heard.length, printed.trim() ? 1 : 0);
    }),
  );
});

test("of endless stray output only the start is kept", () => {
  const pieces = Array.from({ length: 100 }, () => Buffer.from("x".repeat(1000)));
  const { through, stray } = read([...pieces, Buffer.from(MESSAGES)]);
  assert.equal(through, MESSAGES);
  assert.ok((stray[0]?.length ?? 0) <= 2 * STRAY_OUTPUT_LIMIT);
});
