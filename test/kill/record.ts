import type { Documents, StoredDocument } from '../../runtime/documents.ts';

/** A result of an effect as the node's own ledger of deliveries has it (design R3). */
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
type Line = readonly [seq: number, at: number, epoch: number, row: { readonly outcome: string } | null, body: string];

const PAGE = 500;

/** Every result of a model or program that the node delivered to an execution, each delivery once. */
export async function recordedResults(documents: Documents): Promise<RecordedResult[]> {
  const ledger = await documents.collection<LedgerDocument>({ name: 'ledger', unique: [], indexes: [] });
  const results: RecordedResult[] = [];
  const seen = new Set<string>();
  for (let skip = 0; ; skip += PAGE) {
    const page = await ledger.find({ tenant: 'svc-system', sort: [['id', 'asc']], limit: PAGE, skip });
    for (const { partition, lines } of page) {
      const parsed: Line[] = JSON.parse(lines);
      for (const [seq, at, , row, body] of parsed) {
        // Segments may overlap after a crash; a delivery is named by its partition and sequence.
        const name = `${partition}#${seq}`;
        if (seen.has(name) || row?.outcome !== 'done') continue;
        seen.add(name);
        const result = resultIn(body, at);
        if (result !== null) results.push(result);
      }
    }
    if (page.length < PAGE) return results;
  }
}

interface ResultMessage {
  readonly to: string;
  readonly type: string;
  readonly payload: {
    readonly attempt: number;
    readonly context: { readonly iteration: number };
    readonly outcome: { readonly kind: string };
  };
}

function resultIn(body: string, atMs: number): RecordedResult | null {
  if (body.startsWith('@')) return null;
  const message: ResultMessage = JSON.parse(body);
  if (message.type !== 'ModelAnswered' && message.type !== 'ProgramEnded') return null;
  const { attempt, context, outcome } = message.payload;
  const executionId = message.to.slice(message.to.lastIndexOf('/') + 1);
  return { executionId, iteration: context.iteration, type: message.type, attempt, ended: outcome.kind, atMs };
}
