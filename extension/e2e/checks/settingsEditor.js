/** Our settings in VS Code's own editor: in groups, and with links that do what they say. */
import assert from "node:assert/strict";

export const SETTINGS_EDITOR_CHECKS = [
  {
    name: "settings editor: ours stand in groups, and a link in one runs its command",
    async run({ panel, palette, webviews, screenshot }) {
      await palette.run("Preferences: Open Settings (UI)");
      const editor = panel.page.locator(".settings-editor");
      await editor.locator(".search-container .monaco-editor").click();
      await panel.page.keyboard.insertText("@ext:partstream.partstream");
      // A browser has all settings there: those of programs and files hold on the machine with the models.
      await editor.getByRole("tab", { name: /^Remote/ }).click();
      await editor.locator(".setting-item-label", { hasText: "Providers" }).waitFor();
      await screenshot("settings-editor");
      assert.match(await editor.locator(".settings-toc-container").innerText(), /Models[^]*Python[^]*Status Bar/);
      assert.equal(await editor.locator("a", { hasText: "Partstream: Python" }).count(), 1);
      // The list holds only what is in sight.
      await editor.locator(".settings-toc-container").getByText("Status Bar").click();
      await editor.locator("a", { hasText: "Show Token Usage" }).click();
      await webviews.frame(/^Token usage$/);
      await palette.run("Close Modal Editor");
      await panel.closeEditors();
    },
  },
];
