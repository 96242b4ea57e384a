import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isGenerated, projectFiles } from '../support/tree.ts';

const PAGES = [
  'docs/design.md',
  'docs/reference/grpc.md',
  'docs/reference/rest.md',
  'docs/reference/workflows-and-tools.md',
];
/** Names of what stands outside the repository; put together, so that this file holds none of them. */
const OUTSIDE = new RegExp(
  ['\\bspec(ification)? [123]\\b', 'decided\\' + '.md', 'original' + '-facts', '\\bdesign [KPERSL]\\d'].join('|'),
  'gi',
);

const texts = projectFiles('.ts', '.lua', '.md', '.proto')
  .filter((file) => !isGenerated(file))
  .map((file) => ({ file, text: readFileSync(file, 'utf8') }));

const headings = PAGES.flatMap((page) =>
  [...readFileSync(page, 'utf8').matchAll(/^### ([A-Z]\d+) \S/gm)].map((match) => ({ page, id: match[1] ?? '' })),
);
const known = new Set(headings.map(({ id }) => id));

const ID = '[KPERSLGHW]\\d{1,2}';
const LIST = `${ID}(?:(?:, |–)${ID})*`;
/** `(K3)`, `(W12, E1)`, `(S1–S3)`, `(W28; more)`, `(H13: more)`, `(a name, G7)`, and `rule L1` in a sentence. */
const CITATION = new RegExp(`\\((${LIST})(?=[);:,])|[,;] (${LIST})(?=[);])|\\b[Rr]ules? (${LIST})\\b`, 'g');

/** The ids of a list, those between the ends of a range included. */
function idsOf(list: string): string[] {
  return list.split(', ').flatMap((part) => {
    const [from = '', to = from] = part.split('–');
    const [first, last] = [Number(from.slice(1)), Number(to.slice(1))];
    return Array.from({ length: last - first + 1 }, (_, index) => `${from.charAt(0)}${first + index}`);
  });
}

/** Comments of code, all of a page. Strings of programs hold what looks like an id. */
const proseOf = (file: string, text: string): string =>
  file.endsWith('.ts')
    ? [...text.matchAll(/\/\*[\s\S]*?\*\/|\/\/ .*$/gm)].map(([comment]) => comment).join('\n')
    : text;

const lineOf = (text: string, index: number): number => text.slice(0, index).split('\n').length;

test('every rule has one heading', () => {
  const ids = headings.map(({ id }) => id);
  assert.deepEqual(
    ids.filter((id, index) => ids.indexOf(id) !== index),
    [],
  );
  for (const page of PAGES)
    assert.ok(
      headings.some((heading) => heading.page === page),
      page,
    );
});

test('every cited rule has a heading', () => {
  const cited = texts.flatMap(({ file, text }) =>
    [...proseOf(file, text).matchAll(CITATION)].flatMap((match) =>
      idsOf(match[1] ?? match[2] ?? match[3] ?? '').map((id) => ({ file, id })),
    ),
  );
  assert.ok(cited.length >= 500, `${cited.length} citations`);
  assert.deepEqual(
    cited.filter(({ id }) => !known.has(id)).map(({ file, id }) => `${file}: ${id}`),
    [],
  );
});

test('no file cites a document that is not in the repository', () => {
  const found = texts
    .filter(({ file }) => !file.startsWith('docs/decisions/'))
    .flatMap(({ file, text }) =>
      [...text.matchAll(OUTSIDE)].map(({ 0: words, index }) => `${file}:${lineOf(text, index)} ${words}`),
    );
  assert.deepEqual(found, []);
});
