#!/usr/bin/env node
/**
 * LiteLLM's database engine from the npm registry alone.
 *
 * LiteLLM asks Prisma's query engine over HTTP, in GraphQL. The native engine is fetched from a server of its maker,
 * which not every machine reaches. The same engine is on npm as WebAssembly, and speaks JSON alone; this program starts
 * it and translates. What it costs is a process of its own, so that the benchmark can show it apart.
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";

const VERSION = "393aa359c9ad4a4bb28630fb5613f9c281cde053";
const ACTION =
  /^(findUniqueOrThrow|findUnique|findFirstOrThrow|findFirst|findMany|createOne|createManyAndReturn|createMany|updateOne|updateMany|deleteOne|deleteMany|upsertOne|aggregate|groupBy|executeRaw|queryRaw)(.*)$/;

if (process.argv.includes("--version")) {
  console.log(`query-engine ${VERSION}`);
  process.exit(0);
}

const require = createRequire(import.meta.url);
const { PrismaPg } = require("@prisma/adapter-pg");
const { bindAdapter } = require("@prisma/driver-adapter-utils");
const { parse } = require("graphql");
const { Pool } = require("pg");

const datamodel = readFileSync(process.env.PRISMA_DML_PATH, "utf8");
const jsonFields = fieldsOfJson(datamodel);
const engine = await startedEngine();

/** Loads the engine and connects it to the database. */
async function startedEngine() {
  const glue = require("@prisma/client/runtime/query_engine_bg.postgresql.js");
  const code = readFileSync(require.resolve("@prisma/client/runtime/query_engine_bg.postgresql.wasm"));
  const instance = new WebAssembly.Instance(new WebAssembly.Module(code), { "./query_engine_bg.js": glue });
  glue.__wbg_set_wasm(instance.exports);
  const pool = new Pool({ connectionString: process.env.DATABASE_URL.split("?")[0], max: 10 });
  const settings = { datamodel, logLevel: "error", logQueries: false, engineProtocol: "json" };
  const started = new glue.QueryEngine(settings, () => {}, bindAdapter(new PrismaPg(pool)));
  await started.connect("{}");
  return started;
}

/** The fields that hold JSON, by model: their values are texts in GraphQL, and marked in the JSON protocol. */
function fieldsOfJson(schema) {
  const found = new Map();
  let fields = new Set();
  for (const line of schema.split("\n")) {
    const model = /^model (\w+)/.exec(line);
    const field = /^\s+(\w+)\s+Json\b/.exec(line);
    if (model) {
      fields = new Set();
      found.set(model[1], fields);
    } else if (field) {
      fields.add(field[1]);
    }
  }
  return found;
}

/** The value of a literal of GraphQL. */
function valueOf(node) {
  switch (node.kind) {
    case "IntValue":
    case "FloatValue":
      return Number(node.value);
    case "ListValue":
      return node.values.map(valueOf);
    case "ObjectValue":
      return Object.fromEntries(node.fields.map((field) => [field.name.value, valueOf(field.value)]));
    case "NullValue":
      return null;
    default:
      return node.value;
  }
}

function argumentsOf(field) {
  return Object.fromEntries((field.arguments ?? []).map((one) => [one.name.value, valueOf(one.value)]));
}

function selectionOf(set) {
  const chosen = (field) =>
    field.selectionSet ? { arguments: argumentsOf(field), selection: selectionOf(field.selectionSet) } : true;
  return Object.fromEntries(set.selections.map((field) => [field.name.value, chosen(field)]));
}

/** Marks the texts of JSON fields as JSON. */
function marked(value, fields) {
  if (Array.isArray(value)) {
    return value.map((one) => marked(one, fields));
  }
  if (value === null || typeof value !== "object") {
    return value;
  }
  const mark = (one) => (typeof one === "string" ? { $type: "Json", value: one } : marked(one, fields));
  const inside = (one) => (typeof one?.set === "string" ? { set: mark(one.set) } : mark(one));
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, fields.has(name) ? inside(one) : marked(one, fields)]),
  );
}

/** One query of GraphQL: the name of its result, and the same query in the JSON protocol. */
function translated(text) {
  // The adapter knows no arrays of PostgreSQL's type `name`.
  const document = parse(text.replace("ARRAY_AGG(viewname)", "ARRAY_AGG(viewname::text)"));
  const field = document.definitions[0].selectionSet.selections[0];
  const [, action, modelName] = ACTION.exec(field.name.value);
  const given = marked(argumentsOf(field), jsonFields.get(modelName) ?? new Set());
  const query = { arguments: given, selection: field.selectionSet ? selectionOf(field.selectionSet) : {} };
  const name = field.alias?.value ?? field.name.value;
  return { name, action, asks: modelName ? { modelName, action, query } : { action, query } };
}

/** A result without the marks of the JSON protocol. */
function unmarked(value) {
  if (Array.isArray(value)) {
    return value.map(unmarked);
  }
  if (value === null || typeof value !== "object") {
    return value;
  }
  if ("$type" in value) {
    return value.$type === "BigInt" ? Number(value.value) : value.value;
  }
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, unmarked(one)]));
}

/** Raw rows, whose columns of JSON are values and not texts. */
function rowsOf(result) {
  result.types.forEach((type, place) => {
    for (const row of type === "json" ? result.rows : []) {
      row[place] = typeof row[place] === "string" ? JSON.parse(row[place]) : row[place];
    }
  });
  return result;
}

function reply(one, said) {
  if (said.errors) {
    return said;
  }
  const result = Object.values(said.data)[0];
  return { data: { [one.name]: one.action === "queryRaw" ? rowsOf(result) : unmarked(result) } };
}

async function answered(path, body, transaction) {
  if (path === "/status") {
    return { status: "ok" };
  }
  if (path === "/") {
    const asked = JSON.parse(body);
    if (!asked.batch) {
      const one = translated(asked.query);
      return reply(one, JSON.parse(await engine.query(JSON.stringify(one.asks), "{}", transaction)));
    }
    const all = asked.batch.map((one) => translated(one.query));
    const batch = { batch: all.map((one) => one.asks), transaction: asked.transaction ? {} : undefined };
    const said = JSON.parse(await engine.query(JSON.stringify(batch), "{}"));
    return said.batchResult ? { batchResult: said.batchResult.map((one, place) => reply(all[place], one)) } : said;
  }
  if (path === "/transaction/start") {
    return JSON.parse(await engine.startTransaction(body, "{}"));
  }
  const ending = /^\/transaction\/(.+)\/(commit|rollback)$/.exec(path);
  return ending ? JSON.parse(await engine[`${ending[2]}Transaction`](ending[1], "{}")) : {};
}

function failure(error) {
  const message = String(error);
  return { errors: [{ error: message, user_facing_error: { message, error_code: "P2000", meta: {} } }] };
}

const port = Number(process.argv[process.argv.indexOf("-p") + 1]);
createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) {
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks).toString();
  const said = await answered(request.url, body, request.headers["x-transaction-id"]).catch(failure);
  if (said.errors) {
    console.error(JSON.stringify(said.errors).slice(0, 600));
  }
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(said));
}).listen(port, "127.0.0.1");
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => process.exit(0));
}
