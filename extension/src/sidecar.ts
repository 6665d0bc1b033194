/** One Python process and the connection with it; starts the process once and ends it. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import {
  type CancellationToken,
  ConnectionError,
  ErrorCodes,
  type MessageConnection,
  createMessageConnection,
  ProgressType,
  ResponseError,
  StreamMessageReader,
} from "vscode-jsonrpc/node";
import { SinglePieceWriter } from "./messageWriter";
import { SidecarError, SidecarRefusedError } from "./errors";
import {
  type DidAnswerParams,
  ErrorCode,
  type InitializeParams,
  type InitializeResult,
  type LogLevel,
  type LogParams,
  type ModelsDidChangeParams,
  PROTOCOL_VERSION,
  type Requests,
  type ResponsePart,
  type ResponseProgress,
  type ResponseResult,
  type TokenCountsDidChangeParams,
  type VersionMismatchData,
} from "./protocol.generated";

/** Milliseconds from the start of the process to its response to `initialize`. */
export const START_LIMIT = 15_000;
/** Milliseconds that a process has to end by itself after `exit`. */
export const STOP_LIMIT = 2000;
/** Milliseconds to read the last output of an ended process. */
const DRAIN_LIMIT = 200;

const CONNECTION_FAILURES = new Set<number>([ErrorCodes.PendingResponseRejected, ErrorCodes.MessageWriteError]);

const PROGRESS = new ProgressType<ResponseProgress>();

export interface SidecarCommand {
  readonly executable: string;
  readonly arguments: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly directory: string;
}

export interface SidecarListener {
  log(level: LogLevel, source: string, message: string): void;
  modelsDidChange(groupId: string | null): void;
  tokenCountsDidChange(changed: TokenCountsDidChangeParams): void;
  didAnswer(usage: DidAnswerParams): void;
}

export class Sidecar {
  /** Resolves when the process has ended, with a clause that tells how. */
  readonly ended: Promise<string>;
  /** The last line of standard error: that of a traceback names the error; the log has all lines. */
  #lastWords = "";
  readonly #connection: MessageConnection;
  #nextProgressToken = 1;
  #information: InitializeResult["serverInfo"] | undefined;

