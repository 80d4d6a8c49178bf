"use strict";
/* Pages that explain a task come before members of classes, and the changelog comes last. */
var Scorer = {
  score: ([page, , , , score]) => {
    if (page === "changelog") return score - 100;
    if (page.startsWith("api/generated/")) return score - 8;
    return /^(guide|hosts)\//.test(page) ? score + 4 : score;
  },
  objNameMatch: 8,
  objPartialMatch: 2,
  objPrio: { 0: 4, 1: 0, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 10,
  term: 5,
  partialTerm: 2,
};
