import assert from "node:assert/strict";
import { test } from "node:test";
import type { NewGroup } from "../src/addModels/answers";
import { Joining, type JoiningParts } from "../src/hubs/joining";
import type { JoinHubResult } from "../src/protocol.generated";

const CODE = "psj_k3Jx-92_bQ7vLw0rXy";
const KEY = "psk_k7m2q9x4ab_s3cret-s3cret-s3cret";
const HUB = "https://hub.example.com";
const LINK = { path: "/join", query: `hub=${HUB}`, fragment: CODE };
const JOINED: JoinHubResult = { joined: { baseUrl: `${HUB}/v1`, apiKey: KEY, person: "ada" } };

/** A window in which a person answers, and what happened in it, in order. */
function windowOf(changes: Partial<JoiningParts> = {}): {
  joining: Joining;
  happened: string[];
  groups: NewGroup[];
  hidden: string[];
  said: string[];
} {
  const [happened, groups, hidden, said] = [[] as string[], [] as NewGroup[], [] as string[], [] as string[]];
  const joining = new Joining({
    isTrusted: () => true,
    confirm: (question, detail) => {
      happened.push(`confirm ${question}`);
      said.push(question, detail);
      return Promise.resolve(true);
    },
    askLink: () => Promise.resolve(undefined),
    canAdd: () => Promise.resolve(true),
    takenNames: () => Promise.resolve([]),
    join: ({ hub, code }) => {
      happened.push(`join ${hub} ${code}`);
      return Promise.resolve(JOINED);
    },
    add: (group) => {
      groups.push(group);
      return Promise.resolve("added");
    },
    offer: (message) => {
      said.push(message);
      return Promise.resolve(undefined);
    },
    openChat: () => Promise.resolve(void happened.push("chat")),
    copy: (text) => Promise.resolve(void happened.push(`copy ${text}`)),
    hide: (secret) => hidden.push(secret),
    tell: (sentence) => said.push(sentence),
    ...changes,
  });
  return { joining, happened, groups, hidden, said };
}

test("the address is confirmed before anything is sent, and the key becomes a group", async () => {
  const { joining, happened, groups, hidden, said } = windowOf();
  await joining.opened(LINK);
  assert.deepEqual(happened, [`confirm Join the hub at ${HUB}?`, `join ${HUB} ${CODE}`]);
  assert.deepEqual(groups, [
    { name: "hub.example.com", configuration: { baseUrl: `${HUB}/v1`, apiKey: KEY }, shown: 0 },
  ]);
  assert.deepEqual(hidden, [CODE, KEY]);
  assert.match(said.at(-1) ?? "", /joined hub\.example\.com as ada/);
  assert.doesNotMatch(said.join(), /psj_|psk_/);
});

test("a person who does not agree has sent nothing and got nothing", async () => {
  const { joining, happened, groups } = windowOf({ confirm: () => Promise.resolve(false) });
  await joining.opened(LINK);
  assert.deepEqual([happened, groups], [[], []]);
});

test("a window in Restricted Mode joins nothing, starts nothing and asks nothing", async () => {
  const { joining, happened, groups, said } = windowOf({ isTrusted: () => false });
  await joining.opened(LINK);
  assert.deepEqual([happened, groups], [[], []]);
  assert.match(said.join(), /Restricted Mode/);
});

test("a code that works once is not spent where VS Code lets no extension add a group", async () => {
  const { joining, happened, said } = windowOf({ canAdd: () => Promise.resolve(false) });
  await joining.opened(LINK);
  assert.deepEqual(happened, []);
  assert.match(said.join(), /the join code was not sent.*partstream add hub/);
});

test("many links at once are one question", async () => {
  let agree: (agrees: boolean) => void = () => undefined;
  let questions = 0;
  const { joining, happened } = windowOf({
    confirm: () => {
      questions++;
      return new Promise((resolve) => (agree = resolve));
    },
  });
  const first = joining.opened(LINK);
  await Promise.all([joining.opened(LINK), joining.opened(LINK), joining.pasted()]);
  assert.equal(questions, 1);
  agree(false);
  await first;
  assert.deepEqual(happened, []);
  const again = joining.opened(LINK);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(questions, 2);
  agree(true);
  await again;
  assert.deepEqual(happened, [`join ${HUB} ${CODE}`]);
});

test("a link that leads nowhere good is a sentence and no question", async () => {
  const { joining, happened, said } = windowOf();
  await joining.opened({ ...LINK, query: "hub=http://hub.example.com" });
  assert.deepEqual(happened, []);
  assert.match(said.join(), /without encryption/);
});

test("a hub that gives no key says why, with its address", async () => {
  const { joining, groups, said } = windowOf({ join: () => Promise.resolve({ problem: "it was used already" }) });
  await joining.opened(LINK);
  assert.deepEqual(groups, []);
  assert.match(said.at(-1) ?? "", /The hub at https:\/\/hub\.example\.com did not issue a key: it was used already/);
});

test("a process that cannot be started is a sentence, and the next link is followed", async () => {
  let fails = true;
  const { joining, groups, said } = windowOf({
    join: () => (fails ? Promise.reject(new Error("no Python was found")) : Promise.resolve(JOINED)),
  });
  await joining.opened(LINK);
  assert.match(said.at(-1) ?? "", /not joined the hub: no Python was found/);
  fails = false;
  await joining.opened(LINK);
  assert.equal(groups.length, 1);
});

test("a key that VS Code does not take can be copied, because the hub gives it once", async () => {
  const { joining, happened, said } = windowOf({
    add: () => Promise.reject(new Error("A group of this name already exists.")),
    offer: (message, buttons) => {
      said.push(message);
      return Promise.resolve(buttons[0]);
    },
  });
  await joining.opened(LINK);
  assert.equal(happened.at(-1), `copy ${KEY}`);
  assert.doesNotMatch(said.join(), /psk_/);
});

test("a second group of a hub gets a name of its own, and the chat opens where it is wanted", async () => {
  const { joining, groups, happened } = windowOf({
    takenNames: () => Promise.resolve(["hub.example.com"]),
    offer: (_message, [button]) => Promise.resolve(button),
  });
  await joining.opened(LINK);
  assert.equal(groups[0]?.name, "hub.example.com 2");
  assert.equal(happened.at(-1), "chat");
});

test("a pasted link is checked while it is written, and confirmed like any other", async () => {
  const refused: (string | undefined)[] = [];
  const { joining, happened } = windowOf({
    askLink: (refuse) => {
      refused.push(refuse("nonsense"), refuse(`${HUB}/hub/join#${CODE}`));
      return Promise.resolve(`${HUB}/hub/join#${CODE}`);
    },
  });
  await joining.pasted();
  assert.match(refused[0] ?? "", /This is not a link/);
  assert.equal(refused[1], undefined);
  assert.deepEqual(happened, [`confirm Join the hub at ${HUB}?`, `join ${HUB} ${CODE}`]);
});
