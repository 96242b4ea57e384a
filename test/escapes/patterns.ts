import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Escape } from './escape.ts';
import { assertHarmless, type EscapeTargets } from './escape-targets.ts';

const AT_MOST_MS = 10_000;

async function searched(at: EscapeTargets, tool: string, pattern: string, text: string): Promise<void> {
  const { name, path } = await at.place();
  await writeFile(join(path, 'file'), text);
  const since = performance.now();
  const said = await at.call(tool, { pattern, path: name });
  assertHarmless(said);
  assert.doesNotMatch(said.said, /secret\.txt|passwd/);
  assert.ok(
    performance.now() - since < AT_MOST_MS,
    `${Math.round(performance.now() - since)} ms: ${said.said.slice(0, 100)}`,
  );
}

const slow = (title: string, pattern: string, text = `${'a'.repeat(100_000)}!\n`): Escape => ({
  ...{ title: `an expression of ${title}`, kind: 'patterns' },
  attempt: (at) => searched(at, 'fs.grep', pattern, text),
});
const glob = (title: string, pattern: string | ((at: EscapeTargets) => string)): Escape => ({
  ...{ title: `a glob of ${title}`, kind: 'patterns' },
  attempt: (at) => searched(at, 'fs.glob', typeof pattern === 'string' ? pattern : pattern(at), 'x'),
});

export const PATTERNS: readonly Escape[] = [
  slow('nested repetition', '(a+)+$'),
  slow('nested repetition of anything', '(.*)*b'),
  slow('the same choice twice', '(a|a)*b'),
  slow('overlapping choices', '(a|aa|aaa)*$b'),
  slow('many optional parts', `${'a?'.repeat(500)}${'a'.repeat(500)}`),
  slow('counted repetition', '(a{0,500}){0,2}b'),
  slow('repetition of repetition', '((a{1000}){1000}){1000}'),
  slow('a back reference', '(a+)\\1+b'),
  slow('a look ahead', '(?=(a+))a*b'),
  slow('20,000 choices', Array.from({ length: 20_000 }, (_, at) => `w${at}`).join('|')),
  slow('100,000 characters', 'a'.repeat(100_000)),
  slow('10,000 brackets', '('.repeat(10_000) + ')'.repeat(10_000)),
  slow('a class of everything', '[\\s\\S]*[\\s\\S]*[\\s\\S]*b', 'x\n'.repeat(100_000)),
  slow('nothing at all', '', 'x\n'.repeat(100_000)),
  slow('NUL', 'a\0b'),
  glob('two dots', '../*'),
  glob('two dots in a choice', '{..,a}/*'),
  glob('two dots behind everything', '**/../../*'),
  glob('two dots by classes', '[.][.]/*'),
  glob('two dots by a choice of patterns', '@(..)/*'),
  glob('two dots with backslashes', '\\.\\./*'),
  glob('an absolute path', '/etc/*'),
  glob('the directory outside', ({ outside }) => `${outside}/**`),
  glob('a thousand million numbers', '{1..1000000000}'),
  glob('choices doubled thirty times', '{a,b}'.repeat(30)),
  glob('sixty times everything', `${'**/'.repeat(60)}x`),
  glob('many stars', `${'*a'.repeat(60)}b`),
  glob('nested repetition', '+(+(+(a|b)|c)|d)*(x|*(y))'),
  glob('100,000 characters', '?'.repeat(100_000)),
];
