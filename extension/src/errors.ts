/** From anything that went wrong to what VS Code shows: one clear sentence. */
import { ResponseError } from "vscode-jsonrpc/node";
import { type ErrorData, ErrorCode } from "./protocol.generated";

/** The Python process cannot be used; the message says why and what helps. */
export class SidecarError extends Error {
  override readonly name: string = "SidecarError";
}

/** Starting again would fail in the same way: somebody has to change something first. */
export class SidecarRefusedError extends SidecarError {
  override readonly name = "SidecarRefusedError";
}

/** `vscode.LanguageModelError`, as far as it is used. */
export interface LanguageModelErrorClass {
  new (message?: string): Error;
  NotFound(message?: string): Error;
  NoPermissions(message?: string): Error;
  Blocked(message?: string): Error;
}

/** Copilot's own identifier, as the host gives it in `requestInitiator`. */
const COPILOT = "github.copilot-chat";

/** What helps in the chat, by the kind of the error and whether there is anything before the message. */
const HINTS: Readonly<Record<string, (hasHistory: boolean) => string>> = {
  // The limit of the model has been corrected by now, and Copilot keeps to it: it sums up what was said before.
  ContextLengthExceededError: (hasHistory) =>
    hasHistory
      ? "; send the message again, and the conversation is shortened first"
      : "; send less at once, or choose a model that takes more",
};

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
 * LanguageModelError: so Copilot gets a plain error with an empty stack. Other callers look at the code.
 * `hasHistory` says whether the request held an answer, and so a conversation that can be shortened.
 */
export function toHostError(
  error: unknown,
  requestInitiator: string | undefined,
  errors: LanguageModelErrorClass,
  hasHistory: boolean,
): Error {
  const data = errorData(error);
  const message = data?.message ?? (error instanceof Error ? error.message : String(error));
  if (requestInitiator?.toLowerCase() === COPILOT) {
    return Object.assign(new Error(message + hintOn(data, hasHistory)), {
      stack: "",
      cause: data,
      ...(data && { code: data.code }),
    });
  }
  const make = MAKE_ERROR[data?.code ?? "Unspecified"];
  return Object.assign(make(message, errors), { cause: data });
}

function hintOn(data: ErrorData | undefined, hasHistory: boolean): string {
  return (data && HINTS[data.kind]?.(hasHistory)) ?? "";
}

/** What Python says about a model that failed; undefined for every other error. */
export function errorData(error: unknown): ErrorData | undefined {
  const isOurs = error instanceof ResponseError && error.code === ErrorCode.LanguageModelFailed;
  return isOurs ? (error.data as ErrorData) : undefined;
}
