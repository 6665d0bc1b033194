/**
 * Stops answers of VS Code's agent host (the "Copilot harness"), whose Stop does not reach a provider
 * (docs/wires/vscode-agent-host.md#stop-in-the-agent-host). Knows no VS Code.
 */
import * as l10n from "@vscode/l10n";
import { type CancellationToken, CancellationTokenSource } from "vscode-jsonrpc/node";

/** One answer that runs. */
export interface RunningAnswer {
  /** Cancelled by the host and by the person. */
  readonly token: CancellationToken;
  /** Whether the person has stopped the answer beside the host. */
  readonly isStopped: boolean;
  /** The answer has ended, whichever way. */
  end(): void;
}

export class Harness {
  readonly #running = new Set<() => void>();

  /** @param inform Shows a sentence that asks for nothing. */
  constructor(private readonly inform: (sentence: string) => void) {}

  /** A request of the agent host begins. */
  begin(host: CancellationToken): RunningAnswer {
    const source = new CancellationTokenSource();
    const { token } = source; // A source that is cancelled before its token is taken throws when it is cancelled again.
    let isStopped = false;
    const stop = (): void => {
      isStopped = true;
      source.cancel();
    };
    if (host.isCancellationRequested) source.cancel();
    const following = host.onCancellationRequested(() => source.cancel());
    this.#running.add(stop);
    return {
      token,
      get isStopped() {
        return isStopped;
      },
      end: () => {
        following.dispose();
        this.#running.delete(stop);
      },
    };
  }

  /** Stops all answers that run. */
  stopAll(): void {
    if (this.#running.size === 0) {
      this.inform(
        l10n.t("No answer for the Copilot harness is running. An answer in a chat ends with its Stop button."),
      );
    }
    for (const stop of [...this.#running]) stop();
  }
}
