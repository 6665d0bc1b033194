/** The filters: which events the list shows, by kind, by what their bytes say, by what is wrong with them. */
{
  const { element, state, number } = inspect;

  /** A filter of one mark: a button. @type {{ name: "broken" | "unmapped", sign: string, has: (event: EventView) => boolean }[]} */
  const MARKS = [
    { name: "broken", sign: "✗", has: (event) => event.violations.length > 0 },
    { name: "unmapped", sign: "◎", has: (event) => event.kind === "unmapped" || event.marks.includes("unmapped") },
  ];

  /** One character a byte, in lower case, so that a place in the text is a place in the bytes. */
  const plain = (/** @type {Uint8Array} */ bytes) => new TextDecoder("windows-1252").decode(bytes).toLowerCase();

  /** @type {{ bytes: Uint8Array | null, text: string }} */
  let searched = { bytes: null, text: "" };

  /** The places of the events whose bytes or type hold a text. @param {string} wanted @returns {(event: EventView) => boolean} */
  function holds(wanted) {
    const bytes = inspect.body();
    if (searched.bytes !== bytes) searched = { bytes, text: plain(bytes) };
    const needle = plain(new TextEncoder().encode(wanted));
    const lower = wanted.toLowerCase();
    let next = -1;
    return (event) => {
      // The events come in the order of their bytes: the search goes on where it was.
      if (next < event.from && next !== Infinity) {
        const found = searched.text.indexOf(needle, event.from);
        next = found < 0 ? Infinity : found;
      }
      const isInBytes = next >= event.from && next + needle.length <= event.to;
      return isInBytes || event.type.toLowerCase().includes(lower) || event.text.toLowerCase().includes(lower);
    };
  }

  /** Whether an event came that long after the one before it. @param {number} least @returns {(event: EventView, place: number) => boolean} */
  function isAfterGap(least) {
    return (event, place) => (event.at ?? 0) - (state.answer?.events[place - 1]?.at ?? 0) >= least;
  }

  function apply() {
    const { text, kinds, gap } = state.filters;
    /** @type {((event: EventView, place: number) => boolean)[]} */
    const tests = [
      ...(kinds.length ? [(/** @type {EventView} */ event) => kinds.includes(event.kind)] : []),
      ...MARKS.filter((mark) => state.filters[mark.name]).map((mark) => mark.has),
      ...(gap === null ? [] : [isAfterGap(gap)]),
      ...(text ? [holds(text)] : []),
    ];
    const events = state.answer?.events ?? [];
    const shown = [];
    for (let place = 0; place < events.length; place++) {
      const event = /** @type {EventView} */ (events[place]);
      if (tests.every((test) => test(event, place))) shown.push(place);
    }
    state.shown = shown;
  }

  const text = element("input", { type: "search", id: "filter", autocomplete: "off", spellcheck: "false", input: () => inspect.filter({ text: text.value }) });
  const gap = element("input", { type: "number", id: "gap", min: "0", step: "50", input: () => inspect.filter({ gap: gap.value === "" ? null : Number(gap.value) }) });
  const chips = element("div", { class: "chips", role: "group", "aria-label": "Kinds of events" });
  const count = element("p", { class: "quiet count" });
  const clear = element("button", { type: "button", click: () => clearAll() }, "Clear filters");

  function clearAll() {
    inspect.filter({ ...inspect.NO_FILTERS, kinds: [] });
    text.focus();
  }

  /** @typedef {{ button: HTMLElement, count: HTMLElement, isOn: () => boolean }} Chip */
  /** The chips by name: kept while an answer grows, so that the focus stays. @type {Map<string, Chip>} */
  const made = new Map();

  /** @param {string} name @param {string} sign @param {() => boolean} isOn @param {() => void} flip @returns {Chip} */
  function chip(name, sign, isOn, flip) {
    const count = element("span", { class: "quiet" });
    const mark = element("span", { class: `sign kind-${name}`, "aria-hidden": "true" }, sign);
    return { button: element("button", { type: "button", class: "chip", click: flip }, mark, ` ${name} `, count), count, isOn };
  }

  /** @param {string} kind */
  function kindChip(kind) {
    const flip = () => {
      const { kinds } = state.filters;
      inspect.filter({ kinds: kinds.includes(kind) ? kinds.filter((one) => one !== kind) : [...kinds, kind] });
    };
    return chip(kind, inspect.signOf(kind), () => state.filters.kinds.includes(kind), flip);
  }

  /** The number of events of each kind and mark, in their order. */
  function counts() {
    /** @type {Map<string, number>} */
    const many = new Map();
    for (const event of state.answer?.events ?? []) many.set(event.kind, (many.get(event.kind) ?? 0) + event.count);
    many.delete("unmapped");
    for (const mark of MARKS) {
      const found = (state.answer?.events ?? []).filter(mark.has).length;
      if (found) many.set(mark.name, found);
    }
    return many;
  }

  function showChips() {
    const many = counts();
    for (const [name, count] of many) {
      const mark = MARKS.find((one) => one.name === name);
      const flip = () => mark && inspect.filter({ [mark.name]: !state.filters[mark.name] });
      if (!made.has(name)) made.set(name, mark ? chip(name, mark.sign, () => state.filters[mark.name], flip) : kindChip(name));
      const one = /** @type {Chip} */ (made.get(name));
      one.count.textContent = number(count);
      if (one.button.parentNode !== chips) chips.append(one.button);
    }
    for (const [name, { button }] of made) if (!many.has(name)) button.remove();
  }

  function showState() {
    const { filters, shown, answer } = state;
    for (const { button, isOn } of made.values()) button.setAttribute("aria-pressed", String(isOn()));
    if (text.value !== filters.text) text.value = filters.text;
    if (filters.gap === null || Number(gap.value) !== filters.gap) gap.value = filters.gap ?? "";
    const all = answer?.events.length ?? 0;
    const whole = `${number(all)} ${all === 1 ? "event" : "events"}`;
    count.textContent = shown.length === all ? whole : `${number(shown.length)} of ${whole}`;
    clear.hidden = shown.length === all;
  }

  inspect.on("answer", () => {
    apply();
    showChips();
    showState();
  });
  inspect.on("filter", () => {
    apply();
    showState();
    inspect.announce(count.textContent);
  });

  inspect.filterBar = element(
    "div",
    { class: "filters", role: "search", "aria-label": "Filter the events" },
    element("label", { for: "filter" }, "Filter"),
    text,
    chips,
    element("span", { class: "unit" }, element("label", { for: "gap" }, "gap of at least "), gap, " ms"),
    clear,
    count,
  );

  const focus = () => {
    text.focus();
    text.select();
  };
  inspect.register({ key: "/", label: "Filter", run: focus, group: "Events" });
}
