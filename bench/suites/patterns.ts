import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorWords } from '../../catalog/patterns/normalisation.ts';
import { halfLife, PATTERNS, type PatternRecord } from '../../catalog/patterns/pattern-record.ts';
import { given, newRecord } from '../../catalog/patterns/pattern-rules.ts';
import { createPatterns } from '../../catalog/patterns/patterns.ts';
import {
  createTermIndex,
  PATTERN_TERMS,
  PATTERNS_OF_TERM,
  type PatternIndex,
  type TermRecord,
  termsOf,
} from '../../catalog/patterns/term-index.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { Collection, Documents, StoredDocument } from '../../runtime/documents.ts';
import { MongoDocuments } from '../../runtime/mongo/documents.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import { mongoMissing, startMongo } from '../../test/support/ferretdb.ts';
import { patternOf, seenAgain } from '../patterns/corpus.ts';
import { createPostings, POSTINGS, type Posting, postingsOf } from '../patterns/postings.ts';
import { type Plan, type Section, table, whole } from '../report.ts';

const TENANT = 'bench';
const BAR_MS = 50;
const SETTINGS = { enabled: true, patterns: { dedup_threshold: 0.85, half_life_days: 30, max_per_tenant: 1_000_000 } };
const decay = halfLife(SETTINGS.patterns.half_life_days);

interface Store {
  readonly name: string;
  readonly documents: Documents;
  bytes(): Promise<number | null>;
  stop(): Promise<void>;
}

async function sqlite(): Promise<Store> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-bench-patterns-'));
  const documents = new SqliteDocuments({ directory });
  await documents.open();
  return {
    name: 'SQLite',
    documents,
    bytes: async () => (await stat(join(directory, 'documents.db'))).size,
    async stop() {
      await documents.close();
      await rm(directory, { recursive: true });
    },
  };
}

async function ferret(): Promise<Store> {
  const server = await startMongo();
  const documents = new MongoDocuments({ uri: server.uri, database: 'svc_bench_patterns' });
  await documents.open();
  return {
    name: 'FerretDB',
    documents,
    bytes: async () => null,
    async stop() {
      await documents.close();
      await server.stop();
    },
  };
}

/** Writes in bulk what this many calls of `store` write. */
async function fill(
  documents: Documents,
  from: number,
  to: number,
  terms: Map<string, string[]>,
): Promise<PatternRecord[]> {
  const patterns = await documents.collection<PatternRecord>(PATTERNS);
  const index = await documents.collection<TermRecord>(PATTERN_TERMS);
  const records: PatternRecord[] = [];
  const changed = new Set<string>();
  for (let at = from; at < to; at += 1) {
    const record = newRecord(TENANT, given(patternOf(at)), { nowMs: Date.now(), decay, once: undefined });
    records.push(record);
    for (const { bucket } of termsOf(record.words)) {
      terms.set(bucket, [record.id, ...(terms.get(bucket) ?? [])].slice(0, PATTERNS_OF_TERM));
      changed.add(bucket);
    }
  }
  await putAll(patterns, records);
  const rows = [...changed].map((id) => ({ tenant: TENANT, id, version: to, pattern_ids: terms.get(id) ?? [] }));
  await putAll(index, rows);
  return records;
}

async function putAll<T extends StoredDocument>(collection: Collection<T>, rows: readonly T[]): Promise<void> {
  for (let at = 0; at < rows.length; at += 1_000) await collection.putMany(rows.slice(at, at + 1_000));
}

interface Spread {
  readonly p50: number;
  readonly p99: number;
  /** Processor time of this process. */
  readonly cpuMs: number;
}

async function timed(times: number, call: (at: number) => Promise<unknown>): Promise<Spread> {
  const took: number[] = [];
  const before = process.cpuUsage();
  for (let at = 0; at < times; at += 1) {
    const start = performance.now();
    await call(at);
    took.push(performance.now() - start);
  }
  const { user, system } = process.cpuUsage(before);
  took.sort((some, other) => some - other);
  const of = (share: number): number => took[Math.min(took.length - 1, Math.floor(took.length * share))] ?? 0;
  return { p50: of(0.5), p99: of(0.99), cpuMs: (user + system) / 1_000 / times };
}

