/**
 * The status bar item that is there only while something is wrong.
 *
 * VS Code asks for lists of models when they are shown: so the list of a server that does not answer is looked at
 * from time to time, and the item goes when the server is back.
 */
import type { Clock } from "./clock";
import { type Circumstances, problemsOf, problemsView, type ProblemsView } from "./problems";

/** Milliseconds until a server that did not answer is asked once more. */
export const ASKED_AGAIN_AFTER = 30_000;

export interface ProblemsItemParts {
  /** Shows the view, or hides the item for undefined. */
  readonly show: (view: ProblemsView | undefined) => void;
  readonly circumstances: () => Circumstances;
  /** Has the list of this group fetched again; null stands for the providers in the settings. */
  readonly askAgain: (groupId: string | null) => void;
  readonly clock: Clock;
}

export class ProblemsItem {
  #shown: ProblemsView | undefined;
  #cancel: (() => void) | undefined;

  constructor(private readonly parts: ProblemsItemParts) {}

  /** Something has changed: shows what is wrong now. */
  refresh(): void {
    const circumstances = this.parts.circumstances();
    const view = problemsView(problemsOf(circumstances));
    if (JSON.stringify(view) !== JSON.stringify(this.#shown)) this.parts.show(view);
    this.#shown = view;
    this.#watch(circumstances);
  }

  /** The window closes. */
  close(): void {
    this.#cancel?.();
  }

  #watch({ lists }: Circumstances): void {
    this.#cancel?.();
    const silent = lists.filter(({ failures }) => failures.some(({ kind }) => kind === "connection"));
    this.#cancel = undefined;
    if (silent.length === 0) return;
    this.#cancel = this.parts.clock.after(ASKED_AGAIN_AFTER, () => {
      for (const { group } of silent) this.parts.askAgain(group?.id ?? null);
    });
  }
}
