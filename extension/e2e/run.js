#!/usr/bin/env node
/**
 * Installs the packed extension into a real VS Code and checks it there.
 *
 *     node run.js [--smoke] [--lanes NUMBER] [--only REGULAR_EXPRESSION]
 *                 [--vsix FILE] [--artifacts FOLDER] [--keep-logs]
 */
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { ACCESSIBILITY_CHECKS } from "./checks/accessibility.js";
import { ADD_MODELS_CHECKS } from "./checks/addModels.js";
import { AGENT_CHECKS } from "./checks/agents.js";
import { API_CHECKS } from "./checks/api.js";
import { groups, settings } from "./checks/configuration.js";
import { COMPLETION_CHECKS, completionGroups, completionSettings, prepareCompletions } from "./checks/completions.js";
import { CONNECTION_CHECKS } from "./checks/connection.js";
import { ENDING_CHECKS } from "./checks/ending.js";
import { EVERYWHERE_CHECKS, everywhereGroups, everywhereSettings } from "./checks/everywhere.js";
import { FIRST_PROVIDER_CHECKS, FIRST_RUN_CHECKS, prepareProvider } from "./checks/firstRun.js";
import { GROUP_CHECKS } from "./checks/groups.js";
import { HARNESS_CHECKS, harnessGroups, tableOf } from "./checks/harness.js";
import { HUB_CHECKS } from "./checks/hub.js";
import { INSPECTOR_CHECKS } from "./checks/inspector.js";
import { NEW_PROVIDER_CHECKS } from "./checks/newProvider.js";
import { PANEL_CHECKS } from "./checks/panel.js";
import { SETTINGS_EDITOR_CHECKS } from "./checks/settingsEditor.js";
import { missingTexts } from "./driver/agentHostTexts.js";
import { findPackage } from "./driver/extensionPackage.js";
import { Harness } from "./driver/harness.js";
import { PROVIDER_KEY_CHECKS } from "./checks/providerKeys.js";
import {
  PROGRAM_CHECKS,
  missingPrograms,
  preparePrograms,
  programEnvironment,
  programSettings,
} from "./checks/programs.js";
import { missingReal, prepareReal, REAL_CHECKS, realGroups, realSettings } from "./checks/real.js";
import { REPORT_CHECKS } from "./checks/report.js";
import { TOKEN_CHECKS } from "./checks/tokens.js";
import { TROUBLE_CHECKS } from "./checks/trouble.js";
import { WIRE_CHECKS } from "./checks/wires.js";
import { runChecks } from "./driver/runner.js";
import { ROOT, Session } from "./driver/session.js";

const { values } = parseArgs({
  options: {
    smoke: { type: "boolean", default: false },
    lanes: { type: "string", default: "1" },
    vsix: { type: "string" },
    artifacts: { type: "string", default: join(ROOT, "artifacts/e2e") },
    only: { type: "string" },
    "keep-logs": { type: "boolean", default: false },
  },
});
const extension = findPackage(values.vsix);
const only = values.only && new RegExp(values.only);
const artifacts = resolve(values.artifacts);

const harness = new Harness();

const CONFIGURED = { fixtures: ["direct-provider", "consumer"], groups, settings };
const [MODEL_IS_THERE] = PANEL_CHECKS;

/**
 * Each with a VS Code, a folder and artifacts of its own, so that several can run beside each other. `missing` says why
 * one cannot be, and `table` shows its results. Those that take longest come first: with two lanes both end at about the
 * same time.
 */
