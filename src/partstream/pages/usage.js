"use strict";
// Follows the answers: VS Code sends a newer page, whose content takes the place of what is shown. The document stays,
// and with it the scroll position, the focus and what is unfolded.
{
  addEventListener("message", ({ data }) => {
    if (data?.type !== "page" || typeof data.html !== "string") return;
    const shown = document.querySelector("main");
    // Our own page, in which every text is escaped; a document made this way runs no script.
    const newer = new DOMParser().parseFromString(data.html, "text/html").querySelector("main");
    if (!shown || !newer) return;
    for (const details of shown.querySelectorAll("details"))
      newer.querySelector(`#${details.id}`)?.toggleAttribute("open", details.open);
    const focused = document.activeElement;
    const place = focused && shown.contains(focused) ? placeOf(focused) : undefined;
    shown.replaceWith(document.adoptNode(newer));
    const all = /** @type {NodeListOf<HTMLElement>} */ (newer.querySelectorAll("a, summary, [tabindex]"));
    [...all].find((one) => placeOf(one) === place)?.focus({ preventScroll: true });
    const said = document.querySelector("#said");
    if (said) said.textContent = "The page shows the answer that has just ended.";
  });

  /** What stays the same of an element in a newer page: what it is, and which conversation it belongs to.
   * @param {Element} element */
  function placeOf(element) {
    const name = element.getAttribute("aria-label") ?? element.getAttribute("href") ?? element.tagName;
    return `${element.closest("details")?.id} ${name}`;
  }
}
