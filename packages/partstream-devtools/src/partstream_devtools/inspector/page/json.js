/** JSON as a tree that folds, with a search; branches are made when they are opened, so that none is too large. */
{
  const { element, number } = inspect;
  const MOST_CHARACTERS = 2000;
  const MOST_CHILDREN = 200;
  const MOST_LEVELS = 200;
  const OPEN_LEVELS = 4;

  /** @param {unknown} value @param {string} query @param {number} [depth] @returns {boolean} */
  function holds(value, query, depth = 0) {
    if (depth > MOST_LEVELS) return false;
    if (value === null || typeof value !== "object") return String(value).toLowerCase().includes(query);
    return Object.entries(value).some(([key, one]) => (!Array.isArray(value) && key.toLowerCase().includes(query)) || holds(one, query, depth + 1));
  }

  /** The text with the places marked that hold the query. @param {string} text @param {string} query */
  function marked(text, query) {
    const made = [];
    const lower = text.toLowerCase();
    let at = 0;
    while (query && lower.length === text.length) {
      const found = lower.indexOf(query, at);
      if (found < 0 || made.length > MOST_CHARACTERS) break;
      made.push(text.slice(at, found), element("mark", null, text.slice(found, found + query.length)));
      at = found + query.length;
    }
    return [...made, text.slice(at)];
  }

  /** A long text up to a number of characters, and the rest at the press of a button. @param {string} text @param {string} [query] @param {number} [most] */
  inspect.cut = (text, query = "", most = MOST_CHARACTERS) => {
    if (text.length <= most) return element("span", null, ...marked(text, query));
    const whole = element("button", { type: "button", class: "more", click: () => made.replaceChildren(inspect.visible(text)) }, `… all ${number(text.length)} characters`);
    const made = element("span", null, ...marked(text.slice(0, most), query), whole);
    return made;
  };

  /** @param {unknown} value @param {string} query */
  function leaf(value, query) {
    const kind = value === null ? "null" : typeof value;
    const text = typeof value === "string" ? JSON.stringify(value) : String(value);
    const made = inspect.cut(text, query);
    made.classList.add(`json-${kind}`);
    return made;
  }

  /** @param {string} key @param {boolean} isItem @param {string} query */
  const name = (key, isItem, query) => element("span", { class: isItem ? "quiet" : "json-key" }, ...marked(key, isItem ? "" : query), ": ");

  /** @param {string} key @param {boolean} isItem @param {unknown} value @param {string} query @param {number} depth @returns {HTMLElement} */
  function line(key, isItem, value, query, depth) {
    if (value === null || typeof value !== "object") return element("div", { class: "json-line" }, name(key, isItem, query), leaf(value, query));
    return branch([name(key, isItem, query)], value, query, depth);
  }

  /** @param {Node[]} before @param {object} value @param {string} query @param {number} depth @returns {HTMLElement} */
  function branch(before, value, query, depth) {
    const isList = Array.isArray(value);
    const entries = Object.entries(value);
    const size = `${number(entries.length)} ${isList ? "items" : "fields"}`.replace(/^1 (\w+)s$/, "1 $1");
    const made = element("details", { class: "json-branch" }, element("summary", null, ...before, isList ? "[…] " : "{…} ", element("span", { class: "quiet" }, size)));
    const isOpen = query ? holds(value, query) : depth < OPEN_LEVELS && entries.length <= MOST_CHILDREN;
    const fill = (/** @type {number} */ from) => {
      made.append(...entries.slice(from, from + MOST_CHILDREN).map(([key, one]) => line(key, isList, one, query, depth + 1)));
      const left = entries.length - from - MOST_CHILDREN;
      if (left <= 0) return;
      const more = element("button", { type: "button", class: "more", click: () => (more.remove(), fill(from + MOST_CHILDREN)) }, `${number(left)} more`);
      made.append(more);
    };
    const once = () => made.childElementCount === 1 && fill(0);
    made.addEventListener("toggle", once);
    made.unfold = once;
    if (isOpen && depth < MOST_LEVELS) {
      once();
      made.open = true;
    }
    return made;
  }

  /** @param {string} text @returns {{ value: unknown } | null} */
  function parsed(text) {
    try {
      return { value: JSON.parse(text) };
    } catch {
      return null;
    }
  }

  /** The tree of a JSON text, or the text where it is none. @param {string} text @param {string} query */
  inspect.jsonView = (text, query) => {
    const found = parsed(text);
    if (!found) return element("pre", { class: "text" }, inspect.cut(text, query.toLowerCase()));
    const { value } = found;
    const isBranch = value !== null && typeof value === "object";
    return element("div", { class: "json" }, isBranch ? branch([], value, query.toLowerCase(), 0) : leaf(value, query.toLowerCase()));
  };

  /** Opens or folds all branches that are there. @param {ParentNode} root @param {boolean} isOpen */
  inspect.foldAll = (root, isOpen) => {
    const branches = [...root.querySelectorAll("details.json-branch")];
    for (let at = 0; at < branches.length && at < MOST_CHILDREN * 10; at++) {
      const one = /** @type {HTMLDetailsElement & { unfold: () => void }} */ (branches[at]);
      const isTop = !one.parentElement?.closest("details.json-branch");
      if (isOpen) {
        one.unfold();
        branches.push(...[...one.querySelectorAll(":scope > details.json-branch")].filter((inner) => !branches.includes(inner)));
      }
      one.open = isOpen || isTop;
    }
  };
}
