/**
 * Reads what a tool's result may hold beside text and data: the tree that a tool renders with `@vscode/prompt-tsx`, and
 * any other value. A result never loses content on the way: what has no part of its own reaches the model as text.
 */
import type { DataPart, TextPart } from "./protocol.generated";

type Content = TextPart | DataPart;

/** `PromptNodeType.Text` of a node in the JSON of prompt-tsx; every other node holds `children`. */
const TEXT = 2;
/** `PieceCtorKind.ImageChatMessage` */
const IMAGE = 3;

/** How the base64 of each kind of image begins: prompt-tsx names no media type. */
const IMAGES: readonly (readonly [start: string, mimeType: string])[] = [
  ["iVBOR", "image/png"],
  ["/9j/", "image/jpeg"],
  ["R0lGOD", "image/gif"],
  ["UklGR", "image/webp"],
];

interface Node {
  readonly type?: unknown;
  readonly ctor?: unknown;
  readonly text?: unknown;
  readonly lineBreakBefore?: unknown;
  readonly children?: unknown;
  readonly props?: { readonly src?: unknown };
}

/** The texts of a tree of prompt-tsx as one text, cut only by its images; undefined for a value that is no such tree. */
export function promptTsxContent(value: unknown): Content[] | undefined {
  if (typeof value === "string") return [{ type: "text", value }];
  if (!isObject(value) || !isObject(value.node)) return undefined;
  const parts: Content[] = [];
  for (const piece of pieces(value.node)) {
    const last = parts.at(-1);
    if (typeof piece !== "string") parts.push(piece);
    else if (last?.type === "text") last.value += piece;
    else parts.push({ type: "text", value: piece });
  }
  return parts;
}

function* pieces(node: Node): Generator<string | DataPart> {
  if (node.type === TEXT) {
    if (typeof node.text === "string") yield node.lineBreakBefore ? `\n${node.text}` : node.text;
  } else if (node.ctor === IMAGE) {
    yield imageOf(node.props?.src);
  } else if (Array.isArray(node.children)) {
    for (const child of node.children) if (isObject(child)) yield* pieces(child);
  }
}

/** Any value as JSON; as its own text where JSON has none for it. */
export function asText(value: unknown): TextPart {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    // It holds itself, or a number that JSON does not know.
  }
  return { type: "text", value: text ?? String(value) };
}

/** The image's bytes; its address where it is one; a mark where neither can be read. */
function imageOf(source: unknown): DataPart | string {
  if (typeof source !== "string") return "<image>";
  const [, named, encoded = source] = /^data:([^;,]+);base64,(.*)$/s.exec(source) ?? [];
  const mimeType = named ?? IMAGES.find(([start]) => encoded.startsWith(start))?.[1];
  if (mimeType !== undefined) return { type: "data", mimeType, data: encoded };
  return /^https?:/.test(source) ? source : "<image>";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
