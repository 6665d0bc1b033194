/** *Partstream: Add Models…* as a person goes through it. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { KEY } from "../driver/upstream.js";
import { until } from "../driver/wait.js";
import { MODEL } from "./configuration.js";

const FILE = { name: "harbour-lamps.txt", content: "The lamp burns green at low tide.\n" };

const isAgentRequest = ({ body }) => body.tools?.length > 0;

export const ADD_MODELS_CHECKS = [
  {
    name: "add models: four pages, and the models of a server with a key are in the picker and answer",
    async run({ wizard, panel, server, upstream, screenshot }) {
      await wizard.open();
      await screenshot("wizard-1-server");
      await wizard.choose("Another server…");
      await wizard.shows("The address of the server");
      await wizard.write("my machine:1/v1");
      await wizard.shows("An address has no spaces.");
      await screenshot("wizard-1-address");
      await wizard.write(upstream.keyedUrl.replace("http://", "")); // The wizard adds it.
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
      await wizard.shows("Which models should the picker show?");
      await screenshot("wizard-3-models");
      await wizard.choose("refusal"); // Takes its mark away.
      await wizard.accept();
      await wizard.shows("Group name shown in the model picker");
      await screenshot("wizard-4-name");
      await wizard.write("Wizard");
      await panel.answerNotification("models of Wizard are in the picker", "Open Chat");
      const { apiKey, ...group } = server.readGroups().find(({ name }) => name === "Wizard");
      assert.deepEqual(group, { name: "Wizard", vendor: "partstream", baseUrl: upstream.keyedUrl, hiddenModels: ["refusal"] });
      assert.match(apiKey, /^\$\{input:chat\.lm\.secret\./);
      assert.equal(await panel.page.locator(".part.editor .tab").count(), 0, "the wizard opened a file");
      upstream.mark();
      await panel.newChat();
      await panel.pickModel("citations", "Wizard");
      await screenshot("wizard-picked");
      assert.match(await panel.ask("scenario:text"), /Hello from Partstream/);
      const { headers, status } = await upstream.next("the agent's request", isAgentRequest);
      assert.deepEqual([headers.host, status], [new URL(upstream.keyedUrl).host, 200]);
      assert.ok(!server.readOutputChannel().includes(KEY), "a key is in the log");
      await panel.newChat();
      await panel.pickModel(MODEL);
    },
  },
  {
    name: "add models: an address is enough for a server of Chat Completions: thinking, two calls at once, usage",
    async run({ wizard, panel, server, upstream, screenshot }) {
      await wizard.open();
      await wizard.choose("Another server…");
      await wizard.shows("The address of the server");
      await wizard.write(upstream.chatUrl);
      const page = await wizard.shows("Which models should the picker show?");
      await screenshot("chat-models");
      assert.match(page, /speaks Chat Completions at http/);
      await wizard.accept();
      await wizard.shows("Group name shown in the model picker");
      await wizard.write("Bare");
      await panel.answerNotification("models of Bare are in the picker", "Open Chat");
      const group = server.readGroups().find(({ name }) => name === "Bare");
      assert.deepEqual(group, { name: "Bare", vendor: "partstream", baseUrl: upstream.chatUrl });

      writeFileSync(join(server.workspace, FILE.name), FILE.content);
      upstream.mark();
      await panel.newChat();
      await panel.pickModel("thinking_only", "Bare");
      await screenshot("chat-picked");
      const path = join(server.workspace, FILE.name);
      const calls = [
        `call:list_dir${JSON.stringify({ path: server.workspace })}`,
        `call:read_file${JSON.stringify({ filePath: path, startLine: 1, endLine: 5 })}`,
      ];
      assert.match(await panel.ask(`scenario:tools ${calls.join(" ")}`), /lamp burns green/);
      const rounds = await upstream.rounds(2, isAgentRequest);
      assert.deepEqual(
        rounds.map(({ path, status }) => [path, status]),
        [
          ["/v1/chat/completions", 200],
          ["/v1/chat/completions", 200],
        ],
      );
      const { messages } = rounds[1].body;
      const asked = messages.findIndex(({ tool_calls: called }) => called?.length > 0);
      const called = messages[asked].tool_calls;
      assert.deepEqual(
        called.map(({ function: { name } }) => name),
        ["list_dir", "read_file"],
      );
      const results = messages.slice(asked + 1, asked + 3);
      assert.deepEqual(
        results.map(({ role, tool_call_id: id }) => [role, id]),
        called.map(({ id }) => ["tool", id]),
      );
      await panel.openSteps();
      await until("the thinking in its block", async () => (await panel.thinking()).trim() !== "");
      await screenshot("chat-tool-calls");
      const text = await panel.contextWindow();
      await screenshot("chat-context-window");
      await panel.closeHover();
      const shown = `${(rounds[1].usage.total_tokens / 1000).toFixed(1)}K`;
      assert.ok(text.includes(shown), `${JSON.stringify(rounds[1].usage)} is shown as:\n${text}`);
      await panel.newChat();
      await panel.pickModel(MODEL);
      return shown;
    },
  },
  {
    name: "add models: an address that is wrong is understood, or answered with one sentence that helps",
    async run({ wizard, upstream, screenshot }) {
      const said = [];
      await wizard.open();
      await wizard.choose("Another server…");
      for (const [picture, { address, key, expected }] of Object.entries(wrongAddresses(upstream))) {
        await wizard.shows("The address of the server");
        await wizard.write(address);
        if (key !== undefined) {
          await wizard.shows(/VS Code keeps it|needs an API key/);
          if ((await wizard.text()).includes("needs an API key")) await wizard.choose("Enter a key");
          await wizard.shows("VS Code keeps it");
          await wizard.write(key);
        }
        const page = await wizard.shows(expected);
        await screenshot(`wrong-${picture}`);
        const [line] = page.split("\n").filter((one) => expected.test(one));
        said.push(`${address}: ${line}`);
        if (page.includes("Change the address")) await wizard.choose("Change the address");
        else await wizard.back();
      }
      await wizard.close();
      return `\n     ${said.join("\n     ")}`;
    },
  },
];

/** Addresses as people paste them, and what the wizard then says. */
function wrongAddresses({ chatUrl, keyedUrl, ports }) {
  const { origin } = new URL(chatUrl);
  const found = /speaks Chat Completions at http:\/\/127\.0\.0\.1:\d+\/v1:/;
  return {
    "no-v1": { address: origin, expected: found },
    endpoint: { address: `${chatUrl}/chat/completions`, expected: found },
    "https-for-http": { address: chatUrl.replace("http:", "https:"), expected: /does not speak https.*http:\/\// },
    "http-for-https": { address: `http://127.0.0.1:${ports.encrypted}/v1`, expected: /begin with https:\/\/127/ },
    "dead-port": { address: "http://127.0.0.1:1/v1", expected: /[Nn]othing listens at 127\.0\.0\.1:1.*running/ },
    "unknown-host": { address: "https://no-such-host.invalid/v1", key: "", expected: /no host|cannot be looked up/ },
    certificate: { address: `https://127.0.0.1:${ports.encrypted}/v1`, expected: /certificate of 127.*SSL_CERT_FILE/ },
    login: { address: `http://127.0.0.1:${ports.login}/v1`, expected: /web page, perhaps a login/ },
    nothing: { address: `http://127.0.0.1:${ports.nothing}/v1`, expected: /404.*none of .*\/v1\/chat\/completions/ },
    "wrong-key": { address: keyedUrl, key: "sk-of-somebody-else", expected: /The API key is refused/ },
  };
}
