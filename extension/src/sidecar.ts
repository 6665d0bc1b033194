/** One Python process and the connection with it: how it is started from a plan, asked, and ended. Knows no VS Code. */
import * as l10n from "@vscode/l10n";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import {
  type CancellationToken,
  createMessageConnection,
  type MessageConnection,
  ProgressType,
  ReadableStreamMessageReader,
} from "vscode-jsonrpc/node";
import { type Abandoned, Children, DRAIN_LIMIT, whyNotStarted } from "./children";
import {
  isCancelled,
  isConnectionFailure,
  refusalOf,
  sentenceFor,
  SidecarError,
  SidecarNotAskedError,
  SidecarSlowError,
  versionMismatch,
} from "./errors";
import { inFolderThatExists, type Plan, sidecarCommand } from "./launch";
import type { Log } from "./log";
import {
  type AnswerWait,
  type InitializeParams,
  type InitializeResult,
  type LogLevel,
  type LogParams,
  type NotificationsToExtension,
  type NotificationsToSidecar,
  PROTOCOL_VERSION,
  type Requests,
  type ResponsePart,
  type ResponseProgress,
} from "./protocol.generated";
import { HandledMessages, SinglePieceWriter, StdoutFilter } from "./sidecarStreams";
import type { Start } from "./supervisor";

export interface SidecarCommand {
  readonly executable: string;
  readonly arguments: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly directory: string;
}

/** @throws {SidecarError} The system cannot start the program, and says so at once. */
export function spawnSidecar(
  { executable, arguments: given, environment, directory }: SidecarCommand,
  children: Children,
) {
  try {
    return children.spawn(executable, given, { cwd: directory, env: environment });
  } catch (error) {
    const why = whyNotStarted(error);
    throw new SidecarError(l10n.t`Partstream's Python process could not be started: ${executable} (${why}).`, {
      cause: error,
    });
  }
}

/** Milliseconds that a process has to end by itself after `exit`. */
export const STOP_LIMIT = 2000;

const PROGRESS = new ProgressType<ResponseProgress>();

/** How one start goes. */
export interface StartOptions {
  /** Milliseconds from the start of the process to its response to `initialize`. */
  readonly limit: number;
  /** Ends the process if the start is given up. */
  readonly abandoned?: Abandoned;
  readonly children?: Children;
}

/** What hears each notification, by its method. */
export type Hearers = {
  readonly [Method in Exclude<keyof NotificationsToExtension, "$/progress" | "log">]: (
    parameters: NotificationsToExtension[Method],
  ) => void;
};

export interface SidecarListener {
  log(level: LogLevel, source: string, message: string): void;
  readonly hearers: Hearers;
  /** A dialog asks something of the window; rejects with a ResponseError. */
  asked(method: string, parameters: unknown, token: CancellationToken): Promise<unknown>;
}

export class Sidecar {
  /** Resolves when the process has ended, with a clause that tells how. */
  readonly ended: Promise<string>;
  /** The last line of standard error: that of a traceback names the error; the log has all lines. */
  #lastWords = "";
  readonly #connection: MessageConnection;
  #nextProgressToken = 1;
  #information: InitializeResult["serverInfo"] | undefined;
  #isStopping = false;
  readonly #handledMessages = new HandledMessages();

