"use strict";

// Buttons that copy blocks of code, pictures in the colours that a person has chosen, tables with room for sentences, a
// search that leaves out the pages for maintainers unless a person wants them, and names and keys where the theme has none.
(() => {
  const leftOut = document.currentScript.dataset.maintainers.split(" ");
  const parameters = new URLSearchParams(window.location.search);
  const wantsAll = parameters.get("maintainers") === "1";

  const isShown = ([docname]) => wantsAll || !leftOut.some((start) => docname.startsWith(start));

  const limitSearch = () => {
    if (typeof Search === "undefined") return;
    const perform = Search._performSearch;
    Search._performSearch = (...asked) => perform(...asked).filter(isShown);
    const results = document.getElementById("search-results");
    if (!results) return;
    document.querySelector(".search-again input").value = parameters.get("q") ?? "";
    const label = document.createElement("label");
    label.className = "search-maintainers";
    const box = document.createElement("input");
    box.type = "checkbox";
    box.checked = wantsAll;
    box.addEventListener("change", () => {
      parameters.set("maintainers", box.checked ? "1" : "0");
      window.location.search = parameters.toString();
    });
    label.append(box, " Also search the pages for maintainers");
    results.before(label);
  };

  const addCopyButtons = () => {
    for (const block of document.querySelectorAll("article div.highlight")) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "Copy";
      button.addEventListener("click", async () => {
        const text = block.querySelector("pre").textContent.replace(/\n$/, "");
        try {
          await navigator.clipboard.writeText(text);
          button.textContent = "Copied";
        } catch {
          button.textContent = "Press Ctrl+C";
          window.getSelection().selectAllChildren(block.querySelector("pre"));
        }
        setTimeout(() => (button.textContent = "Copy"), 1500);
      });
      block.append(button);
    }
  };

  // Long addresses and sentences in tables, which the style sheet cannot tell from names and numbers.
  const longest = 25;
  const wordiest = 45;
  const markCells = () => {
    for (const cell of document.querySelectorAll("article td")) {
      for (const code of cell.querySelectorAll("code")) {
        if (code.textContent.length > longest) code.classList.add("long");
      }
      if (!cell.querySelector("code.long") && cell.textContent.length > wordiest) cell.classList.add("wordy");
    }
  };

  // A picture asks the system for its colours: it has to ask the page, whose colours a button changes.
  const followTheme = () => {
    const dark = "(prefers-color-scheme: dark)";
    const sources = [...document.querySelectorAll("article picture source")].filter(({ media }) => media.includes(dark));
    const originals = sources.map(({ media }) => media);
    const chosen = { dark: "(min-width: 0px)", light: "(max-width: 0px)" };
    const follow = () =>
      sources.forEach((source, place) => {
        source.media = originals[place].replace(dark, chosen[document.body.dataset.theme] ?? dark);
      });
    new MutationObserver(follow).observe(document.body, { attributes: true, attributeFilter: ["data-theme"] });
    follow();
  };

  // What the theme leaves out: the levels of headings, the names of landmarks, and keys that scroll wide tables and blocks.
  const nameAndReach = () => {
    for (const heading of document.querySelectorAll(".sidebar-tree .caption")) heading.setAttribute("aria-level", "2");
    document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "All pages");
    document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");
    for (const block of document.querySelectorAll("article .table-wrapper, article pre")) {
      if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
    }
  };

  // Before the theme's own listeners, which begin the search.
  document.addEventListener("DOMContentLoaded", () => {
    limitSearch();
    addCopyButtons();
    followTheme();
    markCells();
    nameAndReach();
    window.addEventListener("resize", nameAndReach);
  });
})();
