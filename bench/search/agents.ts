import { CORPUS } from '../../test/catalog/search/corpus.ts';

export interface BenchAgent {
  readonly name: string;
  readonly description: string;
  readonly labels: string;
  readonly instruction: string;
  /** Its manifest. */
  readonly yaml: string;
}

/** 6,000 rare words besides those of the relevance corpus, so that the index has a realistic size. */
const RARE_WORDS = 6_000;
const INSTRUCTION_WORDS = 60;

/** Different agents, the same in each run: mixed words of the relevance corpus, with rare ones between them. */
export function benchAgents(count: number): BenchAgent[] {
  const next = sequence(7);
  const below = (end: number): number => Math.floor(next() * end);
  const common = CORPUS.flatMap((fields) => fields.join(' ').split(/[^A-Za-z]+/)).filter((word) => word.length > 2);
  const rare = Array.from({ length: RARE_WORDS }, () =>
    Array.from({ length: 5 + below(5) }, () => String.fromCharCode(97 + below(26))).join(''),
  );
  const word = (): string => (next() < 0.7 ? common[below(common.length)] : rare[below(rare.length)]) ?? 'agent';
  const text = (words: number): string => Array.from({ length: words }, word).join(' ');
  return Array.from({ length: count }, (_, at) => {
    const name = `${word()}-${word()}-${at}`.toLowerCase();
    const [description, labels, instruction] = [text(12), word(), text(INSTRUCTION_WORDS)];
    const yaml = [
      ...['apiVersion: svc.dev/v1', 'kind: Agent', 'metadata:', `  name: ${name}`, '  version: "1.0.0"'],
      ...[`  description: ${description}`, `  labels: {area: ${labels}}`, 'spec:', '  task:', '    instruction: |'],
      ...[`      ${instruction}`, ''],
    ].join('\n');
    return { name, description, labels, instruction, yaml };
  });
}

/** Numbers from 0 to 1 that look random (mulberry32). */
function sequence(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
