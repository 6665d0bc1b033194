/** Checks the address of a server while a person writes it. */

/** What is wrong with the text, in one sentence that says what helps; undefined for an address that can be tried. */
export function wrongAddress(text: string): string | undefined {
  const address = text.trim();
  if (!/^[a-z][a-z0-9+.-]*:\/\/\S*$/i.test(address)) return unlikeAnAddress(address);
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || url.hostname === "") return "This is no address. Expected is one such as https://api.example.com/v1.";
  if (!["http:", "https:"].includes(url.protocol)) {
    return `Models are served at http:// or https://, and not at ${url.protocol}//.`;
  }
  if (url.username !== "" || url.password !== "") return "Leave the name and password out: the key is asked for next.";
  return url.hash === "" ? undefined : withFragment(url);
}

function withFragment({ pathname, hash }: URL): string {
  if (pathname.endsWith("/hub/join")) return "That is a link to a hub, which Partstream: Join a Hub… takes.";
  return `Leave ${hash} out: a server never sees it.`;
}

function unlikeAnAddress(text: string): string {
  if (text === "") return "Write the address of the server, such as https://api.example.com/v1.";
  return /\s/.test(text) ? "An address has no spaces." : `Write ${likelyScheme(text)} before it.`;
}

/** Whether everybody on the way can read what is sent there: plain http to another machine. */
export function isUnprotected(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === "http:" && !isLoopback(hostname);
}

/** What an address is called in a sentence: its host and port. */
export function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).host : address;
}

/** A host of this machine or of a network without names is rarely reached by https. */
function likelyScheme(address: string): string {
  const host = address.replace(/[/?#].*$/, "").replace(/:\d+$/, "");
  return isLoopback(host) || /^[\d.]+$/.test(host) ? "http://" : "https://";
}

export function isLoopback(hostname: string): boolean {
  return /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[?::1\]?)$/i.test(hostname);
}
