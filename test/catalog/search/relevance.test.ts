import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SearchEntry } from '../../../catalog/search/entry.ts';
import { LexicalIndex } from '../../../catalog/search/lexical-index.ts';
import { type Ranked, rank } from '../../../catalog/search/ranking.ts';
import { CORPUS, type RelevanceRow, ROWS } from './corpus.ts';

/** The default of the tools. */
const MIN_SCORE = 0.3;
const TOP = 10;

const entry = (name: string, description: string, labels: Readonly<Record<string, string>>): SearchEntry => ({
  ...{ tenant: 'acme', id: name, name, version: '1.0.0', description, labels },
  ...{ scope: 'tenant', owner: '', status: 'deployed', leavingTo: null, recordVersion: 1 },
});

function corpus(): LexicalIndex {
  const words = new LexicalIndex();
  for (const [name, description, labels, instruction] of CORPUS) {
    words.put(
      entry(name, description, Object.fromEntries(labels.split(' ').map((label) => [label, 'yes']))),
      instruction,
    );
  }
  return words;
}

const search = (words: LexicalIndex, query: string, minScore = MIN_SCORE): Ranked[] =>
  rank([{ words, vectors: null }], query, null, { minScore, limit: TOP, accept: () => true });

/** Normalised discounted cumulative gain: 1 when what is expected stands on top in the order of the row. */
function ndcg({ expected }: RelevanceRow, hits: readonly Ranked[]): number {
  const gain = (relevance: number, place: number): number => (2 ** relevance - 1) / Math.log2(place + 2);
  const relevance = (name: string): number => (expected.includes(name) ? expected.length - expected.indexOf(name) : 0);
  const got = hits.reduce((sum, hit, place) => sum + gain(relevance(hit.entry.name), place), 0);
  const best = expected.reduce((sum, name, place) => sum + gain(relevance(name), place), 0);
  return got / best;
}

describe(`search over ${CORPUS.length} agents, ${ROWS.length} queries`, () => {
  const words = corpus();

  for (const row of ROWS) {
    const [first] = row.expected;
    if (first === undefined) {
      it(`finds nothing for "${row.query}"`, () => assert.deepEqual(search(words, row.query), []));
    } else {
      it(`finds ${first} first for "${row.query}" (${row.kind})`, () => {
        assert.equal(search(words, row.query)[0]?.entry.name, first);
      });
    }
  }

  it('has a mean nDCG of at least 0.97', (t) => {
    const rows = ROWS.filter(({ expected }) => expected.length > 0);
    const kinds = Map.groupBy(rows, ({ kind }) => kind);
    const mean = (some: readonly RelevanceRow[]): number =>
      some.reduce((sum, row) => sum + ndcg(row, search(words, row.query)), 0) / some.length;
    for (const [kind, some] of kinds) t.diagnostic(`nDCG@${TOP} ${kind}: ${mean(some).toFixed(3)} (${some.length})`);
    t.diagnostic(`nDCG@${TOP} all: ${mean(rows).toFixed(3)} (${rows.length})`);
    assert.ok(mean(rows) >= 0.97);
  });
});

describe('a score', () => {
  it('is 1 for an entry that bears exactly what was asked as its name', () => {
    assert.equal(search(corpus(), 'pull request reviewer')[0]?.score, 1);
    assert.equal(search(corpus(), 'PullRequestReviewer')[0]?.score, 1);
  });

  it('is never above 1 or below the least that was asked for', () => {
    const words = corpus();
    for (const { query } of ROWS) {
      for (const { score } of search(words, query, 0.1)) assert.ok(score >= 0.1 && score <= 1, `${query}: ${score}`);
    }
  });

  it('stays within 0.1 of itself as 5,000 unrelated agents are deployed, and what was first stays first', () => {
    const small = corpus();
    const large = corpus();
    for (let at = 0; at < 5_000; at += 1) {
      const word = (shift: number): string => `w${((at * 7 + shift * 131) % 900).toString(36)}x`;
      large.put(entry(`${word(1)}-${word(2)}-${at}`, `${word(3)} ${word(4)} ${word(5)}`, {}), word(6));
    }
    for (const { query, expected } of ROWS) {
      const before = search(small, query)[0];
      const after = search(large, query)[0];
      assert.equal(after?.entry.name, expected[0], query);
      if (before === undefined || after === undefined) continue;
      assert.ok(Math.abs(before.score - after.score) <= 0.1, `${query}: ${before.score}, then ${after.score}`);
    }
  });

  it('is the same whatever else is found: it is no share of the best hit', () => {
    const words = corpus();
    const before = search(words, 'summarize document')[0]?.score;
    words.remove('document-summarizer');
    const without = search(words, 'summarize document', 0)[0];
    assert.ok(before !== undefined && without !== undefined && without.score < 0.6 * before);
  });
});

describe('an index', () => {
  it('finds what replaced an entry by its new words, and not by the old ones', () => {
    const words = corpus();
    words.put(entry('room-booker', 'Waters the plants', {}), 'Twice a week.');
    assert.equal(search(words, 'waters plants')[0]?.entry.name, 'room-booker');
    assert.deepEqual(
      search(words, 'calendar office meeting').filter(({ entry: { name } }) => name === 'room-booker'),
      [],
    );
  });

  it('uses the room of removed entries again', () => {
    const words = new LexicalIndex();
    for (let round = 0; round < 40; round += 1) {
      for (let at = 0; at < 100; at += 1) words.put(entry(`agent-${at}`, `round ${round}`, {}), 'text');
    }
    assert.equal(words.size, 100);
    assert.ok(words.slots < 1_500, `${words.slots} slots`);
    const hits = search(words, 'round 39', 0);
    assert.equal(hits.length, TOP);
  });

  it('reads words of any script, and none of them breaks it', () => {
    const words = new LexicalIndex();
    words.put(entry('uebersetzer', 'Übersetzt Verträge ins Französische', {}), '翻訳 する');
    assert.equal(search(words, 'ubersetzt vertrage')[0]?.entry.name, 'uebersetzer');
    assert.equal(search(words, '翻訳')[0]?.entry.name, 'uebersetzer');
    for (const query of ['***', '\u0000', 'constructor', '__proto__ toString', 'a'.repeat(4_000), '😀'])
      search(words, query);
  });
});
