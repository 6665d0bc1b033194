import type { Storage } from "./modelList";
import type { Group } from "./protocol.generated";

/** The keys of a group that VS Code keeps for itself. */
const HOSTS_OWN = ["name", "vendor", "settings"];
/** The key whose value in the file is a reference to VS Code's secret storage. */
const SECRET = "apiKey";

export class GroupNames {
  /** Groups with the same keys, in the order of the file, by these keys. */
  #names = new Map<string, string[]>();
  /** How many groups with the same keys this round has asked for. */
  #asked = new Map<string, number>();

  constructor(
    /** Reads VS Code's file of groups; rejects if it cannot be read. */
    private readonly read: () => Promise<string>,
    private readonly vendor: string,
  ) {}

  /** VS Code begins to ask for all groups, in the order of its file. */
  async beginRound(): Promise<void> {
    this.#asked = new Map();
    try {
      this.#names = namesIn(parseWithComments(await this.read()), this.vendor);
    } catch {
      this.#names = new Map(); // There is no such file here, or it is being written: names are a comfort.
    }
  }

  /** The name of the next group with these keys. */
  next(configuration: Readonly<Record<string, unknown>>): string | undefined {
    const key = keyOf(configuration);
    const names = this.#names.get(key);
    const asked = this.#asked.get(key) ?? 0;
    this.#asked.set(key, asked + 1);
    return names?.[asked % names.length];
  }
}

/** The names of a vendor's groups in the text of VS Code's file. */
export function groupNamesIn(text: string, vendor: string): string[] {
  return [...namesIn(parseWithComments(text), vendor).values()].flat();
}

function namesIn(groups: unknown, vendor: string): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const group of Array.isArray(groups) ? (groups as unknown[]) : []) {
    const { name, vendor: of, ...others } = (group ?? {}) as Record<string, unknown>;
    if (of !== vendor || typeof name !== "string") continue;
    const key = keyOf(others);
    names.set(key, [...(names.get(key) ?? []), name]);
  }
  return names;
}

/** What two descriptions of the same group have in common, whatever the order of their keys. */
function keyOf(group: Readonly<Record<string, unknown>>): string {
  const kept = Object.entries(group).filter(([name]) => name !== SECRET && !HOSTS_OWN.includes(name));
  return JSON.stringify(sorted(Object.fromEntries(kept)));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inner]) => [name, sorted(inner)]));
}

/** VS Code's JSON may hold comments, and commas before closing brackets. */
function parseWithComments(text: string): unknown {
  const withoutComments = text.replace(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[^]*?\*\//g, "$1");
  return JSON.parse(withoutComments.replace(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g, "$1"));
}

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
