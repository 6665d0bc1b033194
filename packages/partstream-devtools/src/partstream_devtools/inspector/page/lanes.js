/**
 * The four lanes of the timeline: reads, events, parts and what VS Code shows, each drawn by one function of a table, as
 * elements of SVG, or, where they would be too many, on a canvas. Colour never says anything alone: a kind has a sign.
 */
{
  const { element } = inspect;

  const SIGNS = {
    bar: "M-1-10h2v20h-2z",
    broken_bar: "M-1-10h2v8h-2zM-1 2h2v8h-2z",
    short_bar: "M-1-5h2v10h-2z",
    diamond: "M0-8 7 0 0 8-7 0z",
    square: "M-5-5h10v10h-10z",
    circle: "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
    ring: "M-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0zM-3.5 0a3.5 3.5 0 1 1 7 0a3.5 3.5 0 1 1-7 0z",
    dot: "M-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0z",
    begin: "M-3-6 6 0-3 6z",
    end: "M3-6-6 0 3 6z",
    cross: "M-7-5-5-7 0-2 5-7 7-5 2 0 7 5 5 7 0 2-5 7-7 5-2 0z",
    flag: "M-6-4h12l-6 8z",
  };
  /** @type {Record<string, [keyof SIGNS, string]>} The sign and the colour of each kind. */
  const KINDS = {
    text: ["bar", "blue"],
    thinking: ["broken_bar", "purple"],
    call: ["diamond", "orange"],
    data: ["square", "green"],
    usage: ["circle", "green"],
    start: ["begin", "quiet"],
    end: ["end", "quiet"],
    error: ["cross", "red"],
    keepalive: ["dot", "quiet"],
    unmapped: ["ring", "orange"],
    other: ["short_bar", "quiet"],
  };
  const LANES = [
    { name: "reads", label: "Reads", height: 30 },
    { name: "events", label: "Events", height: 42 },
    { name: "parts", label: "Parts", height: 32 },
    { name: "host", label: "Shown", height: 32 },
  ];
  const GUTTER = 68;
  const LETTER = 6.4;

  /** @param {number} x @param {number} y @param {string} text @param {string} look @param {string} [anchor] */
  const words = (x, y, text, look, anchor = "start") =>
    element("svg:text", { x: x.toFixed(1), y, class: look, "text-anchor": anchor }, text);

  /** @param {SVGElement} group @returns {Painter} */
  const elements = (group) => ({
    bar: (x, y, width, height, look, n) =>
      group.append(element("svg:rect", {
        x: x.toFixed(1), y, width: Math.max(1, width).toFixed(1), height, class: look, "data-event": n,
      })),
    sign: (name, x, y, look, n) =>
      group.append(element("svg:path", {
        d: SIGNS[name], transform: `translate(${x.toFixed(1)} ${y})`, class: look, "data-event": n,
      })),
  });

  /** @param {HTMLCanvasElement} canvas @param {number} width @param {number} height @returns {Painter} */
  function painting(canvas, width, height) {
    const scale = window.devicePixelRatio || 1;
    [canvas.width, canvas.height] = [width * scale, height * scale];
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.scale(scale, scale);
    const paths = new Map(Object.entries(SIGNS).map(([name, path]) => [name, new Path2D(path)]));
    /** @type {Map<string, string>} */
    const colours = new Map();
    const use = (/** @type {string} */ look) => {
      const [name = "", ...more] = look.split(" ");
      if (!colours.has(name)) {
        // The colour as the style has it, which may be one of VS Code's.
        const probe = element("span", { class: `tint ${name}` });
        canvas.after(probe);
        colours.set(name, getComputedStyle(probe).color);
        probe.remove();
      }
      context.fillStyle = colours.get(name) ?? "";
      context.globalAlpha = more.includes("soft") ? 0.4 : 1;
    };
    return {
      bar: (x, y, wide, high, look) => {
        use(look);
        context.fillRect(x, y, Math.max(1, wide), high);
      },
      sign: (name, x, y, look) => {
        use(look);
        context.translate(x, y);
        context.fill(/** @type {Path2D} */ (paths.get(name)), "evenodd");
        context.translate(-x, -y);
      },
    };
  }

  /** @type {Record<string, (scene: Scene) => void>} */
  const DRAW = {
    /** A bar a read, as high as it is large. */
    reads({ band, lane, x, isSeen, ticks, group, isOrdered }) {
      const { reads, offset } = band.answer;
      const largest = reads.reduce((most, [, start, end]) => Math.max(most, end - start), 1);
      const base = lane.top + lane.height - 3;
      const tallest = lane.height - 8;
      let last = NaN;
      for (const read of reads) {
        const place = band.read(read);
        const left = Math.round(x(place) * 2) / 2;
        if (!isSeen(place) || left === last) continue;
        last = left;
        const height = Math.round(4 + (tallest - 4) * (Math.log2(1 + read[2] - read[1]) / Math.log2(1 + largest)));
        ticks.bar(left - 1, base - height, 2, height, "quiet read");
      }
      const first = reads[0] && band.read(reads[0]);
      if (isOrdered || !first || !isSeen(offset, first)) return;
      const [left, right] = [Math.max(GUTTER, x(offset)), x(first) - 3];
      if (right - left < 8) return;
      group.append(element("svg:line", { x1: left, x2: right, y1: base, y2: base, class: "waiting" }));
      const text = `first byte ${lengthOf(first - offset)}`;
      if (text.length * LETTER < right - left) group.append(words((left + right) / 2, base - 6, text, "small quiet", "middle"));
    },

    /** A sign an event; where signs of one kind would cover each other, a thin bar. */
    events({ band, lane, x, isSeen, ticks, group }) {
      const middle = lane.top + lane.height / 2 + 4;
      /** @type {Map<string, number>} */
      const lastOf = new Map();
      const pile = { x: NaN, count: 0, free: -Infinity };
      const closePile = () => {
        if (pile.count < 3 || pile.x - 10 < pile.free) return;
        group.append(words(pile.x, lane.top + 10, `×${pile.count}`, "tiny quiet", "middle"));
        pile.free = pile.x + 12;
      };
      for (const event of band.answer.events) {
        if (!isSeen(band.event(event))) continue;
        const place = x(band.event(event));
        if (place !== pile.x) {
          closePile();
          [pile.x, pile.count] = [place, 0];
        }
        pile.count += event.count;
        const [sign, colour] = KINDS[event.kind] ?? ["short_bar", "quiet"];
        const distance = place - (lastOf.get(event.kind) ?? -Infinity);
        const isBroken = event.violations.length > 0;
        if (distance < 0.5 && !isBroken) continue;
        lastOf.set(event.kind, place);
        const look = `${colour} tick ${event.kind}`;
        if (distance < 4 && !sign.endsWith("bar") && !isBroken) ticks.bar(place - 0.5, middle - 5, 1, 10, look, event.n);
        else ticks.sign(sign, place, middle, look, event.n);
        if (isBroken) ticks.sign("flag", place, lane.top + 8, "red broken", event.n);
      }
      closePile();
    },

    /** A bar a run of text or thinking, a sign a call or data, with its label where there is room. */
    parts({ band, lane, x, isSeen, ticks, group, right: edge }) {
      const { answer } = band;
      const middle = lane.top + lane.height / 2;
      let [free, last] = [-Infinity, -Infinity];
      for (const [place, run] of answer.runs.entries()) {
        const next = answer.runs[place + 1];
        const [from, to] = [band.part(run.from), band.part(run.to)];
        const [left, right] = [Math.max(x(from), GUTTER - 4), Math.min(x(to), edge)];
        if (!isSeen(from, to) || (right < last + 0.5 && right - left < 1)) continue;
        last = right;
        const isBar = run.kind === "text" || run.kind === "thinking";
        const [sign, colour] = KINDS[run.kind] ?? ["short_bar", "quiet"];
        const n = answer.parts[run.from]?.event ?? undefined;
        if (isBar) {
          ticks.bar(left - 1.5, middle - 10, right - left + 3, 20, `${colour} soft run ${run.kind}`, n);
          ticks.bar(left - 1.5, middle - 10, 3, 20, colour, n);
        } else ticks.sign(sign, left, middle, `${colour} run ${run.kind}`, n);
        const room = isBar ? right : Math.min(edge, next ? x(band.part(next.from)) - 9 : edge);
        free = Math.max(free, label(group, run.label, isBar, left, room, middle + 4, free));
      }
    },

    /** A bar a flush of VS Code; a square where it did not wait for its timer. */
    host({ band, lane, x, isSeen, ticks, flushes }) {
      const middle = lane.top + lane.height / 2;
      let last = NaN;
      for (const flush of flushes) {
        const place = band.flush(flush);
        const left = Math.round(x(place) * 2) / 2;
        if (!isSeen(place) || left === last) continue;
        last = left;
        const n = band.answer.parts[flush.to]?.event ?? undefined;
        if (flush.forced) ticks.sign("square", left, middle, "foreground shown forced", n);
        else ticks.bar(left - 1, middle - 10, 2, 20, "foreground shown", n);
      }
    },
  };

  /** Writes the label of a run into its bar or beside its sign, cut to the room there; returns where it ends.
   * @param {SVGElement} group @param {string} text @param {boolean} isBar @param {number} left @param {number} right
   * @param {number} y @param {number} free */
  function label(group, text, isBar, left, right, y, free) {
    const start = isBar ? left + 6 : left + 11;
    const most = Math.floor((right - start) / LETTER);
    if (!isBar && most < text.length && left - 14 - text.length * LETTER > Math.max(free, GUTTER)) {
      group.append(words(left - 11, y, text, "small label", "end"));
    } else if (start >= free && most >= Math.min(text.length, 6)) {
      const shown = text.length > most ? `${text.slice(0, most - 1)}…` : text;
      group.append(words(start, y, shown, isBar ? "small" : "small label"));
      return start + shown.length * LETTER + 6;
    }
    return left;
  }

  /** Hatches the gaps of an answer in the lane of its events, and its stalls over all lanes. @param {Scene} scene */
  function gaps({ band, lane, x, isSeen, group, right: edge }) {
    const { answer } = band;
    for (const gap of answer.gaps) {
      const [before, after] = [eventOf(answer, gap.after), eventOf(answer, gap.before)];
      if (!before || !after) continue;
      const [from, to] = [answer.offset + (before.until ?? before.at ?? 0), band.event(after)];
      const [left, right] = [Math.max(x(from) + 3, GUTTER), Math.min(x(to) - 3, edge)];
      if (!isSeen(from, to) || right - left < 5) continue;
      const { top, height } = gap.stall ? band : lane;
      const box = { x: left.toFixed(1), y: top + 1, width: (right - left).toFixed(1), height: height - 2 };
      group.append(element("svg:rect", { ...box, class: gap.stall ? "gap stall" : "gap", fill: "url(#hatching)" }));
      const text = `${gap.stall ? "stall " : ""}${lengthOf(gap.ms)}`;
      if (right - left < text.length * LETTER) continue;
      group.append(words((left + right) / 2, lane.top + lane.height / 2 + 8, text, "small label", "middle"));
    }
  }

  /** @param {AnswerView} answer @param {number} n */
  function eventOf({ events }, n) {
    let [low, high] = [0, events.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((events[middle]?.n ?? Infinity) <= n) low = middle;
      else high = middle - 1;
    }
    return events[low];
  }

  /** 380 ms, 1.2 s, 2 min 5 s. @param {number} ms */
  function lengthOf(ms) {
    if (ms < 1000) return `${Number(ms.toPrecision(3))} ms`;
    if (ms < 60_000) return `${Number((ms / 1000).toPrecision(3))} s`;
    return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
  }

  inspect.lanes = { DRAW, GUTTER, KINDS, LANES, SIGNS, elements, gaps, lengthOf, painting, words };
}
