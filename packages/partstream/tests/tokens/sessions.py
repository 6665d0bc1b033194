"""A made-up conversation that a person and a model have: grows, is edited and cut; the same for the same seed."""

import random
from dataclasses import dataclass, field

from partstream import ChatMessage, DataPart, Role, TextPart, Tool, ToolCallPart, ToolResultPart

_ENGLISH = (
    "The parser reads one event at a time and keeps nothing that it does not need. When a closing event comes, only "
    "the suffix that is missing is emitted, because what a consumer has seen cannot be taken back. Please look at why "
    "the second test fails on Windows, where paths have another separator and files that are open cannot be renamed."
)
_GERMAN = (
    "Die Bücherei öffnet erst um zehn, deshalb müssen wir die Prüfung der Übersetzungen vorher abschließen und den "
    "Änderungsvorschlag größtenteils überarbeiten; außerdem fehlen noch Beispiele für Rückgabewerte."
)
_PYTHON = (
    "def read_turns(messages):\n    turns = []\n    for number, message in enumerate(messages):\n"
    "        if message.role is Role.SYSTEM:\n            continue\n        turns.append(Turn(message, number))\n"
    "    return turns\n"
)
_TYPESCRIPT = (
    "const counts = new Map<string, number>();\nfor (const word of text.split(/\\s+/)) {\n"
    "  counts.set(word, (counts.get(word) ?? 0) + 1);\n}\n"
)
_LOG = (
    "2026-03-14T09:26:53.589Z INFO  [worker-{n}] request {n}7f3a finished with status 200 in {n}3.8 ms, 48{n} bytes\n"
)
_CHINESE = "这个函数逐行读取文件,并把每一行转换成一个记录。请检查为什么第二个测试没有通过。"


@dataclass
class Session:
    """The conversation so far.

    Attributes:
        messages: What is sent.
        tools: The tools that the model may call.
    """

    seed: int
    messages: list[ChatMessage] = field(default_factory=list)
    tools: list[Tool] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311 - the same every time
        self.messages.append(ChatMessage.system(self.words(_ENGLISH, 3_500) + self.code() * 10))
        self.tools += [self.tool(number) for number in range(20)]

    def words(self, text: str, count: int) -> str:
        return " ".join(self._random.choices(text.split(), k=count))

    def code(self) -> str:
        return "".join(self._random.choices((_PYTHON, _TYPESCRIPT), k=self._random.randint(1, 4)))

    def log(self) -> str:
        return "".join(_LOG.format(n=self._random.randint(1, 9)) for _ in range(self._random.randint(3, 12)))

    def tool(self, number: int) -> Tool:
        names = self._random.sample(sorted(set(_ENGLISH.split())), 4)
        properties = {
            f"{name}_{number}".strip(".,;"): {"type": "string", "description": self.words(_ENGLISH, 12)}
            for name in names
        }
        schema = {"type": "object", "properties": properties, "required": list(properties)[:2]}
        return Tool(f"tool_{number}", self.words(_ENGLISH, 40), schema)

    def says(self) -> str:
        """What a person writes, of one kind or another."""
        return self._random.choice(
            (
                self.words(_ENGLISH, self._random.randint(20, 120)),
                self.words(_GERMAN, self._random.randint(20, 120)),
                f"Why does this fail?\n```\n{self.code()}```\n",
                f"See the log:\n{self.log()}",
                _CHINESE * self._random.randint(1, 3),
            )
        )

    def ask(self, *before: str) -> None:
        """The person says something."""
        self.messages.append(ChatMessage.user(" ".join((*before, self.says()))))

    def answered(self, text: str) -> None:
        """The model's answer, as VS Code sends it back."""
        self.messages.append(ChatMessage.assistant(text))

    def called(self, calls: list[ToolCallPart], text: str) -> None:
        """Calls of the model, and what they gave."""
        self.messages.append(ChatMessage.assistant([*([TextPart(text)] if text else []), *calls]))
        results = [ToolResultPart(call.call_id, (TextPart(self.log() + self.code()),)) for call in calls]
        mark = DataPart(b'{"type":"ephemeral"}', "cache_control")
        self.messages.append(ChatMessage.user([*results, mark]))

    def edit(self) -> None:
        """A person rewrites something that was said before."""
        places = [
            number for number, message in enumerate(self.messages) if message.role is Role.USER and _is_plain(message)
        ]
        if places:
            self.messages[self._random.choice(places)] = ChatMessage.user(self.says())

    def delete(self) -> None:
        """A person takes a question and the plain answer to it out."""
        places = [
            number
            for number in range(1, len(self.messages) - 3)
            if _is_plain(self.messages[number]) and _is_plain(self.messages[number + 1])
        ]
        if places:
            at = self._random.choice(places)
            del self.messages[at : at + 2]


def _is_plain(message: ChatMessage) -> bool:
    return all(isinstance(part, TextPart) for part in message.content)
