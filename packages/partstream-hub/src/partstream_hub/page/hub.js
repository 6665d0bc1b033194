// Shows what the hub says to the reader's key. The key comes from a form, or from a link that is good once: the
// code after the # of its URL, which no browser sends, is removed at once and becomes a key for this page alone.
{
  const KEPT = "partstream-hub-page";
  const REFRESH_MILLISECONDS = 30_000;
  /** A key that was just made is known to every worker after its next heartbeat. */
  const TRIES_OF_NEW_KEY = 6;
  const WAIT_MILLISECONDS = 700;

  /** The key; one that a person has typed is not kept beyond this document. @type {{ key: string, days: number, isNew: boolean }} */
  const state = { key: sessionStorage.getItem(KEPT) ?? "", days: 30, isNew: false };

  const hub = location.origin + location.pathname.replace(/\/hub\/?$/, "");
  const code = location.hash.slice(1);
  if (code.startsWith("psj_")) history.replaceState(null, "", location.pathname);
  // A link that is opened where the page is shown already changes what follows the # alone.
  addEventListener("hashchange", () => location.hash.startsWith("#psj_") && location.reload());

  /** @param {string} sentence */
  function say(sentence) {
    const said = document.querySelector("#said");
    if (said) said.textContent = sentence;
  }

  /** @param {string} tag @param {Record<string, string>} attributes @param {...(Node | string)} children */
  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  /** @param {string} path @param {RequestInit} options */
  const ask = (path, options) =>
    fetch(hub + path, { ...options, cache: "no-store", credentials: "omit", referrerPolicy: "no-referrer", redirect: "error" });

  /** Asks for a key, and says why. @param {string} [why] */
  function askForKey(why) {
    const main = /** @type {HTMLElement} */ (document.querySelector("main"));
    const field = element("input", { type: "password", id: "key", autocomplete: "off", spellcheck: "false", required: "" });
    const label = element("label", { for: "key" }, "Your key of this hub");
    const form = element("form", { class: "ask" }, label, field, element("button", { type: "submit" }, "Show"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      state.key = /** @type {HTMLInputElement} */ (field).value.trim();
      void show();
    });
    const told = why ? [element("p", { class: "told", role: "alert" }, why)] : [];
    const hint = element("p", { class: "quiet" }, "It is sent to this hub alone, and forgotten when the page is closed. ");
    hint.append("An admin gets a link that needs none by ", element("code", {}, "partstream hub page"), ".");
    main.replaceChildren(element("h1", {}, "Hub"), ...told, form, hint);
    field.focus();
  }

  function forget() {
    state.key = "";
    sessionStorage.removeItem(KEPT);
  }

  /** Gets a key for the code of the link. */
  async function open() {
    say("Opening the page.");
    const body = JSON.stringify({ code });
    const response = await ask("/hub/v1/join", { method: "POST", headers: { "content-type": "application/json" }, body });
    if (!response.ok) return askForKey("This link is used up, or too old. Make another, or give your key.");
    const { key } = await response.json();
    state.key = key;
    state.isNew = true;
    sessionStorage.setItem(KEPT, key);
    await show();
  }

  /** Shows what the hub says now. @param {{ isQuiet?: boolean }} [how] */
  async function show({ isQuiet = false } = {}) {
    if (!isQuiet) say("Reading.");
    const zone = encodeURIComponent(Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC");
    const path = `/hub/v1/page?days=${state.days}&zone=${zone}`;
    const { key } = state;
    const response = await answered(path);
    if (state.key !== key) return; // Forgotten meanwhile, and perhaps another person's.
    if (response.status === 401) {
      forget();
      return askForKey("The hub does not know this key, or no longer.");
    }
    if (!response.ok) return tell(`The hub cannot show this now (${response.status}). It is tried again in a moment; a shorter period takes less.`);
    state.isNew = false;
    const newer = await response.text();
    if (state.key === key) showNewer(newer);
    if (!isQuiet) say("The page is up to date.");
  }

  /** The answer of the hub; that of a key that was just made is waited for. @param {string} path */
  async function answered(path) {
    for (let tries = TRIES_OF_NEW_KEY; ; tries--) {
      const response = await ask(path, { headers: { authorization: `Bearer ${state.key}` } });
      if (response.status !== 401 || !state.isNew || tries === 0) return response;
      await new Promise((done) => setTimeout(done, WAIT_MILLISECONDS));
    }
  }

  /** Says above what is shown why it is not the newest. @param {string} sentence */
  function tell(sentence) {
    document.querySelector(".told")?.remove();
    const line = element("p", { class: "told", role: "alert" }, sentence);
    document.querySelector("h1")?.after(line);
  }

  const unreachable = () => tell("The hub does not answer. It is tried again in a moment.");

  document.addEventListener("click", (event) => {
    const button = /** @type {HTMLElement} */ (event.target).closest?.("button");
    if (button?.dataset.days) {
      state.days = Number(button.dataset.days);
      show().catch(unreachable);
    } else if (button?.dataset.action === "refresh") {
      show().catch(unreachable);
    } else if (button?.dataset.action === "leave") {
      forget();
      askForKey();
    }
  });

  setInterval(() => {
    if (state.key && !document.hidden && document.querySelector("[data-action]")) show({ isQuiet: true }).catch(unreachable);
  }, REFRESH_MILLISECONDS);

  if (code.startsWith("psj_")) open().catch(unreachable);
  else if (state.key) show().catch(unreachable);
  else askForKey();
}
