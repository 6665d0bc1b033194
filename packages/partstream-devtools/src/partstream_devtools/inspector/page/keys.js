/** The keyboard: what is registered runs by its key, and the help shows all of it, group by group. */
{
  const { element } = inspect;
  const WORDS = { " ": "Space", ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→" };
  let areSingleKeysOn = true;

  /** The name of the key that an event is, as `register` takes it. @param {KeyboardEvent} event */
  function nameOf(event) {
    const hasOwnForm = event.key.length === 1 && !/[a-z]/i.test(event.key);
    return event.shiftKey && !hasOwnForm ? `Shift+${event.key.length === 1 ? event.key.toLowerCase() : event.key}` : event.key;
  }

  /** Whether the element takes the key itself. @param {EventTarget | null} target @param {string} name */
  function takes(target, name) {
    if (!(target instanceof HTMLElement) || name === "Escape") return false;
    if (target.closest("input, textarea, select, [contenteditable]")) return true;
    if (name === " " || name === "Enter") return target.closest("button, a, summary, [data-keys]") !== null;
    return name.includes("Arrow") && target.closest("[data-keys], [data-scrolls]") !== null;
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const name = nameOf(event);
    if (takes(event.target, name) || document.querySelector("dialog[open]")) return;
    if (!areSingleKeysOn && name.length === 1) return;
    const key = inspect.keys.find((one) => [one.key].flat().includes(name));
    if (!key) return;
    event.preventDefault();
    key.run();
  });

  /** @param {string} name */
  function shown(name) {
    const words = /** @type {Record<string, string>} */ (WORDS);
    const pieces = name.split(/\+(?=.)/).map((piece) => element("kbd", null, words[piece] ?? piece));
    return element("span", null, ...pieces);
  }

  function showHelp() {
    const close = element("button", { type: "button", click: () => dialog.close() }, "Close");
    const onOff = element("input", { type: "checkbox", change: () => (areSingleKeysOn = onOff.checked) });
    onOff.checked = areSingleKeysOn;
    const groups = [...new Set(inspect.keys.map((key) => key.group))].map((group) => {
      const rows = inspect.keys.filter((key) => key.group === group);
      const lines = rows.map((key) =>
        element("div", null, element("dt", null, ...[key.key].flat().map(shown)), element("dd", null, key.label)),
      );
      return element("section", null, element("h3", null, group), element("dl", { class: "keys" }, ...lines));
    });
    const dialog = element(
      "dialog",
      { "aria-labelledby": "help-title", class: "help" },
      element("h2", { id: "help-title" }, "Keys"),
      element("div", { class: "groups" }, ...groups),
      element("p", null, element("label", null, onOff, " Keys of a single character are on")),
      close,
    );
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  inspect.register({ key: "?", label: "Help", run: showHelp, group: "Page" });
}
