/**
 * What is left of the budgets at the hubs of this window: asked for after each answer, and now and then while the window
 * has the focus. Without a hub nothing is asked, and no timer runs. Knows no VS Code.
 */
import type { Clock } from "../clock";
import { sentenceOf } from "../errors";
import type { Group, HubStanding, HubStandingResult } from "../protocol.generated";
import { type BudgetView, budgetView, pickerText } from "./budgetText";

/** Milliseconds after an answer: the hub has it in its books by then. */
export const AFTER_ANSWER = 2000;
/** Milliseconds between two questions while no model is asked. */
export const POLL_INTERVAL = 60_000;

export interface BudgetsParts {
  /** Asks the hub of a group through the process that runs; undefined where none does. */
  readonly ask: (group: Group) => Promise<HubStandingResult> | undefined;
  /** Shows the view, or hides the item for undefined. */
  readonly show: (view: BudgetView | undefined) => void;
  /** The picker's text for a hub's models has changed. */
  readonly changed: () => void;
  readonly log: (line: string) => void;
  readonly clock: Clock;
}

interface Hub {
  group: Group;
  standing: HubStanding | undefined;
  isAsked: boolean;
  /** Whether it is to be asked again as soon as it has answered. */
  isDue: boolean;
}

export class HubBudgets {
  readonly #hubs = new Map<string, Hub>();
  /** The group of the last answer, which the item is about. */
  #last: string | undefined;
  #isFocused: boolean;
  #cancelPoll: (() => void) | undefined;
  #cancelAfterAnswer: (() => void) | undefined;
  #isClosed = false;

  constructor(
    private readonly parts: BudgetsParts,
    isFocused: boolean,
  ) {
    this.#isFocused = isFocused;
  }

  /** A group has listed its models. */
  listed(group: Group, isHub: boolean): void {
    const hub = this.#hubs.get(group.id);
    if (hub) hub.group = group;
    if (isHub === (hub !== undefined)) return;
    if (!isHub) {
      this.forgotten(group.id);
      return;
    }
    this.#hubs.set(group.id, { group, standing: undefined, isAsked: false, isDue: false });
    this.#refresh(group.id);
    this.#schedule();
  }

  /** VS Code does not have the group any more. */
  forgotten(groupId: string): void {
    if (!this.#hubs.delete(groupId)) return;
    if (this.#hubs.size === 0) this.#stop();
    this.#show();
  }

  /** An answer has ended, whichever way. */
  answered(groupId: string | undefined): void {
    if (groupId === undefined || !this.#hubs.has(groupId)) return;
    this.#last = groupId;
    this.#show();
    this.#cancelAfterAnswer?.();
    this.#cancelAfterAnswer = this.parts.clock.after(AFTER_ANSWER, () => this.#refresh(groupId));
  }

  /** The window has got or lost the focus. */
  focused(isFocused: boolean): void {
    const isBack = isFocused && !this.#isFocused;
    this.#isFocused = isFocused;
    if (isBack) this.#refreshAll();
    this.#schedule();
  }

  /** What the picker says beside the models of a group; undefined for nothing. */
  pickerText(groupId: string): string | undefined {
    const standing = this.#hubs.get(groupId)?.standing;
    return standing && pickerText(standing);
  }

  /** The page of the hub that the item is about. */
  get page(): string | undefined {
    return this.#shown?.page;
  }

  /** The window closes: no timer is left. */
  close(): void {
    this.#isClosed = true;
    this.#stop();
  }

  /** That of the last answer, else the one with the least left. */
  get #shown(): HubStanding | undefined {
    const standings = [...this.#hubs.values()].flatMap(({ standing }) => standing ?? []);
    const last = this.#last === undefined ? undefined : this.#hubs.get(this.#last)?.standing;
    return last ?? standings.sort((one, other) => shareLeft(one) - shareLeft(other))[0];
  }

  #show(): void {
    const standing = this.#shown;
    this.parts.show(standing && budgetView(standing));
  }

  #schedule(): void {
    this.#cancelPoll?.();
    this.#cancelPoll = undefined;
    if (!this.#isFocused || this.#hubs.size === 0 || this.#isClosed) return;
    this.#cancelPoll = this.parts.clock.after(POLL_INTERVAL, () => {
      this.#refreshAll();
      this.#schedule();
    });
  }

  #stop(): void {
    this.#cancelPoll?.();
    this.#cancelPoll = undefined;
    this.#cancelAfterAnswer?.();
    this.#cancelAfterAnswer = undefined;
  }

  #refreshAll(): void {
    for (const id of this.#hubs.keys()) this.#refresh(id);
  }

  #refresh(groupId: string): void {
    const hub = this.#hubs.get(groupId);
    if (!hub || this.#isClosed) return;
    if (hub.isAsked) {
      hub.isDue = true;
      return;
    }
    hub.isAsked = true;
    hub.isDue = false;
    void this.#ask(hub).finally(() => {
      hub.isAsked = false;
      if (hub.isDue && this.#hubs.get(groupId) === hub) this.#refresh(groupId);
    });
  }

  async #ask(hub: Hub): Promise<void> {
    const before = hub.standing;
    try {
      const standing = (await this.parts.ask(hub.group))?.standing;
      if (!standing || this.#isClosed || this.#hubs.get(hub.group.id) !== hub) return;
      // What was known before is better than nothing while the hub is away.
      hub.standing = standing.problem === undefined ? standing : { ...(before ?? standing), problem: standing.problem };
    } catch (error) {
      this.parts.log(`the hub was not asked for the budgets: ${sentenceOf(error)}`);
      return;
    }
    this.#show();
    if ((before && pickerText(before)) !== pickerText(hub.standing)) this.parts.changed();
  }
}

function shareLeft({ budgets }: HubStanding): number {
  return budgets[0]?.shareLeft ?? 2;
}
