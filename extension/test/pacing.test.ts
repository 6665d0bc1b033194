import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FLUSH_PADDING, Pacer, REPORT_INTERVAL } from "../src/pacing";
import type { ResponsePart } from "../src/protocol.generated";
import { TestClock } from "./testClock";

const text = (value: string): ResponsePart => ({ type: "text", value });
const thinking = (value: string, id: string | null = null, metadata: Record<string, unknown> | null = null) =>
  ({ type: "thinking", value, id, metadata }) as const;
const call: ResponsePart = { type: "tool_call", callId: "1", name: "list", input: {} };
const data: ResponsePart = { type: "data", mimeType: "usage", data: "e30=" };

interface Report {
  readonly at: number;
  readonly part: ResponsePart;
}

function start(): { pacer: Pacer; clock: TestClock; reports: Report[]; visible: () => ResponsePart[] } {
  const clock = new TestClock();
  const reports: Report[] = [];
  const pacer = new Pacer((part) => reports.push({ at: clock.now(), part }), clock);
  const isPadding = ({ part }: Report): boolean => part.type === "text" && part.value === "";
  return { pacer, clock, reports, visible: () => reports.filter((one) => !isPadding(one)).map(({ part }) => part) };
}

test("the first text is reported at once, with enough empty parts behind it that the host flushes", () => {
  const { pacer, reports } = start();
  pacer.push(text("Hello"));
  assert.deepEqual(
    reports.map(({ part }) => part),
    [text("Hello"), ...Array<ResponsePart>(FLUSH_PADDING).fill(text(""))],
  );
});

test("the first text is reported at once even right after thinking", () => {
  const { pacer, visible } = start();
  pacer.push(thinking("hmm"));
  pacer.push(thinking(" so"));
  pacer.push(text("Hello"));
  assert.deepEqual(visible(), [thinking("hmm"), thinking(" so"), text("Hello")]);
});

test("text that comes faster than the interval is joined, and reported when the interval is over", () => {
  const { pacer, clock, reports, visible } = start();
  for (const word of ["a", "b", "c", "d"]) {
    pacer.push(text(word));
    clock.advance(10);
  }
  assert.deepEqual(visible(), [text("a"), text("bcd")]);
  assert.equal(reports.at(-1)?.at, REPORT_INTERVAL);
});

test("text that comes slower than the interval is never held back", () => {
  const { pacer, clock, visible } = start();
  for (const word of ["a", "b", "c"]) {
    pacer.push(text(word));
    clock.advance(REPORT_INTERVAL);
  }
  assert.deepEqual(visible(), [text("a"), text("b"), text("c")]);
});

test("what waits is reported before a tool call or data, which are never held back", () => {
  for (const part of [call, data]) {
    const { pacer, visible } = start();
    pacer.push(text("a"));
    pacer.push(text("b"));
    pacer.push(part);
    assert.deepEqual(visible(), [text("a"), text("b"), part]);
  }
});

test("a switch between thinking and text, or to another thinking block, reports what waits", () => {
  const { pacer, visible } = start();
  pacer.push(text("a"));
  pacer.push(text("b"));
  pacer.push(thinking("c", "1"));
  assert.deepEqual(visible(), [text("a"), text("b")]);
  pacer.push(thinking("d", "2"));
  assert.deepEqual(visible().at(-1), thinking("c", "1"));
  pacer.push(text("e"));
  assert.deepEqual(visible().at(-1), thinking("d", "2"));
  pacer.end();
  assert.deepEqual(visible().at(-1), text("e"));
});

test("of joined thinking the last metadata stays, whole, and a part without any does not erase it", () => {
  const { pacer, visible } = start();
  pacer.push(thinking("now", "1"));
  pacer.push(thinking("a", "1", { signature: "first", n: 1 }));
  pacer.push(thinking("b", "1", { signature: "last" }));
  pacer.push(thinking("c", "1"));
  pacer.end();
  assert.deepEqual(visible().at(-1), thinking("abc", "1", { signature: "last" }));
});

