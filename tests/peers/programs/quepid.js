// Runs Quepid's scorers. Input: {logic, scorers: {name: code}, queries: [{docs, bestDocs, max}]}.
// Output: {name: [score of each query]}, where NaN is null.
const fs = require("fs");
const { logic, scorers, queries } = JSON.parse(fs.readFileSync(0, "utf8"));

const scores = {};
for (const [name, code] of Object.entries(scorers)) {
  const scorer = new Function("docs", "bestDocs", "max", "total", "query", `${logic}\n{${code}\n}\nreturn getScore();`);
  scores[name] = queries.map(({ docs, bestDocs, max }) => scorer(docs, bestDocs, max, docs.length, {}));
}
process.stdout.write(JSON.stringify(scores));
