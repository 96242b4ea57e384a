/** Answers of agents and judges of random workflows: the first rule whose mark is in their input. */
interface Said {
  readonly mark: string;
  /** Null: the model refuses with 400. */
  readonly text: string | null;
  /** A file that the agent writes into the workspace with `fs.write` before it speaks. */
  readonly writes?: { readonly path: string; readonly content: string };
}

const verdict = (score: number, confidence: number, more: object = {}): string =>
  JSON.stringify({ score, confidence, reasoning: `it is worth ${score} of 1`, ...more });

export const SCRIPT: readonly Said[] = [
  { mark: 'say-refused', text: null },
  { mark: 'say-noted', text: 'it is noted', writes: { path: 'note', content: 'noted by an agent' } },
  { mark: 'say-words', text: 'three plain words' },
  { mark: 'say-lines', text: ' first line \nsecond line' },
  { mark: 'say-data', text: '{"title": "Ode", "items": ["a", "b"], "score": 0.6, "confidence": 0.8}' },
  { mark: 'say-low', text: '{"title": "Draft", "items": [], "score": 0.25, "confidence": 0.5}' },
  { mark: 'judge-best', text: verdict(0.95, 0.9, { verdict: 'pass' }) },
  { mark: 'judge-good', text: verdict(0.8, 0.7, { suggestions: ['more'] }) },
  { mark: 'judge-edge', text: verdict(0.7, 0.95) },
  { mark: 'judge-poor', text: verdict(0.3, 0.6, { verdict: 'fail' }) },
  { mark: 'judge-worst', text: verdict(0.05, 0.85) },
  { mark: 'judge-broken', text: '{"score": 0.9, "confidence": 0.9}' },
];

export const OTHERWISE = 'done';

const ruleFor = (input: string): Said | undefined => SCRIPT.find(({ mark }) => input.includes(mark));

/** Undefined: refused. */
export function saidTo(input: string): string | undefined {
  const found = ruleFor(input);
  return found === undefined ? OTHERWISE : (found.text ?? undefined);
}

/** Files that the agent writes for the input: path below the workspace to content. */
export function writtenFor(input: string): Readonly<Record<string, string>> {
  const { writes } = ruleFor(input) ?? {};
  return writes === undefined ? {} : { [writes.path]: writes.content };
}

const replyOf = ({ text }: Said) => (text === null ? { error: { status: 400, message: 'refused' } } : { text });

const callOf = ({ path, content }: { readonly path: string; readonly content: string }) => ({
  tool_calls: [{ name: 'fs.write', arguments: { path: `/workspace/${path}`, content } }],
});

/** Rules of the provider `scripted`; a rule that answers `OTHERWISE` to everything else must follow. */
export const RULES = SCRIPT.flatMap((said) => {
  const last = { match: { contains: said.mark }, reply: replyOf(said) };
  if (said.writes === undefined) return [last];
  return [{ match: { contains: said.mark, round: 1 }, reply: callOf(said.writes) }, last];
});
