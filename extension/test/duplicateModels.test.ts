/** Models of several groups that have one id: told apart, and always in the same way. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Group } from "../src/protocol.generated";
import { DuplicateModels } from "../src/groups";

const LISTS: Readonly<Record<string, readonly string[]>> = {
  "aaaaaa-1": ["gpt", "only-a"],
  "bbbbbb-2": ["gpt", "only-b"],
  "cccccc-3": ["gpt"],
};
const group = (id: string): Group => ({ id, configuration: {} });

function start(stored?: unknown): {
  round: (...ids: string[]) => string[][];
  stored: () => unknown;
  fired: () => number;
} {
  let kept = stored;
  let fired = 0;
  const storage = {
    get: () => kept,
    update: (_key: string, value: unknown) => {
      kept = value;
      return Promise.resolve();
    },
  };
  const duplicates = new DuplicateModels(
    storage,
    (id) => LISTS[id] ?? [],
    () => {
      fired++;
    },
  );
  const round = (...ids: string[]): string[][] => {
    duplicates.beginRound();
    return ids.map((id) => (LISTS[id] ?? []).map(duplicates.shownIds(group(id))));
  };
  return { round, stored: () => kept, fired: () => fired };
}

test("ids that one group alone has stay as they are", () => {
  const { round } = start();
  for (let number = 0; number < 3; number++) assert.deepEqual(round("aaaaaa-1"), [["gpt", "only-a"]]);
});

test("an id of two groups is made unique in both, whatever their order", () => {
  const { round, fired } = start();
  round("aaaaaa-1", "bbbbbb-2");
  assert.equal(fired(), 0);
  const expected = [
    ["gpt@aaaaaa", "only-a"],
    ["gpt@bbbbbb", "only-b"],
  ];
  assert.deepEqual(round("aaaaaa-1", "bbbbbb-2"), expected);
  assert.equal(fired(), 1, "VS Code is notified, once");
  assert.deepEqual(round("bbbbbb-2", "aaaaaa-1"), expected.toReversed());
  assert.equal(fired(), 1);
});

test("a group that is added has the ids at once that it keeps", () => {
  const { round } = start(["aaaaaa-1"]);
  const [, added] = round("aaaaaa-1", "bbbbbb-2");
  assert.deepEqual(added, ["gpt@bbbbbb", "only-b"]);
  assert.deepEqual(round("aaaaaa-1", "bbbbbb-2")[1], added);
});

test("the ids are the same from the first question after a start", () => {
  const first = start();
  first.round("aaaaaa-1", "bbbbbb-2");
  first.round("aaaaaa-1", "bbbbbb-2");
  const next = start(first.stored());
  assert.deepEqual(next.round("aaaaaa-1"), [["gpt@aaaaaa", "only-a"]]);
});

test("a group whose settings were edited is no duplicate of what it was", () => {
  const { round } = start(["aaaaaa-1"]);
  assert.deepEqual(round("aaaaaa-1"), [["gpt", "only-a"]]);
  assert.deepEqual(round("cccccc-3"), [["gpt"]]);
  assert.deepEqual(round("cccccc-3"), [["gpt"]]);
});

test("a group that is gone leaves the other its plain ids", () => {
  const { round } = start(["aaaaaa-1", "bbbbbb-2"]);
  round("aaaaaa-1", "bbbbbb-2");
  round("aaaaaa-1");
  assert.deepEqual(round("aaaaaa-1"), [["gpt", "only-a"]]);
});

test("what another program stored is not believed", () => {
  for (const stored of [null, "aaaaaa-1", [1, {}], { a: 1 }]) {
    assert.deepEqual(start(stored).round("aaaaaa-1"), [["gpt", "only-a"]]);
  }
});
