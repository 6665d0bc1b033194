/** The bytes: which lines of them an event is, and a window of them as hex and text, over the borders of reads. */
{
  const { element, state, number } = inspect;
  const MOST_ROWS = 96;
  const AROUND = 2;
  const WINDOW = 65_536;
  const AROUND_FAR = 4_096;
  const MOST_WINDOWS = 32;

  /** @type {{ base64: string, bytes: Uint8Array<ArrayBuffer> }} */
  let last = { base64: "", bytes: new Uint8Array() };

  /** The bytes of an answer that are too many for the view: zeros, until their window was asked for.
   * @type {{ id: string, bytes: Uint8Array<ArrayBuffer>, asked: Set<number> }} */
  let far = { id: "", bytes: new Uint8Array(), asked: new Set() };

  /** The size of the body where its bytes are not in the view, else 0. */
  const sizeFar = () => (state.answer?.bytes === "" ? (state.answer.reads.at(-1)?.[2] ?? 0) : 0);

  /** Asks the server for the bytes around an event, and draws the event once more when they are there.
   * @param {EventView} event */
  inspect.fetchBytes = async (event) => {
    const bytes = sizeFar() && inspect.body();
    if (!bytes || !inspect.ask) return;
    const { id, asked } = far;
    const [first, end] = [Math.floor(Math.max(0, event.from - AROUND_FAR) / WINDOW), Math.floor((event.to + AROUND_FAR) / WINDOW)];
    const missing = Array.from({ length: Math.min(end - first, MOST_WINDOWS) + 1 }, (_, at) => first + at).filter((window) => !asked.has(window) && window * WINDOW < bytes.length);
    missing.forEach((window) => asked.add(window));
    for (const window of missing) {
      const range = `bytes=${window * WINDOW}-${Math.min((window + 1) * WINDOW, bytes.length) - 1}`;
      const response = await inspect.ask(`bytes?answer=${encodeURIComponent(id)}`, { headers: { Range: range } });
      bytes.set(new Uint8Array(await response.arrayBuffer()), window * WINDOW);
    }
    if (missing.length && state.selected === event.n && state.answer?.id === id) inspect.emit("select", { n: event.n, origin: "bytes" });
  };

  /** The body of the answer that is shown. */
  inspect.body = () => {
    const size = sizeFar();
    if (size) {
      if (far.id !== state.answer?.id) far = { id: state.answer?.id ?? "", bytes: new Uint8Array(size), asked: new Set() };
      return far.bytes;
    }
    const base64 = state.answer?.bytes ?? "";
    if (last.base64 !== base64) last = { base64, bytes: inspect.bytesOf(base64) };
    return last.bytes;
  };

  /** The events in the bytes of one row of the list, which may be a run of them: their names, and their data as text.
   * @param {EventView} event @returns {{ name: string, data: string }[]} */
  inspect.framesOf = (event) => {
    const text = new TextDecoder().decode(inspect.body().subarray(event.from, event.to));
    if (state.answer?.framing === "sse" && !/^\s*[[{]/.test(text)) return serverSentEvents(text);
    if (isJson(text)) return [{ name: "", data: text }];
    return text.split("\n").map((line) => ({ name: "", data: line.trim().replace(/^[[,]\s*(?=\{)|[,\]]$/g, "") })).filter((one) => one.data !== "");
  };

  /** @param {string} text */
  function isJson(text) {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  }

  /** @param {string} text */
  function serverSentEvents(text) {
    const found = [];
    for (const block of text.replace(/\r\n?/g, "\n").split(/\n{2,}/)) {
      const fields = block.split("\n").map((line) => /^([^:]*):? ?(.*)$/s.exec(line) ?? ["", "", ""]);
      const data = fields.filter(([, name]) => name === "data").map(([, , value]) => value);
      const name = fields.findLast(([, name]) => name === "event")?.[2] ?? "";
      if (data.length > 0 || name) found.push({ name, data: data.join("\n") });
    }
    return found;
  }

  /** The number of the read that brought a byte, from 0. @param {number} offset */
  function readOf(offset) {
    const reads = state.answer?.reads ?? [];
    let low = 0;
    let high = reads.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (/** @type {[number | null, number, number]} */ (reads[middle])[1] <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }
  inspect.readOf = readOf;

  const hex = (/** @type {number} */ value, /** @type {number} */ digits) => value.toString(16).padStart(digits, "0");
  const sign = (/** @type {number} */ byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : "·");

  /** The pieces of one row: bytes that are alike in being of the event, with a bar before the first byte of a read.
   * @param {number} start @param {number} end @param {EventView} event @param {(byte: number, place: number) => string} show */
  function pieces(start, end, event, show) {
    const made = [];
    let text = "";
    for (let place = start; place < end; place++) {
      text += show(inspect.body()[place] ?? 0, place);
      const isOf = place >= event.from && place < event.to;
      if (place + 1 === end || isOf !== (place + 1 >= event.from && place + 1 < event.to)) {
        made.push(isOf ? element("mark", null, text) : text);
        text = "";
      }
    }
    return made;
  }

  /** @param {number} start @param {number} width @param {EventView} event */
  function row(start, width, event) {
    const end = Math.min(start + width, inspect.body().length);
    const starts = (/** @type {number} */ place) => state.answer?.reads[readOf(place)]?.[1] === place;
    const begun = [];
    for (let place = start; place < end; place++) if (starts(place)) begun.push(readOf(place));
    const bar = (/** @type {number} */ place) => (starts(place) ? "┃" : " ");
    const notes = begun.map((read) => `read ${number(read + 1)} ${at(read)}`);
    return element(
      "div",
      { class: "bytes-row" },
      element("span", { class: "quiet" }, hex(start, 8)),
      element("span", null, ...pieces(start, end, event, (byte, place) => bar(place) + hex(byte, 2)), " ".repeat((start + width - end) * 3)),
      element("span", null, ...pieces(start, end, event, (byte) => sign(byte)), " ".repeat(start + width - end)),
      element("span", { class: "read" }, begun.length ? `┃ ${notes.slice(0, 3).join(", ")}${begun.length > 3 ? " …" : ""}` : ""),
    );
  }

  /** @param {number} read */
  function at(read) {
    const time = state.answer?.reads[read]?.[0];
    return time === null || time === undefined ? "" : `+${inspect.time(time)}`;
  }

  /** The bytes of an event, with some before and after it; further ones at the press of a button.
   * @param {EventView} event @returns {HTMLElement} */
  inspect.bytesView = (event) => {
    const width = window.matchMedia("(max-width: 40rem)").matches ? 8 : 16;
    const region = element("div", { class: "bytes", tabindex: "0", role: "region", "aria-label": "Bytes as hex and text", "data-scrolls": true });
    let from = Math.max(0, Math.floor(event.from / width) - AROUND);
    const last = Math.ceil(inspect.body().length / width);
    let to = Math.min(last, Math.ceil(event.to / width) + AROUND, from + MOST_ROWS);
    const earlier = element("button", { type: "button", click: () => show(Math.max(0, from - MOST_ROWS), to) }, "Earlier bytes");
    const later = element("button", { type: "button", click: () => show(from, Math.min(last, to + MOST_ROWS)) }, "Later bytes");
    /** @param {number} first @param {number} end */
    function show(first, end) {
      [from, to] = [first, end];
      region.replaceChildren(...Array.from({ length: to - from }, (_, at) => row((from + at) * width, width, event)));
      earlier.disabled = from === 0;
      later.disabled = to === last;
    }
    show(from, to);
    return element("div", null, region, element("div", { class: "toolbar" }, earlier, later));
  };
}
