/** Keeps keys out of the log and of the debug information. */

const HIDDEN = "[hidden]";

/** What looks like a key although nobody told us: header values, and the forms that providers give their keys. */
const LOOKS_LIKE_A_KEY = [
  /(?<=\b(?:bearer|basic)\s+)[\w.~+/=-]{6,}/gi,
  /(?<=\b(?:api[-_]?key|x-goog-api-key|authorization|access[-_]?token)["']?\s*[:=]\s*["']?(?!(?:bearer|basic)\b))[\w.~+/=-]{6,}/gi,
  /\b(?:sk|pk|rk|gsk|xai|AIza)[-_]?[\w-]{16,}/g,
];

const SHORTEST_SECRET = 6;

export class Redactor {
  readonly #secrets = new Set<string>();

  /** Hides `secret` from now on; too short ones would blot out ordinary words. */
  remember(secret: string): void {
    if (secret.length >= SHORTEST_SECRET) this.#secrets.add(secret);
  }

  /** Remembers the key and the headers of a group. */
  rememberConfiguration(configuration: Readonly<Record<string, unknown>>): void {
    const { apiKey, headers } = configuration;
    for (const value of [apiKey, ...Object.values((headers ?? {}) as Record<string, unknown>)]) {
      if (typeof value === "string") this.remember(value);
    }
  }

  redact(text: string): string {
    let result = text;
    for (const secret of this.#secrets) result = result.replaceAll(secret, HIDDEN);
    for (const pattern of LOOKS_LIKE_A_KEY) result = result.replace(pattern, HIDDEN);
    return result;
  }
}
