import assert from "node:assert/strict";
import { test } from "node:test";
import { SidecarError } from "../src/errors";
import type { ListView } from "../src/modelList";
import type { ProviderDidLoadParams, ProviderError, StatusItem } from "../src/protocol.generated";
import { ASKED_AGAIN_AFTER, type Circumstances, problemsOf, problemsView, ProblemsItem } from "../src/problems";
import { TestClock } from "./testClock";

const NOTHING: Circumstances = { process: undefined, loads: [], lists: [] };
const BROKEN: ProviderDidLoadParams = {
  group: null,
  provider: "parrot",
  file: "/models/parrot.py",
  problem: { message: "SyntaxError: expected ':'", file: "/models/parrot.py", line: 4, keepsOld: true },
};

function listOf(name: string | undefined, ...failures: Partial<ProviderError>[]): ListView {
  const group = { id: "g", ...(name !== undefined && { name }), configuration: {} };
  const whole = failures.map((failure) => ({ provider: "host:1", message: "why", kind: "other" as const, ...failure }));
  return { group, models: [], error: undefined, failures: whole };
}

const shown = (circumstances: Partial<Circumstances>): string | undefined =>
  problemsView(problemsOf({ ...NOTHING, ...circumstances }))?.text;

test("nothing is shown while nothing is wrong", () => {
  assert.equal(shown({ loads: [{ ...BROKEN, problem: null }], lists: [listOf("Desk")] }), undefined);
});

for (const [name, circumstances, text] of [
  ["a file names its line", { loads: [BROKEN] }, "parrot.py line 4"],
  [
    "a provider without a file names itself",
    { loads: [{ ...BROKEN, problem: { message: "no module", file: null, line: null, keepsOld: false } }] },
    "parrot cannot be loaded",
  ],
  ["a server that is silent", { lists: [listOf("LM Studio", { kind: "connection" })] }, "LM Studio does not answer"],
  ["a refused key", { lists: [listOf("Desk", { kind: "key" })] }, "Desk rejected the key"],
  [
    "a provider without its key",
    { lists: [listOf("Gate", { kind: "key", keyNeed: { source: "gate.py", hadKey: false } })] },
    "Gate needs an API key",
  ],
  ["a group without a known name", { lists: [listOf(undefined, {})] }, "host:1 does not list its models"],
  ["no process hides all else", { process: new SidecarError("none"), loads: [BROKEN] }, "Python does not run"],
  ["several things", { loads: [BROKEN], lists: [listOf("Desk", {})] }, "parrot.py line 4, and 1 more"],
] as const) {
  test(`the status bar in few words: ${name}`, () => {
    assert.equal(shown(circumstances), `$(warning) Partstream: ${text}`);
  });
}

test("a load that failed is not told once more by the list of its group", () => {
  assert.equal(shown({ loads: [BROKEN], lists: [listOf("Own", { isLoadProblem: true })] })?.includes("more"), false);
});

test("nothing in a name is an icon or markup", () => {
  const view = problemsView(
    problemsOf({ ...NOTHING, lists: [listOf("$(zap) **Desk**", { message: "[x](command:y)" })] }),
  );
  assert.equal(view?.text, "$(warning) Partstream: $ (zap) **Desk** does not list its models");
  assert.doesNotMatch(view.tooltip, /\[x\]\(command:y\)/);
  assert.match(view.tooltip, /\[Test Connection…\]\(command:partstream\.testConnection\)/);
});

class World {
  readonly clock = new TestClock();
  readonly views: (StatusItem | undefined)[] = [];
  readonly asked: (string | null)[] = [];
  circumstances = NOTHING;
  readonly item = new ProblemsItem({
    show: (view) => this.views.push(view),
    circumstances: () => this.circumstances,
    askAgain: (group) => this.asked.push(group),
    clock: this.clock,
  });

  become(circumstances: Partial<Circumstances>): void {
    this.circumstances = { ...NOTHING, ...circumstances };
    this.item.refresh();
  }
}

test("the item is shown when something breaks, and hidden when it is mended", () => {
  const world = new World();
  world.become({});
  world.become({ loads: [BROKEN] });
  world.become({ loads: [BROKEN] });
  world.become({});
  assert.deepEqual(
    world.views.map((view) => view?.text),
    ["$(warning) Partstream: parrot.py line 4", undefined],
  );
});

test("a server that does not answer is asked from time to time, until it answers; no other server is", () => {
  const world = new World();
  world.become({ lists: [listOf("Desk", { kind: "key" }), listOf("Lamp", { kind: "connection" })] });
  world.clock.advance(ASKED_AGAIN_AFTER);
  assert.deepEqual(world.asked, ["g"]);
  world.become({ lists: [listOf("Lamp", { kind: "connection" })] });
  world.become({ lists: [listOf("Lamp")] });
  assert.equal(world.clock.timers, 0);
  world.become({ lists: [listOf("Lamp", { kind: "connection" })] });
  world.item.close();
  assert.equal(world.clock.timers, 0);
});
