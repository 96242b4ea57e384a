import { z } from 'zod';
import type { StoredDocument } from '../../runtime/documents.ts';
import { unpackLines } from '../../runtime/ledger/packing.ts';
import type { OpenStores } from '../../runtime/open-stores.ts';
import { decodeMessage } from '../../runtime/turns/codec.ts';
import { createPayloads, type Payloads } from '../../runtime/turns/payload.ts';

/** A result of an effect from the node's own ledger of deliveries (R3). */
export interface RecordedResult {
  readonly executionId: string;
  readonly iteration: number;
  readonly type: string;
  readonly attempt: number;
  readonly ended: string;
  /** Unix ms at which the result was durable in the mailbox. */
  readonly atMs: number;
}

type LedgerDocument = StoredDocument & { readonly partition: string; readonly lines: string };
type Line = readonly [
  seq: number,
  at: number,
  epoch: number,
  row: { readonly outcome: string } | null,
  message: unknown,
];

const PAGE = 500;

/** Every result of a model or program that the node delivered to an execution, each delivery once. */
export async function recordedResults({ documents, blobs }: OpenStores): Promise<RecordedResult[]> {
  const ledger = await documents.collection<LedgerDocument>({ name: 'ledger', unique: [], indexes: [] });
  const payloads = createPayloads(blobs);
  const results: RecordedResult[] = [];
  const seen = new Set<string>();
  for (let skip = 0; ; skip += PAGE) {
    const page = await ledger.find({ tenant: 'svc-system', sort: [['id', 'asc']], limit: PAGE, skip });
    for (const { partition, lines } of page) {
      const parsed: Line[] = JSON.parse(await unpackLines(lines));
      for (const [seq, at, , row, message] of parsed) {
        // Segments may overlap after a crash; a delivery is named by its partition and sequence.
        const name = `${partition}#${seq}`;
        if (seen.has(name) || row?.outcome !== 'done') continue;
        seen.add(name);
        // A result that was stored separately is its reference as text.
        const body = typeof message === 'string' ? message : JSON.stringify(message);
        const result = await resultIn(payloads, body, at);
        if (result !== null) results.push(result);
      }
    }
    if (page.length < PAGE) return results;
  }
}

const Result = z.object({
  attempt: z.number(),
  context: z.object({ iteration: z.number() }),
  outcome: z.object({ kind: z.string() }),
});

async function resultIn(payloads: Payloads, body: string, atMs: number): Promise<RecordedResult | null> {
  const { to, type, payload } = await decodeMessage(payloads, body);
  if (type !== 'ModelAnswered' && type !== 'ProgramEnded') return null;
  const { attempt, context, outcome } = Result.parse(payload);
  const executionId = to.slice(to.lastIndexOf('/') + 1);
  return { executionId, iteration: context.iteration, type, attempt, ended: outcome.kind, atMs };
}
