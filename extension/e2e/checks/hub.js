/** A hub that is joined by a link: what a person is asked, what is left of the budget, and what a spent one says. */
import assert from "node:assert/strict";
import { followLink, Hub } from "../driver/hub.js";
import { PYTHON } from "../driver/session.js";
import { until } from "../driver/wait.js";
import { MODEL } from "./configuration.js";

const DEMO = "Partstream demo";

/** The hub of this run, which the first check starts. */
let hub;

/** The name of the group that joining it makes. */
const groupName = () => new URL(hub.url).host;

export const HUB_CHECKS = [
  {
    name: "hub: a link joins it after a question that names its address, and what is left is shown",
    async run(session) {
      const { panel, server, screenshot } = session;
      hub = new Hub(session.processes, session.folder, PYTHON);
      await hub.start("5 USD/day");
      const link = await hub.invite();
      const [, code] = link.split("#");
      const asked = await followLink(session, link, screenshot);
      assert.ok(asked.includes(`Join the hub at ${hub.url}?`), asked);
      await panel.answerNotification(`You have joined ${groupName()} as ${hub.person}`, "Open Chat");
      const { apiKey, ...group } = server.readGroups().find(({ name }) => name === groupName());
      assert.deepEqual(group, { name: groupName(), vendor: "partstream", baseUrl: `${hub.url}/v1` });
      assert.match(apiKey, /^\$\{input:chat\.lm\.secret\./);
      assert.ok(!server.readOutputChannel().includes(code), "the code is in the log");

      await until("the whole budget in the status bar", async () => (await panel.hubBudget()).includes("$5.00 of $5.00 left today"), {
        describe: () => panel.hubBudget(),
      });
      await panel.newChat();
      const hovered = await panel.tooltipInPicker(DEMO, groupName(), "left today", () => screenshot("hub-picker"));
      assert.match(hovered, /\$5\.00 of \$5\.00 left today/);
      await panel.pickModel(DEMO, groupName());
      assert.match(await panel.ask("Good evening, lamp"), /You said: .*Good evening, lamp/s);
      const left = await until("less in the status bar", async () => {
        const text = await panel.hubBudget();
        return !text.includes("$5.00 of $5.00") && text.includes("of $5.00 left today") && text;
      }, { describe: () => panel.hubBudget() });
      const tooltip = await panel.tooltipOfBudget(() => screenshot("hub-budget"));
      assert.match(tooltip, /You are ada on this hub\.[^]*left today, resets /);
      assert.doesNotMatch(server.readOutputChannel(), /psk_/);
      return left.trim();
    },
  },
  {
    name: "hub: what a conversation took is added up by its session, and by VS Code's own name",
    async run() {
      const { groups: clients } = await hub.usage("client");
      assert.deepEqual(clients.map(({ client }) => client), ["partstream"]);
      // Copilot asks for titles and the like outside of any conversation.
      const { groups } = await hub.usage("session");
      const [{ session, person }] = groups.filter(({ session }) => session !== null);
      assert.equal(person, hub.person);
      assert.match(session, /^[\w.:@-]{8,64}$/);
    },
  },
  {
    name: "hub: a spent budget says whose it is, when it resets and whom to ask, and the status bar is red",
    async run({ panel, screenshot }) {
      await hub.setBudget("0.001 USD/day");
      await until("the answer to be refused", async () => /budget/.test(await panel.ask("And good night")), { limit: 60_000 });
      const said = await panel.text();
      for (const expected of [/person ada/, /USD a day/, /it resets \d{4}-\d\d-\d\d/, /ask lamps@example\.com/]) {
        assert.match(said, expected);
      }
      await until("nothing left in the status bar", async () => (await panel.hubBudget()).includes("$0.00 of"), {
        describe: () => panel.hubBudget(),
      });
      assert.match(await panel.hubBudgetClasses(), /error-kind/);
      await screenshot("hub-spent");
      await panel.newChat();
      await panel.pickModel(MODEL);
      return said.split("\n").find((line) => line.includes("budget"));
    },
  },
];
