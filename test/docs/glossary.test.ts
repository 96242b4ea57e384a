import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { Command } from 'commander';
import { svcProgram } from '../../cli/program.ts';
import { ERRORS } from '../../runtime/errors.ts';
import { isGenerated, projectFiles } from '../support/tree.ts';
import { page, pages } from './pages.ts';

const MOST_TERMS = 60;
const NOT_PRODUCT = /^(test|bench|docs)\//;
/** Texts of prompts, with which recorded runs are replayed, and a list of English words. */
const EXEMPT = new Set([
  'actors/execution/history.ts',
  'actors/execution/inner-loop/ask.ts',
  'catalog/search/words.ts',
]);
/** Pages that quote what others wrote: output of a run, and the list of refused words itself. */
const QUOTES = new Set(['docs/benchmarks.md', 'docs/operations/chaos.md']);

const [terms = '', refusals = ''] = page('docs/glossary.md').text.split('\n## Refused words\n');
const firstCells = (text: string): string[] =>
  [...text.matchAll(/^\| (?!Term|Word|---)([^|]+) \|/gm)].map(([, cell = '']) => cell);
const entries = firstCells(terms);
const refused = firstCells(refusals).flatMap((cell) => cell.split(', '));
/** Between two words of a refused phrase, which a line break and the mark of a comment may separate. */
const GAP = '\\s+(?:(?:\\*|//|--)\\s+)?';
const pattern = new RegExp(`\\b(?:${refused.map((phrase) => phrase.replaceAll(' ', GAP)).join('|')})\\b`, 'gi');

/** Places of refused words in a text, as `where:line word`. */
const foundIn = (where: string, text: string): string[] =>
  [...text.matchAll(pattern)].map(
    ({ 0: found, index }) => `${where}:${text.slice(0, index).split('\n').length} ${found.replaceAll(/\s+/g, ' ')}`,
  );

/** Titles of tests that a page quotes belong to the tests. */
const ownWords = (text: string): string => text.replaceAll(/“[^”]*”/g, (quoted) => quoted.replaceAll(/[^\n]/g, ' '));

/** Comments alone, each on its line. */
const commentsOf = (text: string): string =>
  text.replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*|[^\n]/g, (part) => (part.length > 1 ? part : ' '));

const isComment = (part: string): boolean => part.startsWith('/');

/** Texts of several words, each on its line. A comment may hold an apostrophe, so comments are found too and blanked. */
const sentencesOf = (text: string): string =>
  text.replaceAll(
    /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*|'(?:[^'\\\n]|\\.)* (?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)* (?:[^`\\]|\\.)*`|[^\n]/g,
    (part) => (part.length === 1 || isComment(part) ? part.replaceAll(/[^\n]/g, ' ') : part),
  );

const productFiles = (...endings: string[]): string[] =>
  projectFiles(...endings).filter((file) => !NOT_PRODUCT.test(file) && !isGenerated(file));

function helpOf(command: Command): string[] {
  const own = [command.description(), command.summary(), command.helpInformation()];
  return [...own, ...command.commands.flatMap(helpOf)];
}

describe('docs/glossary.md', () => {
  test('has at most sixty terms in alphabetical order', () => {
    assert.ok(entries.length > 40 && entries.length <= MOST_TERMS, `${entries.length} terms`);
    assert.deepEqual(entries, [...entries].sort(new Intl.Collator('en').compare));
  });

  test('has no term that no other page uses', () => {
    const prose = pages
      .filter(({ file }) => file.startsWith('docs/') && file !== 'docs/glossary.md')
      .map(({ text }) => text)
      .join('\n')
      .toLowerCase();
    const unused = entries.flatMap((entry) => entry.split(', ')).filter((word) => !prose.includes(word.toLowerCase()));
    assert.deepEqual(unused, []);
  });

  test('is the only page with refused words', () => {
    const own = pages.filter(({ file }) => file !== 'docs/glossary.md' && !QUOTES.has(file) && isOurs(file));
    assert.deepEqual(
      own.flatMap(({ file, text }) => foundIn(file, ownWords(text))),
      [],
    );
  });

  test('refuses the same words in the table of errors and in help', async () => {
    assert.deepEqual(
      Object.entries(ERRORS).flatMap(([code, { message }]) => foundIn(code, message)),
      [],
    );
    const inHelp = foundIn('help', helpOf(await svcProgram()).join('\n'));
    assert.deepEqual(inHelp, []);
  });

  test('refuses them in the errors and log lines that the product writes itself', () => {
    const files = productFiles('.ts').filter((file) => !EXEMPT.has(file));
    const found = files.flatMap((file) => foundIn(file, sentencesOf(readFileSync(file, 'utf8'))));
    assert.deepEqual(found, []);
  });

  test('refuses them in comments of the product', () => {
    const files = productFiles('.ts', '.lua', '.proto');
    const found = files.flatMap((file) => foundIn(file, commentsOf(readFileSync(file, 'utf8'))));
    assert.deepEqual(found, []);
  });
});

const isOurs = (file: string): boolean => !file.startsWith('test/');
