/** Looks which model servers answer on this machine; asks no other machine. */
import { get } from "node:http";

/** Milliseconds that a server has to answer: one on this machine needs a few. */
const PROBE_LIMIT = 300;

/** Those of the base URLs below which something answers with JSON, within `limit`, when it is asked for its models. */
export async function answeringServers(baseUrls: readonly string[], limit = PROBE_LIMIT): Promise<ReadonlySet<string>> {
  const asked = await Promise.all(
    baseUrls.map(async (url) => ({ url, answers: await answers(`${url}/models`, limit) })),
  );
  return new Set(asked.filter(({ answers }) => answers).map(({ url }) => url));
}

/** What is said within `limit`; else, or where it cannot be said, `otherwise`. */
export async function within<Said>(said: Promise<Said>, otherwise: Said, limit: number): Promise<Said> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Said>((resolve) => (timer = setTimeout(() => resolve(otherwise), limit)));
  // Who cannot say it, such as without a Python, says why when a person wants something of them.
  return Promise.race([said.catch(() => otherwise), late]).finally(() => clearTimeout(timer));
}

/** A server that wants a key answers with JSON too; a web page is another program at the same port. */
function answers(url: string, limit: number): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false, signal: AbortSignal.timeout(limit) }, (response) => {
      const isJson = (response.headers["content-type"] ?? "").includes("json");
      response.destroy();
      resolve(isJson);
    });
    request.on("error", () => resolve(false)); // Nothing listens there, or not in time: which is why it was asked.
  });
}
