import assert from "node:assert/strict";
import { test } from "node:test";
import { isUnprotected, withScheme, wrongAddress } from "../src/addModels/address";
import { chosenAtFirst, details, hiddenModels } from "../src/addModels/modelChoice";
import { CLOSE, GO_BACK, script, TWO, World } from "./addModelsWorld";

const KEY = "sk-9f2c-not-for-logs";
const ADDRESS = "https://models.example/v1";

test("a server in the cloud takes a key and nothing else: its models, a name, and the group is added", async () => {
  const world = new World();
  const outcome = await world.run(script("OpenAI", ` ${KEY}\n`, ["Big", "small"], "OpenAI"));
  const configuration = { baseUrl: "https://api.openai.com/v1", apiKey: KEY };
  assert.deepEqual(world.asked, [configuration]);
  assert.deepEqual(world.added, [{ name: "OpenAI", configuration, shown: 2 }]);
  assert.deepEqual(outcome, { kind: "added", group: world.added[0] });
  assert.deepEqual(
    world.pages.map(({ step, kind }) => `${step} ${kind}`),
    ["1 choose", "2 ask", "2 wait", "3 chooseMany", "4 ask", "4 wait"],
  );
});

test("a server on this machine that answers stands first, and is asked for a key only if it wants one", async () => {
  const world = new World();
  world.answering = ["http://localhost:8000/v1"];
  await world.run(script("vLLM", ["Big"], "vLLM"));
  assert.equal(world.pages[0]?.labels[0], "vLLM");
  assert.ok(
    world.probed.every((url) => url.startsWith("http://localhost:")),
    world.probed.join(),
  );
  assert.deepEqual(world.added[0]?.configuration, { baseUrl: "http://localhost:8000/v1", hiddenModels: ["small"] });

  const refused = { models: [], problem: { kind: "key" as const, message: "the server answered HTTP 401" } };
  world.server = ({ apiKey }) => (apiKey === KEY ? { models: [...TWO] } : refused);
  await world.run(script("vLLM", "Enter a key", KEY, ["Big", "small"], "vLLM 2"));
  assert.deepEqual(world.added[1]?.configuration, { baseUrl: "http://localhost:8000/v1", apiKey: KEY });
});

test("the model in the sidecar is offered first where it is installed, and is a provider then", async () => {
  const world = new World();
  await world.run(script(CLOSE));
  assert.ok(!world.pages[0]?.labels.includes("SmolLM2 135M"));
  world.inside = { name: "SmolLM2 135M", source: "partstream.runtime.local_model" };
  const outcome = await world.run(script("SmolLM2 135M"));
  assert.equal(world.pages[1]?.labels[0], "SmolLM2 135M");
  assert.deepEqual(outcome, { kind: "local model", source: "partstream.runtime.local_model" });
  assert.deepEqual([world.asked, world.added], [[], []]);
});

test("another server is asked for by its address, and plain http to another machine only with leave", async () => {
  const world = new World();
  const lan = "http://192.168.1.7:1234/v1";
  await world.run(
    script(
      "Another server…",
      lan,
      "Change the address",
      lan,
      "Allow HTTP for this server",
      "",
      ["Big", "small"],
      "Lab",
    ),
  );
  assert.deepEqual(world.added[0]?.configuration, { baseUrl: lan, allowInsecureHttp: true });
});

test("a key can come from a variable that VS Code has, or from a file; its page opens in the browser", async () => {
  const world = new World();
  world.variables = ["GROQ_API_KEY"];
  await world.run(script("Groq", { button: "page" }, { button: "variable" }, "GROQ_API_KEY", ["Big", "small"], "Groq"));
  assert.deepEqual(world.opened, ["https://console.groq.com/keys"]);
  assert.equal(world.pages.find(({ prompt }) => prompt.startsWith("The environment variable"))?.value, "GROQ_API_KEY");
  assert.deepEqual(world.added[0]?.configuration, {
    baseUrl: "https://api.groq.com/openai/v1",
    apiKeyEnv: "GROQ_API_KEY",
  });
  await world.run(script("Groq", { button: "file" }, "~/groq.txt", ["Big", "small"], "Groq 2"));
  assert.equal(world.added[1]?.configuration["apiKeyFile"], "~/groq.txt");
});

