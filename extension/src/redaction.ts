/** Keeps keys out of the log and the debug information. */
import {
  type Nesting,
  PLAIN_WORD,
  type Secrecy,
  type SecretRow,
  SEPARATORS,
  SETTINGS,
  SHORTEST_KEY,
  SHORTEST_SECRET,
} from "./settings.generated";

const HIDDEN = "[hidden]";

/** Patterns of unknown keys: header values, and the forms of providers' keys. */
const LOOKS_LIKE_A_KEY = [
  /(?<=\b(?:bearer|basic)\s+)[\w.~+/=-]{6,}/gi,
  /(?<=\b(?:api[-_]?key|x-goog-api-key|authorization|access[-_]?token)["']?\s*[:=]\s*["']?(?!(?:bearer|basic)\b))[\w.~+/=-]{6,}/gi,
  /\b(?:sk|pk|rk|gsk|xai|AIza)[-_]?[\w-]{16,}/g,
];

type Values = Readonly<Record<string, unknown>>;
type Rows = Readonly<Record<string, SecretRow>>;

export class Redactor {
  readonly #secrets = new Set<string>();

  /** Hides `secret` from now on; very short secrets are not hidden, as they would hide ordinary words. */
  remember(secret: string): void {
    if (secret.length >= SHORTEST_SECRET) this.#secrets.add(secret);
  }

  /** Remembers the secrets in a group's settings, whether the settings are valid or not. */
  rememberConfiguration(configuration: Values): void {
    for (const secret of secretsIn(SETTINGS, configuration)) this.remember(secret);
  }

  redact(text: string): string {
    let result = text;
    // Longest first: a secret may be the beginning of another.
    const secrets = [...this.#secrets].sort((one, other) => other.length - one.length);
    for (const secret of secrets) result = result.replaceAll(secret, HIDDEN);
    for (const pattern of LOOKS_LIKE_A_KEY) result = result.replace(pattern, HIDDEN);
    return result;
  }
}

function secretsIn(rows: Rows, given: Values): string[] {
  return Object.entries(given).flatMap(([name, value]) => {
    const row = Object.hasOwn(rows, name) ? rows[name] : undefined;
    if (!row) return keys(value); // A key under a misspelt name is a key.
    if (!("rows" in row)) return FIND[row.secrecy](value);
    return objects(row.nesting, value).flatMap((item) => {
      if (row.isShort && typeof item === "string") return [];
      return isObject(item) ? secretsIn(row.rows, item) : keys(item);
    });
  });
}

function objects(nesting: Nesting, value: unknown): unknown[] {
  if (nesting === "by name" && isObject(value)) return Object.values(value);
  return nesting === "list" && Array.isArray(value) ? value : [value];
}

const FIND: Readonly<Record<Secrecy, (value: unknown) => string[]>> = {
  nothing: () => [],
  whole: strings,
  headers: (value) => strings(value).flatMap((text) => [text, text.slice(text.lastIndexOf(" ") + 1)]),
  body: keys,
  url: (value) => strings(value).flatMap(partsOfUrl),
  arguments: (value) => keys(Array.isArray(value) ? value.slice(1) : value),
};

/** Every string of a JSON value, at any depth. */
function strings(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return value !== null && typeof value === "object" ? Object.values(value).flatMap(strings) : [];
}

/** The strings that may be keys, or contain one (`Bearer KEY`, `?key=KEY`), among strings that mostly are no keys. */
function keys(value: unknown): string[] {
  return strings(value)
    .flatMap((text) => [text, ...text.split(SEPARATORS).filter((word) => /\d/.test(word))])
    .filter((word) => word.length >= SHORTEST_KEY && !PLAIN_WORD.test(word));
}

/** User name and password, and the values of the query. */
function partsOfUrl(text: string): string[] {
  const known = /^[^/?#]*:?\/\/([^/?#]*)@/.exec(text)?.[1] ?? "";
  const colon = known.indexOf(":");
  const named = colon < 0 ? [known] : [known, known.slice(0, colon), known.slice(colon + 1)];
  const query = /\?([^#]*)/.exec(text)?.[1] ?? "";
  const values = query.split("&").map((pair) => pair.slice(pair.indexOf("=") + 1));
  return [...named, ...values].flatMap((part) => [part, decoded(part)]);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function isObject(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
