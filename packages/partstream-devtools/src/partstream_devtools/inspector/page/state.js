"use strict";
/**
 * What all scripts of the page share; it comes first, and every other script follows in a block of its own.
 *
 * The state is one object. A script changes it through `show`, `choose`, `select` and `filter` alone, and hears of it
 * through `on`. What a stream says gets into the page through `element` alone, which makes text of it and nothing else.
 */
const inspect = (() => {
  /** @type {Record<keyof Changes, ((detail: any) => void)[]>} */
  const listeners = { view: [], answer: [], filter: [], select: [], key: [] };

  /** @type {Filters} */
  const NO_FILTERS = { text: "", kinds: [], broken: false, unmapped: false, gap: null };

  /** @type {InspectState} */
  const state = { view: null, answer: null, selected: null, filters: { ...NO_FILTERS }, shown: [] };

  /** Calls `listener` when a view is shown (first or changed), when the answer is another one or has changed, when the
   * filters have, when an event is selected, when a key is registered; in the order of the scripts.
   * @type {Inspect["on"]} */
  const on = (name, listener) => void listeners[name].push(listener);

  /** @type {Inspect["emit"]} */
  const emit = (name, detail) => listeners[name].forEach((listener) => listener(detail));

  /** Shows a view: the first, or a changed one, where the answer and the event that were chosen stay.
   * @param {View} view */
  function show(view) {
    state.view = view;
    emit("view", view);
    const same = view.answers.find((answer) => answer.id === state.answer?.id);
    if (same) {
      state.answer = same;
      emit("answer", { isSame: true });
    } else if (view.answers[0]) {
      choose(view.answers[0].id);
    }
  }

  /** Shows another answer of the view, at the event at which it went wrong. @param {string} id */
  function choose(id) {
    const answer = state.view?.answers.find((one) => one.id === id);
    if (!answer) return;
    state.answer = answer;
    state.selected = null;
    state.filters = { ...NO_FILTERS };
    emit("answer", { isSame: false });
    select(answer.wrong, { origin: "answer" });
  }

  /** Selects an event, or none. `origin` says who asks: a listener leaves out what it has done already.
   * @param {number | null} n @param {{ origin: string }} options */
  function select(n, { origin }) {
    const event = n === null ? null : eventAt(n);
    state.selected = event?.n ?? null;
    emit("select", { n: state.selected, origin });
  }

  /** Changes some of the filters. @param {Partial<Filters>} changes */
  function filter(changes) {
    Object.assign(state.filters, changes);
    emit("filter", state.filters);
  }

  /** The place in `answer.events` of the event with that number: of a run of deltas, for the numbers of all of them.
   * @param {number} n */
  function placeOf(n) {
    const events = state.answer?.events ?? [];
    let low = 0;
    let high = events.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (/** @type {EventView} */ (events[middle]).n <= n) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The event with that number, or the run that it is in. @param {number} n */
  function eventAt(n) {
    return state.answer?.events[placeOf(n)] ?? null;
  }

  // ---- keys, which are also buttons ----

  /** @type {Key[]} */
  const keys = [];

  /** Makes a key that is also a button in the toolbar of its group, and is in the help. @param {Key} key */
  function register(key) {
    keys.push(key);
    emit("key", key);
  }

  /** Makes a key that switches something on and off, as its button says; returns what the key does.
   * @param {Switch} made */
  function registerSwitch({ key, label, isOn, change, group }) {
    const run = () => {
      isOn = !isOn;
      change(isOn);
      const button = document.querySelector(`.toolbar [aria-keyshortcuts="${key === " " ? "Space" : key}"]`);
      button?.setAttribute("aria-pressed", String(isOn));
      inspect.announce(`${label} ${isOn ? "on" : "off"}`);
    };
    register({ key, label, run, group, isOn: () => isOn });
    return run;
  }

  /** The toolbar with the buttons of a group, also of those that are registered later. @param {string} group */
  function toolbar(group) {
    const bar = element("div", { class: "toolbar", role: "group", "aria-label": group });
    const add = (/** @type {Key} */ key) => {
      if (key.group !== group) return;
      const name = [key.key].flat()[0] ?? "";
      const button = element("button", { type: "button", "aria-keyshortcuts": name === " " ? "Space" : name, click: key.run });
      if (key.isOn) button.setAttribute("aria-pressed", String(key.isOn()));
      button.append(element("span", { class: key.sign ? "unseen" : "" }, key.label));
      if (key.sign) button.append(element("span", { "aria-hidden": "true" }, key.sign));
      bar.append(button);
    };
    keys.forEach(add);
    on("key", add);
    return bar;
  }

  // ---- the only way to make DOM ----

  const SVG = "http://www.w3.org/2000/svg";
  const FORBIDDEN = /^(script|style|iframe|object|embed|base|link|meta|form)$|^(on|src|action|formaction|style$)/i;
  const LINK = /^(https:\/\/|#)/;

  /**
   * Makes an element. A function is a listener for the event of its name, `true` an attribute without a value, `false`,
   * null and undefined none; `style` is an object of properties. Texts become text, with what hides in them as escapes.
   * @param {string} tag "svg:" before it makes an element of SVG
   * @param {Record<string, any> | null} [attributes]
   * @param {...(Node | string | number | null | undefined | false)} children
   * @returns {any}
   */
  function element(tag, attributes, ...children) {
    const name = tag.replace("svg:", "");
    if (FORBIDDEN.test(name)) throw new Error(`no element ${name} may be made`);
    const made = /** @type {HTMLElement} */ (
      name === tag ? document.createElement(name) : document.createElementNS(SVG, name)
    );
    for (const [key, value] of Object.entries(attributes ?? {})) {
      if (value === null || value === undefined || value === false) continue;
      if (typeof value === "function") made.addEventListener(key, value);
      else if (key === "style") for (const [property, one] of Object.entries(value)) made.style.setProperty(property, one);
      else if (FORBIDDEN.test(key) || (key === "href" && !LINK.test(value))) throw new Error(`no ${key} may be set`);
      else made.setAttribute(key, value === true ? "" : visible(String(value)));
    }
    for (const child of children) {
      if (child === null || child === undefined || child === false) continue;
      made.append(child instanceof Node ? child : visible(String(child)));
    }
    return made;
  }

  // The characters of `visible_text.py`, which says why each is there.
  const HIDDEN = new RegExp(
    String.raw`[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufff9-\ufffb\ud800-\udfff\xad\u034f\u061c\u115f\u1160` +
      String.raw`\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0` +
      String.raw`\ufff0-\ufff8\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|\r(?!\n)` +
      String.raw`|[\u200c\u200d](?=[\0-\x7f\u200c\u200d])|(?<=[\0-\x7f\u200c\u200d])[\u200c\u200d]` +
      String.raw`|(?<=[\0-\x22\x24-\x29\x2b-\x2f\x3a-\x7f\u200c-\u200d\ufe0e\ufe0f])[\ufe0e\ufe0f]`,
    "gu",
  );

  /** The text with what acts on its surroundings or hides in it as `\uXXXX`. @param {string} text */
  function visible(text) {
    return text.replace(HIDDEN, (found) =>
      Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
    );
  }

  const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
  const FINE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 });

  /** 1,204; 3.25. @param {number} value */
  function number(value) {
    return (Math.abs(value) >= 10 ? WHOLE : FINE).format(value);
  }

  /** "1,204 ms", or "-" without a clock. @param {number | null | undefined} ms */
  function time(ms) {
    return ms === null || ms === undefined ? "-" : `${number(ms)} ms`;
  }

  /** The sign of each kind of event and part: what its colour says, as a shape, as in the timeline. @type {Record<string, string>} */
  const SIGNS = {
    text: "┃", thinking: "┇", call: "◆", data: "■", usage: "●", start: "▶", end: "◀", error: "✖", keepalive: "•",
    unmapped: "◎", other: "╻",
  };

  /** @param {string} kind */
  function signOf(kind) {
    return SIGNS[kind] ?? "╻";
  }

  // ---- the panes of the page, in their order ----

  const PANES = ["head", "timeline", "events", "detail", "result", "compare", "commands"];

  /** The pane with that name, a section with the title as its heading; made where it is not there yet.
   * @param {string} name @param {string} title @returns {HTMLElement} */
  function pane(name, title) {
    const known = document.getElementById(name);
    if (known) return known;
    const heading = element("h2", { id: `${name}-title` }, title);
    const made = element("section", { id: name, class: "pane", "aria-labelledby": `${name}-title` }, heading);
    const root = main();
    const next = PANES.slice(PANES.indexOf(name) + 1).find((later) => document.getElementById(later));
    root.insertBefore(made, next ? document.getElementById(next) : null);
    return made;
  }

  /** The part of the page that the scripts fill, which replaces the text that is there without them. */
  function main() {
    const known = document.getElementById("inspector");
    if (known) return known;
    const made = element("main", { id: "inspector", tabindex: "-1" });
    document.querySelector(".product")?.after(made);
    document.getElementById("plain")?.remove();
    return made;
  }

  /** Shows the view that the page holds, once all scripts have been read; a page of a server holds none. */
  async function start() {
    const data = document.getElementById("view");
    if (!data) return;
    const text = data.textContent ?? "";
    show(JSON.parse(data.getAttribute("type") === "application/gzip" ? await unpacked(text) : text));
  }

  /** @param {string} base64 */
  async function unpacked(base64) {
    const packed = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(packed).text();
  }

  /** @param {string} base64 */
  function bytesOf(base64) {
    const characters = atob(base64);
    const bytes = new Uint8Array(characters.length);
    for (let at = 0; at < bytes.length; at++) bytes[at] = characters.charCodeAt(at);
    return bytes;
  }

  void Promise.resolve().then(start);

  return /** @type {Inspect} What the other scripts add is there before anybody asks. */ (/** @type {unknown} */ ({
    state, keys, NO_FILTERS, on, emit, show, choose, select, filter, placeOf, eventAt, register, registerSwitch, toolbar, element, visible,
    number, time, signOf, pane, main, bytesOf,
  }));
})();
