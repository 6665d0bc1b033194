import assert from "node:assert/strict";
import { test } from "node:test";
import { unexpected } from "./testClock";
import { TokenSource } from "./vscodeDouble";
import { ask, NOTHING, start } from "./startedProvider";

test("a group is sent with its name, which is no part of its id", async (context) => {
  const names = ["Desk", undefined];
  const rounds: string[] = [];
  const groupNames = {
    beginRound: () => Promise.resolve(void rounds.push("round")),
    next: () => names.shift(),
  };
  const { provider, asked } = start(context, NOTHING, unexpected, { groupNames });
  await provider.provideLanguageModelChatInformation({ silent: true });
  const configuration = { baseUrl: "https://host/v1" };
  for (let time = 0; time < 2; time++) {
    await provider.provideLanguageModelChatInformation({ silent: true, configuration });
  }
  assert.deepEqual(rounds, ["round"]);
  const [own, named] = asked as [null, { id: string; name?: string }];
  assert.equal(own, null);
  assert.equal(named.name, "Desk");
});

test("an answer is waited for until its first part, hears why, and stopping it in the chat is reported", async (context) => {
  const heard: unknown[] = [];
  const parts = {
    begin: (name: string) => {
      heard.push(name);
      return {
        told: (wait: unknown) => heard.push(wait),
        begun: () => heard.push("begun"),
        end: () => heard.push("end"),
      };
    },
    stopped: () => heard.push("stopped"),
  };
  const { provider } = start(context, NOTHING, unexpected, parts);
  await ask(provider, "waits").done;
  assert.deepEqual(heard.slice(0, 3), [
    "Model waits",
    { reason: "the server answered HTTP 429", seconds: 20 },
    "begun",
  ]);
  assert.ok(!heard.includes("stopped"));
  const source = new TokenSource();
  const stopped = ask(provider, "hangs", "GitHub.copilot-chat", source);
  source.cancel();
  await stopped.done;
  assert.equal(heard.at(-1), "stopped");
});
