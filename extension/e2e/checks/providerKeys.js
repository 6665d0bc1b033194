/** The key that a provider of the person's own asks for: from the notification to the answer, and another key for a wrong one. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { until } from "../driver/wait.js";
import { MODEL } from "./configuration.js";

const RIGHT_KEY = "k-of-the-gate-5133";
const WRONG_KEY = "k-of-another-gate-5133";
/** How long a new process may take until its list is there. */
const START_LIMIT = 60_000;

const GATE = `
from partstream import (
    KeyNeededError, LanguageModelChatCapabilities, LanguageModelChatInformation, LanguageModelChatProvider, TextPart,
)


class Gate(LanguageModelChatProvider):
    async def provide_language_model_chat_information(self, silent, token, configuration=None):
        if configuration.get("apiKey") != "${RIGHT_KEY}":
            raise KeyNeededError("The key of the gate is on its back.")
        calls = LanguageModelChatCapabilities(tool_calling=True)
        return [LanguageModelChatInformation("gate", "Gate Model", "gate", "1", 8000, 1000, capabilities=calls)]

    async def provide_language_model_chat_response(self, model, messages, options, progress, token):
        progress.report(TextPart(f"The gate opens with a key of {len(options.configuration['apiKey'])} characters."))

    async def provide_token_count(self, model, text, token):
        return 1
`;

export const PROVIDER_KEY_CHECKS = [
  {
    name: "keys: a provider file asks for its key, for another one in place of a wrong one, and answers with it",
    async run({ wizard, palette, panel, server, folder, screenshot }) {
      await panel.closeEditors();
      await palette.clearNotifications();
      const file = join(folder, "gate.py");
      writeFileSync(file, GATE);
      const settings = join(server.workspace, ".vscode/settings.json");
      const before = existsSync(settings) ? readFileSync(settings, "utf8") : undefined;
      const { "partstream.providers": others = [], ...rest } = before === undefined ? {} : JSON.parse(before);
      mkdirSync(dirname(settings), { recursive: true });
      try {
        writeFileSync(settings, JSON.stringify({ ...rest, "partstream.providers": [...others, file] }));
        await panel.notification("gate needs an API key.", START_LIMIT);
        await panel.showsInStatusBar("Partstream: gate needs an API key");
        await screenshot("keys-1-notification");
        await panel.answerNotification("gate needs an API key.", "Enter Key");
        await wizard.shows("The key of the gate is on its back.");
        assert.equal(await palette.input.getAttribute("type"), "password");
        await screenshot("keys-2-box");
        await wizard.write(WRONG_KEY);
        await panel.answerNotification("gate rejected the API key.", "Enter Key", START_LIMIT);
        await wizard.shows("It replaces the stored key");
        await screenshot("keys-3-another");
        await wizard.write(RIGHT_KEY);

        await panel.newChat();
        await panel.pickModel("Gate Model");
        const answer = await panel.ask("Open");
        await screenshot("keys-4-answer");
        assert.match(answer, new RegExp(`a key of ${RIGHT_KEY.length} characters`));
        const log = server.readOutputChannel();
        assert.ok(log.includes("could not list its models"), "the log names the failed list");
        for (const key of [RIGHT_KEY, WRONG_KEY]) assert.ok(!log.includes(key), "a key is in the log");

        await palette.run("Partstream: Enter Key…");
        // Other providers may have asked before, in other checks.
        const page = await wizard.shows(/whose key you enter|It replaces the stored key/);
        if (page.includes("whose key you enter")) await wizard.choose("gate");
        await wizard.shows("It replaces the stored key");
        await wizard.close();
      } finally {
        if (before === undefined) rmSync(settings);
        else writeFileSync(settings, before);
      }
      await until("the other models", async () => {
        await panel.newChat();
        return panel.pickModel(MODEL).then(() => true);
      });
    },
  },
];