test("texts of different audiences, and thinking in entries, are never joined with what is beside them", () => {
  const { pacer, visible } = start();
  const parts: ResponsePart[] = [
    text("now"),
    text("a"),
    { type: "text", value: "b", audience: [1] },
    { type: "text", value: "c", audience: [1] },
    { type: "text", value: "d", audience: [] },
    { type: "thinking", value: "ef", entries: ["e", "f"] },
    { type: "thinking", value: "gh", entries: ["g", "h"] },
    thinking("i"),
  ];
  for (const part of parts) pacer.push(part);
  pacer.end();
  assert.deepEqual(visible(), [parts[0], parts[1], { type: "text", value: "bc", audience: [1] }, ...parts.slice(4)]);
});

test("thinking that only carries metadata is kept", () => {
  const { pacer, visible } = start();
  pacer.push(thinking("", "1", { signature: "s" }));
  pacer.end();
  assert.deepEqual(visible(), [thinking("", "1", { signature: "s" })]);
});

test("after dispose nothing is reported and no timer is left", () => {
  const { pacer, clock, visible } = start();
  pacer.push(text("a"));
  pacer.push(text("b"));
  assert.equal(clock.timers, 1);
  pacer.dispose();
  assert.equal(clock.timers, 0);
  pacer.push(text("c"));
  pacer.push(call);
  clock.advance(1000);
  assert.deepEqual(visible(), [text("a")]);
});

const anyPart: fc.Arbitrary<ResponsePart> = fc.oneof(
  fc.string({ maxLength: 4 }).map(text),
  fc
    .tuple(fc.string({ maxLength: 4 }), fc.constantFrom(null, "1", "2"), fc.option(fc.record({ s: fc.nat() })))
    .map(([value, id, metadata]) => thinking(value, id, metadata)),
  fc.constant(call),
  fc.constant(data),
);

/** What a consumer makes of a stream: runs of text and of thinking joined, with the last metadata of each block. */
function meaning(parts: readonly ResponsePart[]): ResponsePart[] {
  const joined: ResponsePart[] = [];
  for (const part of parts.filter((one) => one.type !== "text" || one.value !== "")) {
    const sum = joinedPart(joined.at(-1), part);
    if (sum) joined.splice(-1, 1, sum);
    else joined.push(part);
  }
  return joined;
}

function joinedPart(last: ResponsePart | undefined, part: ResponsePart): ResponsePart | undefined {
  if (part.type === "text" && last?.type === "text") return text(last.value + part.value);
  if (part.type !== "thinking" || last?.type !== "thinking" || last.id !== part.id) return undefined;
  return thinking(last.value + part.value, part.id, part.metadata ?? last.metadata ?? null);
}

test("nothing is lost or reordered, whatever the pace", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyPart, fc.nat(80)), { maxLength: 60 }), (steps) => {
      const { pacer, clock, visible } = start();
      for (const [part, gap] of steps) {
        pacer.push(part);
        clock.advance(gap);
      }
      pacer.end();
      assert.deepEqual(meaning(visible()), meaning(steps.map(([part]) => part)));
      assert.equal(clock.timers, 0);
    }),
  );
});

test("two reports of an uninterrupted text are never closer than the interval, after the first", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(50), { minLength: 2, maxLength: 100 }), (gaps) => {
      const { pacer, clock, reports } = start();
      for (const gap of gaps) {
        pacer.push(text("x"));
        clock.advance(gap);
      }
      const times = reports.filter(({ part }) => part.type === "text" && part.value !== "").map(({ at }) => at);
      times.slice(1).forEach((at, index) => assert.ok(at - (times[index] ?? 0) >= REPORT_INTERVAL));
    }),
  );
});

test("a token that waits is never held longer than the interval", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(50), { minLength: 2, maxLength: 100 }), (gaps) => {
      const { pacer, clock, visible } = start();
      let pushed = "";
      for (const [index, gap] of gaps.entries()) {
        const token = String(index % 10);
        pushed += token;
        pacer.push(text(token));
        clock.advance(gap);
      }
      clock.advance(REPORT_INTERVAL);
      assert.equal(visible().map((part) => (part.type === "text" ? part.value : "")).join(""), pushed); // prettier-ignore
    }),
  );
});

test("a burst of 2,000 tokens without a gap makes two reports, and one timer for all of them", () => {
  const { pacer, clock, visible } = start();
  for (let index = 0; index < 2000; index++) {
    pacer.push(text(`token ${index} `));
    assert.equal(clock.timers, index === 0 ? 0 : 1);
  }
  pacer.end();
  assert.equal(visible().length, 2);
});
