"use strict";
/**
 * Puts the content of a newer page instead of what is shown. The document stays, and with it the scroll position,
 * the focus and what is unfolded. What comes is a page of ours, in which every text is escaped; a document that is made
 * this way runs no script.
 * @param {string} html The newer page, or its `main` alone.
 * @returns {boolean} Whether there was something to put instead of something.
 */
function showNewer(html) {
  const shown = document.querySelector("main");
  const newer = new DOMParser().parseFromString(html, "text/html").querySelector("main");
  if (!shown || !newer) return false;
  for (const details of shown.querySelectorAll("details"))
    newer.querySelector(`#${details.id}`)?.toggleAttribute("open", details.open);
  const focused = document.activeElement;
  const place = focused && shown.contains(focused) ? placeOf(focused) : undefined;
  shown.replaceWith(document.adoptNode(newer));
  const all = /** @type {NodeListOf<HTMLElement>} */ (newer.querySelectorAll("a, button, summary, [tabindex]"));
  [...all].find((one) => placeOf(one) === place)?.focus({ preventScroll: true });
  return true;

  /** What stays the same of an element in a newer page: what it is, and what it belongs to. @param {Element} element */
  function placeOf(element) {
    const name = element.getAttribute("aria-label") ?? element.getAttribute("href") ?? element.getAttribute("data-action");
    return `${element.closest("details")?.id} ${name ?? element.getAttribute("data-days") ?? element.tagName}`;
  }
}
