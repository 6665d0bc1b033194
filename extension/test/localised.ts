/** The texts of the manifest as VS Code puts them into it. */
import { readFileSync } from "node:fs";

/** The texts by their keys. */
export const TEXTS = JSON.parse(readFileSync("package.nls.json", "utf8")) as Readonly<Record<string, string>>;

const KEY = /^%(.+)%$/;

/** The keys of texts that stand in a part of the manifest. */
export function keysIn(part: unknown): string[] {
  if (typeof part === "string") return KEY.exec(part)?.slice(1) ?? [];
  return typeof part === "object" && part !== null ? Object.values(part).flatMap(keysIn) : [];
}

/** A part of the manifest with its texts instead of their keys. */
export function localised(part: unknown, texts: Readonly<Record<string, string>>): unknown {
  if (typeof part === "string") return texts[KEY.exec(part)?.[1] ?? ""] ?? part;
  if (Array.isArray(part)) return part.map((item) => localised(item, texts));
  if (typeof part !== "object" || part === null) return part;
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, localised(value, texts)]));
}
