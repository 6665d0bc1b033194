/**
 * Which models of one group have the id of a model in another group: both get an id of their own, because VS Code shows
 * twins otherwise and a selector by id would find either.
 *
 * VS Code asks in rounds: first without a group, then for every group that there is. Only groups of the round before
 * are compared, so that a group whose settings were edited is not taken for a twin of what it was.
 */
import type { Group } from "./protocol.generated";
import type { Storage } from "./modelList";

const STORAGE_KEY = "groups";
const SHOWN_DIGITS = 6;

export class Twins {
  #current = new Set<string>();
  #previous: ReadonlySet<string>;

  /**
   * @param idsOf The ids that a group listed last.
   * @param changed Told when other groups are compared from now on; called while VS Code waits for its answer.
   */
  constructor(
    private readonly storage: Storage,
    private readonly idsOf: (groupId: string) => readonly string[],
    private readonly changed: () => void,
  ) {
    const stored = storage.get(STORAGE_KEY);
    this.#previous = new Set(Array.isArray(stored) ? stored.filter((id) => typeof id === "string") : []);
  }

  /** VS Code asks for everything anew. */
  beginRound(): void {
    if (this.#current.size === 0) return;
    const changed =
      this.#current.size !== this.#previous.size || [...this.#current].some((id) => !this.#previous.has(id));
    this.#previous = this.#current;
    this.#current = new Set();
    if (!changed) return;
    // Kept for the next start: ids that change lose what a person has chosen.
    void this.storage.update(STORAGE_KEY, [...this.#previous]);
    this.changed();
  }

  /** The id under which VS Code gets each model of a group. */
  shownIds(group: Group): (id: string) => string {
    this.#current.add(group.id);
    if (!this.#previous.has(group.id)) return (id) => id;
    const others = [...this.#previous].filter((other) => other !== group.id);
    const taken = new Set(others.flatMap((other) => this.idsOf(other)));
    return (id) => (taken.has(id) ? `${id}@${group.id.slice(0, SHOWN_DIGITS)}` : id);
  }
}
