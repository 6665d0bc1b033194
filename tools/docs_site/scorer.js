// How the search sorts its results: a heading that has the words of the question, one after the other, comes before pages
// that have them anywhere, and the home page, which names everything, comes last. The other scores are those of Sphinx.
var Scorer = {
  score: ([docname, , , , score, , kind]) => {
    if (kind === "title") return score * 10;
    return docname === "docs/index" ? score / 4 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
