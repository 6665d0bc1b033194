/** Runs checks one after the other and says how each went; knows nothing of VS Code. */
import { TimedOutError, bound } from "./wait.js";

const CHECK_LIMIT = 120_000;
/** Milliseconds between two looks at the clock and the load. */
const LOOK = 1000;

/**
 * Prints `ok NAME` or `FAIL NAME` for each check, with the note that it returned if any, and gives what happened.
 *
 * A failed check does not stop the others, unless it is `needed`: without what it shows, all others would fail as well.
 * `say` prints.
 */
export async function runChecks(checks, session, { only, say = console.log } = {}) {
  const results = [];
  for (const check of checks.filter(({ name, needed }) => needed || !only || only.test(name))) {
    const result = await runCheck(check, session, say);
    results.push(result);
    if (check.needed && !result.passed) {
      say("the others are left out, because they need this one");
      break;
    }
  }
  const failed = results.filter(({ passed }) => !passed).length;
  say(`${results.length - failed} passed, ${failed} failed`);
  return results;
}

async function runCheck({ name, run }, session, say) {
  const begin = performance.now();
  let failure;
  let note;
  try {
    session.panel.renewLimits();
    note = await bounded(run(session), name);
  } catch (error) {
    failure = describe(error);
  }
  const seconds = (performance.now() - begin) / 1000;
  say(`${failure ? "FAIL" : "ok  "} ${name} (${seconds.toFixed(1)} s)${note ? `: ${note}` : ""}`);
  if (failure) {
    say(indented(failure));
    await showSurroundings(name, session, say);
  }
  return { name, passed: !failure, seconds, ...(note && { note }), ...(failure && { failure }) };
}

/** What the failure itself does not say: a picture, and what VS Code notified the person of. */
async function showSurroundings(name, session, say) {
  try {
    await session.screenshot(`failed-${name.replaceAll(/\W+/g, "-")}`);
    for (const text of await session.panel.notifications()) say(indented(`notification: ${text}`));
  } catch (error) {
    say(indented(`no screenshot: ${describe(error)}`));
  }
}

/** The browser driver's log of every attempt to click is left out, and so are its colours. */
function describe(error) {
  const [stack] = (error.stack ?? String(error)).split("\nCall log:");
  return stack.replaceAll(/\u001b\[\d+m/g, "");
}

async function bounded(promise, name) {
  const begin = performance.now();
  let timer;
  const late = new Promise((_resolve, reject) => {
    timer = setInterval(() => {
      const waited = performance.now() - begin;
      if (waited > bound(CHECK_LIMIT)) reject(new TimedOutError(name, waited));
    }, LOOK);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearInterval(timer);
  }
}

function indented(text) {
  return text.replaceAll(/^/gm, "     ");
}
