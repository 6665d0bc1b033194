/** JSON that keeps what JSON.stringify loses of a chunk: messages of errors, bytes, numbers that are none, getters. */

const base64 = (bytes) => Buffer.from(bytes).toString("base64");

/** @returns {unknown} A value that JSON can hold; an object with one name that begins with $ represents another kind. */
export function tagged(value) {
  if (typeof value === "number" && !Number.isFinite(value)) return { $number: String(value) };
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) return { $uint8array: base64(value) };
  if (value instanceof Date || value instanceof URL) return value; // text, as JSON.stringify makes it
  if (Array.isArray(value)) return value.map(tagged);
  const fields = Object.fromEntries(Object.entries(value).map(([name, field]) => [name, tagged(field)]));
  if (value instanceof Error) {
    const { stack, ...rest } = fields;
    return { $error: value.constructor.name, name: value.name, message: value.message, ...rest };
  }
  return { ...getters(value), ...fields };
}

/** What the object shows through its class: a generated file has its bytes in getters only. */
function getters(value) {
  const prototype = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return {};
  const names = [prototype, Object.getPrototypeOf(prototype)].flatMap((one) =>
    Object.entries(Object.getOwnPropertyDescriptors(one ?? {}))
      .filter(([name, { get }]) => get && name !== "__proto__")
      .map(([name]) => name),
  );
  return Object.fromEntries([...new Set(names)].map((name) => [name, tagged(value[name])]));
}
