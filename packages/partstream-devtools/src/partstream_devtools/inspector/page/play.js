/** Playing an answer event by event at its own pace or ten times as fast, and an answer as a test to copy. */
{
  const { element, state, on, registerSwitch, select, pane } = inspect;
  const WITHOUT_CLOCK = 50;
  const MOST_IN_A_TEST = 100_000;

  // ---- playing ----

  const playing = { speed: 1, timer: 0 };

  /** Goes on from an event at a moment of this page; without a clock, events come every 50 ms.
   * @param {number} place @param {number} began */
  function goOn(place, began) {
    const events = state.answer?.events ?? [];
    const first = events[place];
    const after = (/** @type {number} */ other) => {
      const [from, to] = [first?.at, events[other]?.at];
      const distance = typeof from === "number" && typeof to === "number" ? to - from : (other - place) * WITHOUT_CLOCK;
      return distance / playing.speed;
    };
    let due = place;
    while (due + 1 < events.length && after(due + 1) <= performance.now() - began) due++;
    const event = events[due];
    if (event && event.n !== state.selected) select(event.n, { origin: "play" });
    if (due + 1 >= events.length) return toggle();
    const wait = Math.max(15, began + after(due + 1) - performance.now());
    playing.timer = window.setTimeout(() => goOn(place, began), Math.min(wait, 2 ** 30));
  }

  /** @param {boolean} isOn */
  function play(isOn) {
    clearTimeout(playing.timer);
    const events = state.answer?.events ?? [];
    if (!isOn || events.length === 0) return;
    const chosen = state.selected === null ? 0 : inspect.placeOf(state.selected);
    goOn(chosen + 1 >= events.length ? 0 : chosen, performance.now());
  }

  let isPlaying = false;
  const toggle = registerSwitch({
    key: " ",
    label: "Play",
    isOn: false,
    change: (isOn) => {
      isPlaying = isOn;
      play(isOn);
    },
    group: "Timeline",
  });
  registerSwitch({
    key: "x",
    label: "10×",
    isOn: false,
    change: (isOn) => {
      playing.speed = isOn ? 10 : 1;
      if (isPlaying) play(true);
    },
    group: "Timeline",
  });
  // A person who selects an event goes on from there.
  on("select", ({ origin }) => isPlaying && origin !== "play" && play(true));

  // ---- an answer as a test ----

  /** A string of Python: JSON's escapes mean the same there, but for those of surrogate pairs. @param {string} text */
  const quoted = (text) =>
    JSON.stringify(text).replace(/[^ -~]/gu, (one) => {
      const code = (one.codePointAt(0) ?? 0).toString(16);
      return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
    });

  /** Bytes of Python, a line of them a line. @param {Uint8Array} bytes */
  function literal(bytes) {
    /** @type {string[]} */
    const lines = [""];
    const special = new Map([[9, "\\t"], [10, "\\n"], [13, "\\r"], [34, '\\"'], [92, "\\\\"]]);
    for (const byte of bytes) {
      const plain = byte >= 32 && byte < 127 ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, "0")}`;
      lines[lines.length - 1] += special.get(byte) ?? plain;
      if (byte === 10) lines.push("");
    }
    return lines.filter((line) => line !== "").map((line) => `    b"${line}"`).join("\n");
  }

  /** A test for pytest that reads the same bytes, and expects what came of them.
   * @param {AnswerView} answer @param {string} protocol */
  function testOf(answer, protocol) {
    const kept = (/** @type {string} */ kind) => answer.parts.filter((part) => part.kind === kind);
    const joined = (/** @type {string} */ kind) => quoted(kept(kind).map((part) => part.text).join(""));
    const calls = kept("call").map((part) => `        (${quoted(part.name ?? "")}, json.loads(${quoted(part.text)})),`);
    return [
      `"""The answer ${answer.title.replace(/[\\"]/g, "'").replace(/[^ -~]/g, "?")}, as it was recorded."""`,
      "",
      "import json",
      "",
      "from partstream import TextPart, ThinkingPart, ToolCallPart",
      "from partstream.runtime.read_stream import read_stream",
      "",
      "BODY = (",
      literal(inspect.bytesOf(answer.bytes)) || '    b""',
      ")",
      "",
      "",
      "def test_the_recorded_answer_is_read_as_before():",
      `    *parts, finish = read_stream([BODY], protocol=${quoted(protocol)})`,
      `    assert "".join(part.value for part in parts if isinstance(part, TextPart)) == ${joined("text")}`,
      `    assert "".join(part.value for part in parts if isinstance(part, ThinkingPart)) == ${joined("thinking")}`,
      "    assert [(part.name, part.input) for part in parts if isinstance(part, ToolCallPart)] == [",
      ...calls,
      "    ]",
      `    assert finish.outcome.value == ${quoted(answer.outcome)}`,
      "",
    ].join("\n");
  }

  /** @param {AnswerView} answer */
  function offer(answer) {
    if (!answer.protocol || answer.bytes === "" || answer.outcome === "running") return;
    const { name } = answer.protocol;
    const isLarge = answer.bytes.length > MOST_IN_A_TEST;
    const shown = element("div", null);
    const copy = async () => {
      const test = testOf(answer, name);
      shown.replaceChildren(element("pre", { class: "text", tabindex: "0", "aria-label": "The test" }, test));
      try {
        await navigator.clipboard.writeText(test);
        inspect.announce("copied");
      } catch {
        inspect.announce("this page may not copy: select the test below");
      }
    };
    const button = element("button", { type: "button", disabled: isLarge, click: copy }, "Copy as test");
    const words = isLarge
      ? "The answer is too large for a test in one file: keep the recording beside the test, and read it there."
      : "A test for pytest with these bytes and what came of them.";
    const block = element("div", { id: "as-test" }, element("p", null, button, ` ${words}`), shown);
    document.getElementById("as-test")?.remove();
    pane("commands", "Commands").append(block);
  }

  on("answer", () => state.answer && offer(state.answer));
}
