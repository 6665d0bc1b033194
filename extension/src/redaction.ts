/** Keeps keys out of the log and the debug information. */
import {
  KEY_IN_A_NAME,
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

/** The characters that HTML has names for. */
const NAMED: Readonly<Record<string, string>> = { "&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos" };

/**
 * Patterns of unknown keys: header values, and the forms of providers' keys. Each looks ahead before it looks back:
 * at each blank of a long text, it would look at all blanks before.
 */
const LOOKS_LIKE_A_KEY = [
  /(?=[\w.~+/=-]{6})(?<=\b(?:bearer|basic)\s+)[\w.~+/=-]{6,}/gi,
  /(?=[\w.~+/=-]{6})(?<=\b(?:api[-_]?key|x-goog-api-key|authorization|access[-_]?token)["']?\s*[:=]\s*["']?(?!(?:bearer|basic)\b))[\w.~+/=-]{6,}/gi,
  /\b(?:sk|pk|rk|gsk|xai|psk|psj|AIza)[-_]?[\w-]{16,}/g,
];

type Values = Readonly<Record<string, unknown>>;
type Rows = Readonly<Record<string, SecretRow>>;

export class Redactor {
  readonly #forms = new Map<string, readonly RegExp[]>();

  /** Hides `secret` from now on; very short secrets are not hidden, as they would hide ordinary words. */
  remember(secret: string): void {
    if (secret.length >= SHORTEST_SECRET && !this.#forms.has(secret)) this.#forms.set(secret, formsOf(secret));
  }

  /** Remembers the secrets in a group's settings, whether the settings are valid or not. */
  rememberConfiguration(configuration: Values): void {
    for (const secret of secretsIn(SETTINGS, configuration)) this.remember(secret);
  }

  redact(text: string): string {
    let result = text;
    // Longest first: a secret may be the beginning of another.
    const secrets = [...this.#forms.entries()].sort(([one], [other]) => other.length - one.length);
    for (const [, forms] of secrets) for (const form of forms) result = result.replace(form, HIDDEN);
    for (const pattern of LOOKS_LIKE_A_KEY) result = result.replace(pattern, HIDDEN);
    return result;
  }
}

/** A secret as servers repeat it: plain or escaped for JSON, URLs or HTML, letter by letter, and in base64 or hexadecimal. */
function formsOf(secret: string): RegExp[] {
  const letters = secret.split("").map((letter, place) => {
    const code = letter.charCodeAt(0);
    const unit = anyCase(code.toString(16).padStart(4, "0"));
    const byte = anyCase(code.toString(16).padStart(2, "0"));
    const named = Object.hasOwn(NAMED, letter) ? `|&(?:amp;)*${NAMED[letter] ?? ""};` : "";
    // It begins with all backslashes before it: from each of them, the rest would be searched again.
    const begin = place === 0 ? "(?<!\\\\)" : "";
    const escapes = `${begin}\\\\+(?:u${unit}|x${byte})|%(?:25)*${byte}|&(?:amp;)*#(?:0*${String(code)}|[xX]0*${byte});${named}`;
    return `(?:${begin}\\\\*${letter.replace(/[^A-Za-z0-9]/, "\\$&")}|${escapes})`;
  });
  const forms = [new RegExp(letters.join(""), "g")];
  if (secret.length < SHORTEST_KEY) return forms;
  const bytes = Buffer.from(secret);
  for (const before of [0, 1, 2]) {
    const padded = Buffer.concat([Buffer.alloc(before), bytes]);
    const digits = padded.toString("base64").slice(Math.ceil((before * 8) / 6), Math.floor((padded.length * 8) / 6));
    const either = digits.replaceAll("+", "[-+]").replaceAll("/", "[/_]");
    // From its beginning alone: a picture without the secret is searched once.
    forms.push(new RegExp(`(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]*?${either}[A-Za-z0-9+/_-]*={0,2}`, "g"));
  }
  return [...forms, new RegExp(anyCase(bytes.toString("hex")), "g")];
}

/** A pattern for hexadecimal digits in small and capital letters. */
function anyCase(digits: string): string {
  return digits.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

function secretsIn(rows: Rows, given: Values): string[] {
  return Object.entries(given).flatMap(([name, value]) => {
    const row = Object.hasOwn(rows, name) ? rows[name] : undefined;
    if (!row) return keys({ [name]: value }); // A key under a misspelt name is a key.
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

/** Every string of a JSON value, at any depth, and every name of a field that looks like a key. */
function strings(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([name, item]) => [
    ...(KEY_IN_A_NAME.test(name) ? [name] : []),
    ...strings(item),
  ]);
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
