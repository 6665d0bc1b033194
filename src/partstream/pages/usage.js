// Follows the answers: VS Code sends a newer page, whose content takes the place of what is shown. The document stays,
// and with it the scroll position, the focus and what is unfolded.
"use strict";
addEventListener("message", ({ data }) => {
  if (data?.type !== "page" || typeof data.html !== "string") return;
  const shown = document.querySelector("main");
  // Our own page, in which every text is escaped; a document made this way runs no script.
  const newer = new DOMParser().parseFromString(data.html, "text/html").querySelector("main");
  if (!shown || !newer) return;
  const focused = places(shown).indexOf(document.activeElement);
  for (const details of shown.querySelectorAll("details[id]"))
    newer.querySelector(`#${details.id}`)?.toggleAttribute("open", details.open);
  shown.replaceWith(document.adoptNode(newer));
  if (focused >= 0) places(newer)[focused]?.focus({ preventScroll: true });
  document.querySelector("#said").textContent = "The page shows the answer that has just ended.";
});

/** All elements that can have the focus, in their order. */
function places(inside) {
  return [...inside.querySelectorAll("a[href], summary, [tabindex]")];
}
