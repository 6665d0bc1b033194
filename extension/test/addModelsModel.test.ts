/** Whatever a person does in the wizard, in whatever order. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ServerProblem } from "../src/protocol.generated";
import { CLOSE, type Deed, GO_BACK, type Person, type Shown, TWO, World } from "./addModelsWorld";

const KEY = "sk-7d1e-not-for-pages";
const TEXTS = [
  "https://models.example/v1",
  "http://models.example",
  "http://localhost:9/v1",
  KEY,
  "A_KEY",
  "~/key",
  "m",
];
const KINDS: readonly ServerProblem["kind"][] = ["address", "key", "connection", "list", "other"];

/** What may be done with a page, the button back included where there is one; closing it comes in the end. */
function deeds({ kind, labels, buttons, hasBack, refuse, isSecret }: Shown): Deed[] {
  const texts = TEXTS.filter((text) => refuse(text) === undefined && (text === KEY) === isSecret);
  const possible: Readonly<Record<Shown["kind"], Deed[]>> = {
    choose: [...labels],
    chooseMany: [labels, labels.slice(0, 1)],
    ask: [...texts, ...buttons.map((button) => ({ button }))],
    wait: [""],
  };
  return hasBack ? [...possible[kind], GO_BACK] : possible[kind];
}

/** A person who does what the numbers say, and closes the wizard when there are no more; notes what they did. */
function person(numbers: readonly number[], done: { page: Shown; deed: Deed }[]): Person {
  let next = 0;
  return (page) => {
    const possible = deeds(page);
    const number = numbers[next++];
    const deed = number === undefined ? CLOSE : (possible[number % possible.length] ?? CLOSE);
    done.push({ page, deed });
    return deed;
  };
}

/** A world whose server answers with what the numbers say. */
function world(troubles: readonly number[]): World {
  const made = new World();
  made.variables = ["A_KEY"];
  let next = 0;
  made.server = () => {
    const kind = KINDS[troubles[next++] ?? -1];
    if (!kind) return { models: [...TWO] };
    return { models: [], problem: { kind, message: "no", baseUrl: "https://models.example/v1" } };
  };
  return made;
}

const RUNS = fc.tuple(fc.array(fc.nat(100), { maxLength: 40, size: "max" }), fc.array(fc.nat(12), { maxLength: 8 }));

test("nothing is added but by going through to the end, once, and with a key only in its own field", async () => {
  await fc.assert(
    fc.asyncProperty(RUNS, async ([numbers, troubles]) => {
      const made = world(troubles);
      const outcome = await made.run(person(numbers, []));
      assert.equal(made.added.length, outcome.kind === "added" ? 1 : 0);
      const [group] = made.added;
      if (outcome.kind === "added") assert.equal(outcome.group, group);
      const { apiKey, ...others } = group?.configuration ?? {};
      assert.ok(apiKey === undefined || apiKey === KEY);
      assert.ok(!JSON.stringify([others, group?.name]).includes(KEY));
      for (const { isSecret, value, ...shown } of made.pages) {
        assert.ok(!JSON.stringify(shown).includes(KEY) && (isSecret || !value.includes(KEY)), "a page shows the key");
      }
    }),
    { numRuns: 300 },
  );
});

test("a person can go back from every page but the first, and comes to it in the end", async () => {
  await fc.assert(
    fc.asyncProperty(RUNS, async ([numbers, troubles]) => {
      const done: { page: Shown; deed: Deed }[] = [];
      const wander = person(numbers.slice(0, -1), done);
      let backs = 0;
      let first: Shown | undefined;
      await world(troubles).run((page) => {
        first ??= page;
        if (done.length < numbers.length - 1) return wander(page);
        if (page.hasBack) backs++;
        else assert.deepEqual(page.labels, first.labels, "only the first page has no way back");
        return page.hasBack ? GO_BACK : CLOSE;
      });
      assert.ok(backs <= 8, `it took ${backs} steps back`);
      for (const [index, { page, deed }] of done.entries()) {
        const then = done[index + 1]?.page;
        if (deed === GO_BACK && then) assert.ok(then.step <= page.step, "back led forward");
      }
    }),
    { numRuns: 300 },
  );
});
