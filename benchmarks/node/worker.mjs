// What every worker in JavaScript does beside reading: takes a stream apart into its chunks, and tells processor time.
import { existsSync, readFileSync } from "node:fs";

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
