import js from "@eslint/js";
import tseslint from "typescript-eslint";
import localisable from "./lint/localisable.mjs";

export default tseslint.config(
  { ignores: ["e2e", "dist", "build", "bundled", "src/protocol.generated.ts", "pages", "**/*.mjs"] },
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "max-lines": ["error", 1500],
      "max-lines-per-function": ["error", 100],
      complexity: ["error", 10],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      // Numbers in messages need no String().
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    },
  },
  // What is generated says itself what of it is translated.
  {
    files: ["src/**/*.ts"],
    ignores: ["src/*.generated.ts"],
    plugins: { partstream: { rules: { localisable } } },
    rules: { "partstream/localisable": "error" },
  },
  // One door to VS Code: everything else gets what it needs handed in, so tests need no VS Code.
  {
    files: ["src/**/*.ts"],
    ignores: ["src/extension.ts", "src/application.ts", "src/vscode*.ts"],
    rules: {
      "@typescript-eslint/no-restricted-imports": [
        "error",
        {
          paths: [
            { name: "vscode", message: "Only vscode*.ts and the application import it.", allowTypeImports: true },
          ],
        },
      ],
    },
  },
  {
    files: ["test/**/*.ts"],
    rules: {
      "max-lines-per-function": "off",
      // The doubles stand for VS Code's classes without being them.
      "@typescript-eslint/no-unsafe-class-instance-assignment": "off",
      "@typescript-eslint/no-unsafe-enum-assignment": "off",
      // node:test keeps track of its own promises.
      "@typescript-eslint/no-floating-promises": "off",
    },
  },
);
