/**
 * The status bar item that says what an answer waits for, and for how long.
 *
 * A server that asks to wait, or that loads a model first, would otherwise look like one that does nothing. An answer for
 * the Copilot harness, which shows nothing before its end and whose Stop does not arrive, stays until it ends.
 */
import * as l10n from "@vscode/l10n";
import type { Clock } from "./clock";
import type { Asker } from "./errors";
import type { AnswerWait } from "./protocol.generated";

/** Milliseconds without any part after which the silence is shown. */
export const SHOWN_AFTER = 5000;
/** Milliseconds without any part after which the log says so. */
export const LOGGED_AFTER = 10_000;
const SECOND = 1000;

/** The content of the item. */
export interface WaitingView {
  readonly text: string;
  readonly tooltip: string;
  /** What a click runs. */
  readonly command: "partstream.showLog" | "partstream.stopAnswers";
}

/** One answer that has not begun, or that a person can stop here alone. */
export interface Waiting {
  /** The next attempt begins later. */
  told(wait: AnswerWait): void;
  /** The first part has come. */
  begun(): void;
  /** The answer has ended, has failed or is not wanted any more. */
  end(): void;
}

interface Waited {
  readonly model: string;
  readonly since: number;
  /** Whether the answer is stopped here, because no button of VS Code does it. */
  readonly isStoppedHere: boolean;
  hasBegun: boolean;
  pause: { readonly reason: string; readonly seconds: number; readonly until: number } | undefined;
  isLogged: boolean;
}

export class WaitingItem {
  readonly #waited = new Set<Waited>();
  #cancelTick: (() => void) | undefined;

  constructor(
    /** Shows the view, or hides the item for undefined. */
    private readonly show: (view: WaitingView | undefined) => void,
    private readonly log: (line: string) => void,
    private readonly clock: Clock,
  ) {}

  /** A request for an answer of this model begins. */
  begin(model: string, asker: Asker): Waiting {
    // A name comes from a server: nothing in it may be an icon.
    const waited: Waited = {
      model: model.replaceAll("$(", "$ ("),
      since: this.clock.now(),
      isStoppedHere: asker === "harness",
      hasBegun: false,
      pause: undefined,
      isLogged: false,
    };
    this.#waited.add(waited);
    this.#tick();
    const end = (): void => {
      if (this.#waited.delete(waited)) this.#tick();
    };
    return {
      told: ({ reason, seconds }) => {
        waited.pause = { reason, seconds, until: this.clock.now() + seconds * SECOND };
        this.#tick();
      },
      begun: () => {
        waited.hasBegun = true;
        if (!waited.isStoppedHere) end();
      },
      end,
    };
  }

  #tick(): void {
    this.#cancelTick?.();
    this.#cancelTick = undefined;
    for (const waited of this.#waited) this.#logSilence(waited);
    const views = [...this.#waited].flatMap((waited) => this.#viewOf(waited) ?? []);
    this.show(views.at(-1));
    if (this.#waited.size > 0) this.#cancelTick = this.clock.after(SECOND, () => this.#tick());
  }

  #viewOf(waited: Waited): WaitingView | undefined {
    const shown = this.#textsOf(waited);
    if (!shown) return undefined;
    const [text, tooltip] = shown;
    if (!waited.isStoppedHere) return { text, tooltip, command: "partstream.showLog" };
    const stop = l10n.t("Click to stop the answer: the Stop button of the Copilot harness does not reach the server.");
    return { text, tooltip: `${tooltip}\n\n${stop}`, command: "partstream.stopAnswers" };
  }

  /** The text and the tooltip; undefined for nothing. */
  #textsOf({ model, since, pause, hasBegun }: Waited): readonly [string, string] | undefined {
    const now = this.clock.now();
    if (pause && now < pause.until) {
      const left = Math.ceil((pause.until - now) / SECOND);
      return [
        `$(watch) ${l10n.t`${model}: asked again in ${left} s`}`,
        `${pause.reason}\n\n${l10n.t`The request is sent again after ${Math.ceil(pause.seconds)} s.`}`,
      ];
    }
    if (now - since < SHOWN_AFTER) return undefined;
    const seconds = Math.floor((now - since) / SECOND);
    if (hasBegun) {
      return [
        `$(loading~spin) ${l10n.t`${model}: answering for ${seconds} s`}`,
        l10n.t("The Copilot harness shows an answer when it has ended."),
      ];
    }
    return [
      `$(loading~spin) ${l10n.t`${model}: no answer for ${seconds} s`}`,
      l10n.t("The server has not begun to answer: it may be loading the model, or be busy."),
    ];
  }

  #logSilence(waited: Waited): void {
    const isPaused = waited.pause !== undefined && this.clock.now() < waited.pause.until;
    if (waited.isLogged || waited.hasBegun || isPaused || this.clock.now() - waited.since < LOGGED_AFTER) return;
    waited.isLogged = true;
    this.log(`${waited.model} has not begun to answer for ${LOGGED_AFTER / SECOND} s`);
  }
}
