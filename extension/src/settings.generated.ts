// Written by tools/generate.py from the rows that partstream/config/table.py gathers: edit those and run
// it again.

/** What of a value is secret, see partstream/settings/row.py. */
export type Secrecy = "nothing" | "whole" | "headers" | "body" | "url" | "arguments";

/** How settings are written within the value of another. */
export type Nesting = "object" | "by name" | "list";

/** What of a setting is secret; of an object or a list, what of the settings within. */
export type SecretRow =
  | { readonly secrecy: Secrecy }
  | {
      readonly nesting: Nesting;
      /** Whether a string may replace an object, as a model's id does. */
      readonly isShort: boolean;
      readonly rows: Readonly<Record<string, SecretRow>>;
    };

/** Characters; anything shorter is no key, and would blot out half of every text. */
export const SHORTEST_SECRET = 4;

/** The same where a text may be a key or any other word. */
export const SHORTEST_KEY = 8;

/** What is no key there. */
export const PLAIN_WORD = /^(?:[a-z]{1,12})$/;

/** What a key in place of a name looks like. */
export const KEY_IN_A_NAME =
  /(?<![A-Za-z0-9])(?=[A-Za-z]{0,40}[0-9])[A-Za-z0-9]{12,}|^(?:sk|pk|rk|gsk|xai|vck|psk|psj)[-_]/;

