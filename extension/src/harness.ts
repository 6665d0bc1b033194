/**
 * Workarounds for VS Code's agent host (the "Copilot harness"): it repeats each failed request, whatever the error is
 * (docs/wires/vscode-agent-host.md#repeated-requests-of-the-agent-host), and its Stop does not reach a provider
 * (docs/wires/vscode-agent-host.md#stop-in-the-agent-host). Knows no VS Code.
 */
import { createHash } from "node:crypto";
import * as l10n from "@vscode/l10n";
import { type CancellationToken, CancellationTokenSource } from "vscode-jsonrpc/node";
import type { Clock } from "./clock";
import { errorData, SidecarError, SidecarRefusedError } from "./errors";
import type { ErrorData } from "./protocol.generated";

/** Milliseconds for which a failed request is remembered; the agent host repeats it within 20 seconds. */
export const REMEMBERED_FOR = 30_000;
/** How often the agent host repeats a request: a later request comes from a person who tries again. */
export const REPETITIONS = 5;
/**
 * Milliseconds before the next attempt where a server may answer again: each of ours is several, so that the five
 * repetitions in a row would be too many for a busy server.
 */
export const PAUSE = 5000;
/** The most failed requests that are remembered. */
const MOST = 20;
const SECOND = 1000;

/** Statuses of servers that may answer the next time. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 409, 425, 429]);
const FIRST_OF_THE_SERVER = 500;
const NOT_IMPLEMENTED = 501;
/** Errors without a status that may not come again. A slow server would only be asked several times at once. */
const PASSING_KINDS: ReadonlySet<string> = new Set([
  "ToolArgumentsError",
  "TruncatedStreamError",
  "UpstreamAbortedError",
  "UpstreamConnectionError",
  "UpstreamFailureError",
]);

interface Failed {
  readonly error: Error;
  readonly forget: () => void;
  repetitions: number;
}

/** One answer for the agent host. */
export interface HarnessAnswer {
  /** Cancelled by the host and by the person. */
  readonly token: CancellationToken;
  /** Whether the person has stopped the answer beside the host. */
  readonly isStopped: boolean;
  /** The answer failed; `shown` is what the host got of it. */
  failed(error: unknown, shown: Error): void;
  /** The answer has ended, whichever way. */
  end(): void;
}

export class Harness {
  /** By the digest of the request; the oldest first. */
  readonly #failed = new Map<string, Failed>();
  readonly #running = new Set<{ stop: () => void }>();

  constructor(
    private readonly clock: Clock,
    private readonly log: (line: string) => void,
    /** Shows a sentence that asks for nothing. */
    private readonly inform: (sentence: string) => void,
  ) {}

  /**
   * A request of the agent host begins.
   *
   * @throws The error of the same request a moment ago, if asking the server again cannot help.
   */
  begin(request: unknown, host: CancellationToken): HarnessAnswer {
    const key = createHash("sha256").update(JSON.stringify(request)).digest("hex");
    const repeated = this.#repeated(key);
    if (repeated) throw repeated;
    const source = new CancellationTokenSource();
    const { token } = source; // A source that is cancelled before somebody takes its token throws when it is cancelled again.
    let isStopped = false;
    const running = {
      stop: () => {
        isStopped = true;
        source.cancel();
      },
    };
    if (host.isCancellationRequested) source.cancel();
    const following = host.onCancellationRequested(() => source.cancel());
    this.#running.add(running);
    return {
      token,
      get isStopped() {
        return isStopped;
      },
      failed: (error, shown) => this.#remember(key, error, shown),
      end: () => {
        following.dispose();
        this.#running.delete(running);
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
    for (const { stop } of [...this.#running]) stop();
  }

  /** Forgets all failed requests. */
  close(): void {
    for (const { forget } of this.#failed.values()) forget();
    this.#failed.clear();
  }

  #repeated(key: string): Error | undefined {
    const failed = this.#failed.get(key);
    if (!failed) return undefined;
    failed.repetitions++;
    if (failed.repetitions === 1) {
      this.log("the Copilot harness repeats a request that failed: it gets the same error, and no server is asked");
    }
    if (failed.repetitions === REPETITIONS) this.#forget(key);
    return failed.error;
  }

  #remember(key: string, error: unknown, shown: Error): void {
    const milliseconds = rememberedFor(error);
    if (milliseconds <= 0) return;
    this.#forget(key);
    const [oldest] = this.#failed.keys();
    if (oldest !== undefined && this.#failed.size >= MOST) this.#forget(oldest);
    const forget = this.clock.after(milliseconds, () => this.#failed.delete(key));
    this.#failed.set(key, { error: shown, forget, repetitions: 0 });
  }

  #forget(key: string): void {
    this.#failed.get(key)?.forget();
    this.#failed.delete(key);
  }
}

/** For how many milliseconds the server is not asked again; 0 where asking may help at once. */
function rememberedFor(error: unknown): number {
  // A process that has ended is started again, and another program can have freed what it needs.
  if (error instanceof SidecarError && !(error instanceof SidecarRefusedError)) return 0;
  const data = errorData(error);
  if (!data || !passes(data)) return REMEMBERED_FOR;
  return Math.min(Math.max((data.retryAfter ?? 0) * SECOND, PAUSE), REMEMBERED_FOR);
}

function passes({ httpStatus, kind, code }: ErrorData): boolean {
  if (kind === "ContextLengthExceededError") return false;
  if (httpStatus === null) return PASSING_KINDS.has(kind) && code === "Unspecified";
  return PASSING_STATUSES.has(httpStatus) || (httpStatus >= FIRST_OF_THE_SERVER && httpStatus !== NOT_IMPLEMENTED);
}
