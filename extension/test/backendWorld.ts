/** A machine with Pythons, settings and groups that a test changes, and the real backend over it; only time is not real. */
import assert from "node:assert/strict";
import { Backend, type Serving } from "../src/backend";
import type { Abandoned } from "../src/children";
import { SidecarError, SidecarNotAskedError, SidecarSlowError } from "../src/errors";
import type { Plan } from "../src/launch";
import type { Group, InformationResult, LanguageModelChatInformation } from "../src/protocol.generated";
import { candidatesInOrder, PROBE_LIMIT, type Run } from "../src/python";
import { STOP_LIMIT } from "../src/sidecar";
import type { Start } from "../src/supervisor";
import { probed } from "./fakeCommand";
import { settled, TestClock } from "./testClock";

/** What becomes of a Python that is run: `slow` starts in more time than a first start gets. */
export type Kind = "good" | "slow" | "old" | "hangs when probed" | "hangs at start" | "dies at start" | "missing";
/** Milliseconds that a slow Python takes to start. */
export const SLOW_START = 20_000;

/** Milliseconds that a slow group takes to list its models. */
export const SLOW_LIST = 800;

const STOPPED = "Partstream's Python process was stopped before it answered. Please retry.";

/** A process of the machine; it answers requests until it ends. */
export class FakeProcess implements Serving {
  end: (how: string) => void = () => undefined;
  readonly ended = new Promise<string>((resolve) => (this.end = resolve));
  readonly asked: string[] = [];
  readonly forgotten: string[] = [];
  isAlive = true;
  #isStopping = false;
  #fail = new Set<(error: Error) => void>();

  constructor(
    readonly plan: Plan,
    private readonly world: World,
  ) {
    void this.ended.then(() => {
      this.isAlive = false;
      this.#failAll("Partstream's Python process ended before it answered.");
    });
  }

  readonly request = ((_method: string, parameters: { group: Group | null } | null) => {
    assert.ok(this.isAlive || this.#fail.size === 0);
    if (this.#isStopping) return Promise.reject(new SidecarNotAskedError());
    const id = parameters?.group?.id ?? "own";
    this.asked.push(id);
    return new Promise((resolve, reject) => {
      this.#fail.add(reject);
      if (this.world.deadGroups.has(id)) return;
      const list = this.#list(id);
      if (this.world.slowGroups.has(id)) this.world.clock.after(SLOW_LIST, () => this.isAlive && resolve(list));
      else resolve(list);
    });
  }) as unknown as Serving["request"];

  readonly notify = ((_method: string, { group }: { group: string }) => {
    this.forgotten.push(group);
  }) as unknown as Serving["notify"];

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#failAll(STOPPED);
    if (this.world.areStubborn) this.world.clock.after(STOP_LIMIT, () => this.end("ended (SIGKILL)"));
    else this.end("ended (exit status 0)");
    await this.ended;
  }

  #list(id: string): InformationResult {
    return { models: [{ id: this.world.modelOf(id) } as LanguageModelChatInformation], errors: [] };
  }

  #failAll(sentence: string): void {
    for (const reject of this.#fail) reject(new SidecarError(sentence));
    this.#fail.clear();
  }
}

/** The process that should run. */
export interface Due {
  readonly python: string;
  readonly version: number;
  readonly kind: Kind;
}

export class World {
  readonly clock = new TestClock();
  readonly pythons: Record<string, Kind> = { python3: "good" };
  settings = { python: "", version: 0 };
  listVersion = 0;
  readonly groups = new Set<string>();
  readonly deadGroups = new Set<string>();
  readonly slowGroups = new Set<string>();
  /** Whether processes ignore that they are asked to end, and have to be killed. */
  areStubborn = false;
  readonly processes: FakeProcess[] = [];
  /** The probes and starts that are under way. */
  running = 0;
  readonly told: string[] = [];
  readonly searches: string[] = [];
  changes = 0;
  readonly backend = new Backend<FakeProcess>(
    {
      surroundings: {
        candidates: (abandoned) =>
          candidatesInOrder(
            this.settings.python,
            () => Promise.resolve(undefined),
            (command, commandArguments) => this.run(command, commandArguments, abandoned),
            "linux",
          ),
        configuration: () => ({ providers: [{ source: `v${this.settings.version}` }] }),
        folder: () => undefined,
        run: (command, commandArguments, abandoned) => this.run(command, commandArguments, abandoned),
        isThere: (executable) => this.#kindOf(executable) !== "missing",
        searched: ({ python }) => this.searches.push(python?.executable ?? "none"),
      },
      start: (plan, start) => this.start(plan, start),
      storage: { get: () => undefined, update: () => Promise.resolve() },
      clock: this.clock,
    },
    {
      started: () => undefined,
      unchanged: () => undefined,
      keyNeeded: () => undefined,
      processFailed: (error) => this.told.push(error.message),
      changed: () => this.changes++,
      otherModels: () => undefined,
      forgotten: () => undefined,
      counted: () => undefined,
      fetched: () => undefined,
      failed: (_group, sentence) => this.told.push(sentence),
    },
  );

