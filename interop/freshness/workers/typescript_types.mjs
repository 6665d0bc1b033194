// Reads types of packages where they are installed: standard input says which, standard output what they are, as JSON.
//
// Knows no package: it looks into unions of objects and of words, with the compiler of TypeScript.

import { createRequire } from "node:module";
import { join } from "node:path";
import { text } from "node:stream/consumers";

const folder = process.argv[2];
const ts = createRequire(join(folder, "package.json"))("typescript");

/** The words that a value of a type may be, if it may only be some. */
function wordsOf(type) {
  const kinds = type.isUnion() ? type.types : [type];
  const words = kinds.filter((kind) => !(kind.flags & (ts.TypeFlags.Undefined | ts.TypeFlags.Null)));
  return words.length && words.every((kind) => kind.isStringLiteral()) ? words.map((kind) => kind.value).sort() : [];
}

/** The members of a type by their label, each with its fields and the words that a field may be. */
function described(checker, node, type, by) {
  const fieldsOf = (owner) =>
    Object.fromEntries(
      owner.getProperties().map((field) => [field.name, wordsOf(checker.getTypeOfSymbolAtLocation(field, node))]),
    );
  if (!by) {
    const words = wordsOf(type);
    const named = Object.entries(fieldsOf(type)).map(([name, of]) => [name, of.length ? { "": of } : {}]);
    return Object.fromEntries(words.length ? words.map((word) => [word, {}]) : named);
  }
  const labelled = {};
  for (const member of type.isUnion() ? type.types : [type]) {
    const { [by]: labels, ...fields } = fieldsOf(member);
    for (const label of labels?.length ? labels : [patternOf(member)]) {
      const known = (labelled[label] ??= {});
      for (const [name, words] of Object.entries(fields)) {
        known[name] = [...new Set([...(known[name] ?? []), ...words])].sort();
      }
    }
  }
  return labelled;

  /** The label of a member whose word is put together: what is put in is a star. */
  function patternOf(member) {
    const field = member.getProperty(by);
    const shown = field ? checker.getTypeOfSymbolAtLocation(field, node) : member;
    return checker.typeToString(shown, node).replaceAll("`", "").replaceAll("${string}", "*");
  }
}

const asked = JSON.parse(await text(process.stdin));
const split = asked.map(({ of }) => [of.slice(0, of.indexOf(":")), of.slice(of.indexOf(":") + 1)]);
const source = split
  .map(([name, type], place) => {
    const scoped = type.replaceAll("$.", `P${place}.`);
    return `import type * as P${place} from ${JSON.stringify(name)};\nexport declare const x${place}: ${scoped};`;
  })
  .join("\n");
const path = join(folder, "asked.ts");
const options = {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  noEmit: true,
  skipLibCheck: true,
  strict: true,
  target: ts.ScriptTarget.ES2022,
  types: [],
};
const host = ts.createCompilerHost(options);
const { getSourceFile, fileExists, readFile } = host;
host.fileExists = (name) => name === path || fileExists.call(host, name);
host.readFile = (name) => (name === path ? source : readFile.call(host, name));
host.getSourceFile = (name, ...more) =>
  name === path ? ts.createSourceFile(name, source, options.target) : getSourceFile.call(host, name, ...more);
const program = ts.createProgram([path], options, host);
const file = program.getSourceFile(path);
const faults = program.getSemanticDiagnostics(file).map((one) => ts.flattenDiagnosticMessageText(one.messageText, " "));
if (faults.length) {
  process.stderr.write(`${faults[0]}\n`);
  process.exit(1);
}
const checker = program.getTypeChecker();
const declared = file.statements.filter(ts.isVariableStatement).map((one) => one.declarationList.declarations[0]);
const answers = declared.map((one, place) => described(checker, one, checker.getTypeAtLocation(one), asked[place].by));
process.stdout.write(JSON.stringify(answers));