const ms = ({ p50, p99 }: Spread): string => `${p50.toFixed(1)} / ${p99.toFixed(1)}`;
/** Patterns that are looked for, spread over all. */
const pick = (at: number, size: number): number => (at * 7_919) % size;

async function measure(store: Store, size: number, times: number): Promise<string[]> {
  const patterns = await createPatterns({ documents: store.documents, clock: systemClock, settings: SETTINGS });
  const index = createTermIndex(await store.documents.collection<TermRecord>(PATTERN_TERMS));
  const search = (at: number) => index.candidates(TENANT, errorWords(seenAgain(pick(at, size))));
  let found = 0;
  await timed(Math.min(20, times), (at) => patterns.query(TENANT, { errorSignature: seenAgain(pick(at, size)) }));
  const query = await timed(times, async (at) => {
    const asked = pick(at, size);
    const { errorSignature } = patternOf(asked);
    const answer = await patterns.query(TENANT, { errorSignature: seenAgain(asked) });
    if (answer.some(({ error_signature }) => error_signature === errorSignature)) found += 1;
  });
  const candidates = await timed(times, search);
  const store1 = await timed(Math.ceil(times / 4), (at) => patterns.store(TENANT, patternOf(10_000_000 + size + at)));
  const again = await timed(Math.ceil(times / 4), (at) => patterns.store(TENANT, patternOf(pick(at, size))));
  const bytes = await store.bytes();
  const bar = query.p99 <= BAR_MS ? 'yes' : 'no';
  return [
    ...[store.name, whole(size), ms(query), bar, query.cpuMs.toFixed(1), `${((found / times) * 100).toFixed(1)} %`],
    ...[ms(candidates), ms(store1), ms(again), bytes === null ? '' : whole(bytes / size)],
  ];
}

/** The rejected design over the same patterns: the time to find its candidates, and those of the current design. */
async function beside(store: Store, records: readonly PatternRecord[], times: number): Promise<string[]> {
  const postings = await store.documents.collection<Posting>(POSTINGS);
  const rows = records.flatMap((record, at) => postingsOf(record, at));
  await putAll(postings, rows);
  const size = records.length;
  const of = (index: PatternIndex) =>
    timed(times, (at) => index.candidates(TENANT, errorWords(seenAgain(pick(at, size)))));
  const today = await of(createTermIndex(await store.documents.collection<TermRecord>(PATTERN_TERMS)));
  const other = await of(createPostings(postings));
  return [store.name, whole(size), ms(today), ms(other), (rows.length / size).toFixed(1)];
}

/** What a query of learned patterns takes as a tenant learns, and a store. */
export async function patterns({ repetitions }: Plan): Promise<Section> {
  const isSmall = repetitions === 1;
  const rows: string[][] = [];
  const ways: string[][] = [];
  const missing = mongoMissing();
  for (const open of missing === false ? [sqlite, ferret] : [sqlite]) {
    const store = await open();
    // FerretDB 1 scans for each read of one document, so nothing is flat there: a hundredth of all says as much.
    const share = open === sqlite ? 1 : 100;
    const sizes = (isSmall ? [1_000, 10_000] : [10_000, 100_000]).map((size) => size / share);
    const times = (isSmall ? 100 : 200) / share;
    try {
      const terms = new Map<string, string[]>();
      const records: PatternRecord[] = [];
      for (const [at, size] of sizes.entries()) {
        records.push(...(await fill(store.documents, sizes[at - 1] ?? 0, size, terms)));
        const row = await measure(store, size, times);
        rows.push(row);
        process.stderr.write(`${row.join('  ')}\n`);
      }
      // The rejected design over a tenth: it writes twenty documents for each pattern.
      ways.push(await beside(store, records.slice(0, sizes[0]), times));
    } finally {
      await store.stop();
    }
  }
  const head = ['store', 'patterns', 'query p50 / p99 ms', `p99 ≤ ${BAR_MS}`, 'CPU ms', 'found in the first ten'];
  const text = [
    table([...head, 'its candidates ms', 'store, new ms', 'store, known ms', 'bytes a pattern'], rows),
    'Candidates of both ways over the same patterns, p50 / p99 ms:',
    table(['store', 'patterns', 'a list a term', 'a document a term and pattern', 'of these a pattern'], ways),
    ...(missing === false ? [] : [`OMITTED: FerretDB, ${missing}`]),
  ];
  return { title: 'Learned patterns', text: text.join('\n\n') };
}
