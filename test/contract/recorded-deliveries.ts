import assert from 'node:assert/strict';
import { z } from 'zod';
import type { Commit, CommitOutcome } from '../../runtime/actor-store.ts';
import type { Documents } from '../../runtime/documents.ts';
import { positionOf, resultPosition } from '../../runtime/leases.ts';
import { unpackLines } from '../../runtime/ledger/packing.ts';
import { parseJournalRow } from '../../runtime/projection/views.ts';
import { waitUntil } from '../support/wait-until.ts';

interface Segment {
  readonly tenant: string;
  readonly id: string;
  readonly version: number;
  readonly partition: string;
  readonly lines: string;
}

const Lines = z.array(z.tuple([z.number()]).rest(z.unknown()));

/** A log that was lost when it was read and not projected is searched each 10 s. */
const RECORDED_WITHIN_MS = 25_000;
const MOST_SEGMENTS = 1_000;
/** Deliveries that a failure names. */
const NAMED = 10;

/**
 * The messages that the commits of a store handled, compared with the ledger. A delivery is identified by its log and its
 * number there: numbers of a partition jump when it begins or stops sharing a log, a postponed message is recorded under the
 * number at which it was handled, and a result has a number between two entries.
 */
export class RecordedDeliveries {
  readonly #handled = new Set<string>();

  /** Records a commit that the store wrote, also when its caller got no answer. */
  committed(
    { lease: { log }, after, upTo, journal }: Commit,
    { beside }: Extract<CommitOutcome, { kind: 'committed' }>,
  ) {
    if (journal === null) return;
    const { turns, results } = parseJournalRow(journal);
    const entries = turns.length - results.length;
    assert.equal(entries, upTo - after, `the row of ${log} at ${upTo} has a turn for each entry`);
    const position = positionOf(upTo, beside);
    for (const [index, { outcome }] of turns.entries()) {
      const seq = index < entries ? after + 1 + index : resultPosition(position, index - entries, results.length);
      if (outcome !== 'postponed') this.#handled.add(`${log} ${seq}`);
    }
  }

  /** Resolves when the ledger has each of them, and nothing else. */
  async areAll(documents: Documents): Promise<void> {
    const ledger = await documents.collection<Segment>({ name: 'ledger', unique: [], indexes: [] });
    let difference: { readonly missing: string[]; readonly more: string[] } = { missing: [], more: [] };
    const look = async (): Promise<boolean> => {
      const found = new Set<string>();
      const segments = await ledger.find({ tenant: null, where: {}, limit: MOST_SEGMENTS });
      assert.ok(segments.length < MOST_SEGMENTS, 'all segments are read');
      for (const { id, partition, lines } of segments) {
        const log = partition.includes('~') ? id.slice(id.indexOf('/log-') + 1) : partition;
        for (const [seq] of Lines.parse(JSON.parse(await unpackLines(lines)))) found.add(`${log} ${seq}`);
      }
      difference = {
        missing: [...this.#handled].filter((one) => !found.has(one)),
        more: [...found].filter((one) => !this.#handled.has(one)),
      };
      return difference.missing.length === 0 && difference.more.length === 0;
    };
    await waitUntil('the ledger to have every delivery', look, RECORDED_WITHIN_MS).catch((thrown: unknown) => {
      const { missing, more } = difference;
      const named = `missing: ${missing.slice(0, NAMED).join(', ')}; not handled: ${more.slice(0, NAMED).join(', ')}`;
      assert.fail(`${String(thrown)}; ${missing.length} of ${this.#handled.size} ${named}`);
    });
  }
}