/** What separates the words of a text; a word with a digit may be a key too. */
export const SEPARATORS = /[\s"'?&=:@/,;]+/;

/** The settings for which the empty string is a value. */
export const MAY_BE_EMPTY: readonly string[] = ["callIdPrefix"];

/** What of every setting of a group is secret. */
export const SETTINGS: Readonly<Record<string, SecretRow>> = {
  baseUrl: { secrecy: "url" },
  protocol: { secrecy: "nothing" },
  apiKey: { secrecy: "whole" },
  apiKeyEnv: { secrecy: "nothing" },
  apiKeyFile: { secrecy: "nothing" },
  apiKeyKeyring: { secrecy: "nothing" },
  apiKeyCommand: { secrecy: "arguments" },
  apiKeyLifetime: { secrecy: "nothing" },
  vercelOidc: {
    nesting: "object",
    isShort: false,
    rows: {
      project: { secrecy: "nothing" },
      team: { secrecy: "nothing" },
    },
  },
  headers: { secrecy: "headers" },
  allowInsecureHttp: { secrecy: "nothing" },
  discover: { secrecy: "nothing" },
  completions: { secrecy: "nothing" },
  models: {
    nesting: "list",
    isShort: true,
    rows: {
      id: { secrecy: "nothing" },
      name: { secrecy: "nothing" },
      family: { secrecy: "nothing" },
      version: { secrecy: "nothing" },
      detail: { secrecy: "nothing" },
      contextWindow: { secrecy: "nothing" },
      maxInputTokens: { secrecy: "nothing" },
      maxOutputTokens: { secrecy: "nothing" },
      imageInput: { secrecy: "nothing" },
      toolCalling: { secrecy: "nothing" },
      reasoningEfforts: { secrecy: "nothing" },
    },
  },
  allowModels: { secrecy: "nothing" },
  denyModels: { secrecy: "nothing" },
  hiddenModels: { secrecy: "nothing" },
  defaultModel: { secrecy: "nothing" },
  limitPolicy: { secrecy: "nothing" },
  limitFraction: { secrecy: "nothing" },
  limitReasoning: { secrecy: "nothing" },
  fallbacks: { secrecy: "nothing" },
  request: {
    nesting: "object",
    isShort: false,
    rows: {
      systemAs: { secrecy: "nothing" },
      toolImages: { secrecy: "nothing" },
      continuation: { secrecy: "nothing" },
      store: { secrecy: "nothing" },
      contextSizeField: { secrecy: "nothing" },
      countTokens: { secrecy: "nothing" },
      extraBody: { secrecy: "body" },
      extraHeaders: { secrecy: "headers" },
      encryptedReasoning: { secrecy: "nothing" },
      truncation: { secrecy: "nothing" },
      compactAt: { secrecy: "nothing" },
      server: { secrecy: "nothing" },
      maxTokensField: { secrecy: "nothing" },
      effortAs: { secrecy: "nothing" },
      reasoningBack: { secrecy: "nothing" },
      emptyContent: { secrecy: "nothing" },
      cacheControl: { secrecy: "nothing" },
      messagesServer: { secrecy: "nothing" },
      thinkingAs: { secrecy: "nothing" },
      thinkingTokens: { secrecy: "nothing" },
      thinkingDisplay: { secrecy: "nothing" },
      promptCache: { secrecy: "nothing" },
      contextEditing: { secrecy: "nothing" },
      clearResultsAt: { secrecy: "nothing" },
      summarizeAt: { secrecy: "nothing" },
      lateSystem: { secrecy: "nothing" },
      betas: { secrecy: "nothing" },
      keyHeader: { secrecy: "nothing" },
      platform: { secrecy: "nothing" },
      includeThoughts: { secrecy: "nothing" },
      validatesCalls: { secrecy: "nothing" },
      serverTools: { secrecy: "nothing" },
      mostFileMegabytes: { secrecy: "nothing" },
      toolSchemas: { secrecy: "nothing" },
      numCtx: { secrecy: "nothing" },
      keepAlive: { secrecy: "nothing" },
      truncate: { secrecy: "nothing" },
      shift: { secrecy: "nothing" },
      specificationVersion: { secrecy: "nothing" },
      providerOptions: { secrecy: "body" },
      contextManagement: { secrecy: "nothing" },
      team: { secrecy: "nothing" },
      agentPath: { secrecy: "nothing" },
      thread: { secrecy: "nothing" },
    },
  },
  modelRequests: {
    nesting: "by name",
    isShort: false,
    rows: {
      systemAs: { secrecy: "nothing" },
      toolImages: { secrecy: "nothing" },
      continuation: { secrecy: "nothing" },
      store: { secrecy: "nothing" },
      contextSizeField: { secrecy: "nothing" },
      countTokens: { secrecy: "nothing" },
      extraBody: { secrecy: "body" },
      extraHeaders: { secrecy: "headers" },
      encryptedReasoning: { secrecy: "nothing" },
      truncation: { secrecy: "nothing" },
      compactAt: { secrecy: "nothing" },
      server: { secrecy: "nothing" },
      maxTokensField: { secrecy: "nothing" },
      effortAs: { secrecy: "nothing" },
      reasoningBack: { secrecy: "nothing" },
      emptyContent: { secrecy: "nothing" },
      cacheControl: { secrecy: "nothing" },
      messagesServer: { secrecy: "nothing" },
      thinkingAs: { secrecy: "nothing" },
      thinkingTokens: { secrecy: "nothing" },
      thinkingDisplay: { secrecy: "nothing" },
      promptCache: { secrecy: "nothing" },
      contextEditing: { secrecy: "nothing" },
      clearResultsAt: { secrecy: "nothing" },
      summarizeAt: { secrecy: "nothing" },
      lateSystem: { secrecy: "nothing" },
      betas: { secrecy: "nothing" },
      keyHeader: { secrecy: "nothing" },
      platform: { secrecy: "nothing" },
      includeThoughts: { secrecy: "nothing" },
      validatesCalls: { secrecy: "nothing" },
      serverTools: { secrecy: "nothing" },
      mostFileMegabytes: { secrecy: "nothing" },
      toolSchemas: { secrecy: "nothing" },
      numCtx: { secrecy: "nothing" },
      keepAlive: { secrecy: "nothing" },
      truncate: { secrecy: "nothing" },
      shift: { secrecy: "nothing" },
      specificationVersion: { secrecy: "nothing" },
      providerOptions: { secrecy: "body" },
      contextManagement: { secrecy: "nothing" },
      team: { secrecy: "nothing" },
      agentPath: { secrecy: "nothing" },
      thread: { secrecy: "nothing" },
    },
  },
  thinking: { secrecy: "nothing" },
  thinkTags: { secrecy: "nothing" },
  executedCode: { secrecy: "nothing" },
  citations: { secrecy: "nothing" },
  files: { secrecy: "nothing" },
  maxOutputTokens: { secrecy: "nothing" },
  callIdPrefix: { secrecy: "nothing" },
  errors: { secrecy: "nothing" },
  logLevel: { secrecy: "nothing" },
  budget: { secrecy: "nothing" },
  requestsPerMinute: { secrecy: "nothing" },
  parallelRequests: { secrecy: "nothing" },
  prices: {
    nesting: "by name",
    isShort: false,
    rows: {
      input: { secrecy: "nothing" },
      output: { secrecy: "nothing" },
      cached: { secrecy: "nothing" },
      cacheWrite: { secrecy: "nothing" },
    },
  },
  timeouts: {
    nesting: "object",
    isShort: false,
    rows: {
      connect: { secrecy: "nothing" },
      firstEvent: { secrecy: "nothing" },
      idle: { secrecy: "nothing" },
      total: { secrecy: "nothing" },
    },
  },
  retry: {
    nesting: "object",
    isShort: false,
    rows: {
      attempts: { secrecy: "nothing" },
      firstWait: { secrecy: "nothing" },
      longestWait: { secrecy: "nothing" },
    },
  },
  proxy: { secrecy: "url" },
  proxyStrictSSL: { secrecy: "nothing" },
  ledger: { secrecy: "nothing" },
  capture: { secrecy: "nothing" },
  provider: { secrecy: "nothing" },
};
