/** The item of the status bar that is there only while something is wrong, and what it leads to. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../driver/wait.js";

/** The line that breaks the file. */
const LINE = 4;

export const TROUBLE_CHECKS = [
  {
    name: "trouble: a provider file that breaks is in the status bar, which leads to help, and goes when it is mended",
    async run({ panel, palette, wizard, folder, screenshot }) {
      const file = join(folder, "parrot.py");
      const code = readFileSync(file, "utf8");
      const item = panel.statusItem("Partstream: ");
      assert.equal(await item.count(), 0, "something is wrong before");
      const lines = code.split("\n");
      writeFileSync(file, [...lines.slice(0, LINE - 1), "def broken(:", ...lines.slice(LINE - 1)].join("\n"));
      await panel.showsInStatusBar(`Partstream: parrot.py line ${LINE}`);
      await screenshot("trouble-1-item");
      await item.hover();
      const tooltip = panel.page.locator(".monaco-hover:visible", { hasText: "SyntaxError" });
      await tooltip.waitFor();
      for (const link of ["Test Connection…", "Show Log", "Copy Debug Information"]) {
        await tooltip.getByRole("link", { name: link }).waitFor();
      }
      await screenshot("trouble-2-tooltip");
      await item.click();
      await wizard.shows("Test Connection…");
      await screenshot("trouble-3-help");
      await wizard.close();
      writeFileSync(file, code);
      await until("the item to go", async () => (await item.count()) === 0);
      await screenshot("trouble-4-mended");
      await palette.clearNotifications();
    },
  },
];
