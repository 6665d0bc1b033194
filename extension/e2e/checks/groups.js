/** Groups of models as a person adds them in VS Code's own editor of models, and what its table says of them. */
import assert from "node:assert/strict";
import { KEY } from "../driver/upstream.js";
import { until } from "../driver/wait.js";
import { FORECAST, MODEL, NAMED } from "./configuration.js";

const KEY_OF_FORECAST = "k-of-the-forecast-51";
const ENTERED_KEY = "k-entered-for-the-forecast-51";
const isAgentRequest = ({ body }) => body.tools?.length > 0;

export const GROUP_CHECKS = [
  {
    name: "groups: a group from VS Code's own Add Models, key included, answers a message",
    async run({ panel, models, server, upstream, screenshot }) {
      await models.open();
      await models.addModels({ name: "Desk", address: upstream.keyedUrl, key: KEY });
      await models.shows(/Desk\n[^]*citations\n/);
      await screenshot("group-added");
      const { apiKey, ...group } = server.readGroups().find(({ name }) => name === "Desk");
      const { keyedUrl: baseUrl } = upstream;
      assert.deepEqual(group, { name: "Desk", vendor: "partstream", baseUrl, protocol: "auto" });
      assert.match(apiKey, /^\$\{input:chat\.lm\.secret\./);
      await models.close();
      assert.equal(await panel.page.locator(".part.editor .tab").count(), 0, "the dialog opened a file");

      upstream.mark();
      await panel.newChat();
      await panel.pickModel("citations", "Desk");
      assert.match(await panel.ask("scenario:text"), /Hello from Partstream/);
      // That address answers nobody without the key.
      const { headers, status } = await upstream.next("the agent's request", isAgentRequest);
      assert.deepEqual([headers.host, status], [new URL(upstream.keyedUrl).host, 200]);
      await panel.newChat();
      await panel.pickModel(MODEL);
    },
  },
  {
    name: "groups: a model that a group names has the name that it says, and the server's other models stay",
    async run({ panel, screenshot }) {
      await panel.newChat();
      await panel.pickModel(NAMED.other, NAMED.group);
      await panel.pickModel(NAMED.name, NAMED.group);
      await screenshot("group-named");
      assert.match(await panel.ask("scenario:text"), /Hello from Partstream/);
      await panel.newChat();
      await panel.pickModel(MODEL);
    },
  },
  {
    name: "groups: a refused key is said in its group, with what helps, and hides behind no other group",
    async run({ models, upstream, screenshot }) {
      await models.open();
      await models.addModels({ name: "Bad key", address: upstream.keyedUrl, key: KEY });
      await models.shows(/Bad key\n/);
      await models.updateKey("Bad key", "sk-of-somebody-else");
      // For a moment VS Code has neither the old key nor the new one.
      const text = await models.shows(/Bad key\n[^\n]*refused[^\n]*HTTP 401/);
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
      // VS Code may ask for the list before it has stored the key, and again with it.
      const said = ["the provider Bad key could not list its models", "rejected this API key"];
      const refused = lines.filter((line) => said.every((one) => line.includes(one)));
      assert.equal(refused.length, 1, lines.slice(-40).join("\n"));
      assert.ok(!lines.some((line) => line.includes(KEY)), "a key is in the log");
    },
  },
  {
    name: "groups: the picker's row of a model shows its price",
    async run({ panel, screenshot }) {
      await panel.openPicker(FORECAST.model);
      const row = await panel.rowInPicker(FORECAST.model);
      await screenshot("picker-price");
      await panel.page.keyboard.press("Escape");
      assert.ok(row.includes(FORECAST.price), row);
      return row.replaceAll("\n", " / ");
    },
  },
  {
    name: "groups: a provider file that a group names gets the values of the group, a key that it asks for, and before all that of the group",
    async run({ panel, palette, wizard, models, server, screenshot }) {
      await panel.newChat();
      await panel.pickModel(FORECAST.model);
      assert.match(await panel.ask("Which city?"), /needs the key of its service; run "Partstream: Enter Key/);
      await screenshot("group-without-key");
      await palette.run("Partstream: Enter Key…");
      await wizard.shows("Forecast needs the key of its service.");
      await screenshot("group-enter-key");
      await wizard.write(ENTERED_KEY);
      await until("the key to be in an answer", async () => {
        await panel.newChat();
        await panel.pickModel(FORECAST.model);
        return (await panel.ask("Which city?")).includes(`with a key of ${ENTERED_KEY.length} characters`);
      });
      await models.open();
      await models.updateKey(FORECAST.group, KEY_OF_FORECAST);
      await models.shows(FORECAST.model);
      await models.close();
      await panel.newChat();
      await panel.pickModel(FORECAST.model);
      const answer = await panel.ask("Which city?");
      await screenshot("group-with-key");
      assert.match(answer, new RegExp(`for ${FORECAST.city}, with a key of ${KEY_OF_FORECAST.length} characters`));
      const log = server.readOutputChannel();
      for (const key of [KEY_OF_FORECAST, ENTERED_KEY]) assert.ok(!log.includes(key), "a key is in the log");
      await panel.newChat();
      await panel.pickModel(MODEL);
    },
  },
  {
    name: "groups: VS Code's own menu of a group renames it, changes its key and deletes it",
    async run({ panel, models, server, screenshot }) {
      const nameOf = () => server.readGroups().map(({ name }) => name);
      await models.open();
      // Where there is one group alone, VS Code shows no row for it: then the menu of a model has the same.
      const menus = [
        await models.gearOf(FORECAST.group, () => screenshot("group-gear")),
        await models.menuOf(FORECAST.group, () => screenshot("group-menu")),
        await models.menuOf(FORECAST.model, () => screenshot("group-menu-of-model")),
      ];
      for (const items of menus) {
        for (const wanted of ["Rename", "Update API Key", "Delete"]) {
          assert.ok(items.some((item) => item.startsWith(wanted)), `${wanted} is not among ${items.join(", ")}`);
        }
      }
      await models.rename(FORECAST.group, "Annual");
      await models.shows("Annual");
      assert.ok(nameOf().includes("Annual") && !nameOf().includes(FORECAST.group), nameOf().join());
      await models.delete("Annual");
      await panel.answerDialog("Annual", /Yes|Delete/, () => screenshot("group-deleting"));
      await until("the group to be gone", async () => !(await models.text()).includes("Annual"));
      assert.ok(!nameOf().includes("Annual"), nameOf().join());
      await models.close();
      return menus.at(-1).join(", ");
    },
  },
];
