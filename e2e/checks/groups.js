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
  {
    name: "groups: a refused key is said in its group, with what helps, and hides behind no other group",
    async run({ models, upstream, screenshot }) {
      await models.open();
      await models.addGroup("Bad key", { "Base URL": upstream.keyedUrl, "API key": "sk-of-somebody-else" });
      const text = await models.shows(/HTTP 401/);
      await screenshot("group-refused");
      await models.close();
      const [, said] = /Bad key\n([^\n]*401[^\n]*)/.exec(text) ?? [];
      assert.match(said ?? text, /^The API key is refused: choose Update API Key/);
      return said;
    },
  },
  {
    name: "groups: the log names groups, and says once what was found",
    async run({ server, upstream }) {
      const lines = server.readOutputChannel().split("\n");
      const found = lines.filter((line) => line.includes(`models of Desk at ${upstream.keyedUrl}`));
      assert.equal(found.length, 1, lines.slice(-40).join("\n"));
      const refused = lines.filter((line) => line.includes("the provider Bad key could not list its models"));
      assert.equal(refused.length, 1, lines.slice(-40).join("\n"));
      assert.ok(!lines.some((line) => line.includes(KEY)), "a key is in the log");
    },
  },
];
