import assert from "node:assert/strict";
import { test } from "node:test";
import { LOGGED_AFTER, SHOWN_AFTER, WaitingItem, type WaitingView } from "../src/waitingItem";
import { TestClock } from "./testClock";

interface Started {
  item: WaitingItem;
  clock: TestClock;
  text: () => string | undefined;
  view: () => WaitingView | undefined;
  lines: string[];
}

function start(): Started {
  const clock = new TestClock();
  const lines: string[] = [];
  let shown: WaitingView | undefined;
  const item = new WaitingItem(
    (view) => (shown = view),
    (line) => lines.push(line),
    clock,
  );
  return { item, clock, text: () => shown?.text, view: () => shown, lines };
}

test("an answer that begins soon shows nothing, and leaves no timer behind", () => {
  const { item, clock, text } = start();
  const waiting = item.begin("GPT", "chat");
  clock.advance(SHOWN_AFTER - 1000);
  assert.equal(text(), undefined);
  waiting.end();
  waiting.end();
  assert.equal(clock.timers, 0);
});

test("silence is shown with its length until the answer begins, and is logged once", () => {
  const { item, clock, text, lines } = start();
  const waiting = item.begin("GPT", "chat");
  clock.advance(7000);
  assert.equal(text(), "$(loading~spin) GPT: no answer for 7 s");
  clock.advance(LOGGED_AFTER * 3);
  assert.equal(text(), "$(loading~spin) GPT: no answer for 37 s");
  assert.deepEqual(lines, ["GPT has not begun to answer for 10 s"]);
  waiting.end();
  assert.equal(text(), undefined);
});

test("a pause that the server asks for is counted down with its reason, and silence after it is shown", () => {
  const { item, clock, text, lines } = start();
  const waiting = item.begin("GPT", "chat");
  waiting.told({ reason: "the server answered HTTP 429: too many requests", seconds: 20 });
  assert.equal(text(), "$(watch) GPT: asked again in 20 s");
  clock.advance(15_000);
  assert.equal(text(), "$(watch) GPT: asked again in 5 s");
  assert.deepEqual(lines, []);
  clock.advance(6000);
  assert.equal(text(), "$(loading~spin) GPT: no answer for 21 s");
  waiting.end();
});

test("of several answers the one asked last is shown, as far as it waits", () => {
  const { item, clock, text } = start();
  const first = item.begin("One", "chat");
  clock.advance(6000);
  const second = item.begin("Two", "chat");
  assert.match(text() ?? "", /One: no answer for 6 s/);
  clock.advance(6000);
  assert.match(text() ?? "", /Two: no answer for 6 s/);
  second.end();
  assert.match(text() ?? "", /One: no answer for 12 s/);
  first.end();
  assert.equal(text(), undefined);
});

test("an answer for the Copilot harness stays until it ends, and a click stops it", () => {
  const { item, clock, view, lines } = start();
  const waiting = item.begin("GPT", "harness");
  clock.advance(7000);
  assert.equal(view()?.text, "$(loading~spin) GPT: no answer for 7 s");
  assert.equal(view()?.command, "partstream.stopAnswers");
  waiting.begun();
  clock.advance(LOGGED_AFTER);
  assert.equal(view()?.text, "$(loading~spin) GPT: answering for 17 s");
  assert.match(view()?.tooltip ?? "", /when it has ended.*Click to stop/s);
  assert.deepEqual(lines, []);
  waiting.end();
  assert.equal(view(), undefined);
  assert.equal(clock.timers, 0);
});

test("a click on any other answer shows the log", () => {
  const { item, clock, view } = start();
  for (const asker of ["chat", "program"] as const) {
    const waiting = item.begin("GPT", asker);
    clock.advance(7000);
    assert.equal(view()?.command, "partstream.showLog");
    waiting.begun();
    assert.equal(view(), undefined);
  }
});
