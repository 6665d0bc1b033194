/** Calls during a run of `action` share one further run after it: runs never overlap, and no call is lost. */
export function coalesced(action: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let queued: Promise<void> | undefined;
  const run = (): Promise<void> => (running = action().finally(() => (running = undefined)));
  return () => {
    if (!running) return run();
    const next = (): Promise<void> => {
      queued = undefined;
      return run();
    };
    return (queued ??= running.then(next, next));
  };
}