  private constructor(
    private readonly process: ChildProcessWithoutNullStreams,
    private readonly children: Children,
    private readonly listener: SidecarListener,
  ) {
    const filtered = new StdoutFilter(process.stdout, (stray) => this.#heardStray(stray));
    this.#connection = createMessageConnection(
      new ReadableStreamMessageReader(filtered),
      new SinglePieceWriter(process.stdin),
      {
        error: (message) => listener.log("error", "connection", message),
        warn: (message) => listener.log("warning", "connection", message),
        info: (message) => listener.log("info", "connection", message),
        log: (message) => listener.log("debug", "connection", message),
      },
      { messageStrategy: this.#handledMessages },
    );
    this.#listen();
    this.ended = new Promise((resolve) => {
      const end = (how: string): void => {
        void this.#handledMessages.allHandled().then(() => {
          this.#connection.dispose();
          resolve(how);
        });
      };
      process.once("error", (error) =>
        end(l10n.t`could not be started: ${process.spawnfile} (${whyNotStarted(error)})`),
      );
      process.once("close", (code, signal) => end(howEnded(code, signal)));
      process.once("exit", (code, signal) => {
        // The process's own children may keep the pipes open.
        setTimeout(() => end(howEnded(code, signal)), DRAIN_LIMIT);
      });
    });
  }

  /** Starts a process and opens the connection; rejects with a {@link SidecarError} if that fails. */
  static async start(
    command: SidecarCommand,
    parameters: InitializeParams,
    listener: SidecarListener,
    { limit, abandoned, children = new Children() }: StartOptions,
  ): Promise<Sidecar> {
    if (abandoned?.aborted) throw new SidecarNotAskedError();
    const process = spawnSidecar(command, children);
    const sidecar = new Sidecar(process, children, listener);
    const giveUp = (): void => children.kill(process);
    abandoned?.addEventListener("abort", giveUp);
    try {
      await sidecar.#initialize(parameters, limit);
      return sidecar;
    } catch (error) {
      giveUp();
      throw error;
    } finally {
      abandoned?.removeEventListener("abort", giveUp);
    }
  }

  /** The versions of the running sidecar, and the path of its Python. */
  get information(): InitializeResult["serverInfo"] | undefined {
    return this.#information;
  }

  get processId(): number | undefined {
    return this.process.pid;
  }

  async request<Method extends keyof Requests>(
    method: Method,
    parameters: Requests[Method]["params"],
    token?: CancellationToken,
  ): Promise<Requests[Method]["result"]> {
    type Result = Requests[Method]["result"];
    if (this.#isStopping) throw new SidecarNotAskedError();
    try {
      // The library would send a null as a list that holds null.
      const given: unknown[] = parameters === null ? [] : [parameters];
      return await this.#connection.sendRequest<Result>(method, ...given, ...(token ? [token] : []));
    } catch (error) {
      if (isCancelled(error) && !token?.isCancellationRequested) {
        throw new SidecarError(l10n.t("Partstream's Python process was stopped before it answered. Please retry."));
      }
      if (!isConnectionFailure(error)) throw this.#forPerson(method, error);
      // The error of a closed connection names no cause; the end of the process does.
      const how = await Promise.race([this.ended, after(2 * DRAIN_LIMIT)]);
      if (how === undefined) throw error;
      throw new SidecarError(
        l10n.t`Partstream's Python process ${how} before it answered. It is being started again: please retry.`,
      );
    }
  }

  /**
   * Asks for an answer that streams: `receive` gets all parts before the promise settles at the answer's end, and
   * `waits` hears why it does not begin yet.
   */
  async respond(
    parameters: Omit<Requests["languageModels/response"]["params"], "progressToken">,
    receive: (parts: ResponsePart[]) => void,
    token: CancellationToken,
    waits: (wait: AnswerWait) => void = () => undefined,
  ): Promise<null> {
    const progressToken = this.#nextProgressToken++;
    const progress = this.#connection.onProgress(PROGRESS, progressToken, ({ parts, wait }) => {
      if (wait) waits(wait);
      if (parts.length > 0) receive(parts);
    });
    try {
      return await this.request("languageModels/response", { ...parameters, progressToken }, token);
    } finally {
      progress.dispose();
    }
  }

  /** Sends a notification; one to a process that ends or has ended is dropped. */
  notify<Method extends keyof NotificationsToSidecar>(
    method: Method,
    parameters: NotificationsToSidecar[Method],
  ): void {
    if (this.#isStopping) return;
    this.#connection.sendNotification(method, parameters).catch((error: unknown) => {
      this.listener.log("debug", "connection", `the notification ${method} was not sent: ${String(error)}`);
    });
  }

  /** Asks the process to end, and kills it if it does not; no request is sent any more. */
  async stop(limit = STOP_LIMIT): Promise<void> {
    this.#isStopping = true;
    const kill = setTimeout(() => this.children.kill(this.process), limit);
    this.#shutDown().catch((error: unknown) => {
      this.listener.log("debug", "connection", `the process did not answer shutdown: ${String(error)}`);
    });
    await this.ended;
    clearTimeout(kill);
  }

  async #shutDown(): Promise<void> {
    await this.#connection.sendRequest("shutdown");
    await this.#connection.sendNotification("exit");
  }

  #listen(): void {
    createInterface({ input: this.process.stderr }).on("line", (line) => {
      this.#lastWords = line.trim() || this.#lastWords;
      this.listener.log("info", "stderr", line);
    });
    this.#connection.onNotification("log", ({ level, source, message }: LogParams) =>
      this.listener.log(level, source, message),
    );
    for (const [method, hear] of Object.entries(this.listener.hearers)) this.#connection.onNotification(method, hear);
    this.#connection.onRequest((method, parameters, token) => this.listener.asked(method, parameters, token));
    this.#connection.onUnhandledNotification(({ method }) =>
      this.listener.log("debug", "connection", `ignored the notification ${method}`),
    );
    // After a message that cannot be read or written it is unknown which requests would still be answered; and a process
    // that closed its end can get no further message.
    this.#connection.onError(([error]) => {
      this.listener.log("error", "connection", `the connection is broken, so the process is ended: ${error.message}`);
      this.children.kill(this.process);
    });
    this.#connection.onClose(() => this.children.kill(this.process));
    this.#connection.listen();
  }

  /** The error in words for a person; what the process wrote for developers goes into the log. */
  #forPerson(method: string, error: unknown): unknown {
    const sentence = sentenceFor(error);
    if (sentence === undefined) return error;
    this.listener.log("error", "connection", `${method} failed: ${(error as Error).message}`);
    return new SidecarError(sentence);
  }

  /** Stray output is not repeated in errors: it may be anything. */
  #heardStray(stray: string): void {
    for (const line of stray.split(/\r?\n/)) this.listener.log("info", "stdout", line);
    this.listener.log(
      "warning",
      "connection",
      "Python printed these lines before the sidecar started; they are ignored",
    );
  }

  async #initialize(parameters: InitializeParams, limit: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(
        () => reject(new SidecarSlowError(l10n.t`Partstream's Python process did not start within ${limit / 1000} s.`)),
        limit,
      );
    });
    const died = this.ended.then((how) => {
      throw new SidecarError(`${l10n.t`Partstream's Python process ${how}.`} ${this.#lastWords}`.trim());
    });
    const opened = this.#connection.sendRequest<InitializeResult>("initialize", parameters).catch((error: unknown) => {
      if (isConnectionFailure(error)) return died;
      throw refusalOf(error) ?? error;
    });
    try {
      const { protocolVersion, serverInfo } = await Promise.race([opened, died, tooLate]);
      if (protocolVersion !== PROTOCOL_VERSION) throw versionMismatch(protocolVersion);
      this.#information = serverInfo;
    } finally {
      clearTimeout(timer);
      died.catch(() => undefined); // The process may end later; `ended` tells those who wait for that.
    }
  }
}