test("a failure stays in the wizard, and what helps comes first", async () => {
  const world = new World();
  const failures = {
    address: ["Change the address", "Enter a key", "Try again", "Name the models myself…", "Add it anyway"],
    key: ["Enter a key", "Try again", "Change the address", "Add it anyway"],
    list: ["Name the models myself…", "Change the address", "Enter a key", "Try again", "Add it anyway"],
    connection: ["Try again", "Change the address", "Add it anyway"],
    other: ["Try again", "Enter a key", "Change the address", "Add it anyway"],
  } as const;
  for (const kind of ["address", "key", "list", "connection", "other"] as const) {
    world.server = () => ({ models: [], problem: { kind, message: `it is the ${kind}` } });
    await world.run(script("Another server…", ADDRESS, "", CLOSE));
    const page = world.pages.at(-1);
    const said = kind === "key" ? "This server needs an API key: it is the key" : `It is the ${kind}`;
    assert.deepEqual([page?.prompt, page?.labels], [said, failures[kind]]);
  }
  world.server = () => new Error("Partstream needs Python 3.11 or newer");
  await world.run(script("Another server…", ADDRESS, "", CLOSE));
  assert.equal(world.pages.at(-1)?.prompt, "Partstream needs Python 3.11 or newer");
  assert.deepEqual(world.added, []);
});

test("the address that answers instead is one choice away, and goes into the group", async () => {
  const world = new World();
  const message = "there is no list of models; did you mean https://models.example/v1?";
  world.server = ({ baseUrl }) =>
    baseUrl === ADDRESS
      ? { models: [...TWO] }
      : { models: [], problem: { kind: "address", message, baseUrl: ADDRESS } };
  await world.run(script("Another server…", "https://models.example", "", "Use that address", ["Big", "small"], "X"));
  assert.deepEqual(world.added[0]?.configuration, { baseUrl: ADDRESS });
  // A server that was found behind what was written needs no question.
  world.server = () => ({
    models: [...TWO],
    spoken: { protocol: "Chat Completions", baseUrl: ADDRESS, reason: "/v1/chat/completions answers" },
  });
  await world.run(script("Another server…", `${ADDRESS}/chat/completions`, "", ["Big", "small"], "Y"));
  assert.deepEqual(world.added[1]?.configuration, { baseUrl: ADDRESS });
  const { prompt } = world.pages.find(({ kind, prompt }) => kind === "chooseMany" && prompt !== "") ?? {};
  assert.equal(prompt, `models.example speaks Chat Completions at ${ADDRESS}: /v1/chat/completions answers.`);
});

test("the models of a server that lists none can be named", async () => {
  const world = new World();
  world.server = () => ({ models: [] });
  await world.run(script("Another server…", ADDRESS, "", "Name the models myself…", "one, two,one,", "Named"));
  const models = [{ id: "one" }, { id: "two" }];
  assert.deepEqual(world.added, [
    { name: "Named", configuration: { baseUrl: ADDRESS, discover: false, models }, shown: 2 },
  ]);
});

test("a name that exists is not offered and not taken; one that VS Code refuses is asked for again", async () => {
  const world = new World();
  world.names = ["OpenAI", "OpenAI 2"];
  world.refusal = new Error("There is such a group.");
  await world.run(script("OpenAI", KEY, ["Big"], "Desk", "Other desk"));
  const [first, second] = world.pages.filter(({ step, kind }) => step === 4 && kind === "ask");
  assert.equal(first?.value, "OpenAI 3");
  assert.equal(first.refuse("OpenAI"), "A group of this name already exists.");
  assert.deepEqual([second?.prompt, second?.value], ["There is such a group.", "Desk"]);
  assert.equal(world.added[0]?.name, "Other desk");
});

test("who changes the address after a refused key goes back to the servers, and not to that key", async () => {
  const world = new World();
  world.server = () => ({ models: [], problem: { kind: "key", message: "no" } });
  const outcome = await world.run(script("Another server…", ADDRESS, KEY, "Change the address", GO_BACK, CLOSE));
  assert.equal(outcome.kind, "closed");
  assert.deepEqual([world.pages.at(-1)?.hasBack, world.pages.at(-1)?.labels], [false, world.pages[0]?.labels]);
});

test("another server forgets the key of the one before", async () => {
  const world = new World();
  await world.run(script("OpenAI", KEY, GO_BACK, GO_BACK, "Groq", "gsk-other-key", ["Big", "small"], "Groq"));
  assert.equal(world.pages.filter(({ isSecret }) => isSecret).at(-1)?.value, "");
  assert.equal(world.added[0]?.configuration["apiKey"], "gsk-other-key");
});

