/** The classes of `vscode` whose identity matters, and nothing else of it. */
import type { HostThinkingPart, PartClasses } from "../src/conversion";
import type { LanguageModelErrorClass } from "../src/errors";
import type * as vscode from "vscode";

export class TextPart {
  constructor(readonly value: string) {}
}
export class DataPart {
  constructor(
    readonly data: Uint8Array,
    readonly mimeType: string,
  ) {}
}
export class ToolCallPart {
  constructor(
    readonly callId: string,
    readonly name: string,
    readonly input: object,
  ) {}
}
export class ToolResultPart {
  isError?: boolean;
  constructor(
    readonly callId: string,
    readonly content: unknown[],
  ) {}
}
export class PromptTsxPart {
  constructor(readonly value: unknown) {}
}
export class ThinkingPart implements HostThinkingPart {
  constructor(
    readonly value: string | string[],
    readonly id?: string,
    readonly metadata?: Record<string, unknown>,
  ) {}
}

export const CLASSES = {
  text: TextPart,
  data: DataPart,
  toolCall: ToolCallPart,
  toolResult: ToolResultPart,
  promptTsx: PromptTsxPart,
  thinking: ThinkingPart,
} as unknown as PartClasses;

export class LanguageModelError extends Error {
  override readonly name = "LanguageModelError";
  code = "Unknown";
  static readonly NotFound = (message?: string): Error => withCode("NotFound", message);
  static readonly NoPermissions = (message?: string): Error => withCode("NoPermissions", message);
  static readonly Blocked = (message?: string): Error => withCode("Blocked", message);
}

function withCode(code: string, message?: string): Error {
  return Object.assign(new LanguageModelError(message), { code });
}

export const ERRORS: LanguageModelErrorClass = LanguageModelError;

export class Disposable {
  constructor(readonly dispose: () => unknown = () => undefined) {}
  static from(...others: { dispose: () => unknown }[]): Disposable {
    return new Disposable(() => others.forEach((other) => other.dispose()));
  }
}

/** A cancellation token with its source. */
export class TokenSource {
  #listeners: (() => void)[] = [];
  readonly token: { isCancellationRequested: boolean } & vscode.CancellationToken = {
    isCancellationRequested: false,
    // VS Code calls a listener that comes after the cancellation in the next turn of the event loop.
    onCancellationRequested: (listener, owner?: unknown) => {
      const call = (): void => {
        (listener as (this: unknown) => void).call(owner);
      };
      if (this.token.isCancellationRequested) setTimeout(call, 0);
      this.#listeners.push(call);
      return new Disposable(() => (this.#listeners = this.#listeners.filter((other) => other !== call)));
    },
  };

  cancel(): void {
    this.token.isCancellationRequested = true;
    for (const listener of this.#listeners) listener();
  }

  dispose(): void {
    this.#listeners = [];
  }
}
