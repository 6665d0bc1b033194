import assert from "node:assert/strict";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { answeringServers, within } from "../src/addModels/localServers";

/** The base URL of a server that answers like this, until the test ends. */
async function serve(context: TestContext, listener: RequestListener): Promise<string> {
  const server: Server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

test("servers that answer in JSON are found, one that wants a key too; pages and closed ports are none", async (context) => {
  const asked: string[] = [];
  const json: RequestListener = ({ url, headers }, response) => {
    asked.push(`${url ?? ""} ${headers.authorization ?? "without a key"}`);
    response.writeHead(200, { "content-type": "application/json; charset=utf-8" }).end("{}");
  };
  const open = await serve(context, json);
  const refusing = await serve(context, (_request, response) => {
    response.writeHead(401, { "content-type": "application/problem+json" }).end("{}");
  });
  const page = await serve(context, (_request, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<html>");
  });
  const closed = "http://127.0.0.1:1/v1";
  const found = await answeringServers([open, refusing, page, closed], 20_000);
  assert.deepEqual(found, new Set([open, refusing]));
  assert.deepEqual(asked, ["/v1/models without a key"]);
});

test("what is not said in time, or cannot be said, is not waited for", async () => {
  assert.equal(await within(Promise.resolve("said"), "otherwise", 20_000), "said");
  assert.equal(await within(Promise.reject(new Error("no Python")), "otherwise", 20_000), "otherwise");
  assert.equal(await within(new Promise<string>(() => undefined), "otherwise", 1), "otherwise");
});

test("a server that is silent is not waited for", async (context) => {
  const silent = await serve(context, () => undefined);
  assert.deepEqual(await answeringServers([silent]), new Set());
});
