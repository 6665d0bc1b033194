// The JavaScript floor: the least that a reader in JavaScript does to turn the same bytes into the same parts.
import { createParser } from "eventsource-parser";
import { work } from "./worker.mjs";

class TextPart {
  constructor(value) {
    this.value = value;
  }
}

class ThinkingPart {
  constructor(value, id) {
    this.value = value;
    this.id = id;
  }
}

class ToolCallPart {
  constructor(callId, name, input) {
    this.callId = callId;
    this.name = name;
    this.input = input;
  }
}

/** Makes the function that takes each event of OpenResponses; every part goes to `take`. */
function responses(take) {
  const items = new Map();
  return (message) => {
    const event = JSON.parse(message.data);
    switch (event.type) {
      case "response.output_text.delta":
        take(new TextPart(event.delta));
        break;
      case "response.reasoning_summary_text.delta":
        take(new ThinkingPart(event.delta, event.item_id));
        break;
      case "response.output_item.added":
        items.set(event.output_index, { item: event.item, arguments: "" });
        break;
      case "response.function_call_arguments.delta":
        items.get(event.output_index).arguments += event.delta;
        break;
      case "response.output_item.done": {
        const open = items.get(event.output_index);
        if (event.item.type === "function_call") {
          take(new ToolCallPart(event.item.call_id, event.item.name, JSON.parse(open.arguments)));
        }
        break;
      }
    }
  };
}

/** The same for the chunks of Chat Completions, which have no type. */
function typeless(take) {
  return (message) => {
    for (const choice of JSON.parse(message.data).choices) {
      if (choice.delta.content) take(new TextPart(choice.delta.content));
    }
  };
}

const makeTaker = process.argv.includes("--typeless") ? typeless : responses;

/** Reads one stream; every part goes to `take`. */
function read(chunks, take) {
  const text = new TextDecoder();
  const parser = createParser({ onEvent: makeTaker(take) });
  for (const chunk of chunks) {
    parser.feed(text.decode(chunk, { stream: true }));
  }
}

await work(read, (counts, part) => {
  if (part instanceof TextPart) counts.text += part.value.length;
  else if (part instanceof ThinkingPart) counts.thinking += part.value.length;
  else counts.tool_calls += 1;
});
