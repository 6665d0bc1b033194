import assert from "node:assert/strict";
import { test } from "node:test";
import { AFTER_ANSWER, HubBudgets, POLL_INTERVAL } from "../src/hubs/budgets";
import { type BudgetView, budgetView } from "../src/hubs/budgetText";
import type { Group, HubStanding, HubStandingResult } from "../src/protocol.generated";
import { settled, TestClock } from "./testClock";

const group = (id: string): Group => ({ id, configuration: { baseUrl: "https://hub.example.com/v1" } });

function standing(left: number, changes: Partial<HubStanding> = {}): HubStanding {
  const text = `$${left.toFixed(2)} of $5.00 left today`;
  const budgets = [{ text, shareLeft: left / 5, resetsAt: 1_795_474_800 }];
  return { hub: "https://hub.example.com", page: "https://hub.example.com/hub", person: "ada", budgets, ...changes };
}

/** A window with the focus, and hubs that say what the test says. */
class World {
  readonly clock = new TestClock();
  readonly asked: string[] = [];
  readonly shown: (BudgetView | undefined)[] = [];
  readonly lines: string[] = [];
  changes = 0;
  isRunning = true;
  answers: Record<string, HubStanding | Error | null> = { one: standing(3.2) };
  readonly budgets: HubBudgets;

  constructor(isFocused = true) {
    const parts = {
      ask: ({ id }: Group) => (this.isRunning ? this.#ask(id) : undefined),
      show: (view: BudgetView | undefined) => void this.shown.push(view),
      changed: () => this.changes++,
      log: (line: string) => void this.lines.push(line),
      clock: this.clock,
    };
    this.budgets = new HubBudgets(parts, isFocused);
  }

  get text(): string | undefined {
    return this.shown.at(-1)?.text;
  }

  /** The window has a hub, whose budgets are known. */
  async joined(id = "one"): Promise<void> {
    this.budgets.listed(group(id), true);
    await settled();
  }

  #ask(id: string): Promise<HubStandingResult> {
    this.asked.push(id);
    const answer = this.answers[id] ?? null;
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve({ standing: answer });
  }
}

test("without a hub no server is asked, nothing is shown and no timer runs", async () => {
  const world = new World();
  world.budgets.listed(group("one"), false);
  world.budgets.answered("one");
  world.budgets.answered(undefined);
  world.budgets.focused(false);
  world.budgets.focused(true);
  await settled();
  assert.deepEqual([world.asked, world.shown, world.clock.timers], [[], [], 0]);
  assert.equal(world.budgets.pickerText("one"), undefined);
});

test("what is left is shown in the status bar and in the picker as soon as a hub is known", async () => {
  const world = new World();
  await world.joined();
  assert.equal(world.text, "$(credit-card) $3.20 of $5.00 left today");
  assert.equal(world.budgets.pickerText("one"), "$3.20 of $5.00 left today");
  assert.equal(world.budgets.page, "https://hub.example.com/hub");
  assert.equal(world.changes, 1);
});

test("after an answer the hub is asked once, however many answers end together", async () => {
  const world = new World();
  await world.joined();
  world.answers = { one: standing(3.1) };
  for (let answer = 0; answer < 5; answer++) world.budgets.answered("one");
  await settled();
  assert.equal(world.asked.length, 1);
  world.clock.advance(AFTER_ANSWER);
  await settled();
  assert.equal(world.asked.length, 2);
  assert.equal(world.text, "$(credit-card) $3.10 of $5.00 left today");
  assert.equal(world.changes, 2);
});

test("an answer that changes nothing does not make the picker ask again", async () => {
  const world = new World();
  await world.joined();
  world.budgets.answered("one");
  world.clock.advance(AFTER_ANSWER);
  await settled();
  assert.deepEqual([world.asked.length, world.changes], [2, 1]);
});

