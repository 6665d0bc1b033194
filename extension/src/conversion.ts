/**
 * Converts parts between VS Code and the sidecar, with a row for each type in each direction.
 *
 * The caller hands in VS Code's classes: the host recognises only its own.
 */
import type * as vscode from "vscode";
import type { DataPart, MessagePart, RequestMessage, ResponsePart, TextPart, Tool } from "./protocol.generated";
import { asText, promptTsxContent } from "./toolResults";

/** `LanguageModelThinkingPart`, which exists in hosts but not in the stable types. */
export interface HostThinkingPart {
  value: string | string[];
  id?: string | undefined;
  metadata?: Record<string, unknown> | undefined;
}

/** The readers of a part, by the numbers of `LanguageModelPartAudience`; in hosts, but not in the stable types. */
interface WithAudience {
  audience?: number[] | null | undefined;
}

export interface PartClasses {
  readonly text: typeof vscode.LanguageModelTextPart;
  readonly data: typeof vscode.LanguageModelDataPart;
  readonly toolCall: typeof vscode.LanguageModelToolCallPart;
  readonly toolResult: typeof vscode.LanguageModelToolResultPart;
  readonly promptTsx: typeof vscode.LanguageModelPromptTsxPart;
  readonly thinking: new (
    value: string | string[],
    id?: string,
    metadata?: Record<string, unknown>,
  ) => HostThinkingPart;
}

type Log = (message: string) => void;
type HostPart = vscode.LanguageModelResponsePart | HostThinkingPart;
type OfType<Part, Type> = Extract<Part, { type: Type }>;

type ToHost = {
  [Type in ResponsePart["type"]]: (part: OfType<ResponsePart, Type>, classes: PartClasses) => HostPart;
};

const TO_HOST = {
  text: (part, classes) => addressed(new classes.text(part.value), part),
  thinking: (part, classes) =>
    new classes.thinking(
      part.entries?.length ? part.entries : part.value,
      part.id ?? undefined,
      part.metadata ?? undefined,
    ),
  tool_call: (part, classes) => new classes.toolCall(part.callId, part.name, part.input),
  data: (part, classes) => addressed(new classes.data(Buffer.from(part.data, "base64"), part.mimeType), part),
} satisfies ToHost;

/**
 * The host's part with the audience of ours, which is a field: the constructor of the host's text part loses it
 * (docs/wires/vscode.md#audience-of-a-part).
 */
function addressed<Part extends HostPart>(made: Part, { audience }: WithAudience): Part {
  return audience ? Object.assign(made, { audience }) : made;
}

/** The audience of a host's part, where it has one. */
function audienceOf(part: object): { audience?: number[] } {
  const { audience } = part as { audience?: unknown };
  return Array.isArray(audience) ? { audience: audience.filter((one) => typeof one === "number") } : {};
}

/** The part as this host's class; undefined, and a line in the log, for an unknown type. */
export function toHostPart(
  part: ResponsePart,
  classes: PartClasses,
  log: Log,
): vscode.LanguageModelResponsePart | undefined {
  if (!Object.hasOwn(TO_HOST, part.type)) {
    log(`dropped a part of the answer: unknown type ${JSON.stringify(part.type)}`);
    return undefined;
  }
  const convert = TO_HOST[part.type] as (part: ResponsePart, classes: PartClasses) => HostPart;
  // The host knows thinking parts; the stable types do not.
  return convert(part, classes) as vscode.LanguageModelResponsePart;
}

interface Row<Host, Part> {
  readonly matches: (value: unknown, classes: PartClasses) => value is Host;
  readonly convert: (value: Host, classes: PartClasses, log: Log) => Part;
}

type FromHost = {
  text: Row<vscode.LanguageModelTextPart, OfType<MessagePart, "text">>;
  thinking: Row<HostThinkingPart, OfType<MessagePart, "thinking">>;
  tool_call: Row<vscode.LanguageModelToolCallPart, OfType<MessagePart, "tool_call">>;
  data: Row<vscode.LanguageModelDataPart, OfType<MessagePart, "data">>;
  tool_result: Row<vscode.LanguageModelToolResultPart, OfType<MessagePart, "tool_result">>;
};

