/** Groups of models as a person adds them, through VS Code's own dialog, and what the table of models says of them. */
import assert from "node:assert/strict";
import { KEY } from "../driver/upstream.js";
import { MODEL } from "./configuration.js";

const isAgentRequest = ({ body }) => body.tools?.length > 0;

export const GROUP_CHECKS = [
  {
    name: "groups: a group from VS Code's own dialog, key included, answers a message",
    async run({ panel, models, server, upstream, screenshot }) {
      await models.open();
      const answers = { "Base URL": upstream.keyedUrl, "API key": KEY };
      const questions = await models.addGroup("Desk", answers, screenshot);
      assert.deepEqual(questions, ["Group Name", "Desk: Base URL", "Desk: Protocol", "Desk: API key"]);
      await models.shows(/Desk\n[^]*citations\n/);
      await screenshot("group-added");
      const { apiKey, ...group } = server.readGroups().find(({ name }) => name === "Desk");
      const { keyedUrl: baseUrl } = upstream;
      assert.deepEqual(group, { name: "Desk", vendor: "partstream", baseUrl, protocol: "openresponses" });
      assert.match(apiKey, /^\$\{input:chat\.lm\.secret\./);
      await models.close();
      assert.equal(await panel.page.locator(".part.editor .tab").count(), 0, "the dialog opened a file");

      upstream.mark();
      await panel.newChat();
      await panel.pickModel("citations");
      assert.match(await panel.ask("scenario:text"), /Hello from Partstream/);
      // That address answers nobody without the key.
      const { headers, status } = await upstream.next("the agent's request", isAgentRequest);
      assert.deepEqual([headers.host, status], [new URL(upstream.keyedUrl).host, 200]);
      await panel.newChat();
      await panel.pickModel(MODEL);
    },
  },
];
