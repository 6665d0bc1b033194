/**
 * Knows which groups VS Code still has: it asks in rounds, first without a group, then for every group that there is.
 *
 * A round is over when the next one begins, or some time after its last call.
 */
import type { Clock } from "./clock";

/** Milliseconds without a call after which a round is over. */
export const ROUND_PAUSE = 5000;

export class ListRounds {
  /** The ids of the groups that this round has asked for; undefined between two rounds. */
  #asked: Set<string> | undefined;
  #calls = 0;
  #cancelEnd: (() => void) | undefined;
  #isClosed = false;

  /** @param ended Hears of each round that is over, with the ids of all groups that it asked for. */
  constructor(
    private readonly clock: Clock,
    private readonly ended: (groupIds: ReadonlySet<string>) => void,
  ) {}

  /** A call for a group begins; null begins a round. */
  callBegins(groupId: string | null): void {
    this.#calls++;
    this.#cancelEnd?.();
    if (groupId !== null) {
      this.#asked?.add(groupId);
      return;
    }
    this.#end();
    this.#asked = new Set();
  }

  callEnds(): void {
    this.#calls--;
    if (this.#calls > 0 || this.#isClosed) return;
    this.#cancelEnd = this.clock.after(ROUND_PAUSE, () => this.#end());
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelEnd?.();
  }

  #end(): void {
    const asked = this.#asked;
    this.#asked = undefined;
    if (asked) this.ended(asked);
  }
}
