/** One event: what it broke, what became of it, its JSON, its bytes. */
{
  const { element, state, number } = inspect;
  const MOST_FRAMES = 20;
  const MOST_PARTS = 20;
  const NOTHING = {
    keepalive: "It keeps the connection alive, and changes nothing.",
    unmapped: "This event is unknown: it is counted as unmapped.",
    start: "No part: it begins the answer or a piece of it.",
    end: "No part: it ends the answer or a piece of it.",
  };
  let query = "";

  /** @param {string} title @param {...(Node | null)} children */
  const block = (title, ...children) => element("section", { class: "block" }, element("h3", null, title), ...children);

  /** @param {EventView} event */
  function violations(event) {
    return event.violations.map((at) => {
      const one = state.answer?.violations[at];
      if (!one) return null;
      return element(
        "section",
        { class: one.level === "MUST" ? "block violation bad-edge" : "block violation unsure-edge" },
        element("h3", null, element("span", { "aria-hidden": "true" }, one.level === "MUST" ? "✗ " : "! "), `${one.level === "MUST" ? "Broken" : "Warning"}: ${one.rule}`),
        element("p", null, element("strong", null, one.promise)),
        element("p", null, one.detail),
        one.seen ? element("p", null, `A person sees: ${one.seen}`) : null,
        one.hints.length ? element("p", null, `Often: ${one.hints.join("; or ")}`) : null,
        element("p", null, `Section ${one.section} of the contract`),
      );
    });
  }

  /** @param {EventView} event */
  function became(event) {
    const parts = event.parts.slice(0, MOST_PARTS).map((place) => {
      const part = state.answer?.parts[place];
      if (!part) return null;
      const sign = element("span", { class: `sign kind-${part.kind}`, "aria-hidden": "true" }, inspect.signOf(part.kind));
      const title = `Part ${number(part.i)}, ${part.kind}${part.name ? ` ${part.name}` : ""}`;
      const link = element("button", { type: "button", click: () => inspect.showInResult(part.i) }, "Show in the result");
      return element("li", null, element("p", null, sign, ` ${title} `, link), element("pre", { class: "text" }, inspect.cut(part.text)));
    });
    if (parts.length === 0) return block("Result", element("p", { class: "quiet" }, /** @type {Record<string, string>} */ (NOTHING)[event.kind] ?? "No part."));
    const left = event.parts.length - parts.length;
    return block("Result", element("ul", { class: "parts" }, ...parts), left > 0 ? element("p", { class: "quiet" }, `and ${number(left)} more parts`) : null);
  }

  /** @param {EventView} event */
  function data(event) {
    const frames = inspect.framesOf(event);
    const trees = element("div", null);
    const search = element("input", { type: "search", id: "search-json", autocomplete: "off", spellcheck: "false", input: () => (show(search.value), inspect.announce(found.textContent)) });
    const found = element("span", { class: "quiet" });
    /** @param {string} wanted */
    function show(wanted) {
      query = wanted;
      trees.replaceChildren(...frames.slice(0, MOST_FRAMES).map((frame) => inspect.jsonView(frame.data, query)));
      const places = trees.querySelectorAll("mark").length;
      found.textContent = query ? `${number(places)} ${places === 1 ? "place" : "places"}` : "";
    }
    search.value = query;
    show(query);
    if (frames.length === 0) return block("Data", element("p", { class: "quiet" }, "No data."));
    const tools = element(
      "div",
      { class: "toolbar" },
      element("label", { for: "search-json" }, "Search "),
      search,
      found,
      element("button", { type: "button", click: () => inspect.foldAll(trees, true) }, "Unfold all"),
      element("button", { type: "button", click: () => inspect.foldAll(trees, false) }, "Fold all"),
    );
    const left = frames.length - MOST_FRAMES;
    return block("Data", tools, trees, left > 0 ? element("p", { class: "quiet" }, `and ${number(left)} more events of the same kind`) : null);
  }

  /** @param {EventView} event */
  function facts(event) {
    const place = inspect.placeOf(event.n);
    const before = state.answer?.events[place - 1];
    const [first, last] = [inspect.readOf(event.from) + 1, inspect.readOf(Math.max(event.from, event.to - 1)) + 1];
    const since = event.at !== null && before && before.at !== null ? `, ${inspect.time(event.at - before.at)} after the one before` : "";
    return [
      event.at === null ? "no time" : `+${inspect.time(event.at)}${since}`,
      `bytes ${number(event.from)} to ${number(event.to)} (${number(event.to - event.from)})`,
      first === last ? `read ${number(first)}` : `reads ${number(first)} to ${number(last)}`,
    ].join(" · ");
  }

  /** What the pane depends on, to be compared. */
  const shownNow = () => JSON.stringify([state.answer?.id, state.selected === null ? null : inspect.eventAt(state.selected)]);
  let drawn = "";

  function draw() {
    drawn = shownNow();
    const pane = inspect.pane("detail", "Event");
    const event = state.selected === null ? null : inspect.eventAt(state.selected);
    const title = element("h2", { id: "detail-title", tabindex: "-1" }, event ? `Event ${number(event.n)}${event.count > 1 ? ` to ${number(event.n + event.count - 1)}` : ""}` : "Event");
    if (!event) {
      pane.replaceChildren(title, element("p", { class: "quiet" }, "Choose an event of the list."));
      return;
    }
    void inspect.fetchBytes(event);
    const kind = element("p", { class: "kind" }, element("span", { class: `sign kind-${event.kind}`, "aria-hidden": "true" }, inspect.signOf(event.kind)), ` ${event.kind} `, element("code", null, event.type));
    const bytes = block("Bytes", inspect.bytesView(event));
    bytes.id = "bytes";
    pane.replaceChildren(...[title, kind, element("p", { class: "quiet" }, facts(event)), ...violations(event), became(event), data(event), bytes, bar].filter((one) => one !== null));
  }

  inspect.on("select", draw);
  inspect.on("answer", ({ isSame }) => {
    // While an answer grows, the event that is shown stays as it is: nobody loses the place where they read.
    if (!isSame || drawn !== shownNow()) draw();
  });

  /** @param {string} selector */
  const focusOn = (selector) => {
    const one = /** @type {HTMLElement | null} */ (document.querySelector(selector));
    one?.scrollIntoView({ block: "nearest" });
    one?.focus();
  };
  inspect.register({ key: "Enter", label: "Detail of the event", group: "Detail", run: () => focusOn("#detail-title") });
  inspect.register({ key: "b", label: "Bytes", group: "Detail", run: () => focusOn("#bytes .bytes") });
  inspect.register({ key: "Escape", label: "Back to the list", group: "Detail", run: () => focusOn('.list [tabindex="0"]') });
  const bar = inspect.toolbar("Detail");
}
