// Written by tools/generate.py from partstream/upstream/endpoint.py: edit the tables that it is made of and run
// it again.

/** A part of the world in which a server has an address of its own. */
export interface PresetRegion {
  readonly title: string;
  readonly baseUrl: string;
}

/** A server that a person can choose by name. */
export interface Preset {
  readonly name: string;
  readonly title: string;
  /** Empty where everybody has another address. */
  readonly baseUrl: string;
  /** What an address looks like that has to be asked for; empty where the base URL is known. */
  readonly addressExample: string;
  /** Whether people run it themselves. */
  readonly isLocal: boolean;
  /** Whether it needs a key. */
  readonly needsKey: boolean;
  /** The environment variables that usually hold its key. */
  readonly keyVariables: readonly string[];
  /** Where a person makes a key; empty where there is no such page. */
  readonly keysPage: string;
  /** Its regions, if a person has to choose one. */
  readonly regions: readonly PresetRegion[];
}

export const PRESETS: readonly Preset[] = [
  { name: "ollama", title: "Ollama", baseUrl: "http://localhost:11434/api", addressExample: "", isLocal: true, needsKey: false, keyVariables: ["OLLAMA_API_KEY"], keysPage: "", regions: [] },
  { name: "lm-studio", title: "LM Studio", baseUrl: "http://localhost:1234/v1", addressExample: "", isLocal: true, needsKey: false, keyVariables: ["LM_API_TOKEN"], keysPage: "", regions: [] },
  { name: "llama.cpp", title: "llama.cpp", baseUrl: "http://localhost:8080/v1", addressExample: "", isLocal: true, needsKey: false, keyVariables: ["LLAMA_API_KEY"], keysPage: "", regions: [] },
  { name: "vllm", title: "vLLM", baseUrl: "http://localhost:8000/v1", addressExample: "", isLocal: true, needsKey: false, keyVariables: ["VLLM_API_KEY"], keysPage: "", regions: [] },
  { name: "litellm", title: "LiteLLM", baseUrl: "", addressExample: "http://localhost:4000/v1", isLocal: true, needsKey: false, keyVariables: ["LITELLM_API_KEY", "LITELLM_PROXY_API_KEY"], keysPage: "", regions: [] },
  { name: "openai", title: "OpenAI", baseUrl: "https://api.openai.com/v1", addressExample: "", isLocal: false, needsKey: true, keyVariables: ["OPENAI_API_KEY"], keysPage: "https://platform.openai.com/api-keys", regions: [] },
  { name: "anthropic", title: "Anthropic", baseUrl: "https://api.anthropic.com/v1", addressExample: "", isLocal: false, needsKey: true, keyVariables: ["ANTHROPIC_API_KEY"], keysPage: "https://platform.claude.com/settings/keys", regions: [] },
  { name: "gemini", title: "Google Gemini", baseUrl: "https://generativelanguage.googleapis.com/v1beta", addressExample: "", isLocal: false, needsKey: true, keyVariables: ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"], keysPage: "https://aistudio.google.com/apikey", regions: [] },
  { name: "openrouter", title: "OpenRouter", baseUrl: "https://openrouter.ai/api/v1", addressExample: "", isLocal: false, needsKey: true, keyVariables: ["OPENROUTER_API_KEY"], keysPage: "https://openrouter.ai/settings/keys", regions: [] },
  { name: "deepseek", title: "DeepSeek", baseUrl: "https://api.deepseek.com", addressExample: "", isLocal: false, needsKey: true, keyVariables: ["DEEPSEEK_API_KEY"], keysPage: "https://platform.deepseek.com/api_keys", regions: [] },
  { name: "groq", title: "Groq", baseUrl: "https://api.groq.com/openai/v1", addressExample: "", isLocal: false, needsKey: true, keyVariables: ["GROQ_API_KEY"], keysPage: "https://console.groq.com/keys", regions: [] },
  { name: "mistral", title: "Mistral", baseUrl: "https://api.mistral.ai/v1", addressExample: "", isLocal: false, needsKey: true, keyVariables: ["MISTRAL_API_KEY"], keysPage: "https://console.mistral.ai/api-keys", regions: [] },
  { name: "xai", title: "xAI", baseUrl: "https://api.x.ai/v1", addressExample: "", isLocal: false, needsKey: true, keyVariables: ["XAI_API_KEY"], keysPage: "https://console.x.ai", regions: [] },
  { name: "together", title: "Together AI", baseUrl: "https://api.together.ai/v1", addressExample: "", isLocal: false, needsKey: true, keyVariables: ["TOGETHER_API_KEY"], keysPage: "https://api.together.ai/settings/api-keys", regions: [] },
  { name: "fireworks", title: "Fireworks AI", baseUrl: "https://api.fireworks.ai/inference/v1", addressExample: "", isLocal: false, needsKey: true, keyVariables: ["FIREWORKS_API_KEY"], keysPage: "https://app.fireworks.ai/settings/users/api-keys", regions: [] },
  { name: "cerebras", title: "Cerebras", baseUrl: "https://api.cerebras.ai/v1", addressExample: "", isLocal: false, needsKey: true, keyVariables: ["CEREBRAS_API_KEY"], keysPage: "https://cloud.cerebras.ai", regions: [] },
  { name: "moonshot", title: "Moonshot AI (Kimi)", baseUrl: "https://api.moonshot.ai/v1", addressExample: "", isLocal: false, needsKey: true, keyVariables: ["MOONSHOT_API_KEY", "KIMI_API_KEY"], keysPage: "https://platform.moonshot.ai/console/api-keys", regions: [{ title: "International", baseUrl: "https://api.moonshot.ai/v1" }, { title: "China", baseUrl: "https://api.moonshot.cn/v1" }] },
  { name: "zhipu", title: "Zhipu AI (Z.ai, GLM)", baseUrl: "https://api.z.ai/api/paas/v4", addressExample: "", isLocal: false, needsKey: true, keyVariables: ["ZAI_API_KEY", "ZHIPU_API_KEY", "ZHIPUAI_API_KEY"], keysPage: "https://z.ai/manage-apikey/apikey-list", regions: [{ title: "International (Z.ai)", baseUrl: "https://api.z.ai/api/paas/v4" }, { title: "China (BigModel)", baseUrl: "https://open.bigmodel.cn/api/paas/v4" }] },
  { name: "qwen", title: "Qwen (Alibaba Model Studio)", baseUrl: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", addressExample: "", isLocal: false, needsKey: true, keyVariables: ["DASHSCOPE_API_KEY"], keysPage: "https://modelstudio.console.alibabacloud.com", regions: [{ title: "Singapore", baseUrl: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1" }, { title: "US (Virginia)", baseUrl: "https://dashscope-us.aliyuncs.com/compatible-mode/v1" }, { title: "China (Beijing)", baseUrl: "https://dashscope.aliyuncs.com/compatible-mode/v1" }, { title: "Hong Kong", baseUrl: "https://cn-hongkong.dashscope.aliyuncs.com/compatible-mode/v1" }] },
  { name: "minimax", title: "MiniMax", baseUrl: "https://api.minimax.io/v1", addressExample: "", isLocal: false, needsKey: true, keyVariables: ["MINIMAX_API_KEY"], keysPage: "https://platform.minimax.io", regions: [{ title: "International", baseUrl: "https://api.minimax.io/v1" }, { title: "China", baseUrl: "https://api.minimaxi.com/v1" }] },
  { name: "azure", title: "Azure OpenAI (Microsoft Foundry)", baseUrl: "", addressExample: "https://YOUR-RESOURCE.openai.azure.com/openai/v1", isLocal: false, needsKey: true, keyVariables: ["AZURE_OPENAI_API_KEY", "AZURE_API_KEY"], keysPage: "https://ai.azure.com", regions: [] },
  { name: "vercel", title: "Vercel AI Gateway", baseUrl: "https://ai-gateway.vercel.sh/v4/ai", addressExample: "", isLocal: false, needsKey: true, keyVariables: ["AI_GATEWAY_API_KEY"], keysPage: "https://vercel.com/dashboard/ai/api-keys", regions: [] },
  { name: "hub", title: "Partstream hub", baseUrl: "", addressExample: "https://hub.example.com/v1", isLocal: false, needsKey: true, keyVariables: ["PARTSTREAM_HUB_KEY"], keysPage: "", regions: [] },
];
