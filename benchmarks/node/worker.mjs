// What every worker in JavaScript does beside reading: takes a stream apart into its chunks, tells processor time,
// and speaks the protocol of benchmarks/workers/worker.py over standard input and output.
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

/** The chunks of a stream. */
export function load(path, sizesPath) {
  const bytes = readFileSync(path);
  let start = 0;
  return JSON.parse(readFileSync(sizesPath, "utf8")).map((size) => {
    const chunk = bytes.subarray(start, start + size);
    start += size;
    return chunk;
  });
}

// Linux counts the time of a thread up to when it last gave the processor away, so it sleeps before it asks.
const never = new Int32Array(new SharedArrayBuffer(4));
const threadStatistics = "/proc/thread-self/schedstat";
const ofTheThread = existsSync(threadStatistics);

/** Seconds of processor time: of the main thread alone where that can be known, so without the garbage collector's
 * and the compiler's helper threads. */
export function processorTime() {
  if (ofTheThread) {
    Atomics.wait(never, 0, 0, 1);
    return Number(readFileSync(threadStatistics, "utf8").split(" ")[0]) / 1e9;
  }
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/**
 * Answers commands until the input ends.
 *
 * @param read Reads one stream; gives every part to its second argument. May be asynchronous.
 * @param count Adds a part to what came of a stream: the letters of its text and thinking, and its tool calls.
 * @param prepare Makes of the chunks what `read` takes; it is not measured.
 */
export async function work(read, count, prepare = (chunks) => chunks) {
  const prepared = new Map();
  const commands = {
    load: ({ stream, path, sizes }) => {
      prepared.set(stream, prepare(load(path, sizes)));
      return {};
    },
    tally: async ({ stream }) => {
      const counts = { text: 0, thinking: 0, tool_calls: 0 };
      await read(prepared.get(stream), (part) => count(counts, part));
      return counts;
    },
    run: async ({ stream }) => {
      let last;
      const start = processorTime();
      await read(prepared.get(stream), (part) => {
        last = part;
      });
      return { seconds: processorTime() - start, emitted: last !== undefined };
    },
  };
  for await (const line of createInterface({ input: process.stdin })) {
    const command = JSON.parse(line);
    process.stdout.write(`${JSON.stringify(await commands[command.command](command))}\n`);
  }
}
