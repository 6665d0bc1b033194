/** Turns errors of any kind into the one clear sentence that VS Code shows. */
import * as l10n from "@vscode/l10n";
import { ConnectionError, ErrorCodes, ResponseError } from "vscode-jsonrpc/node";
import { ErrorCode, type ErrorData, PROTOCOL_VERSION, type VersionMismatchData } from "./protocol.generated";

/** The Python process cannot be used; the message tells why, and what to do. */
export class SidecarError extends Error {
  override readonly name: string = "SidecarError";
}

/** What a person can do about an error, beside looking into the log. */
export type Remedy = "choose Python" | "reload" | "report";

/** A new start would fail in the same way, until a setting changes. */
export class SidecarRefusedError extends SidecarError {
  override readonly name: string = "SidecarRefusedError";
  readonly remedy: Remedy = "choose Python";
}

/** The folder of this extension has gone: only a reload of the window finds the new one. */
export class ExtensionGoneError extends SidecarRefusedError {
  override readonly name = "ExtensionGoneError";
  override readonly remedy = "reload";

  constructor(folder: string) {
    super(
      l10n.t`The files of Partstream are no longer in ${folder}: the extension was updated or removed. Reload the window to go on.`,
    );
  }
}

/** The process did not answer in the time that a start may take; the next start gets more. */
export class SidecarSlowError extends SidecarError {
  override readonly name = "SidecarSlowError";
}

/** The process was ending before it got the request: another process can get it. */
export class SidecarNotAskedError extends SidecarError {
  override readonly name = "SidecarNotAskedError";

  constructor() {
    super(l10n.t("Partstream's Python process was stopped before it answered. Please retry."));
  }
}

/** The used parts of `vscode.LanguageModelError`. */
export interface LanguageModelErrorClass {
  new (message?: string): Error;
  NotFound(message?: string): Error;
  NoPermissions(message?: string): Error;
  Blocked(message?: string): Error;
}

/** Copilot's id in `requestInitiator`. */
const COPILOT = "github.copilot-chat";
/** The id of VS Code itself. */
const CORE = "core";

/**
 * Who asks: Copilot's chat, VS Code's agent host (the "Copilot harness"), or another program. In the first two a person
 * sees text and tool calls, and nothing else.
 */
export type Asker = "chat" | "harness" | "program";

export function askerOf(options: {
  readonly requestInitiator?: string | undefined;
  readonly includeEncryptedThinking?: boolean | undefined;
}): Asker {
  if (options.requestInitiator?.toLowerCase() === COPILOT) return "chat";
  return options.requestInitiator === CORE && options.includeEncryptedThinking === true ? "harness" : "program";
}

const MAKE_ERROR: Record<ErrorData["code"], (message: string, errors: LanguageModelErrorClass) => Error> = {
  NotFound: (message, errors) => errors.NotFound(message),
  NoPermissions: (message, errors) => errors.NoPermissions(message),
  Blocked: (message, errors) => errors.Blocked(message),
  Unspecified: (message, errors) => new errors(message),
};

/**
 * The error to reject a response with.
 *
 * Copilot prints the message and then the stack, and the host makes a new stack of internal frames for every
 * LanguageModelError (docs/wires/vscode.md#errors). So Copilot and the agent host get a plain error without a stack;
 * other callers read the code. `canEnterKey` says whether the provider asks for a key that our command can take.
 */
export function toHostError(
  error: unknown,
  asker: Asker,
  errors: LanguageModelErrorClass,
  canEnterKey: boolean,
): Error {
  const data = errorData(error);
  const message = data?.message ?? sentenceOf(error);
  if (asker === "program") {
    return Object.assign(MAKE_ERROR[data?.code ?? "Unspecified"](message, errors), { cause: data });
  }
  const hint = canEnterKey ? l10n.t('; run "Partstream: Enter Key…"') : data?.hint;
  // The server's own words may end with a full stop.
  const said = hint === undefined ? message : message.replace(/\.$/, "") + hint;
  return Object.assign(new Error(said), { stack: "", ...(data && { cause: data, code: data.code }) });
}

/** The facts that Python sends about a model that failed; undefined for all other errors. */
export function errorData(error: unknown): ErrorData | undefined {
  const isOurs = error instanceof ResponseError && error.code === ErrorCode.LanguageModelFailed;
  return isOurs ? (error.data as ErrorData) : undefined;
}

/** What an error of any kind says. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const CONNECTION_FAILURES = new Set<number>([ErrorCodes.PendingResponseRejected, ErrorCodes.MessageWriteError]);

/** What a person reads in place of an error that the process did not write for a person. */
const SENTENCES: Readonly<Record<number, () => string>> = {
  [ErrorCode.ParseError]: () =>
    l10n.t("Partstream's Python process could not read the request. Partstream: Show Log tells more."),
  [ErrorCode.InvalidRequest]: notTaken,
  [ErrorCode.ServerNotInitialized]: notTaken,
  [ErrorCode.MethodNotFound]: () =>
    l10n.t("Partstream's Python process does not know the request. Partstream: Show Log tells more."),
  [ErrorCode.InternalError]: () => l10n.t("Partstream failed in its Python process. Partstream: Show Log tells more."),
};

function notTaken(): string {
  return l10n.t("Partstream's Python process did not take the request. Please retry.");
}

/** The sentence for a person in place of an error whose own words are for developers; undefined for all others. */
export function sentenceFor(error: unknown): string | undefined {
  return error instanceof ResponseError ? SENTENCES[error.code]?.() : undefined;
}

/** The refusal of a process with another version of the protocol; undefined for any other error. */
export function refusalOf(error: unknown): SidecarRefusedError | undefined {
  if (!(error instanceof ResponseError) || error.code !== ErrorCode.ProtocolVersionMismatch) return undefined;
  return versionMismatch((error.data as VersionMismatchData).serverProtocolVersion);
}

/** The refusal of a process that speaks version `theirs` of the protocol. */
export function versionMismatch(theirs: number): SidecarRefusedError {
  return new SidecarRefusedError(
    l10n.t`Partstream's Python package speaks protocol version ${theirs}, but this extension needs version ${PROTOCOL_VERSION}: this Python loads another copy of the package partstream. Remove that copy, or choose another Python.`,
  );
}

/** Whether the connection is closed, or a message could not be written. */
export function isConnectionFailure(error: unknown): boolean {
  if (error instanceof ConnectionError) return true;
  return error instanceof ResponseError && CONNECTION_FAILURES.has(error.code);
}

/** Whether the process cancelled the request. */
export function isCancelled(error: unknown): boolean {
  return error instanceof ResponseError && error.code === ErrorCode.RequestCancelled;
}