  get alive(): FakeProcess[] {
    return this.processes.filter(({ isAlive }) => isAlive);
  }

  /** The process that is in use. */
  get runs(): FakeProcess | undefined {
    return this.backend.process;
  }

  /** The Python of the process that is in use. */
  get executable(): string | undefined {
    return this.runs?.plan.python.executable;
  }

  /** The groups whose lists the process in use was asked for. */
  get asked(): readonly string[] | undefined {
    return this.runs?.asked;
  }

  /** Kills the process that is in use. */
  end(): void {
    this.runs?.end("ended (SIGKILL)");
  }

  /** The plan by which a process should run now; undefined if there is none. */
  get due(): Due | undefined {
    const named = [this.settings.python, "python3", "python"].filter(Boolean);
    const python = named.find((name) => !["missing", "old", "hangs when probed"].includes(this.#kindOf(name)));
    return python === undefined ? undefined : { python, version: this.settings.version, kind: this.#kindOf(python) };
  }

  /** The model that a group has now; null stands for the providers in the settings. */
  modelOf(group: string): string {
    return `${group}-${this.settings.version}.${this.listVersion}`;
  }

  /** A provider has other models from now on, and says so. */
  changeLists(): void {
    this.listVersion++;
    for (const group of [null, ...this.groups]) if (this.alive.length > 0) this.backend.models.invalidate(group);
  }

  ask(): Promise<unknown> {
    return this.backend.use((process) => process.request("languageModels/counting", null));
  }

  /** What VS Code does whenever it shows models: asks without a group, then for every group. */
  async look(): Promise<string[]> {
    const ids = (await this.backend.models.models(null, true)).map(({ id }) => id);
    for (const group of this.groups) {
      const models = await this.backend.models.models({ id: group, configuration: {} }, true).catch(() => []);
      ids.push(...models.map(({ id }) => id));
    }
    return ids;
  }

  /** Lets time pass in steps, so that what follows from one timer can start the next. */
  async pass(milliseconds: number, step = 5000): Promise<void> {
    await settled();
    for (let left = milliseconds; left > 0; left -= step) {
      this.clock.advance(Math.min(step, left));
      await settled();
    }
  }

  readonly run: Run = (command, _arguments, abandoned) => {
    const kind = this.#kindOf(command);
    if (kind === "missing") return Promise.reject(new Error("not found"));
    if (kind === "hangs when probed") return this.#hang(PROBE_LIMIT, new Error("no answer"), abandoned);
    return Promise.resolve(probed(command, kind === "old" ? "3.9.1" : "3.12.1"));
  };

  async start(plan: Plan, { limit, abandoned }: Start): Promise<FakeProcess> {
    const kind = this.#kindOf(plan.python.executable);
    if (kind === "missing") throw new SidecarError("Partstream's Python process could not be started: not found.");
    if (kind === "dies at start") throw new SidecarError("Partstream's Python process ended (exit status 1).");
    if (kind === "hangs at start" || (kind === "slow" && limit < SLOW_START)) {
      return this.#hang(limit, new SidecarSlowError("Partstream's Python process did not start in time."), abandoned);
    }
    if (kind === "slow") await this.#hang(SLOW_START, undefined, abandoned);
    const process = new FakeProcess(plan, this);
    this.processes.push(process);
    return process;
  }

  #kindOf(name: string): Kind {
    return this.pythons[name] ?? "missing";
  }

  /** Something that takes its time, and is over at once when it is given up. */
  #hang(milliseconds: number, error: Error | undefined, abandoned: Abandoned | undefined): Promise<never> {
    this.running++;
    return new Promise<never>((resolve, reject) => {
      const end = (how: Error | undefined): void => {
        cancel();
        this.running--;
        abandoned?.removeEventListener("abort", giveUp);
        if (how) reject(how);
        else resolve(undefined as never);
      };
      const giveUp = (): void => end(new Error("was given up"));
      const cancel = this.clock.after(milliseconds, () => end(error));
      abandoned?.addEventListener("abort", giveUp);
    });
  }
}
