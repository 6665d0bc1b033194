"use strict";
/** What the page asks VS Code for: each button posts its message, and the page says what became of it. */
{
  const host = /** @type {{ acquireVsCodeApi?: () => { postMessage(message: unknown): void } }} */ (globalThis);
  const editor = host.acquireVsCodeApi?.();
  const said = document.querySelector("#said");
  const buttons = /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("button[data-message]"));
  for (const button of buttons) {
    button.hidden = !editor;
    button.addEventListener("click", () => {
      editor?.postMessage({ type: button.dataset["message"] });
      if (said) said.textContent = button.dataset["said"] ?? "";
    });
  }
}