const RUNS = [
  {
    name: "pages",
    begin: CONFIGURED,
    checks: [
      MODEL_IS_THERE,
      ...INSPECTOR_CHECKS, // Before groups are added whose key is refused: they stay wrong.
      ...REPORT_CHECKS,
      ...CONNECTION_CHECKS,
      ...ACCESSIBILITY_CHECKS,
      ...SETTINGS_EDITOR_CHECKS,
    ],
  },
  {
    name: "chat",
    begin: CONFIGURED,
    checks: [...PANEL_CHECKS, ...WIRE_CHECKS, ...API_CHECKS, ...TOKEN_CHECKS, ...TROUBLE_CHECKS],
  },
  {
    name: "models",
    begin: CONFIGURED,
    checks: [
      MODEL_IS_THERE,
      // The groups that are added there have models of the same ids as those of the others, which get other ids then.
      ...ADD_MODELS_CHECKS,
      ...GROUP_CHECKS,
      ...AGENT_CHECKS, // From here on the folder has providers of its own.
      ...HUB_CHECKS,
      ...NEW_PROVIDER_CHECKS,
      ...PROVIDER_KEY_CHECKS,
      ...ENDING_CHECKS,
    ],
  },
  {
    name: "harness",
    begin: { groups: harnessGroups, settings: () => harness.settings, harness },
    checks: HARNESS_CHECKS,
    missing: missingTexts(),
    table: tableOf,
  },
  {
    name: "completions",
    begin: { prepare: prepareCompletions, groups: completionGroups, settings: completionSettings },
    checks: COMPLETION_CHECKS,
  },
  {
    name: "programs",
    begin: {
      fixtures: ["consumer"],
      settings: programSettings,
      environment: programEnvironment,
      prepare: preparePrograms,
    },
    checks: PROGRAM_CHECKS,
    missing: missingPrograms(),
  },
  {
    name: "real",
    begin: { prepare: prepareReal, groups: realGroups, settings: realSettings },
    checks: REAL_CHECKS,
    missing: missingReal(),
  },
  { name: "first-run", begin: { isFresh: true }, checks: FIRST_RUN_CHECKS },
  { name: "everywhere", begin: { groups: everywhereGroups, settings: everywhereSettings }, checks: EVERYWHERE_CHECKS },
  { name: "first-provider", begin: { isFresh: true, prepare: prepareProvider }, checks: FIRST_PROVIDER_CHECKS },
];

/** What shows in a minute whether the extension works: for each run, the checks of it that `--smoke` chooses. */
const SMOKE = {
  chat: [
    "panel: the model is in the picker",
    "panel: text is shown while the upstream still sends",
    "panel: thinking is a block that opens",
    "panel: Copilot runs a tool call and its result goes back in a second round",
    "panel: Stop ends the answer and the upstream's connection within a second",
    "panel: a killed sidecar gives one clear sentence, and the next message works",
    "panel: the person's own Python provider answers, and answers differently once its file is edited",
    "tokens: the status bar says what the answer took, and opens the page behind it",
    "add models: four pages, and the models of a server with a key are in the picker and answer",
    "settings editor: ours stand in groups, and a link in one runs its command",
    "ending: the sidecar ends with VS Code",
  ],
  "first-run": ["first run: one notification says that there are no models yet, and its button begins the wizard"],
};

/** The runs of the smoke test: the named checks, wherever they are otherwise. */
function smokeRuns() {
  const checks = new Map(RUNS.flatMap((one) => one.checks).map((check) => [check.name, check]));
  return Object.entries(SMOKE).map(([name, chosen]) => {
    const unknown = chosen.filter((check) => !checks.has(check));
    if (unknown.length > 0) throw new Error(`there is no check ${unknown.join(", nor ")}`);
    const { begin } = RUNS.find((one) => one.name === name);
    return { name: `smoke-${name}`, begin, checks: chosen.map((check) => checks.get(check)) };
  });
}

/** Repeated as the last lines: the log of a failed build is often cut to its end. */
const failures = [];

async function run({ name, begin, checks, missing = [], table }) {
  const say = (text) => console.log(text.replaceAll(/^/gm, `${name}: `));
  if (missing.length > 0) {
    say(`left out, because ${missing.join("; ")}`);
    return;
  }
  const session = new Session(join(artifacts, name));
  let results = [];
  try {
    const began = performance.now();
    await session.start({ ...begin, extension });
    say(`VS Code is ready (${((performance.now() - began) / 1000).toFixed(1)} s)`);
    results = await runChecks(checks, session, { only, say });
    writeFileSync(join(session.artifacts, "results.json"), JSON.stringify(results, undefined, 2));
    if (table) {
      writeFileSync(join(session.artifacts, "table.md"), table(results));
      say(`\n${table(results)}`);
    }
  } finally {
    const failed = results.filter(({ passed }) => !passed);
    failures.push(...failed.map((check) => `${name}: FAIL ${check.name}\n${check.failure}`));
    const hasFailed = results.length === 0 || failed.length > 0;
    await session.stop({ keepLogs: hasFailed || values["keep-logs"] });
    if (hasFailed) process.exitCode = 1;
  }
}

/** Takes one run after the other; a run that could not begin does not keep the others from theirs. */
async function goThrough(waiting) {
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const { name } = next;
    await run(next).catch((error) => {
      process.exitCode = 1;
      failures.push(`${name}: FAIL ${error.stack}`);
      console.log(failures.at(-1));
    });
  }
}

const waiting = (values.smoke ? smokeRuns() : RUNS).filter(
  ({ checks }) => !only || checks.some(({ name }) => only.test(name)),
);
await Promise.all(Array.from({ length: Number(values.lanes) }, () => goThrough(waiting)));
for (const failure of failures) console.log(failure);
