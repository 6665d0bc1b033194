import assert from "node:assert/strict";
import { test } from "node:test";
import { UsageItem, type UsageView } from "../src/usageItem";
import { ANSWER, SUMS } from "./usageSamples";

function start(isWanted = (): boolean => true): { item: UsageItem; shown: (UsageView | undefined)[] } {
  const shown: (UsageView | undefined)[] = [];
  return { item: new UsageItem((view) => shown.push(view), isWanted), shown };
}

test("nothing is shown before the first answer", () => {
  const { item, shown } = start();
  item.refresh();
  assert.deepEqual(shown, [undefined]);
});

test("an answer of a conversation is shown", () => {
  const { item, shown } = start();
  item.answered({ answer: { ...ANSWER, inputTokens: 190_000 }, conversation: SUMS, day: SUMS });
  assert.match(shown.at(-1)?.text ?? "", /190K in/);
  assert.equal(shown.at(-1)?.fullness, "error");
});

test("an answer that belongs to no conversation changes the sum of the day and nothing else", () => {
  const { item, shown } = start();
  item.answered({ answer: ANSWER, conversation: null, day: SUMS });
  assert.equal(shown.at(-1), undefined);
  item.answered({ answer: ANSWER, conversation: SUMS, day: SUMS });
  const before = shown.at(-1);
  item.answered({ answer: { ...ANSWER, inputTokens: 7 }, conversation: null, day: { ...SUMS, answers: 9 } });
  assert.equal(shown.at(-1)?.text, before?.text);
  assert.match(shown.at(-1)?.tooltip ?? "", /Today: 9 answers/);
});

test("the setting takes the item away and brings it back", () => {
  let isWanted = true;
  const { item, shown } = start(() => isWanted);
  item.answered({ answer: ANSWER, conversation: SUMS, day: SUMS });
  isWanted = false;
  item.refresh();
  assert.equal(shown.at(-1), undefined);
  isWanted = true;
  item.refresh();
  assert.match(shown.at(-1)?.text ?? "", /42\.1K in/);
});

test("an answer that was stopped is named behind the one before it, until the next answer", () => {
  const { item, shown } = start();
  const text = (): string | undefined => shown.at(-1)?.text;
  item.stopped();
  assert.equal(text(), undefined);
  item.answered({ answer: ANSWER, conversation: SUMS, day: SUMS });
  const before = text();
  item.stopped();
  assert.equal(text(), `${before ?? ""} · then stopped`);
  assert.match(shown.at(-1)?.tooltip ?? "", /An answer was stopped/);
  item.answered({ answer: ANSWER, conversation: null, day: SUMS });
  assert.equal(text(), `${before ?? ""} · then stopped`);
  item.answered({ answer: ANSWER, conversation: SUMS, day: SUMS });
  assert.equal(text(), before);
});
