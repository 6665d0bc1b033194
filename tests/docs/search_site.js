// Searches the built site as its own page does, and prints the results: node search_site.js SITE '["query", ...]'.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

const [site, queries] = process.argv.slice(2);
const listeners = [];
const context = vm.createContext({
  console,
  URLSearchParams,
  SPHINX_HIGHLIGHT_ENABLED: false,
  DOCUMENTATION_OPTIONS: {},
  Documentation: {},
  _ready: () => {},
  _: (text) => text,
  setTimeout,
  MutationObserver: class {
    observe() {}
  },
  navigator: {},
  document: {
    currentScript: { dataset: {} },
    body: { dataset: {} },
    getElementById: () => null,
    querySelector: () => null,
    querySelectorAll: () => [],
    addEventListener: (_, listener) => listeners.push(listener),
  },
});
context.window = context;
context.addEventListener = () => {};
context.location = { search: process.env.ALL ? "?maintainers=1" : "" };
const html = fs.readFileSync(path.join(site, "search.html"), "utf8");
context.document.currentScript.dataset.maintainers = /data-maintainers="([^"]*)"/.exec(html)[1];
for (const name of ["_static/site.js", "_static/searchtools.js", "_static/language_data.js", "searchindex.js"]) {
  vm.runInContext(fs.readFileSync(path.join(site, name), "utf8"), context, { filename: name });
}
listeners.forEach((listener) => listener());
context.queries = JSON.parse(queries);
const found = vm.runInContext(
  `JSON.stringify(queries.map((query) => {
     const results = Search._performSearch(...Search._parseQuery(query));
     return results.reverse().map(([page, title]) => [page, title]);
   }))`,
  context,
);
process.stdout.write(found);
