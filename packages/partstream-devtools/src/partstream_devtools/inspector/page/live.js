/**
 * The page of a server: reads the view, and follows its changes while answers go on. A connection that breaks is opened
 * again from the last change that came. Pausing keeps what is shown; what came meanwhile is shown afterwards.
 */
{
  const { element, show, registerSwitch } = inspect;
  const isServed = location.protocol.startsWith("http") && !document.getElementById("view");
  const MOST_TRIES = 8;
  const LONGEST_WAIT = 10_000;

  /** What the server said last; it is shown unless the page is paused.
   * @type {{ view: View | null, number: number, isPaused: boolean, tries: number }} */
  const live = { view: null, number: 0, isPaused: false, tries: 0 };
  const line = element("p", { class: "live" });

  /** Shows the state of the connection to the server, above all else. @param {string} sentence @param {...Node} more */
  function tell(sentence, ...more) {
    if (!line.isConnected) inspect.main().prepend(line);
    line.replaceChildren(element("span", { role: "status" }, sentence), ...more);
  }

  const button = (/** @type {string} */ label, /** @type {() => void} */ click) =>
    element("button", { type: "button", click }, label);

  /** Asks the server with its token, which is in the fragment of the URL: no browser sends that by itself.
   * @param {string} path @param {RequestInit & { headers?: Record<string, string> }} [options] */
  async function ask(path, options = {}) {
    const headers = { ...options.headers, "Partstream-Token": location.hash.slice(1) };
    const response = await fetch(path, { ...options, headers, cache: "no-store", credentials: "omit" });
    if (response.ok) return response;
    const refusal = new Error(`The server refused (${response.status}). Open the address as it was printed.`);
    refusal.name = "Refusal";
    throw refusal;
  }

  if (isServed) inspect.ask = ask;

  /** Shows the newest view, if it may be shown now. */
  function refresh() {
    if (!live.view) return;
    if (live.isPaused) return sayWhatComes();
    const known = inspect.state.view?.answers.length ?? 0;
    show(live.view);
    const added = live.view.answers.slice(known);
    if (known && added.length) inspect.announce(`new answer: ${added.map((answer) => answer.title).join(", ")}`);
    sayWhatComes();
  }

  function sayWhatComes() {
    if (!live.view?.source.live) return line.remove();
    const running = live.view.answers.filter((answer) => answer.outcome === "running").length;
    const count = `${live.view.answers.length} ${live.view.answers.length === 1 ? "answer" : "answers"}, ${running} going on`;
    const words = live.isPaused ? "Paused: what comes is shown later" : "Live";
    tell(live.view.answers.length ? `${words}; ${count}.` : "Live: waiting for the first answer.", ...controls());
  }

  const controls = () => [bar, button("End the server", end)];

  async function end() {
    await ask("stop", { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
    live.tries = MOST_TRIES;
    tell("The server has ended; what is shown stays.");
  }

  /** The view with a change in it, as `changes.py` describes it. @param {View} view @param {any} change @returns {View} */
  function changed(view, change) {
    const known = new Map(view.answers.map((answer) => [answer.id, answer]));
    for (const { id, set, without, tails } of change.answers) {
      /** @type {Record<string, any>} */
      const answer = { ...known.get(id), ...set };
      for (const name of without) delete answer[name];
      for (const [name, [kept, tail]] of Object.entries(/** @type {Record<string, [number, any]>} */ (tails))) {
        answer[name] = answer[name].slice(0, kept).concat(tail);
      }
      known.set(id, /** @type {any} */ (answer));
    }
    /** @type {Record<string, any>} */
    const next = { ...view, ...change.set, answers: change.order.map((/** @type {string} */ id) => known.get(id)) };
    for (const name of change.without) delete next[name];
    return /** @type {any} */ (next);
  }

  async function read() {
    const { number, view } = await (await ask("view")).json();
    [live.view, live.number] = [view, number];
    refresh();
  }

  /** Follows the changes until their stream ends; says whether it ended because nothing more will come. */
  async function follow() {
    const response = await ask("events", { headers: { "Last-Event-ID": String(live.number) } });
    const stream = /** @type {ReadableStream<BufferSource>} */ (response.body).pipeThrough(new TextDecoderStream());
    const reader = stream.getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return false;
      const frames = (rest + value).split("\n\n");
      rest = frames.pop() ?? "";
      for (const frame of frames) {
        live.tries = 0;
        const fields = new Map(frame.split("\n").map((one) => [one.split(":", 1)[0], one.replace(/^[^:]*: ?/, "")]));
        if (fields.get("event") === "end") return true;
        if (fields.get("event") === "reset") await read();
        if (fields.get("event") !== "change" || !live.view) continue;
        live.view = changed(live.view, JSON.parse(fields.get("data") ?? ""));
        live.number = Number(fields.get("id"));
      }
      refresh();
    }
  }

  async function run() {
    while (live.tries < MOST_TRIES) {
      try {
        if (!live.view) await read();
        if (!live.view?.source.live) return;
        sayWhatComes();
        if (await follow()) return tell("Nothing more will come.");
      } catch (error) {
        if (/** @type {Error} */ (error).name === "Refusal") return tell(/** @type {Error} */ (error).message);
      }
      live.tries++;
      if (live.tries >= MOST_TRIES) break;
      tell("The connection to the server broke; it is opened again.", ...controls());
      await new Promise((resolve) => setTimeout(resolve, Math.min(LONGEST_WAIT, 250 * 2 ** live.tries)));
    }
    const again = () => {
      live.tries = 0;
      void run();
    };
    tell("The server has ended; what is shown stays.", button("Try again", again));
  }

  /** @type {any} */
  let bar = null;
  if (isServed) {
    const pause = (/** @type {boolean} */ isPaused) => {
      live.isPaused = isPaused;
      if (isPaused) sayWhatComes();
      else refresh();
    };
    registerSwitch({ key: "l", label: "Pause", isOn: false, change: pause, group: "Live" });
    bar = inspect.toolbar("Live");
    void run();
  }
}
