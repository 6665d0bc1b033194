/** One job a line on standard input, one result a line on standard output; `interop/clients/jobs.py` describes both. */

import { createInterface } from "node:readline";

export async function serveJobs(run) {
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await run(JSON.parse(line)))}\n`);
  }
}

/** What a tool says, in every client. */
export const resultOf = (name) => `${name} says yes`;
