/** *Partstream: Add Models…* as a person goes through it. */
import assert from "node:assert/strict";
import { KEY } from "../driver/upstream.js";
import { MODEL } from "./configuration.js";

const isAgentRequest = ({ body }) => body.tools?.length > 0;

export const ADD_MODELS_CHECKS = [
  {
    name: "add models: four pages, and the models of a server with a key are in the picker and answer",
    async run({ wizard, panel, server, upstream, screenshot }) {
      await wizard.open();
      await screenshot("wizard-1-server");
      await wizard.choose("Another server…");
      await wizard.shows("The address of the server");
      await wizard.write("127.0.0.1:1/v1");
      await wizard.shows("Write http:// before it.");
      await screenshot("wizard-1-address");
      await wizard.write(upstream.keyedUrl);
      // A server on this machine is asked first, and wants a key.
      await wizard.shows("HTTP 401");
      await screenshot("wizard-2-refused");
      await wizard.choose("Enter a key");
      await wizard.shows("VS Code keeps it in its secret storage");
      await wizard.back();
      await wizard.shows("The address of the server");
      await wizard.accept();
      await wizard.shows("HTTP 401");
      await wizard.choose("Enter a key");
      await wizard.shows("VS Code keeps it in its secret storage");
      await screenshot("wizard-2-key");
      await wizard.write(KEY);
      await wizard.shows("Which models shall the picker show?");
      await screenshot("wizard-3-models");
      await wizard.choose("refusal"); // Takes its mark away.
      await wizard.accept();
      await wizard.shows("What the models stand under in the picker");
      await screenshot("wizard-4-name");
      await wizard.write("Wizard");
      await panel.answerNotification("models of Wizard are in the picker", "Open Chat");
      const { apiKey, ...group } = server.readGroups().find(({ name }) => name === "Wizard");
      assert.deepEqual(group, { name: "Wizard", vendor: "partstream", baseUrl: upstream.keyedUrl, hiddenModels: ["refusal"] });
      assert.match(apiKey, /^\$\{input:chat\.lm\.secret\./);
      assert.equal(await panel.page.locator(".part.editor .tab").count(), 0, "the wizard opened a file");
      upstream.mark();
      await panel.newChat();
      await panel.pickModel("citations");
      await screenshot("wizard-picked");
      assert.match(await panel.ask("scenario:text"), /Hello from Partstream/);
      const { headers, status } = await upstream.next("the agent's request", isAgentRequest);
      assert.deepEqual([headers.host, status], [new URL(upstream.keyedUrl).host, 200]);
      assert.ok(!server.readOutputChannel().includes(KEY), "a key is in the log");
      await panel.newChat();
      await panel.pickModel(MODEL);
    },
  },
];