test("every preset leads to a page that asks for what it needs, and its base URL can be used", async () => {
  const world = new World();
  for (const preset of world.presets) {
    await world.run(script(preset.title, CLOSE));
    const asked = world.pages.at(-1);
    assert.ok(asked && asked.prompt + asked.labels.join() !== "", preset.name);
    for (const url of [preset.baseUrl, ...preset.regions.map(({ baseUrl }) => baseUrl)]) {
      if (url !== "") assert.deepEqual([wrongAddress(url), isUnprotected(url)], [undefined, false], preset.name);
    }
  }
});

const WRONG_ADDRESSES = {
  "": /^Write the address/,
  models: /^Write https:\/\/ before it/,
  "sk-not-to-be-asked-for:80": /^Write https:\/\/ before it/,
  "eyJ0eXAiOiJKV1Q.x": /^Write https:\/\/ before it/,
  "ftp://models.example": /not ftp:/,
  "https://": /not an address/,
  "https://models example": /no spaces/,
  "https://me:secret@models.example": /the next step asks for the key/,
  "https://models.example/#docs": /Leave #docs out/,
  "https://hub.example.com/hub/join#psj_not-to-be-repeated": /link to a hub: use Partstream: Join a Hub…$/,
};
for (const [address, expected] of Object.entries(WRONG_ADDRESSES)) {
  test(`the address ${JSON.stringify(address)} is refused with what helps`, () => {
    assert.match(wrongAddress(address) ?? "", expected);
    assert.doesNotMatch(wrongAddress(address) ?? "", /secret/);
  });
}

test("addresses that can be tried are taken, and only plain http to another machine is unprotected", () => {
  const addresses = {
    "https://api.example.com/v1": false,
    " http://localhost:1234/v1 ": false,
    "http://127.0.0.1:8000": false,
    "http://[::1]:8000/": false,
    "http://models.localhost/v1": false,
    "http://models.example/v1": true,
    "http://10.0.0.2/v1": true,
  };
  for (const [address, expected] of Object.entries(addresses)) {
    assert.deepEqual([wrongAddress(address), isUnprotected(address.trim())], [undefined, expected], address);
  }
});

test("an address without a scheme gets the likely one, and plain http to another machine is asked about", async () => {
  const addresses = {
    "localhost:1234/v1": "http://localhost:1234/v1",
    " 127.0.0.1:8421 ": "http://127.0.0.1:8421",
    "[::1]:8000/v1": "http://[::1]:8000/v1",
    "192.168.1.7:8000": "http://192.168.1.7:8000",
    "api.example.com/v1": "https://api.example.com/v1",
    "gpu-box:8000": "https://gpu-box:8000",
  };
  for (const [address, expected] of Object.entries(addresses)) {
    assert.deepEqual([withScheme(address), wrongAddress(address)], [expected, undefined], address);
  }
  const world = new World();
  await world.run(script("Another server…", "192.168.1.7:8000", CLOSE));
  assert.match(world.pages.at(-1)?.prompt ?? "", /192\.168\.1\.7:8000 is another machine/);
  await world.run(script("Another server…", "localhost:1234/v1", ["Big", "small"], "Mine"));
  assert.equal(world.added[0]?.configuration["baseUrl"], "http://localhost:1234/v1");
});

test("the facts of a model are said in a few words, and nothing that is unknown", () => {
  const model = { id: "m", name: "m" };
  assert.equal(details(TWO[0] ?? model), "131K · tools · images · $1/$2.5");
  assert.equal(details({ ...model, contextWindow: 1_048_576, toolCalling: false }), "1M · no tools: not in agent mode");
  assert.equal(details({ ...model, inputPrice: 0, outputPrice: 0 }), "free");
  assert.equal(details(model), "");
});

test("of few models all are chosen; of many the first that agent mode can use, and the others are hidden", () => {
  const many = Array.from({ length: 30 }, (_, number) => ({
    id: `m${number}`,
    name: "m",
    ...(number < 10 && { toolCalling: false }),
  }));
  assert.equal(chosenAtFirst(many.slice(0, 12)).length, 12);
  const chosen = chosenAtFirst(many);
  assert.deepEqual([chosen[0], chosen.length], ["m10", 12]);
  assert.equal(hiddenModels(many, chosen).length, 18);
  assert.deepEqual(hiddenModels(TWO, ["big", "small"]), []);
});
