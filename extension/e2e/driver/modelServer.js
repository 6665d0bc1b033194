/** A model server as somebody else runs it: `partstream serve` with models whose words are written in a file. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "./codeServer.js";
import { ownFolders } from "./ownFolders.js";
import { until } from "./wait.js";

const START_LIMIT = 30_000;

/** Serves `sources`, as `partstream serve` takes them, and gives the address. */
export async function serveModels({ processes, folder }, python, sources, environment) {
  const url = `http://127.0.0.1:${await freePort()}`;
  const log = join(folder, "model-server.log");
  const words = ["serve", ...sources, "--port", new URL(url).port, "--no-token", "--no-store"];
  processes.start(python, ["-m", "partstream", ...words], {
    log,
    environment: { ...ownFolders(join(folder, "model-server")), ...environment },
  });
  await until("the models to be served", async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.ok, {
    limit: START_LIMIT,
    describe: () => readFileSync(log, "utf8"),
  });
  return `${url}/v1`;
}