test("now and then it is asked while the window has the focus, and at once when the person comes back", async () => {
  const world = new World();
  await world.joined();
  world.clock.advance(POLL_INTERVAL);
  await settled();
  assert.equal(world.asked.length, 2);
  world.budgets.focused(false);
  world.clock.advance(100 * POLL_INTERVAL);
  await settled();
  assert.deepEqual([world.asked.length, world.clock.timers], [2, 0]);
  world.budgets.focused(true);
  await settled();
  assert.equal(world.asked.length, 3);
  world.clock.advance(POLL_INTERVAL);
  await settled();
  assert.equal(world.asked.length, 4);
});

test("no process is started to ask, and what was known stays", async () => {
  const world = new World();
  await world.joined();
  world.isRunning = false;
  world.clock.advance(POLL_INTERVAL);
  await settled();
  assert.equal(world.text, "$(credit-card) $3.20 of $5.00 left today");
});

test("a hub that is away leaves what was known, and the tooltip says so", async () => {
  const world = new World();
  await world.joined();
  world.answers = { one: standing(0, { budgets: [], person: "", problem: "there is no connection" }) };
  world.clock.advance(POLL_INTERVAL);
  await settled();
  assert.equal(world.text, "$(credit-card) $3.20 of $5.00 left today");
  assert.match(world.shown.at(-1)?.tooltip ?? "", /Currently unknown; last known: there is no connection/);
  world.answers = { one: new Error("the process ended") };
  world.clock.advance(POLL_INTERVAL);
  await settled();
  assert.equal(world.text, "$(credit-card) $3.20 of $5.00 left today");
  assert.match(world.lines.join(), /the process ended/);
});

test("a person whom no budget limits sees nothing", async () => {
  const world = new World();
  world.answers = { one: standing(0, { budgets: [] }) };
  await world.joined();
  assert.equal(world.shown.at(-1), undefined);
  assert.equal(world.budgets.pickerText("one"), undefined);
  assert.equal(world.changes, 0);
});

test("of several hubs the one of the last answer is shown, at first the one with the least left", async () => {
  const world = new World();
  world.answers = { one: standing(3.2), two: standing(0.4) };
  await world.joined("one");
  await world.joined("two");
  assert.match(world.text ?? "", /\$0\.40/);
  world.budgets.answered("one");
  assert.match(world.text ?? "", /\$3\.20/);
  world.budgets.forgotten("one");
  assert.match(world.text ?? "", /\$0\.40/);
  world.budgets.forgotten("two");
  assert.deepEqual([world.text, world.clock.timers], [undefined, 0]);
});

test("a group whose server is no hub any more is forgotten", async () => {
  const world = new World();
  await world.joined();
  world.budgets.listed(group("one"), false);
  assert.deepEqual([world.text, world.clock.timers], [undefined, 0]);
});

test("a window that closes leaves no timer, and what comes after is dropped", async () => {
  const world = new World();
  await world.joined();
  world.budgets.answered("one");
  world.budgets.close();
  assert.equal(world.clock.timers, 0);
  world.budgets.focused(true);
  await settled();
  assert.deepEqual([world.asked.length, world.clock.timers], [1, 0]);
});

test("an answer that ends while the hub is asked has it asked again", async () => {
  const world = new World();
  await world.joined();
  world.budgets.answered("one");
  world.clock.advance(POLL_INTERVAL);
  assert.equal(world.asked.length, 2);
  await settled();
  assert.equal(world.asked.length, 3);
});

test("the colour warns below a tenth, and says when nothing is left", () => {
  const fullness = (left: number): string | undefined => budgetView(standing(left))?.fullness;
  assert.deepEqual(
    [fullness(0.51), fullness(0.5), fullness(0.49), fullness(0.01), fullness(0)].join(" "),
    "normal normal warning warning error",
  );
});

test("nothing that a hub says is markup or an icon", () => {
  const view = budgetView(
    standing(1, { person: "[x](command:evil)", budgets: [{ text: "$(bug) **1**", shareLeft: 1, resetsAt: null }] }),
  );
  assert.equal(view?.text, "$(credit-card) $ (bug) **1**");
  assert.doesNotMatch(view.tooltip, /\]\(command:evil|\$\(bug|[^\\]\*\*1/);
  assert.match(view.tooltip, /\(command:partstream\.openHubPage\)/);
});
