/** The list of events: a grid with one place for the focus, which makes the rows that can be seen alone when it is long. */
{
  const { element, state, number } = inspect;
  const MOST_WHOLE = 2000;
  const AROUND = 12;
  const COLUMNS = ["Event", "After", "Since last", "Kind", "Type", "Marks and text"];

  const rows = element("div", { role: "rowgroup", class: "rows" });
  const head = element("div", { role: "row", class: "list-row list-head", "aria-rowindex": "1" });
  head.append(...COLUMNS.map((name) => element("span", { role: "columnheader" }, name)));
  const grid = element("div", { role: "grid", class: "list", "aria-label": "Events", "aria-colcount": COLUMNS.length, scroll: () => draw() });
  grid.append(element("div", { role: "rowgroup", class: "list-top" }, head), rows);
  const none = element("p", { class: "quiet", hidden: true }, "No event passes the filters.");

  /** The rows on the page, by their places in `state.shown`.
   * @type {Map<number, { made: HTMLElement, event: EventView }>} */
  let drawn = new Map();

  /** Where the selected event is in `state.shown`, or would be. */
  function placeOfSelected() {
    if (state.selected === null) return -1;
    const wanted = inspect.placeOf(state.selected);
    let low = 0;
    let high = state.shown.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (/** @type {number} */ (state.shown[middle]) < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** @param {number} place in `state.shown` */
  const eventOf = (place) => /** @type {EventView} */ (state.answer?.events[state.shown[place] ?? 0]);

  /** The marks of an event in words, the broken rules by name. @param {EventView} event */
  function marksOf(event) {
    const gap = state.answer?.gaps.find((one) => one.before === event.n);
    const rules = event.violations.map((at) => ["✗", state.answer?.violations[at]?.rule ?? "broken", "bad"]);
    const marks = event.marks.filter((mark) => mark !== "broken" && mark !== "unmapped");
    const words = marks.map((mark) => {
      const isGap = mark === "gap" || mark === "stall";
      return [isGap ? "↤" : "!", isGap && gap ? `${mark} ${inspect.time(gap.ms)}` : mark, isGap ? "unsure" : "quiet"];
    });
    return [...rules, ...words].map(([sign, word, how]) => element("span", { class: `mark ${how}` }, `${sign} ${word}`));
  }

  /** @param {number} place */
  function row(place) {
    const event = eventOf(place);
    const before = state.answer?.events[(state.shown[place] ?? 0) - 1];
    const since = event.at === null || !before || before.at === null ? "" : inspect.time(event.at - before.at);
    const isSelected = event.n === state.selected;
    const kind = [element("span", { class: `sign kind-${event.kind}`, "aria-hidden": "true" }, inspect.signOf(event.kind)), ` ${event.kind}`];
    const cells = [
      [event.count > 1 ? `${number(event.n)}–${number(event.n + event.count - 1)}` : number(event.n)],
      [event.at === null ? "-" : `+${inspect.time(event.at)}`],
      [since],
      kind,
      [event.type],
      [...marksOf(event), event.text],
    ];
    return element(
      "div",
      {
        role: "row", class: "list-row", "aria-rowindex": place + 2, "aria-selected": String(isSelected), "data-n": event.n,
        tabindex: "-1", click: () => inspect.select(event.n, { origin: "list" }),
      },
      ...cells.map((cell) => element("span", { role: "gridcell" }, ...cell)),
    );
  }

  const rowHeight = () => parseFloat(getComputedStyle(grid).getPropertyValue("--row-height")) * parseFloat(getComputedStyle(document.documentElement).fontSize);

  /** Makes the rows that can be seen, or all of a list that is not long; those that stay as they are are kept. */
  function draw() {
    const many = state.shown.length;
    const height = rowHeight();
    const isWhole = many <= MOST_WHOLE;
    const first = isWhole ? 0 : Math.max(0, Math.min(many, Math.floor(grid.scrollTop / height)) - AROUND);
    const end = isWhole ? many : Math.min(many, Math.ceil((grid.scrollTop + grid.clientHeight) / height) + AROUND);
    const hadFocus = rows.contains(document.activeElement);
    const next = new Map();
    for (let place = first; place < end; place++) {
      const known = drawn.get(place);
      const event = eventOf(place);
      next.set(place, known?.event === event ? known : { made: row(place), event });
    }
    for (const [place, { made }] of drawn) if (next.get(place)?.made !== made) made.remove();
    let at = rows.firstElementChild;
    for (const { made } of next.values()) {
      if (at === made) at = at?.nextElementSibling ?? null;
      else rows.insertBefore(made, at);
    }
    drawn = next;
    rows.style.setProperty("padding-top", `${first * height}px`);
    rows.style.setProperty("padding-bottom", `${(many - end) * height}px`);
    grid.setAttribute("aria-rowcount", String(many + 1));
    none.hidden = many > 0;
    giveFocus(hadFocus);
  }

  /** The row that the focus goes to: the selected one, else the first that is there. @param {boolean} isTaken */
  function giveFocus(isTaken) {
    const selected = rows.querySelector(`[data-n="${state.selected}"]`);
    for (const one of rows.querySelectorAll('[tabindex="0"]')) one.setAttribute("tabindex", "-1");
    const one = selected ?? rows.firstElementChild;
    one?.setAttribute("tabindex", "0");
    if (isTaken && one !== document.activeElement) /** @type {HTMLElement | null} */ (one)?.focus({ preventScroll: true });
  }

  /** Scrolls until the selected event can be seen. */
  function reveal() {
    const place = placeOfSelected();
    if (place < 0) return;
    const height = rowHeight();
    const top = head.offsetHeight;
    const from = place * height;
    const room = grid.clientHeight - top - height;
    if (from < grid.scrollTop) grid.scrollTop = from;
    else if (from > grid.scrollTop + room) grid.scrollTop = from - room;
  }

  inspect.on("answer", ({ isSame }) => {
    const pane = inspect.pane("events", "Events");
    if (!grid.isConnected) pane.append(inspect.filterBar, grid, none, bar);
    if (!isSame) {
      grid.scrollTop = 0;
      drawn = new Map();
      rows.replaceChildren();
    }
    draw();
  });
  inspect.on("filter", () => {
    draw();
    reveal();
    draw();
  });
  inspect.on("select", () => {
    const hadFocus = rows.contains(document.activeElement);
    for (const one of rows.querySelectorAll('[aria-selected="true"]')) one.setAttribute("aria-selected", "false");
    reveal();
    draw();
    rows.querySelector(`[data-n="${state.selected}"]`)?.setAttribute("aria-selected", "true");
    giveFocus(hadFocus);
  });
  window.addEventListener("resize", () => draw());

  // ---- ways through the list ----

  /** Selects the next event that passes a test, in a direction. @param {number} step @param {(event: EventView) => boolean} [test] @param {string} [what] */
  function go(step, test = () => true, what = "event") {
    const many = state.shown.length;
    const at = placeOfSelected();
    const isThere = at >= 0 && at < many && eventOf(at).n === state.selected;
    let place = isThere || step < 0 ? at + step : at;
    if (at < 0) place = step > 0 ? 0 : many - 1;
    while (place >= 0 && place < many && !test(eventOf(place))) place += step;
    if (place < 0 || place >= many) inspect.announce(`no ${step > 0 ? "later" : "earlier"} ${what}`);
    else inspect.select(eventOf(place).n, { origin: "key" });
  }

  const ofSameKind = (/** @type {EventView} */ event) => event.kind === inspect.eventAt(state.selected ?? 0)?.kind;
  const isBroken = (/** @type {EventView} */ event) => event.violations.length > 0;
  const isAfterGap = (/** @type {EventView} */ event) => event.marks.includes("gap") || event.marks.includes("stall");
  const page = () => Math.max(1, Math.floor(grid.clientHeight / rowHeight()) - 2);

  /** @param {number} place */
  const goTo = (place) => state.shown.length && inspect.select(eventOf(Math.min(Math.max(place, 0), state.shown.length - 1)).n, { origin: "key" });

  grid.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    /** @type {Record<string, () => unknown>} */
    const moves = {
      Home: () => goTo(0),
      End: () => goTo(state.shown.length - 1),
      PageDown: () => goTo(placeOfSelected() + page()),
      PageUp: () => goTo(placeOfSelected() - page()),
    };
    const move = moves[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move();
  });

  const KEYS = [
    { key: ["j", "ArrowDown"], label: "Next event", sign: "↓", run: () => go(1) },
    { key: ["k", "ArrowUp"], label: "Previous event", sign: "↑", run: () => go(-1) },
    { key: ["Shift+j", "Shift+ArrowDown"], label: "Next of the same kind", sign: "⇟", run: () => go(1, ofSameKind, "event of this kind") },
    { key: ["Shift+k", "Shift+ArrowUp"], label: "Previous of the same kind", sign: "⇞", run: () => go(-1, ofSameKind, "event of this kind") },
    { key: "n", label: "Next broken rule", run: () => go(1, isBroken, "broken rule") },
    { key: "Shift+n", label: "Previous broken rule", run: () => go(-1, isBroken, "broken rule") },
    { key: "g", label: "Next gap", run: () => go(1, isAfterGap, "gap") },
    { key: "Shift+g", label: "Previous gap", run: () => go(-1, isAfterGap, "gap") },
  ];
  for (const key of KEYS) inspect.register({ ...key, group: "Events" });
  const bar = inspect.toolbar("Events");
}
