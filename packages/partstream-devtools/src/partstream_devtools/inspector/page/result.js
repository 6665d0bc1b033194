/** The result: the parts as VS Code joins them, and which events they came from; what was not understood is counted. */
{
  const { element, state, number } = inspect;
  const MOST_CHARACTERS = 20000;

  /** The blocks on the page, in their order. @type {{ made: HTMLElement, one: ResultView, shape: string }[]} */
  let drawn = [];

  /** The parts that one block of the result was joined from: the first and the last. @param {number} place */
  function partsOf(place) {
    const { result, parts } = /** @type {AnswerView} */ (state.answer);
    const next = result[place + 1];
    return [result[place]?.part ?? 0, next ? next.part - 1 : parts.length - 1];
  }

  /** The block that a part is in. @param {number} part */
  const blockOf = (part) => (state.answer?.result ?? []).findLastIndex((one) => one.part <= part);

  /** @param {number} place */
  function links(place) {
    const [first, last] = partsOf(place);
    const { parts } = /** @type {AnswerView} */ (state.answer);
    const events = [parts[first ?? 0]?.event, parts[last ?? 0]?.event].filter((n) => n !== null && n !== undefined);
    return [...new Set(events)].map((n, at) => element("button", { type: "button", click: () => inspect.select(n ?? null, { origin: "result" }) }, `${at === 0 ? "Event" : "to event"} ${number(n ?? 0)}`));
  }

  /** A text with the piece marked that one part brought, where the block is its parts put together.
   * @param {string} text @param {number} place @param {number | null} part */
  function textOf(text, place, part) {
    const [first] = partsOf(place);
    if (part === null || blockOf(part) !== place) return [inspect.cut(text, "", MOST_CHARACTERS)];
    const parts = state.answer?.parts.slice(first, part) ?? [];
    const at = parts.reduce((sum, one) => sum + one.text.length, 0);
    const piece = state.answer?.parts[part]?.text ?? "";
    if (text.length > MOST_CHARACTERS || !piece || !text.startsWith(piece, at)) return [inspect.cut(text, "", MOST_CHARACTERS)];
    return [text.slice(0, at), element("mark", null, piece), text.slice(at + piece.length)];
  }

  /** Arguments in lines, where they are JSON. @param {ResultView} one */
  function contentOf(one) {
    if (one.kind !== "call" && one.kind !== "data") return null;
    try {
      JSON.parse(one.text);
      return inspect.jsonView(one.text, "");
    } catch {
      return null;
    }
  }

  /** @param {ResultView} one @param {number} place */
  function block(one, place) {
    const sign = element("span", { class: `sign kind-${one.kind}`, "aria-hidden": "true" }, inspect.signOf(one.kind));
    const name = `${one.kind}${one.name ? ` ${one.name}` : ""}${one.callId ? `, ${one.callId}` : ""}`;
    const content = contentOf(one) ?? element("pre", { class: "text", tabindex: "0", "data-scrolls": true, role: "region", "aria-label": `Text of part ${number(one.part)}, ${name}` });
    const made = element("section", { class: "block", "data-block": place });
    const heading = element("h3", { tabindex: "-1" }, sign, ` ${name}`);
    const top = element("div", { class: "block-head" }, heading, element("span", { class: "links" }));
    if (one.kind !== "thinking") made.append(top, content);
    else made.append(top, inspect.folded(`Thinking, ${number(one.text.length)} characters`, content));
    return made;
  }

  /** Marks what the selected event brought, and brings texts up to date. */
  function mark() {
    const event = state.selected === null ? null : inspect.eventAt(state.selected);
    const parts = event?.parts ?? [];
    const blocks = new Set(parts.map(blockOf));
    for (const [place, { made, one }] of drawn.entries()) {
      made.classList.toggle("selected", blocks.has(place));
      const ways = links(place);
      const shown = /** @type {HTMLElement} */ (made.querySelector(".links"));
      if (shown.textContent !== ways.map((way) => way.textContent).join("")) inspect.refill(shown, ways);
      const part = parts.find((at) => blockOf(at) === place) ?? null;
      const text = made.querySelector("pre.text");
      const now = `${part} ${one.text.length}`;
      if (!text || text.getAttribute("data-now") === now) continue;
      text.setAttribute("data-now", now);
      const pieces = textOf(one.text, place, part);
      text.replaceChildren(...pieces.map((piece) => (typeof piece === "string" ? inspect.visible(piece) : piece)));
    }
  }

  /** The types that were not understood, each a way to its first event. */
  function unmapped() {
    const rows = state.answer?.unmapped ?? [];
    if (rows.length === 0) return null;
    const items = rows.map(({ type, count, events }) =>
      element("li", null, element("code", null, type), ` ${number(count)} `, element("button", { type: "button", click: () => inspect.select(events[0] ?? null, { origin: "result" }) }, `Event ${number(events[0] ?? 0)}`)),
    );
    return element("section", { class: "block" }, element("h3", null, element("span", { class: "sign kind-unmapped", "aria-hidden": "true" }, "◎"), " Events that no part represents"), element("ul", null, ...items));
  }

  /** Goes to the place of the result that a part is in. @param {number} part */
  inspect.showInResult = (part) => {
    const made = document.querySelector(`#result [data-block="${blockOf(part)}"]`);
    for (const one of made?.querySelectorAll("details") ?? []) one.open = true;
    made?.scrollIntoView({ block: "nearest" });
    /** @type {HTMLElement | null | undefined} */ (made?.querySelector("h3"))?.focus();
  };

  inspect.on("answer", ({ isSame }) => {
    const { answer } = state;
    if (!answer) return;
    const before = isSame ? drawn : [];
    drawn = answer.result.map((one, place) => {
      // While an answer grows, the blocks that are there stay, with what a person has opened in them.
      const shape = JSON.stringify([one.kind, one.name, one.callId, contentOf(one) ? one.text : ""]);
      return before[place]?.shape === shape ? { ...before[place], one } : { made: block(one, place), one, shape };
    });
    const heading = element("h2", { id: "result-title" }, "Result");
    const empty = drawn.length === 0 ? element("p", { class: "quiet" }, "No part came.") : null;
    const notes = answer.notes.map((note) => element("p", { class: "note" }, note));
    inspect.refill(inspect.pane("result", "Result"), [heading, ...drawn.map(({ made }) => made), empty, unmapped(), ...notes]);
    mark();
  });
  inspect.on("select", mark);

  inspect.on("view", (/** @type {View} */ view) => {
    if (view.commands.length === 0) return;
    const rows = view.commands.map(({ label, text }) => {
      const copy = async () => {
        await navigator.clipboard.writeText(inspect.visible(text)); // as it is shown: a terminal acts on what hides
        inspect.announce("copied");
      };
      return element("li", null, element("span", null, label), element("code", { tabindex: "0" }, text), element("button", { type: "button", "aria-label": `Copy: ${label}`, click: copy }, "Copy"));
    });
    inspect.pane("commands", "Commands").replaceChildren(element("h2", { id: "commands-title" }, "Commands"), element("ul", { class: "commands" }, ...rows));
  });
}
