/** Reads traces page by page and converts them to columns, so that the page only draws. */
import { createClient, SvcApiError } from '../../clients/typescript/client.ts';
import type { Trace } from '../../clients/typescript/gen/operations.ts';
import { type Batch, BatchWriter, buffersOf } from './batch.ts';

/** Requests the data appended since the last read. */
export interface ReadOrder {
  readonly baseUrl: string;
  readonly token: string | undefined;
  readonly trace: string;
  /** Tenant in which a service account acts. */
  readonly tenant: string | undefined;
}

export type TraceHead = Omit<Trace, 'deliveries' | 'effects' | 'next'>;

export type WorkerAnswer =
  | { readonly kind: 'page'; readonly head: TraceHead; readonly batch: Batch; readonly isLast: boolean }
  | { readonly kind: 'failed'; readonly status: number; readonly code: string | null; readonly message: string };

const PAGE_ROWS = 1_000;

const writer = new BatchWriter();
/** Token of the last page read, which may have grown. */
let position: string | undefined;

async function read({ baseUrl, token, trace, tenant }: ReadOrder): Promise<void> {
  const client = createClient({ baseUrl, token });
  for (;;) {
    const page: Trace = await client.traces.get({ trace_id: trace, limit: PAGE_ROWS, next: position }, { tenant });
    const { deliveries, effects, next, ...head } = page;
    const batch = writer.write(deliveries, effects);
    answer({ kind: 'page', head, batch, isLast: next === null }, buffersOf(batch));
    if (next === null) return;
    position = next;
  }
}

const answer = (message: WorkerAnswer, transfer: Transferable[] = []): void => self.postMessage(message, { transfer });

self.addEventListener('message', ({ data }: MessageEvent<ReadOrder>) => {
  read(data).catch((error: unknown) => {
    const refusal = error instanceof SvcApiError ? error : null;
    const message = error instanceof TypeError ? 'The node does not answer.' : String(error);
    answer({
      kind: 'failed',
      status: refusal?.status ?? 0,
      code: refusal?.code ?? null,
      message: refusal?.message ?? message,
    });
  });
});
