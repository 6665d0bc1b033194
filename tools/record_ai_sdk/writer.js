/** Records what an application writes into a UI message stream by itself: data parts, metadata, files. */

const PARTS = [
  { type: "start", messageId: "msg_1", messageMetadata: { model: "made-up" } },
  { type: "data-tide", id: "tide_1", data: { harbour: "Ålesund", metres: 1.4 } },
  { type: "data-status", data: "looking", transient: true },
  { type: "text-start", id: "0" },
  { type: "text-delta", id: "0", delta: 'two\nlines and "quotes"' },
  { type: "text-end", id: "0" },
  { type: "source-url", sourceId: "s1", url: "https://example.com/tides", title: "Tides" },
  { type: "file", url: "https://example.com/tide.png", mediaType: "image/png" },
  { type: "message-metadata", messageMetadata: { tokens: 3 } },
  { type: "finish", messageMetadata: { done: true } },
];

export async function recordWriter({ ai }) {
  const stream = ai.createUIMessageStream({
    execute: ({ writer }) => {
      for (const part of PARTS) writer.write(part);
    },
    generateId: () => "msg_1",
  });
  return Buffer.from(await ai.createUIMessageStreamResponse({ stream }).arrayBuffer());
}
