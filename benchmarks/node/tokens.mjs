// Counts the tokens of a file with gpt-tokenizer; prints the count and milliseconds of each round as one JSON object.
import { readFileSync } from "node:fs";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { processorTime } from "./worker.mjs";

const [path, rounds] = process.argv.slice(2);
const text = readFileSync(path, "utf8");
let tokens = countTokens(text); // a first time, for the compiler
const milliseconds = [];
for (let round = 0; round < Number(rounds); round += 1) {
  const start = processorTime();
  tokens = countTokens(text);
  milliseconds.push((processorTime() - start) * 1e3);
}
console.log(JSON.stringify({ tokens, milliseconds }));
