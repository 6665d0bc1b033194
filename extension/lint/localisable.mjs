/**
 * A rule: what a person reads is written in `l10n.t` of @vscode/l10n, which finds its translation.
 *
 * A text counts as read by a person if it has words with spaces between them, or is one capitalised word. It does not
 * where the code around it says otherwise: a state that a type names, a line for the log, a key, a comparison.
 */

/** Two words, a word beside a value, one word as buttons have it, or a clause that goes on another text. */
const WORDS =
  /(\{\}|[\p{L}\d]{2}[,.;:)'"]*) \p{L}{2}|\p{L}{2}[,.;:]* [\p{L}{(]|^\p{Lu}\p{Ll}+[….:]*$|^[;:,]? \p{L}{2}/u;
/** Markup, code of other languages and headers; a name that is the same in every language. */
const NO_SENTENCE = /^(<|body \{|default-src |import |python -m |Content-Length: |Partstream$)/;
/** The functions that write into the log, which is English everywhere. */
const LOGS = /(^|\.)#?(log|trace|debug|info|warn|warning)$/;
const COMPARISONS = new Set(["===", "!==", "in"]);

export default {
  meta: {
    type: "problem",
    schema: [],
    messages: {
      notLocalisable: "A person reads this: write it in l10n.t(), whole and without +.",
      tooEarly: "The translations are not there yet when a module loads: call l10n.t() in a function.",
    },
  },
  create(context) {
    const { program, esTreeNodeToTSNodeMap } = context.sourceCode.parserServices;
    const isState = (node) =>
      isNamedByType(program.getTypeChecker().getContextualType(esTreeNodeToTSNodeMap.get(node)));
    const check = (node, text) => {
      if (!WORDS.test(text) || NO_SENTENCE.test(text) || isNoText(node) || isState(node)) return;
      if (isTranslated(node)) return;
      const calls = context.sourceCode.getAncestors(node).map(calledName);
      if (!calls.some((name) => LOGS.test(name))) context.report({ node, messageId: "notLocalisable" });
    };
    return {
      Literal: (node) => typeof node.value === "string" && check(node, node.value),
      TemplateLiteral: (node) => check(node, node.quasis.map(({ value }) => value.cooked).join("{}")),
      "MemberExpression[object.name='l10n'][property.name='t']": (node) => {
        const isLater = context.sourceCode.getAncestors(node).some(({ type }) => LATER.has(type));
        if (!isLater) context.report({ node, messageId: "tooEarly" });
      },
    };
  },
};

/** What runs after the module has loaded. */
const LATER = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression", "PropertyDefinition"]);

function calledName(node) {
  if (node.type !== "CallExpression") return "";
  const { callee } = node;
  if (callee.type === "Identifier") return callee.name;
  return callee.type === "MemberExpression" ? (callee.property.name ?? "") : "";
}

/** Whether a text is what `l10n.t` is given. */
function isTranslated({ parent }) {
  const called = parent.type === "TaggedTemplateExpression" ? parent.tag : parent.callee;
  return called?.object?.name === "l10n" && called.property.name === "t";
}

function isNoText(node) {
  const { parent } = node;
  if (parent.type === "BinaryExpression") return COMPARISONS.has(parent.operator);
  if (parent.type === "Property" && parent.key === node) return true;
  return ["ImportDeclaration", "MemberExpression", "SwitchCase", "TSLiteralType"].includes(parent.type);
}

/** Whether only certain texts can stand there, which are names in the code. */
function isNamedByType(type) {
  if (type === undefined) return false;
  return (type.isUnion() ? type.types : [type]).some((one) => one.isStringLiteral());
}