const FROM_HOST = {
  text: {
    matches: (value, classes) => value instanceof classes.text,
    convert: (part) => ({ type: "text", value: part.value, ...audienceOf(part) }),
  },
  thinking: {
    matches: (value, classes) => value instanceof classes.thinking,
    convert: (part) => ({
      type: "thinking",
      value: typeof part.value === "string" ? part.value : part.value.join(""),
      id: part.id ?? null,
      metadata: part.metadata ?? null,
      ...(typeof part.value !== "string" && { entries: part.value }),
    }),
  },
  tool_call: {
    matches: (value, classes) => value instanceof classes.toolCall,
    convert: (part) => ({ type: "tool_call", callId: part.callId, name: part.name, input: asObject(part.input) }),
  },
  data: {
    matches: (value, classes) => value instanceof classes.data,
    convert: (part) => ({
      type: "data",
      mimeType: part.mimeType,
      data: Buffer.from(part.data).toString("base64"),
      ...audienceOf(part),
    }),
  },
  tool_result: {
    matches: (value, classes) => value instanceof classes.toolResult,
    convert: (part, classes, log) => ({
      type: "tool_result",
      callId: part.callId,
      content: part.content.flatMap((value) => toolResultContent(value, classes, log)),
      // Exists in real hosts, but not in the stable types.
      isError: (part as { isError?: boolean }).isError === true,
    }),
  },
} satisfies FromHost & { [Type in MessagePart["type"]]: unknown };

const FROM_HOST_ROWS = Object.values(FROM_HOST) as Row<unknown, MessagePart>[];

/** The wire value of a part; undefined for an unknown one. */
function fromHostPart(value: unknown, classes: PartClasses, log: Log): MessagePart | undefined {
  if (typeof value === "string") return { type: "text", value };
  return FROM_HOST_ROWS.find((row) => row.matches(value, classes))?.convert(value, classes, log);
}

/** The wire values of a part of a message: none, and a line in the log, for an unknown part. */
function fromHostContent(value: unknown, classes: PartClasses, log: Log): MessagePart[] {
  const part = fromHostPart(value, classes, log);
  if (!part) log(`left out a part of the request: unknown ${describe(value)}`);
  return part ? [part] : [];
}

/** Converts a message of Copilot or another caller: a class instance, or a plain object in countTokens. */
export function fromHostMessage(
  message: { readonly role: number; readonly content: unknown; readonly name?: string | undefined },
  classes: PartClasses,
  log: Log,
): RequestMessage {
  const { role, content } = message;
  const parts = Array.isArray(content) ? content : [content];
  return {
    role: isRole(role) ? role : unknownRole(role, log),
    content: parts.flatMap((value: unknown) => fromHostContent(value, classes, log)),
    name: message.name ?? null,
  };
}

export function fromHostTool(tool: vscode.LanguageModelChatTool): Tool {
  // Some of Copilot's tools have no schema.
  const inputSchema = (tool.inputSchema ?? null) as Record<string, unknown> | null;
  return { name: tool.name, description: tool.description, inputSchema };
}

/** Never nothing: the model called the tool, and waits for what came of it. */
function toolResultContent(value: unknown, classes: PartClasses, log: Log): (TextPart | DataPart)[] {
  const part = fromHostPart(value, classes, log);
  if (part?.type === "text" || part?.type === "data") return [part];
  const rendered = value instanceof classes.promptTsx ? promptTsxContent(value.value) : undefined;
  if (rendered) return rendered;
  log(`passed a part of a tool result as JSON: got ${describe(value)}, expected text, data or prompt-tsx`);
  return [asText(value)];
}

function isRole(role: number): role is RequestMessage["role"] {
  return role === 1 || role === 2 || role === 3; // 3 is the system, which the stable types do not name.
}

function unknownRole(role: number, log: Log): RequestMessage["role"] {
  log(`treated a message with the unknown role ${role} as a user message`);
  return 1;
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function describe(value: unknown): string {
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  // eslint-disable-next-line partstream/localisable -- for lines of the log
  return `object of class ${(value.constructor as { name?: string } | undefined)?.name ?? "none"}`;
}
