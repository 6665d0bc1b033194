/**
 * The timeline: the lanes of the chosen answer on one axis, and those that ran at the same time below each other.
 *
 * It is a picture of the list of events, which says the same to keyboards and screen readers; what it shows is in it
 * as text, too. Without a clock the axis is the order of the events, and the page says so.
 */
{
  const { element, state, on, register, registerSwitch, select, choose, number, pane, lanes } = inspect;
  const { GUTTER, KINDS, LANES, SIGNS, lengthOf, words } = lanes;

  const MARGIN = 14;
  const AXIS = 26;
  const MOST_IN_SVG = 2000;
  const MOST_STACKED = 8;

  /** What is drawn: `from` and `to` are the part of the axis that is seen, null for all of it. */
  const seen = {
    from: /** @type {number | null} */ (null),
    to: /** @type {number | null} */ (null),
    byOrder: false,
    paced: true,
    hidden: /** @type {Set<string>} */ (new Set()),
  };
  /** @type {{ whole: [number, number], x: (at: number) => number, bands: Band[], width: number } | null} */
  let drawn = null;

  // ---- places on the axis ----

  /** @param {AnswerView} answer */
  const hasClock = (answer) => answer.events.some((event) => event.at !== null);
  const isOrdered = () => seen.byOrder || !state.answer || !hasClock(state.answer);
  /** @param {AnswerView} answer */
  const flushesOf = (answer) => (seen.paced ? answer.shown : answer.shownUnpaced);
  const selected = () => (state.selected === null ? null : inspect.eventAt(state.selected));

  /** @param {AnswerView} answer @returns {[number, number]} */
  function spanOf({ events, reads, shown, offset }) {
    const last = [events.at(-1)?.until, events.at(-1)?.at, reads.at(-1)?.[0], shown.at(-1)?.at].map((at) => at ?? 0);
    return [offset, offset + Math.max(1, ...last)];
  }

  /** The chosen answer, and those that ran while it ran, or while one of these did. @returns {AnswerView[]} */
  function stacked() {
    const chosen = /** @type {AnswerView} */ (state.answer);
    if (isOrdered()) return [chosen];
    let [from, to] = spanOf(chosen);
    const others = new Set((state.view?.answers ?? []).filter((one) => one !== chosen && hasClock(one)));
    const found = [chosen];
    for (let grew = true; grew; ) {
      grew = false;
      for (const one of others) {
        const [begin, end] = spanOf(one);
        if (begin >= to || end <= from) continue;
        others.delete(one);
        found.push(one);
        [from, to, grew] = [Math.min(from, begin), Math.max(to, end), true];
      }
    }
    const order = state.view?.answers ?? [];
    return found.sort((one, other) => order.indexOf(one) - order.indexOf(other));
  }

  /** The place in the events of the first that fulfils a condition which holds for all after it, or of the last one.
   * @param {EventView[]} events @param {(event: EventView) => boolean} isReached */
  function firstOf(events, isReached) {
    let [low, high] = [0, Math.max(0, events.length - 1)];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isReached(/** @type {EventView} */ (events[middle]))) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Puts the answers under each other: the chosen one with all lanes, the others with their events.
   * @param {AnswerView[]} answers @returns {Band[]} */
  function bandsOf(answers) {
    const ordered = isOrdered();
    let top = AXIS;
    return answers.slice(0, MOST_STACKED).map((answer) => {
      const { events, parts, offset } = answer;
      const part = (/** @type {number} */ i) =>
        ordered || !parts[i] || parts[i].at === null ? (parts[i]?.event ?? 0) : offset + parts[i].at;
      top += answers.length > 1 ? 22 : 0;
      const begin = top;
      const kept = LANES.filter(({ name }) => !seen.hidden.has(name) && (answer === state.answer || name === "events"));
      const rows = kept.map(({ name, height }) => ({ name, top: (top += height) - height, height }));
      top += 6;
      return {
        answer,
        part,
        lanes: rows,
        top: begin,
        height: top - begin - 6,
        event: (event) => (ordered ? event.n : offset + (event.at ?? 0)),
        read: ([at, , end]) => (ordered ? (events[firstOf(events, (one) => one.to >= end)]?.n ?? 0) : offset + (at ?? NaN)),
        flush: (flush) => (ordered ? part(flush.to) : offset + flush.at),
      };
    });
  }

  // ---- the picture ----

  let asked = 0;
  const later = () => {
    asked ||= requestAnimationFrame(() => {
      asked = 0;
      draw();
    });
  };

  /** @type {Record<string, any> | null} The elements of the pane, which are made once. */
  let made = null;
  function frame() {
    if (made?.["picture"].isConnected) return made;
    const [canvas, svg] = [element("canvas", { "aria-hidden": "true" }), element("svg:svg", { "aria-hidden": "true" })];
    const picture = element("div", {
      class: "timeline", role: "img", "aria-describedby": "timeline-summary",
      pointerdown: grab, pointermove: hover, pointerleave: () => say(null), wheel: turn,
    }, canvas, svg);
    const readout = element("p", { class: "readout" });
    const legend = element("ul", { class: "legend", "aria-label": "Signs" });
    const summary = element("div", { class: "unseen", id: "timeline-summary" });
    const bar = inspect.toolbar("Timeline");
    pane("timeline", "Timeline").append(bar, picture, readout, legend, summary);
    new ResizeObserver(later).observe(picture);
    made = { bar, picture, canvas, svg, readout, legend, summary };
    return made;
  }

  function draw() {
    if (!state.answer) return;
    const { picture, canvas, svg } = frame();
    const answers = stacked();
    const bands = bandsOf(answers);
    const height = Math.max(AXIS, ...bands.map((band) => band.top + band.height)) + 8;
    const width = Math.max(100, picture.clientWidth - GUTTER - MARGIN);
    const spans = answers.map(spanOf);
    /** @type {[number, number]} */
    const whole = isOrdered()
      ? [0, (state.answer.events.at(-1)?.n ?? 0) + 1]
      : [Math.min(...spans.map(([from]) => from)), Math.max(...spans.map(([, to]) => to)) * 1.01];
    const [from, to] = [seen.from ?? whole[0], seen.to ?? whole[1]];
    const x = (/** @type {number} */ at) => GUTTER + ((at - from) / (to - from)) * width;
    drawn = { whole, x, bands, width };
    const isLarge = bands.reduce((sum, { answer }) => sum + answer.events.length, 0) > MOST_IN_SVG;
    const line = element("svg:line", { x1: 0, y1: 0, x2: 0, y2: 7, class: "hatching" });
    const pattern = { id: "hatching", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
    svg.replaceChildren(element("svg:defs", null, element("svg:pattern", pattern, line)));
    svg.setAttribute("height", String(height));
    picture.style.setProperty("height", `${height}px`);
    canvas.hidden = !isLarge;
    drawAxis(svg, from, to, height);
    const painter = isLarge ? lanes.painting(canvas, picture.clientWidth, height) : null;
    const isSeen = (/** @type {number} */ begin, end = begin) => end >= from && begin <= to;
    for (const band of bands) drawBand(svg, band, painter, isSeen);
    drawSelection();
    describe(answers);
  }

  /** The axis, and above it what part of the whole is seen.
   * @param {SVGElement} svg @param {number} from @param {number} to @param {number} height */
  function drawAxis(svg, from, to, height) {
    const { x, whole, width } = /** @type {NonNullable<typeof drawn>} */ (drawn);
    const rough = ((to - from) * 90) / width;
    const power = 10 ** Math.floor(Math.log10(rough));
    const factor = [1, 2, 5].find((one) => rough <= one * power) ?? 10;
    const step = Math.max(isOrdered() ? 1 : 1e-3, power * factor);
    for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
      const name = isOrdered() ? number(at) : momentOf(at, step);
      const place = x(at).toFixed(1);
      svg.append(
        element("svg:line", { x1: place, x2: place, y1: AXIS - 6, y2: height, class: "grid" }),
        words(x(at), AXIS - 10, name, "small quiet", x(at) > GUTTER + width - 20 ? "end" : "middle"),
      );
    }
    if (seen.from === null) return;
    const share = (/** @type {number} */ at) => ((at - whole[0]) / (whole[1] - whole[0])) * width;
    const all = { y: 0, height: 3, x: GUTTER, width };
    const part = { ...all, x: (GUTTER + share(from)).toFixed(1), width: Math.max(6, share(to) - share(from)).toFixed(1) };
    svg.append(element("svg:rect", { ...all, class: "window-all" }), element("svg:rect", { ...part, class: "window" }));
  }

  /** A place of the axis, as fine as its step. @param {number} at @param {number} step */
  function momentOf(at, step) {
    const [unit, name] = at < 1000 ? [1, "ms"] : [1000, "s"];
    const digits = Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9));
    return at === 0 ? "0" : `${Number((at / unit).toFixed(digits))} ${name}`;
  }

  /** @param {SVGElement} svg @param {Band} band @param {Painter | null} painter
   * @param {(from: number, to?: number) => boolean} isSeen */
  function drawBand(svg, band, painter, isSeen) {
    const { x, bands, width } = /** @type {NonNullable<typeof drawn>} */ (drawn);
    const { answer } = band;
    if (bands.length > 1) {
      const title = `${answer === state.answer ? "▸ " : ""}${answer.title}`.slice(0, 90);
      svg.append(words(4, band.top - 6, title, answer === state.answer ? "small strong" : "small"));
    }
    const right = GUTTER + width + MARGIN;
    const scene = { band, x, isSeen, right, isOrdered: isOrdered(), flushes: flushesOf(answer) };
    for (const lane of band.lanes) {
      const [bottom, middle] = [lane.top + lane.height, lane.top + lane.height / 2];
      const isHost = lane.name === "host";
      const label = LANES.find(({ name }) => name === lane.name)?.label ?? "";
      const group = element("svg:g", { class: `lane ${lane.name}`, "data-answer": answer.id },
        element("svg:line", { x1: 0, x2: right, y1: bottom, y2: bottom, class: "rule" }),
        words(4, middle + (isHost ? 0 : 4), label, "small"),
        isHost && words(4, middle + 11, "simulated", "tiny quiet"));
      svg.append(group);
      if (lane.name === "events" && !isOrdered()) lanes.gaps({ ...scene, lane, group, ticks: lanes.elements(group) });
      lanes.DRAW[lane.name]?.({ ...scene, lane, group, ticks: painter ?? lanes.elements(group) });
    }
  }

  /** The way of the selected event: from the read that completed it to the flush that shows it. */
  function drawSelection() {
    if (!drawn) return;
    const { svg } = frame();
    svg.querySelector(".selection")?.remove();
    say(null);
    const { x, bands } = drawn;
    const [event, band] = [selected(), bands.find((one) => one.answer === state.answer)];
    if (!event || !band) return;
    const part = event.parts[0];
    const flush = part === undefined ? null : flushesOf(band.answer).find((one) => one.from <= part && part <= one.to);
    /** @type {Record<string, number | null>} */
    const places = {
      reads: band.event(event),
      events: band.event(event),
      parts: part === undefined ? null : band.part(part),
      host: flush ? band.flush(flush) : null,
    };
    const points = band.lanes.flatMap(({ name, top, height }) => {
      const place = places[name];
      if (place === null || place === undefined || x(place) < GUTTER - 1) return [];
      return [`${x(place).toFixed(1)},${top + 3}`, `${x(place).toFixed(1)},${top + height - 3}`];
    });
    if (points.length === 0) return;
    const way = (/** @type {string} */ look) => element("svg:polyline", { points: points.join(" "), class: look });
    svg.append(element("svg:g", { class: "selection", "data-event": event.n }, way("halo"), way("way")));
  }

  /** Says under the picture what the pointer is at, or else what is selected. @param {EventView | null} event */
  function say(event) {
    const one = event ?? selected();
    const hint = "A click selects an event; dragging pans; Ctrl and the wheel zoom.";
    frame()["readout"].textContent = one ? inspect.visible(inspect.sentenceOf(one)) : hint;
  }

  /** The picture in words, and its legend. @param {AnswerView[]} answers */
  function describe(answers) {
    const { picture, legend, summary } = frame();
    const answer = /** @type {AnswerView} */ (state.answer);
    const axis = `by ${isOrdered() ? "order of events" : "time"}${hasClock(answer) ? "" : ", because the recording has no clock"}`;
    picture.setAttribute("aria-label", inspect.visible(`Timeline of ${answer.title}, ${axis}`));
    /** @type {Map<string, number>} */
    const counts = new Map();
    for (const { kind, count } of answer.events) counts.set(kind, (counts.get(kind) ?? 0) + count);
    const flushes = flushesOf(answer);
    const others = answers.filter((one) => one !== answer).map((one) => one.title);
    const runs = answer.runs.slice(0, 100).map((run) => `${run.label}${run.at === null ? "" : ` at ${inspect.time(run.at)}`}`);
    const gaps = answer.gaps.slice(0, 100).map((gap) => `${gap.stall ? "stall" : "gap"} of ${lengthOf(gap.ms)} before event ${gap.before}`);
    const lines = [
      `The axis is ${axis}.`,
      `Reads: ${number(answer.reads.length)}, ${number(answer.reads.at(-1)?.[2] ?? 0)} bytes.`,
      `Events: ${[...counts].map(([kind, count]) => `${number(count)} ${kind}`).join(", ") || "none"}.`,
      `Parts: ${runs.join("; ") || "none"}.`,
      flushes.length
        ? `Shown by VS Code (simulated): ${number(flushes.length)} times, first at ${inspect.time(flushes[0]?.at)}.`
        : "Shown by VS Code (simulated): nothing.",
      `Gaps: ${gaps.join(", ") || "none"}.`,
      ...(others.length ? [`On the same axis: ${others.join(", ")}.`] : []),
      ...(answers.length > MOST_STACKED ? [`The picture shows ${MOST_STACKED} of ${answers.length} answers.`] : []),
    ];
    summary.replaceChildren(...lines.map((line) => element("p", null, line)));
    const signs = [...counts.keys()].map((kind) => {
      const [sign, colour] = KINDS[kind] ?? KINDS["other"];
      const path = element("svg:path", { d: SIGNS[sign], class: colour });
      const box = { viewBox: "-9 -11 18 22", width: 16, height: 20, "aria-hidden": "true" };
      return element("li", null, element("svg:svg", box, path), ` ${kind}`);
    });
    legend.replaceChildren(...(isOrdered() ? [element("li", { class: "axis" }, `The axis is ${axis}.`)] : []), ...signs);
  }

  // ---- zoom and pan ----

  /** Shows less of the axis, or more, around a place: by default the selected event. @param {number} factor
   * @param {number} [around] */
  function zoom(factor, around) {
    if (!drawn) return;
    const [low, high] = drawn.whole;
    const [from, to] = [seen.from ?? low, seen.to ?? high];
    const [event, band] = [selected(), drawn.bands.find((one) => one.answer === state.answer)];
    const place = event && band ? band.event(event) : NaN;
    const centre = around ?? (place >= from && place <= to ? place : (from + to) / 2);
    const width = Math.max(isOrdered() ? 4 : (high - low) / 100_000, (to - from) * factor);
    look(centre - ((centre - from) / (to - from)) * width, width);
  }

  /** Shows a stretch of the axis, moved into the whole. @param {number} from @param {number} width */
  function look(from, width) {
    if (!drawn) return;
    const [low, high] = drawn.whole;
    const start = Math.min(Math.max(from, low), high - width);
    [seen.from, seen.to] = width >= (high - low) * 0.999 ? [null, null] : [start, start + width];
    later();
  }

  /** @param {number} share of what is seen */
  function pan(share) {
    if (seen.from !== null && seen.to !== null) look(seen.from + (seen.to - seen.from) * share, seen.to - seen.from);
  }

  // ---- the pointer ----

  /** The answer and the event at the pointer. @param {{ clientX: number, clientY: number }} pointer */
  function under({ clientX, clientY }) {
    if (!drawn) return null;
    const box = frame()["picture"].getBoundingClientRect();
    const { bands, whole, width } = drawn;
    const [from, to] = [seen.from ?? whole[0], seen.to ?? whole[1]];
    const at = from + ((clientX - box.left - GUTTER) / width) * (to - from);
    const y = clientY - box.top;
    const band = bands.find((one) => y < one.top + one.height) ?? bands.at(-1);
    if (!band) return null;
    const { events } = band.answer;
    const place = firstOf(events, (one) => band.event(one) >= at);
    const [before, after] = [events[place - 1], events[place]];
    const isBefore = before && after && at - band.event(before) < band.event(after) - at;
    return { at, band, event: clientX - box.left < GUTTER - 8 ? null : (isBefore ? before : after) ?? null };
  }

  /** A press that moves pans, one that does not selects. @param {PointerEvent} press */
  function grab(press) {
    if (press.button !== 0) return;
    const [from, to] = [seen.from, seen.to];
    const end = new AbortController();
    let hasMoved = false;
    window.addEventListener("pointermove", (event) => {
      const distance = event.clientX - press.clientX;
      hasMoved ||= Math.abs(distance) > 4;
      if (hasMoved && from !== null && to !== null && drawn) look(from - (distance / drawn.width) * (to - from), to - from);
    }, { signal: end.signal });
    window.addEventListener("pointerup", (event) => {
      end.abort();
      const found = hasMoved ? null : under(event);
      if (found && found.band.answer !== state.answer) choose(found.band.answer.id);
      if (found?.event) select(found.event.n, { origin: "timeline" });
    }, { signal: end.signal });
  }

  /** @param {PointerEvent} event */
  function hover(event) {
    const found = under(event);
    say(found?.band.answer === state.answer ? (found?.event ?? null) : null);
  }

  /** @param {WheelEvent} event */
  function turn(event) {
    if (event.ctrlKey || event.metaKey) zoom(event.deltaY > 0 ? 1.25 : 0.8, under(event)?.at);
    else if (event.deltaX || event.shiftKey) pan((event.deltaX || event.deltaY) / 1000);
    else return;
    event.preventDefault();
  }

  // ---- keys, and what others do ----

  const group = "Timeline";
  register({ key: ["+", "=", "w"], label: "Zoom in", sign: "+", run: () => zoom(0.5), group });
  register({ key: ["-", "s"], label: "Zoom out", sign: "−", run: () => zoom(2), group });
  register({ key: "0", label: "Show all", run: () => look(0, Infinity), group });
  register({ key: "a", label: "Pan left", sign: "←", run: () => pan(-0.25), group });
  register({ key: "d", label: "Pan right", sign: "→", run: () => pan(0.25), group });
  LANES.forEach(({ name, label }, place) => {
    const change = (/** @type {boolean} */ isOn) => {
      if (isOn) seen.hidden.delete(name);
      else seen.hidden.add(name);
      later();
    };
    registerSwitch({ key: String(place + 1), label, isOn: true, change, group });
  });
  registerSwitch({ key: "p", label: "Pacing", isOn: true, change: (isOn) => (seen.paced = isOn, later()), group });
  const order = (/** @type {boolean} */ isOn) => {
    [seen.byOrder, seen.from, seen.to] = [isOn, null, null];
    later();
  };
  registerSwitch({ key: "o", label: "By order", isOn: false, change: order, group });

  on("answer", ({ isSame }) => {
    if (!isSame) [seen.from, seen.to] = [null, null];
    frame();
    later();
  });
  on("view", later);
  on("select", ({ origin }) => {
    const [event, band] = [selected(), drawn?.bands.find((one) => one.answer === state.answer)];
    if (event && band && origin !== "timeline" && seen.from !== null && seen.to !== null) {
      const [place, width] = [band.event(event), seen.to - seen.from];
      if (place < seen.from || place > seen.to) look(place - width / 2, width);
    }
    drawSelection();
  });
  // A canvas keeps the colours that it was drawn with.
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", later);
  new MutationObserver(later).observe(document.body, { attributeFilter: ["class"] });
}
