/** One trial a line on standard input, one result a line on standard output; `interop/clients/served/trials.py` describes both. */

import { createInterface } from "node:readline";

const RESULTS = { weather: "sunny", time: "noon" };

const SCHEMAS = {
  weather: { place: { type: "string" } },
  time: { place: { type: "string" }, weather: { type: "string" } },
};

/** The schemas of the tools' arguments, by name. */
export const TOOLS = Object.fromEntries(
  Object.entries(SCHEMAS).map(([name, properties]) => [
    name,
    { type: "object", properties, required: Object.keys(properties), additionalProperties: false },
  ]),
);

export const MOST_ROUNDS = 5;

/** What a client has shown of a trial so far. */
export class Told {
  text = "";
  thinking = "";
  tools = [];
  tokens = null;

  /** Runs a tool, and says what it says. */
  run(name, args) {
    this.tools.push([name, args]);
    return RESULTS[name];
  }
}

/** Lets a client do the trials; `ask` fills in what it shows, and throws what the client throws. */
export async function serve(ask) {
  for await (const line of createInterface({ input: process.stdin })) {
    const told = new Told();
    let error = null;
    try {
      await ask(JSON.parse(line), told);
    } catch (thrown) {
      error = described(thrown);
    }
    process.stdout.write(`${JSON.stringify({ ...told, error })}\n`);
  }
}

/** An error in the fields that programs look at; of one that stands for several tries, the last of them. */
function described(thrown) {
  const error = thrown?.lastError ?? thrown;
  const { name, constructor, status, statusCode, message } = error ?? {};
  return {
    kind: constructor?.name === "Error" || !constructor ? (name ?? "Error") : (name ?? constructor.name) === "Error" ? constructor.name : name,
    status: status ?? statusCode ?? null,
    message: String(message ?? error).slice(0, 300),
  };
}
