/** From medians to a table and to what was to be reached; measures nothing. */

const ROWS = [
  ["firstText", "first text, 20 ms pace", "ms"],
  ["gap", "gap between texts on arrival, 20 ms pace", "ms"],
  ["arrivals", "arrivals of 60 texts", ""],
  ["unpacedFirstText", "first text, no pace", "ms"],
  ["unpacedTotal", "300 texts, no pace", "ms"],
  ["countHit", "countTokens, a text again", "ms"],
  ["countMiss", "countTokens, a new text", "ms"],
  ["turnFirst", "an agent turn's counting, first time", "ms"],
  ["turnSecond", "an agent turn's counting, again", "ms"],
];

/** What is to be reached, each as a number and its most (or least). */
const TARGETS = [
  {
    name: "first text at least 10 times sooner than customendpoint",
    value: ({ partstream, customendpoint }) => customendpoint.firstText / partstream.firstText,
    least: 10,
  },
  {
    name: "first text within 15 ms of the direct provider",
    value: ({ partstream, direct }) => partstream.firstText - direct.firstText,
    most: 15,
  },
  { name: "median gap", value: ({ partstream }) => partstream.gap, most: 45 },
  {
    name: "300 texts without pace, as a multiple of customendpoint",
    value: ({ partstream, customendpoint }) => partstream.unpacedTotal / customendpoint.unpacedTotal,
    most: 1.2,
  },
  { name: "a count that hits", value: ({ partstream }) => partstream.countHit, most: 0.02 },
  { name: "a count that misses", value: ({ partstream }) => partstream.countMiss, most: 1 },
  { name: "a turn's counting, first time", value: ({ partstream }) => partstream.turnFirst, most: 500 },
  { name: "a turn's counting, again", value: ({ partstream }) => partstream.turnSecond, most: 200 },
];

export function judge(medians) {
  return TARGETS.map(({ name, value, least = -Infinity, most = Infinity }) => {
    const measured = value(medians);
    const target = least === -Infinity ? { most } : { least };
    return { name, measured, ...target, reached: measured >= least && measured <= most };
  });
}

export function formatTable(medians) {
  const providers = Object.keys(medians);
  const lines = ROWS.map(([key, name, unit]) => [
    `${name}${unit && ` (${unit})`}`,
    ...providers.map((one) => shown(medians[one][key])),
  ]);
  return columns([["median", ...providers], ...lines]);
}

export function formatTargets(judged) {
  const lines = judged.map(({ name, measured, least, most, reached }) => [
    name,
    shown(measured),
    least === undefined ? `at most ${most}` : `at least ${least}`,
    reached ? "reached" : "NOT reached",
  ]);
  return columns([["target", "measured", "", ""], ...lines]);
}

function columns(lines) {
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  return lines
    .map((line) =>
      line.map((cell, column) => (column ? cell.padStart(widths[column]) : cell.padEnd(widths[0]))).join("  "),
    )
    .join("\n");
}

function shown(value) {
  return value < 1 ? value.toFixed(4) : value.toFixed(1);
}
