/**
 * Claude Code and Codex as models: `make interop TRY=acp` installs their agents of the Agent Client Protocol. They ask a
 * scripted model on this machine, which tells them what to do. One is a profile of the person's file, the other a file.
 */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { serveModels } from "../driver/modelServer.js";
import { PYTHON, ROOT } from "../driver/session.js";
import { until } from "../driver/wait.js";

const PROGRAMS = join(ROOT, "interop/acp/node_modules/.bin");
const MODEL_FILE = join(ROOT, "interop/clients/agents/scripted_model.py");
const TOKEN = "token-of-a-run-with-agents";
const MADE = "made.txt";
const PATCH = `*** Begin Patch\n*** Add File: ${MADE}\n+made\n*** End Patch`;
const configurationFile = (folder) => join(folder, "partstream.toml");
const codexFile = (folder) => join(folder, "codex.py");

/** Why the checks cannot be run, if they cannot. */
export function missingPrograms() {
  const missing = ["claude-agent-acp", "codex-acp"].filter((name) => !existsSync(join(PROGRAMS, name)));
  return missing.length ? [`${missing.join(" and ")} are not installed, as \`make interop TRY=acp\` does`] : [];
}

export const programSettings = ({ folder }) => ({
  "partstream.python": PYTHON,
  "partstream.providers": ["profile:claude-code", codexFile(folder)],
});

export const programEnvironment = ({ folder }) => ({ PARTSTREAM_CONFIG: configurationFile(folder) });

/** Serves the scripted model, tells both programs of it as a person does, and makes models of them. */
export async function preparePrograms(session) {
  const { processes, folder } = session;
  const url = await serveModels(session, PYTHON, [MODEL_FILE], { PARTSTREAM_AGENT_LOG: join(folder, "asked.jsonl") });
  const home = join(folder, "home");
  mkdirSync(home);
  const variables = { HOME: home, PARTSTREAM_SERVE_TOKEN: TOKEN, IS_SANDBOX: "1" }; // else Claude Code does not run as root
  for (const client of ["claude", "codex"]) {
    const words = ["-m", "partstream", "connect", client, "--url", url, "--model", "scripted", "--write"];
    await processes.run(PYTHON, words, { environment: variables });
  }
  const claudeFile = join(home, ".claude/settings.json");
  const claude = JSON.parse(readFileSync(claudeFile, "utf8"));
  writeFileSync(claudeFile, JSON.stringify({ ...claude, permissions: { defaultMode: "default" } })); // in which it asks
  const assigned = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  const command = JSON.stringify(["/usr/bin/env", ...assigned, join(PROGRAMS, "claude-agent-acp")]);
  writeFileSync(configurationFile(folder), `[profiles.claude-code]\ncommand = ${command}\n`);
  const lines = [
    "from partstream_agents import acp_agent",
    `command = [${JSON.stringify(join(PROGRAMS, "codex-acp"))}]`,
    `environment = ${JSON.stringify(variables)}`,
    'provider = acp_agent(command, name="Codex", environment=environment, options={"mode": "read-only"})',
  ];
  writeFileSync(codexFile(folder), `${lines.join("\n")}\n`);
}

const ROWS = [
  { model: "claude-code", call: (path) => ["Write", { file_path: path, content: "made\n" }] },
  { model: "Codex", call: () => ["exec_command", { cmd: `apply_patch <<'EOF'\n${PATCH}\nEOF\n` }] },
];

export const PROGRAM_CHECKS = ROWS.map(({ model, call }) => ({
  name: `programs: ${model} asks in the chat before it edits a file, and edits it after a yes`,
  async run({ panel, server, consumer, screenshot }) {
    const made = join(server.workspace, MADE);
    await until(
      "the program to be listed",
      async () => {
        const { models } = await consumer.perform({ kind: "select", selector: { vendor: "partstream" } });
        return models.some(({ name }) => name === model);
      },
      { describe: () => server.readOutputChannel() },
    );
    await panel.newChat();
    await panel.pickModel(model);
    const plan = JSON.stringify({ calls: [call(made)], text: "That was all." });
    const asked = await panel.ask(`PLAN ${plan}`);
    await screenshot(`${model}-asks`);
    assert.match(asked, /The agent wants to run/);
    assert.ok(asked.includes(MADE), asked);
    assert.ok(!existsSync(made));
    assert.match(await panel.ask("yes"), /That was all\./);
    assert.equal(readFileSync(made, "utf8"), "made\n");
    await panel.openSteps();
    await until("its edit", async () => (await panel.thinking()).includes(`${MADE} (+1 -0)`), {
      describe: () => panel.text(),
    });
    await screenshot(`${model}-edited`);
    rmSync(made);
  },
}));