function howEnded(code: number | null, signal: NodeJS.Signals | null): string {
  return signal ? l10n.t`ended (${signal})` : l10n.t`ended (exit status ${String(code)})`;
}

function after(milliseconds: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds, undefined));
}

export interface SidecarSurroundings {
  /** The folder of the extension. */
  readonly folder: string;
  /** The version of the extension, and that of VS Code. */
  readonly version: string;
  readonly vscodeVersion: string;
  readonly log: Log;
  readonly children: Children;
  readonly listener: SidecarListener;
  /** Tells which messages the log shows, now and whenever that changes. */
  readonly followLogLevel: (tell: (level: LogLevel) => void) => { dispose(): unknown };
}

/** Rejects if the process cannot be started. */
export async function startSidecar(
  plan: Plan,
  { limit, abandoned }: Start,
  { folder, version, vscodeVersion, log, children, listener, followLogLevel }: SidecarSurroundings,
): Promise<Sidecar> {
  const { executable, version: ofPython, source } = plan.python;
  log.info(`starting Python ${ofPython} at ${executable} (${source})`);
  const libraries = join(folder, "bundled", "libs");
  const command = inFolderThatExists(sidecarCommand(plan, libraries, process.env), libraries, log.warning);
  const parameters: InitializeParams = {
    protocolVersion: PROTOCOL_VERSION,
    clientInfo: { name: "partstream-vscode", version },
    vscodeVersion,
    configuration: plan.configuration,
  };
  const sidecar = await Sidecar.start(command, parameters, listener, { limit, abandoned, children });
  const following = followLogLevel((level) => sidecar.notify("setLogLevel", { level }));
  void sidecar.ended.then(() => void following.dispose());
  return sidecar;
}
