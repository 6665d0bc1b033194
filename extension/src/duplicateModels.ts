/**
 * Gives distinct ids to models of different groups that have the same id: otherwise VS Code would show duplicates, and a
 * selector by id would find either of them.
 *
 * VS Code asks in rounds: first without a group, then for every group. Only groups of the previous round are compared,
 * so that a group whose settings were edited is not taken for a duplicate of its former self. A new group is compared
 * with the groups that came before it in its own round: a person may choose one of its models at once, and VS Code finds
 * the model no more if the next round gives it another id ("Language model unavailable").
 */
import type { Group } from "./protocol.generated";
import type { Storage } from "./storedLists";

const STORAGE_KEY = "groups";
const SHOWN_DIGITS = 6;

export class DuplicateModels {
  #current = new Set<string>();
  #previous: ReadonlySet<string>;

  /**
   * @param idsOf The ids in a group's last list.
   * @param changed Called when the compared groups change, while VS Code waits for its answer.
   */
  constructor(
    private readonly storage: Storage,
    private readonly idsOf: (groupId: string) => readonly string[],
    private readonly changed: () => void,
  ) {
    const stored = storage.get(STORAGE_KEY);
    this.#previous = new Set(Array.isArray(stored) ? stored.filter((id) => typeof id === "string") : []);
  }

  /** VS Code starts a new round. */
  beginRound(): void {
    if (this.#current.size === 0) return;
    const changed =
      this.#current.size !== this.#previous.size || [...this.#current].some((id) => !this.#previous.has(id));
    this.#previous = this.#current;
    this.#current = new Set();
    if (!changed) return;
    // Kept for the next start: a changed id would lose the person's choice of the model.
    void this.storage.update(STORAGE_KEY, [...this.#previous]);
    this.changed();
  }

  /** A function that gives the id for VS Code of each model in a group. */
  shownIds(group: Group): (id: string) => string {
    const compared = this.#previous.has(group.id) ? this.#previous : this.#current;
    const others = [...compared].filter((other) => other !== group.id);
    this.#current.add(group.id);
    const taken = new Set(others.flatMap((other) => this.idsOf(other)));
    return (id) => (taken.has(id) ? `${id}@${group.id.slice(0, SHOWN_DIGITS)}` : id);
  }
}
