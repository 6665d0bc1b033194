// Written by tools/generate.py from partstream/cli/new.py: edit its table or templates and run it again.
import * as l10n from "@vscode/l10n";

/** A provider file that a person can begin with. */
export interface ProviderTemplate {
  readonly title: () => string;
  readonly says: () => string;
  /** The name that is suggested for the file, without its ending. */
  readonly fileStem: string;
  /** What has to be installed beside Partstream, as pip takes it. */
  readonly requirements: readonly string[];
  /** The file, with `$title` and `$module` in place of the names. */
  readonly source: string;
}

/** The words of Python that cannot be the name of a module. */
export const PYTHON_KEYWORDS: readonly string[] = ["False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield"];

export const PROVIDER_TEMPLATES: readonly ProviderTemplate[] = [
  {
    title: () => l10n.t("Echo"),
    says: () => l10n.t("A function that yields its answer."),
    fileStem: "echo",
    requirements: [],
    source: "\"\"\"$title: a language model for VS Code.\n\nAsk it with `partstream chat --provider $module.py`.\n\"\"\"\n\nfrom collections.abc import AsyncIterator, Sequence\n\nfrom partstream import ChatMessage, RequestOptions, chat_model, user_request\n\n\n@chat_model(name=\"$title\", id=\"$module\")\nasync def provider(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[str]:\n    \"\"\"Called once for each message, with the whole conversation; what it yields is the answer, in Markdown.\"\"\"\n    yield \"You said: \"\n    yield user_request(messages)\n",
  },
  {
    title: () => l10n.t("Any callable"),
    says: () => l10n.t("A function that returns its answer and may block."),
    fileStem: "my_function",
    requirements: [],
    source: "\"\"\"$title: a language model for VS Code, around a plain function.\n\nAsk it with `partstream chat --provider $module.py`.\n\"\"\"\n\nimport asyncio\nfrom collections.abc import AsyncIterator, Sequence\n\nfrom partstream import ChatMessage, RequestOptions, chat_model, user_request\n\n\ndef answer(request: str) -> str:\n    \"\"\"Put any callable here: it knows nothing of VS Code, and it may block.\"\"\"\n    return f\"You said: {request}\"\n\n\n@chat_model(name=\"$title\", id=\"$module\")\nasync def provider(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[str]:\n    \"\"\"Called once for each message; the function runs in a thread, so that other answers go on meanwhile.\"\"\"\n    yield await asyncio.to_thread(answer, user_request(messages))\n",
  },
  {
    title: () => l10n.t("With tools"),
    says: () => l10n.t("A function that has VS Code run tools."),
    fileStem: "my_tools",
    requirements: [],
    source: "\"\"\"$title: a language model for VS Code that calls its tools.\n\nAsk it with `partstream chat --provider $module.py`. Say `run NAME {\"key\": \"value\"}` to have a tool run.\n\"\"\"\n\nimport json\nfrom collections.abc import AsyncIterator, Sequence\nfrom uuid import uuid4\n\nfrom partstream import ChatMessage, RequestOptions, TextPart, ToolCallPart, ToolResultPart, chat_model, user_request\n\n\n@chat_model(name=\"$title\", id=\"$module\", tool_calling=True)\nasync def provider(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[str | ToolCallPart]:\n    \"\"\"Called once for each message, and again with the result of each tool: VS Code runs the tool in between.\"\"\"\n    results = [part for part in messages[-1].content if isinstance(part, ToolResultPart)]\n    if results:\n        yield \"The tool said: \"\n        for part in results[-1].content:\n            if isinstance(part, TextPart):\n                yield part.value\n        return\n    names = [tool.name for tool in options.tools]\n    command, _, call = user_request(messages).partition(\" \")\n    name, _, arguments = call.partition(\" \")\n    if command == \"run\" and name in names:\n        yield ToolCallPart(uuid4().hex, name, json.loads(arguments or \"{}\"))\n    else:\n        yield f\"I have {len(names)} tools. Say `run NAME {{...}}`.\"\n",
  },
  {
    title: () => l10n.t("Around an SDK"),
    says: () => l10n.t("A function that streams from an SDK client."),
    fileStem: "my_sdk",
    requirements: [],
    source: "\"\"\"$title: a language model for VS Code, around the client of an SDK.\n\nAsk it with `partstream chat --provider $module.py`.\n\"\"\"\n\nfrom collections.abc import AsyncIterator, Mapping, Sequence\n\nfrom partstream import ChatMessage, RequestOptions, chat_model, text_of, user_request\n\n\nclass Client:\n    \"\"\"Plays the client of your SDK, and answers without a network: import yours instead.\"\"\"\n\n    async def stream(self, conversation: Sequence[Mapping[str, str]]) -> AsyncIterator[str]:\n        \"\"\"The pieces of the answer as they arrive.\"\"\"\n        yield \"You said: \"\n        yield conversation[-1][\"content\"]\n\n\nclient = Client()\n\n\n@chat_model(name=\"$title\", id=\"$module\")\nasync def provider(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[str]:\n    \"\"\"Called once for each message: writes the conversation as the SDK takes it, and hands on what comes.\"\"\"\n    conversation = [{\"role\": message.role.name.lower(), \"content\": text_of(message)} for message in messages[:-1]]\n    conversation.append({\"role\": \"user\", \"content\": user_request(messages)})\n    async for piece in client.stream(conversation):\n        yield piece\n",
  },
  {
    title: () => l10n.t("Model server"),
    says: () => l10n.t("A function that asks a model server and can edit requests and answers."),
    fileStem: "my_server",
    requirements: [],
    source: "\"\"\"$title: a language model for VS Code.\n\nAsk it with `partstream chat --provider $module.py`.\n\"\"\"\n\nfrom collections.abc import AsyncIterator, Sequence\nfrom os import environ\n\nfrom partstream import ChatMessage, Finish, RequestOptions, ResponsePart, chat_model, connect\n\n# The base URL of your server; `partstream upstream` is one to try. Its protocol is detected.\nDEFAULT_SERVER = \"http://localhost:11434/v1\"\n\n\n@chat_model(name=\"$title\", id=\"$module\")\nasync def provider(messages: Sequence[ChatMessage], options: RequestOptions) -> AsyncIterator[ResponsePart | Finish]:\n    \"\"\"Called once for each message, with the whole conversation; hands on what the server answers.\"\"\"\n    async with connect(environ.get(\"MODEL_SERVER\", DEFAULT_SERVER), api_key=environ.get(\"MODEL_SERVER_KEY\")) as model:\n        response = model.stream(messages, options)\n        async for part in response:\n            yield part\n        if response.finish is not None:\n            yield response.finish\n",
  },
  {
    title: () => l10n.t("Agent of pydantic-ai"),
    says: () => l10n.t("An agent of pydantic-ai."),
    fileStem: "my_agent",
    requirements: ["pydantic-ai-slim>=2.60"],
    source: "\"\"\"$title: an agent of pydantic-ai in VS Code.\n\nAsk it with `partstream chat --provider $module.py`.\n\"\"\"\n\nfrom partstream_agents import as_model\nfrom pydantic_ai import Agent\nfrom pydantic_ai.models.test import TestModel\n\n# Answers without a network. For a real model, put its name in its place, such as \"anthropic:claude-sonnet-4-5\".\nmodel = TestModel(call_tools=[\"count_words\"], custom_output_text=\"I am ready for a real model.\")\n\nagent = Agent(model, instructions=\"Answer in one sentence.\")\n\n\n@agent.tool_plain\ndef count_words(text: str) -> int:\n    \"\"\"Counts the words of a text.\"\"\"\n    return len(text.split())\n\n\n# VS Code's own tools are at the agent's disposal too; host_tools= chooses among them.\nprovider = as_model(agent, name=\"$title\", id=\"$module\")\n",
  },
  {
    title: () => l10n.t("Graph of LangGraph"),
    says: () => l10n.t("A graph of LangGraph."),
    fileStem: "my_agent",
    requirements: ["langgraph>=1.2"],
    source: "\"\"\"$title: a graph of LangGraph in VS Code.\n\nAsk it with `partstream chat --provider $module.py`.\n\"\"\"\n\nfrom langchain_core.language_models import FakeListChatModel\nfrom langchain_core.messages import BaseMessage\nfrom langgraph.graph import START, MessagesState, StateGraph\nfrom partstream_agents import as_model\n\n# Answers without a network. Take a real model in its place, such as ChatOpenAI(model=\"gpt-5\").\nmodel = FakeListChatModel(responses=[\"I am ready for a real model.\"])\n\n\nasync def answer(state: MessagesState) -> dict[str, list[BaseMessage]]:\n    \"\"\"Asks the model.\"\"\"\n    return {\"messages\": [await model.ainvoke(state[\"messages\"])]}\n\n\ngraph = StateGraph(MessagesState).add_node(\"answer\", answer).add_edge(START, \"answer\").compile()\n\nprovider = as_model(graph, name=\"$title\", id=\"$module\")\n",
  },
  {
    title: () => l10n.t("Chat model of LangChain"),
    says: () => l10n.t("A chat model of LangChain."),
    fileStem: "my_model",
    requirements: ["langchain-core>=1.7"],
    source: "\"\"\"$title: a chat model of LangChain in VS Code.\n\nAsk it with `partstream chat --provider $module.py`.\n\"\"\"\n\nfrom langchain_core.language_models import FakeListChatModel\nfrom partstream_agents import as_model\n\n# Answers without a network. Take a real model in its place, such as ChatOpenAI(model=\"gpt-5\").\nmodel = FakeListChatModel(responses=[\"I am ready for a real model.\"])\n\n# A real model calls VS Code's tools: leave host_tools out then.\nprovider = as_model(model, name=\"$title\", id=\"$module\", host_tools=False)\n",
  },
  {
    title: () => l10n.t("Agent of the OpenAI Agents SDK"),
    says: () => l10n.t("An agent of the OpenAI Agents SDK."),
    fileStem: "my_agent",
    requirements: ["openai-agents>=0.24"],
    source: "\"\"\"$title: an agent of the OpenAI Agents SDK in VS Code.\n\nAsk it with `partstream chat --provider $module.py`.\n\"\"\"\n\nfrom agents import Agent, function_tool, set_tracing_disabled\nfrom agents.testing import ScriptedModel, assistant_message, function_call\nfrom partstream_agents import as_model\n\nset_tracing_disabled(True)  # else the SDK sends every run to OpenAI\n\n\n@function_tool\ndef count_words(text: str) -> int:\n    \"\"\"Counts the words of a text.\"\"\"\n    return len(text.split())\n\n\ndef build() -> Agent[None]:\n    \"\"\"Makes the agent of one request.\"\"\"\n    # Answers without a network. For a real model, put its name in its place, such as \"gpt-5\".\n    model = ScriptedModel(\n        [\n            [function_call(\"count_words\", {\"text\": \"three words here\"}, call_id=\"call-1\")],\n            [assistant_message(\"I am ready for a real model.\")],\n        ]\n    )\n    return Agent(\"$title\", instructions=\"Answer in one sentence.\", model=model, tools=[count_words])\n\n\n# VS Code's own tools are at the agent's disposal too; host_tools= chooses among them.\nprovider = as_model(build, name=\"$title\", id=\"$module\")\n",
  },
  {
    title: () => l10n.t("Agent of the Microsoft Agent Framework"),
    says: () => l10n.t("An agent of the Microsoft Agent Framework."),
    fileStem: "my_agent",
    requirements: ["agent-framework-core>=1.23"],
    source: "\"\"\"$title: an agent of the Microsoft Agent Framework in VS Code.\n\nAsk it with `partstream chat --provider $module.py`.\n\"\"\"\n\nfrom collections.abc import AsyncIterable, Awaitable, Mapping, Sequence\nfrom typing import Any\n\nfrom agent_framework import (\n    Agent,\n    BaseChatClient,\n    ChatResponse,\n    ChatResponseUpdate,\n    Content,\n    FunctionInvocationLayer,\n    Message,\n    ResponseStream,\n)\nfrom partstream_agents import as_model\n\n\nclass OfflineClient(FunctionInvocationLayer[Any], BaseChatClient[Any]):\n    \"\"\"Answers without a network. Take a real client in its place, such as OpenAIChatClient().\"\"\"\n\n    def _inner_get_response(\n        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any\n    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:\n        async def updates() -> AsyncIterable[ChatResponseUpdate]:\n            for text in (\"I am ready \", \"for a real model.\"):\n                yield ChatResponseUpdate(role=\"assistant\", contents=[Content.from_text(text)])\n\n        answer: ResponseStream[ChatResponseUpdate, ChatResponse[Any]] = ResponseStream(\n            updates(), finalizer=ChatResponse.from_updates\n        )\n        return answer if stream else answer.get_final_response()\n\n\nagent = Agent(OfflineClient(), instructions=\"Answer in one sentence.\", name=\"$title\")\n\n# VS Code's own tools are at the agent's disposal too; host_tools= chooses among them.\nprovider = as_model(agent, name=\"$title\", id=\"$module\")\n",
  },
];
