/** Waits until the process tells of the load of a file. */
import type { Clock } from "../clock";
import type { ProviderDidLoadParams } from "../protocol.generated";

/** Milliseconds that a new provider has to be loaded: Python may have to be started first. */
export const FIRST_LOAD_LIMIT = 30_000;

export class FirstLoads {
  readonly #waiting = new Map<string, (load: ProviderDidLoadParams | undefined) => void>();

  constructor(private readonly clock: Clock) {}

  /** A provider was loaded, or could not be loaded. */
  told(load: ProviderDidLoadParams): void {
    if (load.file !== null) this.#waiting.get(load.file)?.(load);
  }

  /** The next load of this file; undefined if there is none in time. */
  of(file: string): Promise<ProviderDidLoadParams | undefined> {
    return new Promise((resolve) => {
      const end = (load: ProviderDidLoadParams | undefined): void => {
        cancel();
        this.#waiting.delete(file);
        resolve(load);
      };
      const cancel = this.clock.after(FIRST_LOAD_LIMIT, () => end(undefined));
      this.#waiting.set(file, end);
    });
  }
}
