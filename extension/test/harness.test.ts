import assert from "node:assert/strict";
import { test } from "node:test";
import { ResponseError } from "vscode-jsonrpc/node";
import { ExtensionGoneError, SidecarError } from "../src/errors";
import { Harness, PAUSE, REMEMBERED_FOR, REPETITIONS } from "../src/harness";
import { type ErrorData, ErrorCode } from "../src/protocol.generated";
import { TestClock } from "./testClock";
import { TokenSource } from "./vscodeDouble";

function start(): { harness: Harness; clock: TestClock; lines: string[]; said: string[] } {
  const clock = new TestClock();
  const lines: string[] = [];
  const said: string[] = [];
  const harness = new Harness(
    clock,
    (line) => lines.push(line),
    (sentence) => said.push(sentence),
  );
  return { harness, clock, lines, said };
}

function failure(facts: Partial<ErrorData>): ResponseError<ErrorData> {
  const data: ErrorData = {
    code: "Unspecified",
    message: "failed",
    kind: "UpstreamHTTPError",
    provider: null,
    providerCode: null,
    httpStatus: null,
    retryAfter: null,
    ...facts,
  };
  return new ResponseError(ErrorCode.LanguageModelFailed, data.message, data);
}

const NEVER = new TokenSource().token;

/** How many of the repetitions of a request that always fails reach the server. */
function reaching(harness: Harness, error: unknown, request: unknown = "a request"): number {
  let reached = 0;
  for (let attempt = 0; attempt <= REPETITIONS; attempt++) {
    try {
      const answer = harness.begin(request, NEVER);
      reached++;
      answer.failed(error, new Error("shown"));
      answer.end();
    } catch (thrown) {
      assert.equal((thrown as Error).message, "shown");
    }
  }
  return reached - 1;
}

const LASTING: Record<string, unknown> = {
  "a refused key": failure({ httpStatus: 401, code: "NoPermissions" }),
  "no such model": failure({ httpStatus: 404, code: "NotFound" }),
  "a wrong request": failure({ httpStatus: 400 }),
  "a conversation that is too long": failure({ kind: "ContextLengthExceededError", httpStatus: 500 }),
  "an answer of thinking alone": failure({ kind: "EmptyAnswerError" }),
  "a limit of time": failure({ kind: "UpstreamTimeoutError" }),
  "what a server does not have": failure({ httpStatus: 501 }),
  "a failure that a server calls a refusal": failure({ kind: "UpstreamFailureError", code: "Blocked" }),
  "a bug of a provider": failure({ kind: "ZeroDivisionError" }),
  "an answer without a text": new Error("ended its answer without a text"),
  "an extension that has gone": new ExtensionGoneError("/x"),
  "a server that asks to wait for longer": failure({ httpStatus: 429, code: "Blocked", retryAfter: 600 }),
};

const PASSING: Record<string, unknown> = {
  "too many requests": failure({ httpStatus: 429, code: "Blocked" }),
  "a busy server": failure({ httpStatus: 503 }),
  "a broken connection": failure({ kind: "UpstreamConnectionError" }),
  "a stream that ended early": failure({ kind: "TruncatedStreamError" }),
  "a failure without a reason": failure({ kind: "UpstreamFailureError" }),
};

for (const [name, error] of Object.entries(LASTING)) {
  test(`the repetitions of a request do not reach the server: ${name}`, () => {
    const { harness, lines } = start();
    assert.equal(reaching(harness, error), 0);
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? "", /no server is asked/);
    harness.close();
  });
}

for (const [name, error] of Object.entries(PASSING)) {
  test(`a repetition reaches the server after a pause: ${name}`, () => {
    const { harness, clock } = start();
    harness.begin(1, NEVER).failed(error, new Error("shown"));
    clock.advance(PAUSE - 1);
    assert.throws(() => harness.begin(1, NEVER), /shown/);
    clock.advance(1);
    harness.begin(1, NEVER).end();
    assert.equal(clock.timers, 0);
  });
}

test("a repetition reaches a process that has ended, and is started again, at once", () => {
  const { harness, lines, clock } = start();
  assert.equal(reaching(harness, new SidecarError("ended (SIGKILL)")), REPETITIONS);
  assert.deepEqual(lines, []);
  assert.equal(clock.timers, 0);
});

test("a server that asks to wait is asked again after that time", () => {
  const { harness, clock } = start();
  harness.begin(1, NEVER).failed(failure({ httpStatus: 429, retryAfter: 7 }), new Error("busy"));
  clock.advance(6000);
  assert.throws(() => harness.begin(1, NEVER), /busy/);
  clock.advance(1000);
  harness.begin(1, NEVER).end();
  assert.equal(clock.timers, 0);
});

test("another attempt reaches the server: after the repetitions, after a while, and with another request", () => {
  const { harness, clock } = start();
  const error = failure({ httpStatus: 401 });
  assert.equal(reaching(harness, error), 0);
  assert.equal(reaching(harness, error), 0);
  harness.begin(["a", 1], NEVER).failed(error, new Error("shown"));
  harness.begin(["a", 2], NEVER).end();
  assert.throws(() => harness.begin(["a", 1], NEVER), /shown/);
  clock.advance(REMEMBERED_FOR);
  harness.begin(["a", 1], NEVER).end();
  assert.equal(clock.timers, 0);
});

test("a bounded number of failed requests is remembered, the newest ones", () => {
  const { harness, clock } = start();
  for (let request = 0; request < 50; request++) {
    harness.begin(request, NEVER).failed(failure({ httpStatus: 401 }), new Error("shown"));
  }
  assert.equal(clock.timers, 20);
  harness.begin(29, NEVER).end();
  assert.throws(() => harness.begin(30, NEVER), /shown/);
  harness.close();
  harness.begin(49, NEVER).end();
  assert.equal(clock.timers, 0);
});

test("all answers that run are stopped at once, and those that have ended are not", () => {
  const { harness, said } = start();
  const [ended, one, two] = ["a", "b", "c"].map((request) => harness.begin(request, NEVER));
  assert.ok(ended && one && two);
  ended.end();
  harness.stopAll();
  assert.deepEqual(
    [ended, one, two].map(({ token, isStopped }) => [token.isCancellationRequested, isStopped]),
    [
      [false, false],
      [true, true],
      [true, true],
    ],
  );
  assert.deepEqual(said, []);
  one.end();
  two.end();
  harness.stopAll();
  assert.match(said.join(), /^No answer for the Copilot harness is running/);
});

test("a host that cancels is followed, before the answer begins and later, and has not stopped it here", () => {
  const { harness } = start();
  for (const early of [true, false]) {
    const host = new TokenSource();
    if (early) host.cancel();
    const answer = harness.begin(early, host.token);
    if (!early) host.cancel();
    assert.deepEqual([answer.token.isCancellationRequested, answer.isStopped], [true, false]);
    answer.end();
  }
});
