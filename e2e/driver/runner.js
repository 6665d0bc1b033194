/** Runs checks one after the other and says how each went; knows nothing of VS Code. */

const CHECK_LIMIT = 120_000;

/** Prints `ok NAME` or `FAIL NAME` for each check and gives what happened; a failed check does not stop the others. */
export async function runChecks(checks, session, { only } = {}) {
  const results = [];
  for (const { name, run } of checks.filter((check) => !only || only.test(check.name))) {
    const begin = performance.now();
    let failure;
    try {
      await bounded(run(session), CHECK_LIMIT);
    } catch (error) {
      failure = error;
    }
    const seconds = (performance.now() - begin) / 1000;
    console.log(`${failure ? "FAIL" : "ok  "} ${name} (${seconds.toFixed(1)} s)`);
    if (failure) {
      console.log(indented(failure.stack ?? String(failure)));
      await session
        .screenshot(`failed-${name.replaceAll(/\W+/g, "-")}`)
        .catch((error) => console.log(indented(String(error))));
    }
    results.push({ name, passed: !failure, seconds, ...(failure && { failure: String(failure) }) });
  }
  const failed = results.filter(({ passed }) => !passed).length;
  console.log(`${results.length - failed} passed, ${failed} failed`);
  return results;
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
