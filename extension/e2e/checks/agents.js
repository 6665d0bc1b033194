/**
 * Agents of other frameworks as models: in Copilot's agent mode they use their own tools and those of VS Code.
 *
 * To be run after all checks of models: from here on the folder has an interpreter and providers of its own.
 */
import assert from "node:assert/strict";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { E2E, PYTHON } from "../driver/session.js";
import { until } from "../driver/wait.js";

const SCRIPTED = join(E2E, "../../packages/partstream-agents/tests/agents/acp_scripted.py");
const LAMP = "The lamp stands at the pier.\nThe lamp burns green at low tide.\nThe keeper sleeps.\n";
const KEEPERS = [
  { framework: "pydantic-ai", file: "keeper_of_pydantic_ai", colour: "amber" },
  { framework: "LangGraph", file: "keeper_of_langgraph", colour: "crimson" },
];

const OF_FRAMEWORKS = KEEPERS.map(({ framework, file, colour }) => ({
  name: `agents: an agent of ${framework} reads a file, edits it with VS Code's tools and answers`,
  async run({ panel, server, folder, consumer, screenshot }) {
    await offerAgents(consumer, folder);
    await until("the agents to be listed", async () => {
      const { models } = await consumer.perform({ kind: "select", selector: { vendor: "partstream" } });
      return KEEPERS.every((keeper) => models.some((model) => model.name === `Keeper of ${keeper.framework}`));
    });
    const lamp = join(server.workspace, `${colour}-lamp.txt`);
    writeFileSync(lamp, LAMP);
    await panel.newChat();
    await panel.pickModel(`Keeper of ${framework}`);
    const text = await panel.ask(`paint ${lamp} please`);
    await screenshot(`agent-${file}`);
    assert.match(text, new RegExp(`Painted: the lamp burns ${colour} now\\.`));
    await until("the edited file", () => readFileSync(lamp, "utf8") === LAMP.replace("green", colour), {
      describe: () => readFileSync(lamp, "utf8"),
    });
    await panel.openSteps();
    await until("the agent's own call", async () => (await panel.thinking()).includes("Called colour_of_the_tide"), {
      describe: () => panel.text(),
    });
    await screenshot(`agent-${file}-steps`);
  },
}));

/** The program of the tests: it works in the folder that is open, and asks before it writes `made.txt`. */
const PROGRAM = {
  name: "agents: a program that is an ACP agent asks in the chat, and writes a file in the folder after a yes",
  async run({ panel, server, folder, consumer, screenshot }) {
    const provider = join(folder, "program.py");
    copyFileSync(join(E2E, "fixtures/agents/program.py"), provider);
    copyFileSync(SCRIPTED, join(folder, "acp_scripted.py"));
    const settings = { python: PYTHON, providers: [provider] };
    await consumer.perform({ kind: "configure", section: "partstream", settings });
    await until("the program to be listed", async () => {
      const { models } = await consumer.perform({ kind: "select", selector: { vendor: "partstream" } });
      return models.some((model) => model.name === "A program");
    });
    await panel.newChat();
    await panel.pickModel("A program");
    assert.match(await panel.ask("write it"), /The agent wants to run edit\(/);
    await screenshot("acp-agent-asks");
    assert.match(await panel.ask("yes"), /permission: yes/);
    assert.equal(readFileSync(join(server.workspace, "made.txt"), "utf8"), "one\n");
    await panel.openSteps();
    await until("its edit", async () => (await panel.thinking()).includes("made.txt (+1 -0)"), {
      describe: () => panel.text(),
    });
    await screenshot("acp-agent-wrote");
  },
};

export const AGENT_CHECKS = [...OF_FRAMEWORKS, PROGRAM];

/**
 * Sets the folder's providers to the files with the agents, and its Python to the one that has their frameworks: the
 * one of all other checks has nothing installed.
 */
async function offerAgents(consumer, folder) {
  const providers = KEEPERS.map(({ file }) => join(folder, `${file}.py`));
  for (const provider of providers) copyFileSync(join(E2E, "fixtures/agents", provider.split("/").at(-1)), provider);
  await consumer.perform({ kind: "configure", section: "partstream", settings: { python: PYTHON, providers } });
}
