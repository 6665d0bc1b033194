// What a person does with a link to join. The code is after the # of the URL, which no browser sends to a server; it
// is taken out of the address bar at once, and given to the hub only when the person wants the key here.
{
  const hub = location.origin + location.pathname.replace(/\/hub\/join\/?$/, "");
  const code = location.hash.slice(1);
  const isUsable = /^[A-Za-z0-9_-]{8,200}$/.test(code);
  if (location.hash) history.replaceState(null, "", location.pathname);
  // A link that is opened where the page is shown already changes what follows the # alone.
  addEventListener("hashchange", () => location.reload());

  /** @param {string} name */
  const part = (name) => /** @type {HTMLElement} */ (document.getElementById(name));

  /** @param {string} sentence */
  const say = (sentence) => void (part("said").textContent = sentence);

  for (const place of document.querySelectorAll("[data-hub]")) place.textContent = hub;
  part(isUsable ? "steps" : "without-code").hidden = false;
  if (isUsable) {
    for (const place of document.querySelectorAll("[data-code]")) place.textContent = code;
    for (const link of document.querySelectorAll("a[data-scheme]")) {
      const scheme = /** @type {HTMLElement} */ (link).dataset.scheme;
      link.setAttribute("href", `${scheme}://partstream.partstream/join?hub=${encodeURIComponent(hub)}#${code}`);
    }
  }

  document.addEventListener("click", (event) => {
    const button = /** @type {HTMLElement} */ (event.target).closest?.("button");
    if (button?.dataset.copies) copy(button.dataset.copies).catch(() => say("Nothing was copied: select the text instead."));
    else if (button?.id === "take") take(/** @type {HTMLButtonElement} */ (button)).catch(() => refuse("The hub does not answer."));
  });

  /** @param {string} name */
  async function copy(name) {
    await navigator.clipboard.writeText(part(name).textContent ?? "");
    say("Copied.");
  }

  /** Gives the code for a key, and shows it once. @param {HTMLButtonElement} button */
  async function take(button) {
    button.disabled = true;
    const response = await fetch(`${hub}/hub/v1/join`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code }),
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      referrerPolicy: "no-referrer",
    });
    if (!response.ok) {
      button.disabled = response.status < 500;
      return refuse(response.status < 500 ? "This code is used up, or too old. Ask for another link." : "The hub cannot do this now.");
    }
    const { key } = await response.json();
    part("key").textContent = key;
    part("taken").hidden = false;
    button.hidden = true;
    for (const place of document.querySelectorAll("[data-spent]")) /** @type {HTMLElement} */ (place).hidden = true;
    say("Your key is shown below. The code is used up.");
    part("key").focus();
  }

  /** @param {string} sentence */
  function refuse(sentence) {
    const told = part("refused");
    told.textContent = sentence;
    told.hidden = false;
  }
}