  private constructor(
    private readonly process: ChildProcessWithoutNullStreams,
    private readonly listener: SidecarListener,
  ) {
    this.#connection = createMessageConnection(
      new StreamMessageReader(process.stdout),
      new SinglePieceWriter(process.stdin),
      {
        error: (message) => listener.log("error", "connection", message),
        warn: (message) => listener.log("warning", "connection", message),
        info: (message) => listener.log("info", "connection", message),
        log: (message) => listener.log("debug", "connection", message),
      },
    );
    this.#listen();
    this.ended = new Promise((resolve) => {
      const end = (how: string): void => {
        this.#connection.dispose();
        resolve(how);
      };
      process.once("error", (error) => end(`could not be started: ${error.message}`));
      process.once("close", (code, signal) => end(`ended (${signal ?? `exit status ${String(code)}`})`));
      process.once("exit", (code, signal) => {
        // The process's own children may keep the pipes open.
        setTimeout(() => end(`ended (${signal ?? `exit status ${String(code)}`})`), DRAIN_LIMIT);
      });
    });
  }

  /** Starts a process and opens the connection; rejects with a {@link SidecarError} if that fails. */
  static async start(
    command: SidecarCommand,
    parameters: InitializeParams,
    listener: SidecarListener,
    startLimit = START_LIMIT,
  ): Promise<Sidecar> {
    const process = spawn(command.executable, command.arguments, {
      cwd: command.directory,
      env: command.environment,
      shell: false,
      windowsHide: true,
      stdio: "pipe",
    });
    const sidecar = new Sidecar(process, listener);
    try {
      await sidecar.#initialize(parameters, startLimit);
      return sidecar;
    } catch (error) {
      process.kill("SIGKILL");
      throw error;
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
    try {
      // The library would send a null as a list that holds null.
      const given: unknown[] = parameters === null ? [] : [parameters];
      return await this.#connection.sendRequest<Result>(method, ...given, ...(token ? [token] : []));
    } catch (error) {
      if (isCancelled(error) && !token?.isCancellationRequested) {
        throw new SidecarError("Partstream's Python process was stopped before it answered. Please retry.");
      }
      if (!isConnectionFailure(error)) throw error;
      // The error of a closed connection names no cause; the end of the process does.
      const how = await Promise.race([this.ended, after(2 * DRAIN_LIMIT)]);
      if (how === undefined) throw error;
      throw new SidecarError(
        `Partstream's Python process ${how} before it answered. It is being started again: please retry.`,
      );
    }
  }

  /** Asks for an answer that streams: `receive` gets all parts before the promise settles with the answer's end. */
  async respond(
    parameters: Omit<Requests["languageModels/response"]["params"], "progressToken">,
    receive: (parts: ResponsePart[]) => void,
    token: CancellationToken,
  ): Promise<ResponseResult> {
    const progressToken = this.#nextProgressToken++;
    const progress = this.#connection.onProgress(PROGRESS, progressToken, ({ parts }) => receive(parts));
    try {
      return await this.request("languageModels/response", { ...parameters, progressToken }, token);
    } finally {
      progress.dispose();
    }
  }

  /** Asks the process to end, and kills it if it does not. */
  async stop(limit = STOP_LIMIT): Promise<void> {
    const kill = setTimeout(() => this.process.kill("SIGKILL"), limit);
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
    this.#connection.onNotification("languageModels/didChange", ({ group }: ModelsDidChangeParams) =>
      this.listener.modelsDidChange(group),
    );
    this.#connection.onNotification("languageModels/tokenCountsDidChange", (changed: TokenCountsDidChangeParams) =>
      this.listener.tokenCountsDidChange(changed),
    );
    this.#connection.onNotification("languageModels/didAnswer", (usage: DidAnswerParams) =>
      this.listener.didAnswer(usage),
    );
    this.#connection.onUnhandledNotification(({ method }) =>
      this.listener.log("debug", "connection", `ignored the notification ${method}`),
    );
    this.#connection.onError(([error]) => this.listener.log("error", "connection", error.message));
    // A process that closed its end can get no further message.
    this.#connection.onClose(() => this.process.kill("SIGKILL"));
    this.#connection.listen();
  }

  async #initialize(parameters: InitializeParams, limit: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(
        () => reject(new SidecarError(`Partstream's Python process did not answer within ${limit / 1000} s.`)),
        limit,
      );
    });
    const died = this.ended.then((how) => {
      throw new SidecarError(`Partstream's Python process ${how}. ${this.#lastWords}`.trim());
    });
    const opened = this.#connection.sendRequest<InitializeResult>("initialize", parameters).catch((error: unknown) => {
      if (isConnectionFailure(error)) return died;
      if (!(error instanceof ResponseError) || error.code !== ErrorCode.ProtocolVersionMismatch) throw error;
      throw versionMismatch((error.data as VersionMismatchData).serverProtocolVersion);
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

function versionMismatch(theirs: number): SidecarRefusedError {
  return new SidecarRefusedError(
    `Partstream's Python package speaks protocol version ${theirs}, but this extension needs version ${PROTOCOL_VERSION}: ` +
      "this Python loads another copy of the package partstream. Remove that copy, or choose another Python.",
  );
}

/** Whether the connection is closed, or a message could not be written. */
function isConnectionFailure(error: unknown): boolean {
  if (error instanceof ConnectionError) return true;
  return error instanceof ResponseError && CONNECTION_FAILURES.has(error.code);
}

/** Whether the process cancelled the request. */
function isCancelled(error: unknown): boolean {
  return error instanceof ResponseError && error.code === ErrorCode.RequestCancelled;
}

function after(milliseconds: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds, undefined));
}
