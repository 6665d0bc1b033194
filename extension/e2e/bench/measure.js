/** What is measured: jobs for the consumer extension, and the numbers that their results come to. Milliseconds throughout. */
import { BUILT_IN, DIRECT, REPLAY } from "../checks/configuration.js";

export const PROVIDERS = { partstream: REPLAY, customendpoint: BUILT_IN, direct: DIRECT };

/** Between two texts of the upstream; the first comes at once. */
const PACE = 20;
const PACED_TEXTS = 60;
const UNPACED_TEXTS = 300;
/** Texts that arrive closer together than this came in one lump. */
const LUMP = 5;

const CALLS_OF_A_TURN = 4900;
const TEXTS_OF_A_TURN = 440;
const MESSAGES_OF_A_TURN = 20;
const COUNTED_TEXTS = 200;
const HIT_REPETITIONS = 20;

/** A text stream at the pace of a quick model. */
export async function measurePaced(consumer, selector) {
  const times = await textTimes(consumer, selector, `scenario:long=${PACED_TEXTS} pace:${PACE}`);
  const arrivals = times.filter((at, index) => index === 0 || at - times[index - 1] > LUMP);
  return {
    firstText: times[0],
    gap: median(arrivals.slice(1).map((at, index) => at - arrivals[index])),
    arrivals: arrivals.length,
  };
}

/** As fast as the upstream can send. */
export async function measureUnpaced(consumer, selector) {
  const { parts, endedAt } = await consumer.request({ selector, text: `scenario:long=${UNPACED_TEXTS} pace:0` });
  return { unpacedFirstText: parts.find(({ type }) => type === "text").at, unpacedTotal: endedAt };
}

/** One count each: `salt` makes texts that nobody has counted before. */
export async function measureCounts(consumer, selector, salt) {
  const texts = Array.from({ length: COUNTED_TEXTS }, (_, index) => sample(index, salt));
  const { times } = await consumer.perform({ kind: "count", selector, texts, repeat: 1 + HIT_REPETITIONS });
  return { countMiss: median(times.slice(0, COUNTED_TEXTS)), countHit: median(times.slice(COUNTED_TEXTS)) };
}

/** The counting of an agent's turn, with texts that are new and then with the same again. */
export async function measureTurn(consumer, selector, salt) {
  const texts = Array.from({ length: TEXTS_OF_A_TURN }, (_, index) => sample(index, salt));
  const job = { kind: "countAll", selector, texts, messages: MESSAGES_OF_A_TURN, calls: CALLS_OF_A_TURN };
  const first = await consumer.perform(job);
  const second = await consumer.perform(job);
  return { turnFirst: first.total, turnSecond: second.total };
}

/**
 * Texts like those that Copilot has counted: names and descriptions of a schema, and now and then a long message.
 *
 * 440 of them have about 200,000 characters.
 */
function sample(index, salt) {
  const words = index % 40 === 0 ? 1500 : index % 3 === 0 ? 60 : 4;
  return `${salt} ${index} ${"the property of a tool ".repeat(Math.ceil(words / 5))}`;
}

async function textTimes(consumer, selector, text) {
  const { parts, error } = await consumer.request({ selector, text });
  if (error) throw new Error(`${JSON.stringify(selector)} failed: ${error.message}`);
  return parts.filter(({ type }) => type === "text").map(({ at }) => at);
}

export function median(values) {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
