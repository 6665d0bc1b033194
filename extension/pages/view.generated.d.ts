// Written by tools/generate.py from partstream_devtools/inspector/shapes.py: edit that and run it again.

type FramingName = "sse" | "jsonl" | "document";

type EventKind = "text" | "thinking" | "call" | "data" | "usage" | "start" | "end" | "error" | "keepalive" | "unmapped" | "other";

type EventMark = "gap" | "stall" | "unmapped" | "broken" | "lump" | "late";

type PartKind = "text" | "thinking" | "call" | "data" | "usage" | "other";

type Who = "server" | "network" | "provider" | "client" | "nobody";

/** What the view was made from. */
interface SourceView {
  name: string;
  form: string;
  hasClock: boolean;
  live: boolean;
}

/** What was replaced; `level` is `keys`, `structure`, `none`, or `unknown` where the file does not say. */
interface RedactionView {
  level: string;
  counts: Record<string, number>;
  kept: string[];
}

/** The request; `body` is its text, at most its first 200,000 characters. */
interface RequestView {
  method: string;
  path: string;
  headers: [string, string][];
  body: string;
  size: number;
  sentAt: number | null;
}

/** The head of the response. */
interface ResponseView {
  status: number;
  reason: string;
  headers: [string, string][];
  at: number | null;
}

/** The protocol, and whether the file or an event of its own says so. */
interface ProtocolView {
  name: string;
  title: string;
  sure: boolean;
}

/** An error: the name of its class, its sentence, and its facts as texts. */
interface ErrorView {
  type: string;
  message: string;
  fields: [string, string][];
}

/** Whose fault it is. */
interface BlameView {
  who: Who;
  sentence: string;
}

/** Why the model stopped, and the server's own word for it. */
interface FinishReasonView {
  unified: string;
  raw: string | null;
}

/** The tokens, and who counted them. */
interface UsageView {
  rows: [string, number][];
  source: string;
}

/** How many rules of the contract were kept, broken (MUST), warned of (SHOULD) and not judged. */
interface VerdictView {
  kept: number;
  broken: number;
  warnings: number;
  notJudged: number;
}

/** One number of the table: `text` is its value with its unit, `-` where it is missing, `missing` says why. */
interface NumberView {
  id: string;
  label: string;
  value: number | null;
  unit: string;
  text: string;
  missing: string | null;
  definition: string;
}

interface EventView {
  n: number;
  at: number | null;
  until: number | null;
  type: string;
  kind: EventKind;
  from: number;
  to: number;
  text: string;
  parts: number[];
  violations: number[];
  marks: EventMark[];
  count: number;
}

/** One part, and the event that completed it; None where no event of the bytes did. */
interface PartView {
  i: number;
  at: number | null;
  kind: PartKind;
  event: number | null;
  text: string;
  name: string | null;
  callId: string | null;
  id: string | null;
}

interface RunView {
  kind: PartKind;
  from: number;
  to: number;
  at: number | null;
  until: number | null;
  label: string;
}

interface ShownView {
  at: number;
  from: number;
  to: number;
  forced: boolean;
}

/** A rule of the contract that was broken, and where. */
interface ViolationView {
  rule: string;
  level: string;
  section: string;
  promise: string;
  detail: string;
  part: number | null;
  event: number | null;
  seen: string;
  hints: string[];
}

/** Events of a type that no part represents. */
interface UnmappedView {
  type: string;
  count: number;
  events: number[];
}

/** A long time between two events that changed the answer. */
interface GapView {
  after: number;
  before: number;
  ms: number;
  stall: boolean;
}

/** A part of the answer as VS Code joins them. */
interface ResultView {
  kind: PartKind;
  text: string;
  name: string | null;
  callId: string | null;
  part: number;
}

/**
 * What became of the prompt cache since the request before, which `before` names.
 *
 * `byte` is the first byte of the prompt, in the order in which servers read it, that is not the same as before; the
 * prompt before had `bytes`. `kind` is what changed, `where` its place in the body. `missedTokens` were in the cache
 * and were not read from it, at a `cost` in US dollars; both are None where they are not known. `vendor` is what the
 * server itself says, or empty. `text` says all of it in words.
 */
interface CacheView {
  before: string;
  kind: string;
  where: string;
  byte: number;
  bytes: number;
  says: string;
  missedTokens: number | null;
  cost: number | null;
  advice: string;
  vendor: string;
  text: string;
}

/**
 * One exchange with a server, or one answer of a host of which no bytes are known.
 *
 * `wrong` is the number of the event at which it went wrong; None where it did not, or where no event shows it.
 */
interface AnswerView {
  id: string;
  title: string;
  offset: number;
  startedAt: string | null;
  host: string | null;
  request: RequestView | null;
  response: ResponseView | null;
  protocol: ProtocolView | null;
  framing: FramingName | null;
  model: string | null;
  outcome: string;
  ending: string | null;
  error: ErrorView | null;
  wrong: number | null;
  blame: BlameView;
  finishReason: FinishReasonView | null;
  usage: UsageView | null;
  verdict: VerdictView;
  numbers: NumberView[];
  bytes: string;
  reads: ([number | null, number, number])[];
  events: EventView[];
  parts: PartView[];
  runs: RunView[];
  shown: ShownView[];
  shownUnpaced: ShownView[];
  violations: ViolationView[];
  unmapped: UnmappedView[];
  gaps: GapView[];
  notes: string[];
  result: ResultView[];
  cache: CacheView | null;
}

/** One place of two answers: the two runs of a pair, None on the side that has none. */
interface ComparisonRow {
  left: number | null;
  right: number | null;
  label: string;
  same: boolean;
  differences: string[];
}

/** One number of two answers. */
interface ComparedNumber {
  id: string;
  label: string;
  left: string;
  right: string;
  ratio: number | null;
}

/** Two answers beside each other, by the structure of their parts. */
interface ComparisonView {
  left: string;
  right: string;
  same: boolean;
  rows: ComparisonRow[];
  numbers: ComparedNumber[];
}

/** A command to copy. */
interface CommandView {
  label: string;
  text: string;
}

/** All that is shown of one or several files. */
interface View {
  format: number;
  title: string;
  source: SourceView;
  redaction: RedactionView;
  versions: Record<string, string>;
  answers: AnswerView[];
  comparisons: ComparisonView[];
  commands: CommandView[];
}
