/**
 * Loaded into every process of code-server before VS Code: in the agent host it registers the window, which asks over HTTP.
 *
 * A desktop VS Code registers its windows by itself; an agent host that a server starts has none (VS Code 1.139).
 */
import { registerHooks } from "node:module";
import { AGENT_HOST } from "./agentHostTexts.js";

/** Milliseconds between two looks at the models of the window. */
const INTERVAL = 500;
const url = process.env.E2E_WINDOW;

globalThis.joinWindow = (registry) => {
  registry.register("e2e", {
    chat: async (request) => (await fetch(`${url}/chat`, { method: "POST", body: JSON.stringify(request) })).json(),
    onDidChangeModels: (listener) => {
      const look = async () => {
        const models = await (await fetch(`${url}/models`)).json();
        if (models) listener(models);
      };
      const timer = setInterval(() => void look().catch(() => undefined), INTERVAL); // The window may be loading.
      return { dispose: () => clearInterval(timer) };
    },
  });
};

registerHooks({
  load(address, context, next) {
    const loaded = next(address, context);
    if (!url || !address.endsWith(`/${AGENT_HOST.file}`)) return loaded;
    return { ...loaded, source: AGENT_HOST.changed(Buffer.from(loaded.source).toString("utf8")) };
  },
});
