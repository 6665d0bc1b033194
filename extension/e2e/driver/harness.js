/**
 * The Copilot harness of a VS Code in the browser: the hop from the agent host to the window, which code-server lacks.
 *
 * All else is VS Code's own: the agent host and the runtime of the Copilot SDK in processes of their own, the handler of
 * models in the window, the extension host.
 */
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { WINDOW } from "./agentHostTexts.js";

const HOOK = fileURLToPath(new URL("agentHostHook.mjs", import.meta.url));

export class Harness {
  #page;
  #server;
  /** What the agent host asked of the window, and what it got. */
  requests = [];
  /** Settings with which the models of an extension are in the harness, and new chats begin there. */
  settings = {
    "chat.agentHost.enabled": true,
    "chat.agentHost.byokModels.enabled": true,
    "chat.agentHost.allowSignedOutWhenUsable": true,
    "chat.defaultToCopilotHarness": true,
  };

  /** Listens, and gives what code-server is to be started with. `data` is the folder of its data. */
  async start(data) {
    // A window hands on this setting only to an agent host of its own machine.
    const folder = join(data, "User/globalStorage");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "agent-host-config.json"), JSON.stringify({ byokModelsEnabled: true }));
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error) => {
        response.statusCode = 500;
        response.end(JSON.stringify({ output: [], error: String(error) }));
      });
    }).listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return {
      environment: { E2E_WINDOW: `http://127.0.0.1:${this.#server.address().port}` },
      nodeArguments: [`--import=${HOOK}`],
    };
  }

  /** Lets the window's handler of models be had in the page, which is about to be loaded. */
  async prepare(page) {
    await page.route(`**/${WINDOW.file.split("/").slice(-2).join("/")}`, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: WINDOW.changed(await response.text()) });
    });
    this.#page = page;
  }

  close() {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }

  async #answer(request, response) {
    if (request.url === "/models") {
      const models = await this.#page?.evaluate(() => globalThis.modelsOfWindow?.().listModels());
      return response.end(JSON.stringify(models ?? null));
    }
    const asked = JSON.parse(await text(request));
    const one = { asked };
    this.requests.push(one);
    // The agent host's own channel hands over a token that nobody cancels.
    one.answer = await this.#page.evaluate(
      (given) =>
        globalThis
          .modelsOfWindow()
          .chat(given, { isCancellationRequested: false, onCancellationRequested: () => ({ dispose() {} }) }),
      asked,
    );
    return response.end(JSON.stringify(one.answer));
  }
}
