/**
 * Two answers beside each other, aligned by the structure of their parts: what differs comes first, what is equal is
 * folded. Times are paired bars on one axis; texts are compared word by word only when somebody asks for it.
 */
{
  const { element, state, on, register, choose, select, pane, number } = inspect;
  const MOST_CELLS = 1_000_000;
  const WORDS = /\s+|[\p{L}\p{N}_]+|./gsu;

  /** Which comparison is shown, and whether its rows are in the order of the answers. */
  const shown = { place: 0, inOrder: false };

  /** @param {string} id */
  const answerOf = (id) => state.view?.answers.find((one) => one.id === id);

  /** @param {AnswerView} answer @param {RunView} run */
  const textOf = (answer, run) => answer.parts.slice(run.from, run.to + 1).map((part) => part.text).join("");

  // ---- the rows ----

  /** A cell of one side: its run as a button that opens it there.
   * @param {AnswerView} answer @param {number | null} place */
  function cell(answer, place) {
    const run = place === null ? undefined : answer.runs[place];
    if (!run) return element("td", { class: "quiet" }, "none");
    const event = answer.parts[run.from]?.event ?? null;
    const open = () => {
      if (state.answer !== answer) choose(answer.id);
      if (event !== null) select(event, { origin: "compare" });
    };
    const [sign, name] = [inspect.signOf(run.kind), run.label];
    const at = run.at === null ? "" : inspect.time(run.at);
    const label = [element("span", { class: `sign kind-${run.kind}`, "aria-hidden": "true" }, sign), ` ${name}`];
    return element("td", null, element("button", { type: "button", class: "plain", click: open }, ...label),
      element("span", { class: "quiet at" }, ` ${at}`));
  }

  /** When the run of each side came, as two bars on one axis. @param {[AnswerView, number | null][]} sides @param {number} last */
  function bars(sides, last) {
    const svg = element("svg:svg", { class: "bars", "aria-hidden": "true", viewBox: "0 0 200 18", preserveAspectRatio: "none" });
    sides.forEach(([answer, place], side) => {
      const run = place === null ? undefined : answer.runs[place];
      if (!run || run.at === null) return;
      const from = Math.min(198, (run.at / last) * 200);
      const width = Math.max(2, (((run.until ?? run.at) - run.at) / last) * 200);
      svg.append(element("svg:rect", { x: from.toFixed(1), y: side * 9 + 1, width: width.toFixed(1), height: 7, class: side ? "right" : "left" }));
    });
    return svg;
  }

  /** @param {ComparisonRow} row @param {AnswerView} left @param {AnswerView} right @param {number} last */
  function rowOf(row, left, right, last) {
    const differences = row.differences.map((one) => element("li", null, one));
    const [one, two] = [left.runs[row.left ?? -1], right.runs[row.right ?? -1]];
    const words = element("div", { class: "words" });
    const ask = element("button", { type: "button", "aria-expanded": "false", click: () => {
      const isOpen = ask.getAttribute("aria-expanded") === "true";
      ask.setAttribute("aria-expanded", String(!isOpen));
      words.replaceChildren(...(isOpen || !one || !two ? [] : difference(textOf(left, one), textOf(right, two))));
    } }, "Compare the texts");
    const canAsk = one && two && textOf(left, one) !== textOf(right, two);
    const isEnd = row.left === null && row.right === null;
    return element("tr", { class: row.same ? "same" : "differs" },
      element("th", { scope: "row" }, row.same ? "= " : "≠ ", row.label,
        differences.length > 0 && element("ul", null, ...differences), canAsk && ask, canAsk && words),
      ...(isEnd ? [left, right].map((answer) => element("td", null, answer.outcome)) : [cell(left, row.left), cell(right, row.right)]),
      element("td", null, bars([[left, row.left], [right, row.right]], last)));
  }

  /** @param {ComparisonRow[]} rows @param {AnswerView} left @param {AnswerView} right @param {string} caption */
  function table(rows, left, right, caption) {
    const ends = [left, right].flatMap((one) => one.runs.map((run) => run.until ?? run.at ?? 0));
    const last = Math.max(1, ...ends);
    const names = ["Place", left.title, right.title, `When: left above right, 0 to ${inspect.time(last)}`];
    return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
      element("table", { class: "compared" },
        element("caption", { class: "unseen" }, caption),
        element("thead", null, element("tr", null, ...names.map((name) => element("th", { scope: "col" }, name)))),
        element("tbody", null, ...rows.map((row) => rowOf(row, left, right, last)))));
  }

  /** The numbers of both, as paired bars. @param {ComparisonView} comparison @param {AnswerView} left @param {AnswerView} right */
  function numbers({ numbers: rows }, left, right) {
    const lines = rows.map(({ id, label, left: one, right: two, ratio }) => {
      const values = [left, right].map((answer) => answer.numbers.find((each) => each.id === id)?.value ?? null);
      const most = Math.max(...values.map((value) => value ?? 0)) || 1;
      const svg = element("svg:svg", { class: "bars", "aria-hidden": "true", viewBox: "0 0 200 18", preserveAspectRatio: "none" },
        ...values.map((value, side) => value !== null && value > 0 && element("svg:rect", {
          x: 0, y: side * 9 + 1, width: Math.max(1, (value / most) * 200).toFixed(1), height: 7, class: side ? "right" : "left",
        })));
      const times = ratio === null ? "" : `× ${number(ratio)}`;
      return element("tr", { class: ratio !== null && (ratio >= 1.5 || ratio <= 2 / 3) ? "differs" : null },
        element("th", { scope: "row" }, label), element("td", { class: "number" }, one),
        element("td", { class: "number" }, two), element("td", { class: "number" }, times), element("td", null, svg));
    });
    const names = ["Left", "Right", "Right to left"].map((name) => element("th", { scope: "col", class: "number" }, name));
    const head = [element("th", { scope: "col" }, "Number"), ...names, element("td", null)];
    return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Numbers of both answers" },
      element("table", { class: "compared" }, element("thead", null, element("tr", null, ...head)), element("tbody", null, ...lines)));
  }

  // ---- texts ----

  /** Both texts in one, with what was taken away and what was added. @param {string} left @param {string} right @returns {Node[]} */
  function difference(left, right) {
    const [one, two] = [left.match(WORDS) ?? [], right.match(WORDS) ?? []];
    let [start, end] = [0, 0];
    while (start < one.length && one[start] === two[start]) start++;
    while (end < Math.min(one.length, two.length) - start && one.at(-1 - end) === two.at(-1 - end)) end++;
    const [gone, come] = [one.slice(start, one.length - end), two.slice(start, two.length - end)];
    const pieces = gone.length * come.length > MOST_CELLS ? [["del", gone.join("")], ["ins", come.join("")]] : aligned(gone, come);
    const marked = pieces.map(([tag, text]) => (tag ? element(tag ?? "", null, text) : document.createTextNode(inspect.visible(text ?? ""))));
    const keep = (/** @type {string[]} */ words) => document.createTextNode(inspect.visible(words.join("")));
    const note = element("p", { class: "quiet" }, "Struck out: only on the left. Underlined: only on the right.");
    return [note, element("div", { class: "text", tabindex: "0" }, keep(one.slice(0, start)), ...marked, keep(one.slice(one.length - end)))];
  }

  /** The words of both by their longest common subsequence. @param {string[]} one @param {string[]} two @returns {string[][]} */
  function aligned(one, two) {
    const width = two.length + 1;
    const lengths = new Uint32Array((one.length + 1) * width);
    for (let a = one.length - 1; a >= 0; a--) {
      for (let b = two.length - 1; b >= 0; b--) {
        const longest = Math.max(lengths[(a + 1) * width + b] ?? 0, lengths[a * width + b + 1] ?? 0);
        lengths[a * width + b] = one[a] === two[b] ? (lengths[(a + 1) * width + b + 1] ?? 0) + 1 : longest;
      }
    }
    /** @type {string[][]} */
    const pieces = [];
    const add = (/** @type {string} */ tag, /** @type {string} */ word) => {
      const last = pieces.at(-1);
      if (last && last[0] === tag) last[1] += word;
      else pieces.push([tag, word]);
    };
    let [a, b] = [0, 0];
    while (a < one.length || b < two.length) {
      if (a < one.length && b < two.length && one[a] === two[b]) add("", [one[a++], b++][0] + "");
      else if (b === two.length || (a < one.length && (lengths[(a + 1) * width + b] ?? 0) >= (lengths[a * width + b + 1] ?? 0))) add("del", one[a++] ?? "");
      else add("ins", two[b++] ?? "");
    }
    return pieces;
  }

  // ---- the pane ----

  function draw() {
    const all = state.view?.comparisons ?? [];
    const comparison = all[Math.min(shown.place, all.length - 1)];
    const [left, right] = comparison ? [answerOf(comparison.left), answerOf(comparison.right)] : [];
    if (!comparison || !left || !right) return document.getElementById("compare")?.remove();
    const root = pane("compare", "Compare");
    const differing = comparison.rows.filter((row) => !row.same);
    const equal = comparison.rows.filter((row) => row.same);
    const first = differing[0];
    const verdict = first
      ? `${differing.length} of ${comparison.rows.length} places differ. The first: ${first.label}: ${first.differences.join("; ")}.`
      : "Both answers have the same structure and the same contents.";
    const which = element("select", { "aria-label": "Which answers are compared", change: () => {
      shown.place = which.selectedIndex;
      draw();
    } }, ...all.map(({ left: one, right: two }) => element("option", null, `${answerOf(one)?.title} and ${answerOf(two)?.title}`)));
    which.selectedIndex = Math.min(shown.place, all.length - 1);
    const order = element("button", { type: "button", "aria-pressed": String(shown.inOrder), click: () => {
      shown.inOrder = !shown.inOrder;
      draw();
      inspect.announce(shown.inOrder ? "rows in the order of the answers" : "what differs first");
    } }, "In order");
    const folded = equal.length > 0 && element("details", { class: "folded" },
      element("summary", null, `${equal.length} equal ${equal.length === 1 ? "place" : "places"}`), table(equal, left, right, "What is equal"));
    root.replaceChildren(
      root.firstElementChild ?? "",
      element("div", { class: "toolbar" }, all.length > 1 && which, order),
      element("p", { class: "difference" }, first ? "≠ " : "= ", verdict),
      ...(shown.inOrder
        ? [table(comparison.rows, left, right, "All places in order")]
        : [differing.length > 0 && table(differing, left, right, "What differs"), folded].filter(Boolean)),
      element("details", { class: "folded", open: true }, element("summary", null, "Numbers"), numbers(comparison, left, right)),
    );
  }

  register({
    key: "c",
    label: "Compare",
    group: "Page",
    run: () => {
      const root = document.getElementById("compare");
      if (!root) return inspect.announce("there is only one answer: open two files to compare them");
      root.setAttribute("tabindex", "-1");
      root.focus();
      root.scrollIntoView();
    },
  });
  on("view", draw);
}
