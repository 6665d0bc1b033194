/**
 * Knows when all messages that have arrived on a connection are handled.
 *
 * The library handles one message in each turn of the event loop and does not report when none is left; a connection that
 * is disposed of before would lose what the process wrote last.
 */
import type { MessageStrategy } from "vscode-jsonrpc/node";

/** Turns of the event loop without a message after which none is left: a message takes two from the pipe to its handler. */
const QUIET_TURNS = 5;

export class HandledMessages implements MessageStrategy {
  #handled = 0;

  readonly handleMessage: MessageStrategy["handleMessage"] = (message, next) => {
    this.#handled++;
    return next(message);
  };

  /** Resolves when no message is left. */
  async allHandled(): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TURNS; quiet++) {
      const before = this.#handled;
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#handled !== before) quiet = 0;
    }
  }
}
