#!/usr/bin/env node
/**
 * Measures our provider beside VS Code's own `customendpoint` and beside one written in JavaScript, as a consumer sees them.
 *
 *     node bench.js [--vsix FILE] [--repetitions N] [--artifacts FOLDER]
 *
 * All three ask the same upstream; they take turns, in another order each time. The table holds medians.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { arch, cpus, loadavg, release } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { measureCounts, measurePaced, measureTurn, measureUnpaced, median, PROVIDERS } from "./bench/measure.js";
import { formatTable, formatTargets, judge } from "./bench/report.js";
import { groups, MODEL, settings } from "./checks/configuration.js";
import { findPackage } from "./driver/extensionPackage.js";
import { ROOT, Session } from "./driver/session.js";

const { values } = parseArgs({
  options: {
    vsix: { type: "string" },
    repetitions: { type: "string", default: "7" },
    artifacts: { type: "string", default: join(ROOT, "artifacts") },
  },
});
const repetitions = Number(values.repetitions);
const artifacts = resolve(values.artifacts);

async function measureOnce(consumer, selector, salt) {
  return {
    ...(await measurePaced(consumer, selector)),
    ...(await measureUnpaced(consumer, selector)),
    ...(await measureCounts(consumer, selector, salt)),
    ...(await measureTurn(consumer, selector, `${salt} of a turn`)),
  };
}

async function measureAll(consumer) {
  const names = Object.keys(PROVIDERS);
  const measured = Object.fromEntries(names.map((name) => [name, []]));
  // The first repetition warms everything up and does not count.
  for (let repetition = 0; repetition <= repetitions; repetition++) {
    const order = names.map((_, index) => names[(index + repetition) % names.length]);
    for (const name of order) {
      const numbers = await measureOnce(consumer, PROVIDERS[name], `repetition ${repetition} of ${name}`);
      if (repetition > 0) measured[name].push(numbers);
    }
  }
  return measured;
}

function mediansOf(measured) {
  const keys = Object.keys(measured[0]);
  return Object.fromEntries(keys.map((key) => [key, median(measured.map((numbers) => numbers[key]))]));
}

const session = new Session(join(artifacts, "bench-vscode"));
try {
  const extension = findPackage(values.vsix);
  await session.start({ fixtures: ["direct-provider", "consumer"], extension, groups, settings });
  await session.panel.pickModel(MODEL);
  const load = { before: loadavg() };
  const measured = await measureAll(session.consumer);
  load.after = loadavg();
  const medians = Object.fromEntries(Object.entries(measured).map(([name, all]) => [name, mediansOf(all)]));
  const targets = judge(medians);
  const machine = { processor: cpus()[0]?.model, processors: cpus().length, system: `${release()} ${arch()}`, load };
  const lines = [
    `${repetitions} repetitions on ${machine.processors} × ${machine.processor}; load ${load.before[0].toFixed(1)} before and ${load.after[0].toFixed(1)} after`,
    "",
    formatTable(medians),
    "",
    formatTargets(targets),
  ];
  console.log(lines.join("\n"));
  mkdirSync(artifacts, { recursive: true });
  writeFileSync(join(artifacts, "bench-vscode.txt"), `${lines.join("\n")}\n`);
  writeFileSync(
    join(artifacts, "bench-vscode.json"),
    JSON.stringify({ machine, medians, targets, measured }, undefined, 2),
  );
} finally {
  await session.stop();
}
