import assert from "node:assert/strict";
import { test } from "node:test";
import { SidecarRefusedError } from "../src/errors";
import { BACKOFF } from "../src/supervisor";
import { World } from "./backendWorld";
import { settled } from "./testClock";

async function crash(world: World, times: number): Promise<void> {
  for (let crashes = 0; crashes < times; crashes++) {
    await world.pass(crashes === 0 ? 0 : (BACKOFF[crashes - 1] ?? 0));
    world.end();
    await settled();
  }
}

test("a message that waits after crashes is answered by the process of a restart, and the list goes on too", async () => {
  const world = new World();
  await world.look();
  await crash(world, 4);
  assert.equal(world.backend.state, "waiting");
  const [message, look] = [world.ask(), world.look()];
  world.backend.restart();
  await settled();
  await Promise.all([message, look]);
  world.listVersion++;
  await world.pass(11_000);
  await world.look();
  await settled();
  assert.deepEqual(await world.look(), ["own-0.1"]);
});

test("an interpreter that went away is replaced at the next start, and by a restart", async () => {
  for (const event of ["crash", "restart"] as const) {
    const world = new World();
    world.pythons["/venv/python"] = "good";
    world.settings = { python: "/venv/python", version: 0 };
    await world.ask();
    assert.equal(world.executable, "/venv/python");
    world.pythons["/venv/python"] = "missing";
    if (event === "restart") world.backend.restart();
    else world.end();
    await settled();
    await world.ask();
    assert.equal(world.executable, "python3");
    assert.equal(world.searches.at(-1), "python3");
  }
});

test("a Python that comes back after it could not be started is found by itself", async () => {
  const world = new World();
  world.pythons["python3"] = "dies at start";
  await assert.rejects(world.ask(), /exit status 1/);
  world.pythons["python3"] = "missing";
  world.pythons["python"] = "good";
  await world.pass(10_000);
  assert.equal(world.executable, "python");
});

test("after two changes in a row one process runs, and its models are listed without another look", async () => {
  for (const gap of [0, 20, 60, 100, 180, 300]) {
    const world = new World();
    world.slowGroups.add("own");
    const look = world.look();
    await world.pass(1000);
    await look;
    for (const version of [1, 2]) {
      world.settings = { ...world.settings, version };
      world.backend.reconsider();
      await world.pass(gap, 10);
    }
    await world.pass(2000, 10);
    assert.equal(world.alive.length, 1, `gap ${gap}`);
    assert.deepEqual(
      world.backend.models.lists.flatMap(({ models }) => models.map(({ id }) => id)),
      ["own-2.0"],
      `gap ${gap}`,
    );
    assert.deepEqual(world.told, [], `gap ${gap}`);
  }
});

test("a message during a start goes to the process of the newest settings, however often they change", async () => {
  const world = new World();
  const messages: Promise<unknown>[] = [];
  for (let version = 1; version <= 30; version++) {
    messages.push(world.ask());
    world.settings = { ...world.settings, version };
    world.backend.reconsider();
    if (version % 3 === 0) await settled();
  }
  await settled();
  const failures = (await Promise.allSettled(messages)).filter(({ status }) => status === "rejected");
  // Only those that a process already had when it was replaced.
  for (const failure of failures) {
    assert.match(String((failure as PromiseRejectedResult).reason), /was stopped before it answered\. Please retry\./);
  }
  assert.deepEqual(world.runs?.plan.configuration.providers, [{ source: "v30" }]);
});

test("a slow search does not overwrite a newer one, and its program is ended", async () => {
  const world = new World();
  await world.ask();
  world.pythons["/hangs"] = "hangs when probed";
  world.pythons["/good"] = "good";
  for (const python of ["/hangs", "/good"]) {
    world.settings = { ...world.settings, python };
    world.backend.reconsider();
    await world.pass(3000);
  }
  assert.equal(world.running, 0);
  await world.pass(20_000);
  world.end();
  await settled();
  await world.ask();
  assert.equal(world.executable, "/good");
  assert.deepEqual(world.searches, ["python3", "/good"]);
});

test("a Python that hangs when it is probed leaves the process that runs alone until it is known", async () => {
  const world = new World();
  await world.ask();
  world.pythons["/hangs"] = "hangs when probed";
  world.settings = { ...world.settings, python: "/hangs" };
  world.backend.reconsider();
  await settled();
  await world.ask();
  assert.equal(world.processes.length, 1);
});

test("a start that was refused is tried again when the person comes back, with the same plan too", async () => {
  const world = new World();
  const start = world.start.bind(world);
  world.start = () => Promise.reject(new SidecarRefusedError("Partstream's Python package speaks protocol version 9"));
  await assert.rejects(world.ask(), /speaks protocol version/);
  world.start = start;
  world.backend.reconsider();
  await settled();
  assert.equal(world.backend.state, "running");
});

test("a group that was deleted is forgotten by the process, also if no models are shown any more", async () => {
  const world = new World();
  world.groups.add("kept").add("deleted");
  await world.look();
  world.groups.delete("deleted");
  await world.look();
  await world.pass(6000);
  assert.deepEqual(world.runs?.forgotten, ["deleted"]);
  world.end();
  await settled();
  assert.deepEqual(world.asked, ["own", "kept"]);
});

test("nothing is started for a change of settings before anybody needs it", async () => {
  const world = new World();
  world.backend.reconsider();
  await settled();
  assert.deepEqual([world.searches, world.processes.length], [[], 0]);
  world.backend.restart(); // The person asks for it.
  await settled();
  assert.equal(world.searches.length, 1);
});
