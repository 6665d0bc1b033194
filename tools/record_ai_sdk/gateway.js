/** Records what the published gateway client sends: one request for each row, with nothing listening at the other end. */

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** What our replay upstream signs the thinking below with, so that it takes these requests. */
const SIGNATURE = "Fg9oa4zpSQp/JVAvR6p1GvLlWlJ6x+D5c4QwwCgV6r4=";

const user = (content) => ({ role: "user", content });
const call = { type: "tool-call", toolCallId: "call_1", toolName: "read_file", input: { path: "/a" } };
const result = (output) => ({
  role: "tool",
  content: [{ type: "tool-result", toolCallId: "call_1", toolName: "read_file", output }],
});
const turn = (output) => [user("Read."), { role: "assistant", content: [call] }, result(output)];
const content = (...value) => ({ type: "content", value });

/** The settings of one call, by name; a function where they depend on the major. */
const CALLS = {
  text: { messages: [user("Hi")] },
  settings: {
    messages: [user("Hi")],
    maxOutputTokens: 100,
    temperature: 0.5,
    topP: 0.9,
    topK: 40,
    presencePenalty: 0.1,
    frequencyPenalty: 0.2,
    stopSequences: ["END"],
    seed: 7,
    headers: { "x-title": "tides" },
    providerOptions: { gateway: { order: ["anthropic"], models: ["openai/gpt-5"] }, anthropic: { effort: "low" } },
  },
  instructions: (major) => ({ messages: [user("Hi")], [major < 7 ? "system" : "instructions"]: "Be brief." }),
  tools: { messages: [user("Hi")], tools: true },
  tools_none: { messages: [user("Hi")], tools: true, toolChoice: "none" },
  tools_required: { messages: [user("Hi")], tools: true, toolChoice: "required" },
  tools_chosen: { messages: [user("Hi")], tools: true, toolChoice: { type: "tool", toolName: "read_file" } },
  files: {
    messages: [
      user([
        { type: "text", text: "Look." },
        { type: "file", data: PIXEL, mediaType: "image/png" },
        { type: "file", data: new Uint8Array([37, 80, 68, 70]), mediaType: "application/pdf", filename: "a.pdf" },
        { type: "file", data: new URL("https://example.com/a.png"), mediaType: "image/png" },
        { type: "file", data: `data:image/png;base64,${PIXEL}`, mediaType: "image/png" },
      ]),
    ],
  },
  images: {
    messages: [
      user([
        { type: "image", image: PIXEL },
        { type: "image", image: new URL("https://example.com/a.png") },
      ]),
    ],
  },
  history: {
    messages: [
      user("Read."),
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "I must look.", providerOptions: { anthropic: { signature: SIGNATURE } } },
          { type: "text", text: "Looking." },
          call,
        ],
      },
      result({ type: "json", value: { lines: 3 } }),
      user("And?"),
    ],
  },
  result_text: { messages: turn({ type: "text", value: "three lines" }) },
  result_error: { messages: turn({ type: "error-text", value: "no such file" }) },
  result_error_json: { messages: turn({ type: "error-json", value: { code: 404 } }) },
  result_content: (major) => ({
    messages: turn(content({ type: "text", text: "a picture" }, IMAGES[major] ?? IMAGES[7])),
  }),
};

const IMAGES = {
  5: { type: "media", data: PIXEL, mediaType: "image/png" },
  6: { type: "image-data", data: PIXEL, mediaType: "image/png" },
  7: { type: "file", data: { type: "data", data: PIXEL }, mediaType: "image/png" },
};

/** Each request as it was sent: URL, headers without those that name machine and versions, body. */
export async function recordGatewayRequests({ ai, major, toolInput }) {
  const schema = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
  const tools = { read_file: ai.tool({ description: "Reads.", [toolInput]: ai.jsonSchema(schema) }) };
  const requests = {};
  for (const [name, row] of Object.entries(CALLS)) {
    const settings = structuredSettings(typeof row === "function" ? row(major) : row, tools);
    const gateway = ai.createGateway({
      apiKey: "made-up",
      fetch: async (url, { method, headers, body }) => {
        requests[name] = { url: String(url), method, headers: lasting(headers), body: JSON.parse(body) };
        return new Response("data: {}\n\n", { headers: { "content-type": "text/event-stream" } });
      },
    });
    const response = ai.streamText({ model: gateway("made/up"), maxRetries: 0, onError: () => {}, ...settings });
    await response.consumeStream({ onError: () => {} });
    if (!requests[name]) throw new Error(`${name}: the SDK ${major} sent nothing`);
  }
  return requests;
}

const structuredSettings = ({ tools, ...settings }, declared) => (tools ? { ...settings, tools: declared } : settings);

/** Headers that say something of the request; `user-agent` names the runtime, `ai-o11y` the machine. */
function lasting(headers) {
  const kept = [...new Headers(headers)].filter(([name]) => !/^(user-agent|ai-o11y-.*)$/.test(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, name === "authorization" ? "Bearer [key]" : value]));
}
