/** Runs checks one after the other and says how each went; knows nothing of VS Code. */

const CHECK_LIMIT = 120_000;

/**
 * Prints `ok NAME` or `FAIL NAME` for each check, with the note that it returned if any, and gives what happened.
 *
 * A failed check does not stop the others, unless it is `needed`: without what it shows, all others would fail as well.
 */
export async function runChecks(checks, session, { only } = {}) {
  const results = [];
  for (const check of checks.filter(({ name, needed }) => needed || !only || only.test(name))) {
    const result = await runCheck(check, session);
    results.push(result);
    if (check.needed && !result.passed) {
      console.log("the others are left out, because they need this one");
      break;
    }
  }
  const failed = results.filter(({ passed }) => !passed).length;
  console.log(`${results.length - failed} passed, ${failed} failed`);
  return results;
}

async function runCheck({ name, run }, session) {
  const begin = performance.now();
  let failure;
  let note;
  try {
    note = await bounded(run(session), CHECK_LIMIT);
  } catch (error) {
    failure = describe(error);
  }
  const seconds = (performance.now() - begin) / 1000;
  console.log(`${failure ? "FAIL" : "ok  "} ${name} (${seconds.toFixed(1)} s)${note ? `: ${note}` : ""}`);
  if (failure) {
    console.log(indented(failure));
    await showSurroundings(name, session);
  }
  return { name, passed: !failure, seconds, ...(note && { note }), ...(failure && { failure }) };
}

/** What the failure itself does not say: a picture, and what VS Code notified the person of. */
async function showSurroundings(name, session) {
  try {
    await session.screenshot(`failed-${name.replaceAll(/\W+/g, "-")}`);
    for (const text of await session.panel.notifications()) console.log(indented(`notification: ${text}`));
  } catch (error) {
    console.log(indented(`no screenshot: ${describe(error)}`));
  }
}

/** The browser driver's log of every attempt to click is left out, and so are its colours. */
function describe(error) {
  const [stack] = (error.stack ?? String(error)).split("\nCall log:");
  return stack.replaceAll(/\u001b\[\d+m/g, "");
}

async function bounded(promise, limit) {
  let timer;
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${limit / 1000} s`)), limit);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function indented(text) {
  return text.replaceAll(/^/gm, "     ");
}
