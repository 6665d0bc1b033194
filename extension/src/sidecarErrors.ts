/** What an error of the connection or of an answer says about the process. */
import * as l10n from "@vscode/l10n";
import { ConnectionError, ErrorCodes, ResponseError } from "vscode-jsonrpc/node";
import { SidecarRefusedError } from "./errors";
import { ErrorCode, PROTOCOL_VERSION, type VersionMismatchData } from "./protocol.generated";

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
