#!/usr/bin/env node
/**
 * Takes the pictures of the README and the docs in a real VS Code with the packed extension, in light and in dark.
 *
 *     node pictures.js [--vsix FILE] [--artifacts FOLDER] [--only REGULAR_EXPRESSION] [--theme light|dark]
 */
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { FILE, GROUP, PICTURE_CHECKS } from "./checks/pictures.js";
import { findPackage } from "./driver/extensionPackage.js";
import { serveModels } from "./driver/modelServer.js";
import { runChecks } from "./driver/runner.js";
import { E2E, PYTHON, ROOT, Session } from "./driver/session.js";

const THEMES = { light: "Light Modern", dark: "Dark Modern" };

/** Small enough that a page which shows it at its own size shows letters that can be read; 1200 pixels wide. */
const WINDOW = { viewport: { width: 960, height: 600 }, deviceScaleFactor: 1.25 };

const MODELS = ["large", "small", "chatty"].map((name) => `${join(E2E, "fixtures/pictures/coder.py")}:${name}`);

/** What belongs to no picture is hidden, and nothing moves by itself. */
const SETTINGS = {
  "breadcrumbs.enabled": false,
  "chat.commandCenter.enabled": false,
  "chat.viewSessions.enabled": false,
  "editor.cursorBlinking": "solid",
  "editor.minimap.enabled": false,
  "editor.stickyScroll.enabled": false,
  "editor.wordWrap": "on",
  "window.commandCenter": false,
  "window.menuBarVisibility": "hidden",
  "workbench.activityBar.location": "hidden",
  "workbench.editor.showTabs": "single",
  "workbench.layoutControl.enabled": false,
  "workbench.reduceMotion": "on",
};

const { values } = parseArgs({
  options: {
    vsix: { type: "string" },
    artifacts: { type: "string", default: join(ROOT, "artifacts/pictures") },
    only: { type: "string" },
    theme: { type: "string" },
  },
});

const extension = findPackage(values.vsix);
const only = values.only && new RegExp(values.only);
for (const [theme, colors] of Object.entries(THEMES).filter(([name]) => !values.theme || name === values.theme)) {
  console.log(`${theme}:`);
  if (!(await takePictures(theme, colors))) process.exitCode = 1;
}

/** Whether all went well. */
async function takePictures(theme, colors) {
  const session = new Session(resolve(values.artifacts, theme));
  let results = [];
  try {
    const file = join(session.server.workspace, FILE);
    const baseUrl = await serveModels(session, PYTHON, MODELS, { PICTURES_FILE: file });
    await session.start({
      extension,
      groups: () => [{ name: GROUP, vendor: "partstream", baseUrl }],
      settings: () => ({ ...SETTINGS, "workbench.colorTheme": colors }),
      window: { ...WINDOW, colorScheme: theme },
    });
    results = await runChecks(PICTURE_CHECKS, session, { only });
    writeFileSync(join(session.artifacts, "results.json"), JSON.stringify(results, undefined, 2));
  } finally {
    await session.stop({ keepLogs: true });
  }
  return results.length > 0 && results.every(({ passed }) => passed);
}
