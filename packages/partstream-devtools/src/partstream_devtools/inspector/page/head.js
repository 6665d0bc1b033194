/** The head: what was recorded, the verdict, whose fault it is, the numbers; and which of several answers is shown. */
{
  const { element, state } = inspect;

  /** The sign of each outcome: its shape says what its colour does. @type {Record<string, string>} */
  const OUTCOMES = { completed: "✓", incomplete: "◐", failed: "✗", truncated: "✂", cancelled: "■", running: "…" };

  const GOOD = ["completed", "running"];
  const SIGNS = { bad: "✗", unsure: "!", good: "✓", quiet: "–" };

  /** No badge says that all is well beside one that does not. @param {VerdictView} verdict @param {boolean} isGood */
  function verdictWords({ kept, broken, warnings }, isGood) {
    const judged = !kept && !warnings ? "contract not judged" : isGood ? "contract kept" : "no rule of the contract broken";
    const words = broken ? `contract: ${broken} broken` : judged;
    return words + (warnings ? `, ${warnings} ${warnings === 1 ? "warning" : "warnings"}` : "");
  }

  /** @param {View} view */
  function sourceSentence({ source, redaction }) {
    const counted = Object.values(redaction.counts).reduce((sum, count) => sum + count, 0);
    const places = counted ? `, ${counted} ${counted === 1 ? "place" : "places"}` : "";
    return `${source.name} (${source.form}${source.hasClock ? "" : "; without times"}); redacted: ${redaction.level}${places}`;
  }

  /** @param {AnswerView} answer @returns {[string, string | null | undefined | false][]} */
  function factsOf({ request, response, protocol, model, host, startedAt, finishReason, ending, events, usage, cache }) {
    return [
      ["Request", request && `${request.method} ${request.path}`],
      ["Response", response && `${response.status} ${response.reason}`.trim()],
      ["Protocol", protocol && (protocol.title ?? protocol.name) + (protocol.sure ? "" : " (guessed)")],
      ["Model", model],
      ["Host", host],
      ["Started", startedAt],
      ["Finish reason", finishReason && finishReason.unified + (finishReason.raw ? ` (${finishReason.raw})` : "")],
      ["Bytes ended", ending ?? (events.length > 0 && "-")],
      ["Usage", usage && `${usage.rows.map(([label, count]) => `${label} ${count.toLocaleString("en-US")}`).join(", ")} (${usage.source})`],
      ["Prompt cache", cache?.text],
    ];
  }

  /** @param {AnswerView} answer */
  function level({ verdict, outcome }) {
    if (verdict.broken || outcome === "failed") return "bad";
    return verdict.warnings || !GOOD.includes(outcome) ? "unsure" : "good";
  }

  /** @param {string} words @param {string} sign @param {string} how */
  const badge = (words, sign, how) =>
    element("span", { class: `badge ${how}` }, element("span", { "aria-hidden": "true" }, sign), ` ${words}`);

  /** @param {AnswerView} answer */
  function verdictLine(answer) {
    const { verdict, outcome, blame } = answer;
    // The bytes keep every promise and the host got something else: no other badge says so.
    const hostDiffers = blame.who === "provider" && level(answer) === "good";
    const isGood = level(answer) === "good" && !hostDiffers;
    const isEnded = GOOD.includes(outcome);
    const outcomeHow = isGood ? "good" : isEnded ? "quiet" : outcome === "failed" ? "bad" : "unsure";
    const how = verdict.broken ? "bad" : verdict.warnings || !verdict.kept ? "unsure" : isGood ? "good" : "quiet";
    return element(
      "div",
      { class: "verdict" },
      badge(outcome, outcomeHow === "quiet" ? SIGNS.quiet : (OUTCOMES[outcome] ?? "?"), outcomeHow),
      badge(verdictWords(verdict, isGood), SIGNS[how], how),
      hostDiffers && badge("host got something else", SIGNS.bad, "bad"),
      element("p", { class: blame.who === "nobody" ? "quiet" : "blame" }, blame.sentence),
    );
  }

  /** @param {AnswerView} answer */
  function errorLines({ error }) {
    if (!error) return null;
    const fields = error.fields.map(([name, value]) => element("div", null, element("dt", null, name), element("dd", null, value)));
    return element("div", { class: "error" }, element("code", null, error.type), `: ${error.message}`, element("dl", { class: "facts" }, ...fields));
  }

  /** The numbers that are known; the table of what they mean says why another is not. @param {AnswerView} answer */
  function numberTiles({ numbers }) {
    const known = numbers.filter((one) => one.value !== null);
    const tiles = known.map((one) => element("div", null, element("dt", null, one.label), element("dd", null, one.text)));
    return tiles.length > 0 ? element("dl", { class: "numbers" }, ...tiles) : null;
  }

  /** @param {string} title @param {...Node} children */
  const folded = (title, ...children) => element("details", { class: "folded" }, element("summary", null, title), ...children);

  /** @param {string} caption @param {string[]} head @param {string[][]} rows */
  function table(caption, head, rows) {
    const names = head.map((name) => element("th", { scope: "col" }, name));
    const lines = rows.map(([name, ...cells]) =>
      element("tr", null, element("th", { scope: "row" }, name), ...cells.map((cell) => element("td", null, cell))),
    );
    const label = { class: "scroll", tabindex: "0", role: "region", "aria-label": caption, "data-scrolls": true };
    return element("div", label, element("table", null, element("thead", null, element("tr", null, ...names)), element("tbody", null, ...lines)));
  }

  /** @param {AnswerView} answer */
  function exchange({ request, response }) {
    if (!request && !response) return null;
    const pieces = [
      ...(request ? [table("Headers of the request", ["Request header", "Value"], request.headers)] : []),
      ...(request?.body ? [element("pre", { class: "text", tabindex: "0", "data-scrolls": true, role: "region", "aria-label": "Body of the request" }, request.body)] : []),
      ...(response ? [table("Headers of the response", ["Response header", "Value"], response.headers)] : []),
    ];
    return folded("Request and response", ...pieces);
  }

  /** The answers of the view, each a button. @param {View} view @param {AnswerView} shown */
  function choices(view, shown) {
    if (view.answers.length < 2) return null;
    const buttons = view.answers.map((answer) => {
      const how = level(answer);
      const words = [element("span", { "aria-hidden": "true", class: how }, SIGNS[how]), ` ${answer.title}, ${answer.outcome}`];
      const isShown = answer.id === shown.id;
      return element("button", { type: "button", "aria-current": isShown ? "true" : null, click: () => inspect.choose(answer.id) }, ...words);
    });
    return element("nav", { "aria-label": "Answers", class: "answers" }, ...buttons);
  }

  /** Puts pieces in place of what a pane holds, and gives the focus to the successor of the one that had it.
   * @param {HTMLElement} pane @param {(Node | null)[]} pieces */
  inspect.refill = (pane, pieces) => {
    const had = pane.contains(document.activeElement) ? document.activeElement?.textContent : null;
    pane.replaceChildren(...pieces.filter((one) => one !== null));
    if (had === null) return;
    const all = [.../** @type {NodeListOf<HTMLElement>} */ (pane.querySelectorAll("button, summary, a, [tabindex]"))];
    all.find((one) => one.textContent === had)?.focus({ preventScroll: true });
  };

  const help = inspect.toolbar("Page");

  inspect.on("answer", () => {
    const { view, answer } = state;
    if (!view || !answer) return;
    const facts = factsOf(answer).filter(([, value]) => value);
    const open = [...document.querySelectorAll("#head details[open] > summary")].map((one) => one.textContent);
    const title = element("h1", null, view.title);
    const top = element("div", { class: "top" }, title, element("p", { class: "quiet" }, sourceSentence(view)), help);
    const definitions = answer.numbers.map((one) => [one.label, one.text, one.missing ?? one.definition]);
    const pane = inspect.pane("head", "Answer");
    const meaning = table("What the numbers mean", ["Number", "Value", "What it is"], definitions);
    const rows = facts.map(([name, value]) => element("div", null, element("dt", null, name), element("dd", null, value)));
    inspect.refill(pane, [
      top,
      choices(view, answer),
      element("h2", { id: "head-title", class: answer.title === view.title ? "unseen" : "" }, answer.title),
      verdictLine(answer),
      errorLines(answer),
      element("dl", { class: "facts" }, ...rows),
      numberTiles(answer),
      element("div", { class: "foldeds" }, folded("What the numbers mean", meaning), exchange(answer)),
    ]);
    for (const one of pane.querySelectorAll("details")) {
      one.open = open.includes(one.querySelector("summary")?.textContent ?? "");
    }
  });

  inspect.folded = folded;
}
