/** *Partstream: Report Issue…* as a person goes through it: the last answer in a file, and the report beside it. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { KEY } from "../driver/upstream.js";
import { until } from "../driver/wait.js";
import { HEADER } from "./configuration.js";

/** The names that the extension proposes, and gives the report. */
const PROPOSED = "answer.partstream.zip";
const REPORT = "partstream-issue.md";

export const REPORT_CHECKS = [
  {
    name: "report: the last answer and a report beside it, without keys, in the place that the person chose",
    async run({ panel, palette, wizard, server, screenshot }) {
      await panel.newChat();
      await panel.ask("scenario:text");
      await palette.run("Partstream: Report Issue…");
      await wizard.shows("What should the report contain?");
      await screenshot("report-1-question");
      await wizard.choose("With the Last Answer");
      await panel.answerDialog("What the file to share holds", "Save…", () => screenshot("report-2-preview"));
      const answer = join(server.workspace, "for-the-report.partstream.zip");
      await palette.answerWithPath(answer, PROPOSED);
      const report = join(server.workspace, REPORT);
      await until("the report beside the answer", () => existsSync(report) && existsSync(answer));
      await panel.answerNotification("The report is saved in", "Open Report");
      await panel.page.locator(".part.editor .tab", { hasText: REPORT }).waitFor();
      await screenshot("report-3-opened");
      const text = readFileSync(report, "utf8");
      assert.match(text, /for-the-report\.partstream\.zip.*holds it/);
      assert.match(text, /"vscodeVersion": "1\./);
      for (const key of [HEADER.value, KEY]) assert.ok(!text.includes(key), "a key is in the report");
      await panel.closeEditors();
    },
  },
];
