#!/usr/bin/env node
/**
 * Installs the packed extension into a real VS Code and checks it there.
 *
 *     node run.js [--vsix FILE] [--artifacts FOLDER] [--only REGULAR_EXPRESSION] [--keep-logs]
 */
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { ACCESSIBILITY_CHECKS } from "./checks/accessibility.js";
import { ADD_MODELS_CHECKS } from "./checks/addModels.js";
import { AGENT_CHECKS } from "./checks/agents.js";
import { API_CHECKS } from "./checks/api.js";
import { groups, settings } from "./checks/configuration.js";
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
import { REPORT_CHECKS } from "./checks/report.js";
import { TOKEN_CHECKS } from "./checks/tokens.js";
import { TROUBLE_CHECKS } from "./checks/trouble.js";
import { WIRE_CHECKS } from "./checks/wires.js";
import { runChecks } from "./driver/runner.js";
import { ROOT, Session } from "./driver/session.js";

const { values } = parseArgs({
  options: {
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

/** Each with a VS Code of its own; `missing` says why one cannot be, and `table` shows its results. */
const RUNS = [
  {
    artifacts,
    begin: { fixtures: ["direct-provider", "consumer"], groups, settings },
    // The groups that are added there have models of the same ids as those of the others, which get other ids then.
    checks: [
      ...PANEL_CHECKS,
      ...WIRE_CHECKS,
      ...API_CHECKS,
      ...TOKEN_CHECKS,
      ...TROUBLE_CHECKS, // Before groups are added whose key is refused: they stay wrong.
      ...ADD_MODELS_CHECKS,
      ...GROUP_CHECKS,
      ...CONNECTION_CHECKS,
      ...INSPECTOR_CHECKS,
      ...REPORT_CHECKS,
      ...ACCESSIBILITY_CHECKS,
      ...SETTINGS_EDITOR_CHECKS,
      ...AGENT_CHECKS,
      ...HUB_CHECKS,
      ...NEW_PROVIDER_CHECKS,
      ...PROVIDER_KEY_CHECKS,
      ...ENDING_CHECKS,
    ],
  },
  { artifacts: join(artifacts, "first-run"), begin: { isFresh: true }, checks: FIRST_RUN_CHECKS },
  {
    artifacts: join(artifacts, "first-provider"),
    begin: { isFresh: true, prepare: prepareProvider },
    checks: FIRST_PROVIDER_CHECKS,
  },
  {
    artifacts: join(artifacts, "harness"),
    begin: { groups: harnessGroups, settings: () => harness.settings, harness },
    checks: HARNESS_CHECKS,
    missing: missingTexts(),
    table: tableOf,
  },
  {
    artifacts: join(artifacts, "everywhere"),
    begin: { groups: everywhereGroups, settings: everywhereSettings },
    checks: EVERYWHERE_CHECKS,
  },
];

async function run({ artifacts, begin, checks, missing = [], table }) {
  if (missing.length > 0) {
    console.log(`left out: the checks in the Copilot harness, because ${missing.join("; ")}`);
    return;
  }
  const session = new Session(artifacts);
  let results = [];
  try {
    const began = performance.now();
    await session.start({ ...begin, extension });
    console.log(`VS Code is ready (${((performance.now() - began) / 1000).toFixed(1)} s)`);
    results = await runChecks(checks, session, { only });
    writeFileSync(join(session.artifacts, "results.json"), JSON.stringify(results, undefined, 2));
    if (table) {
      writeFileSync(join(session.artifacts, "table.md"), table(results));
      console.log(`\n${table(results)}`);
    }
  } finally {
    const failed = results.length === 0 || results.some(({ passed }) => !passed);
    await session.stop({ keepLogs: failed || values["keep-logs"] });
    if (failed) process.exitCode = 1;
  }
}

for (const one of RUNS) {
  if (!only || one.checks.some(({ name }) => only.test(name))) await run(one);
}
