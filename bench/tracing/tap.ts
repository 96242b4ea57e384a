import { once } from 'node:events';
import { request } from 'node:http';
import { systemClock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { LedgerTail } from '../../runtime/ledger/ledger-tail.ts';
import { createTapApi } from '../../usecases/traces/tap.ts';
import type { EmbeddedNode } from '../embedded.ts';

const HEARTBEAT_MS = 15_000;

export interface OpenTap {
  /** Deliveries that were sent to the reader until now, and those that were skipped. */
  readonly counts: { readonly sent: number; readonly dropped: number };
  close(): Promise<void>;
}

const noRuns = async (): Promise<never> => {
  throw new SvcError('not_found', 'this bench has no runs');
};

/** Follows all deliveries of a tenant of a node, and sends each to the receiver as GET /v1/tap does. */
export async function openTap({ runtime, ports }: EmbeddedNode, tenant: string, receiver: string): Promise<OpenTap> {
  const { client, recorded } = runtime;
  const { registry, payloads } = recorded;
  const api = createTapApi({
    client,
    registry,
    executions: { hasEnded: noRuns },
    workflows: { status: noRuns },
    clock: systemClock,
    tail: () => LedgerTail.open({ documents: ports.documents, payloads, clock: systemClock, tenant }),
  });
  const viewer: Identity = { kind: 'local', subject: 'bench', tenant, roles: [], tier: 'free' };
  const stop = new AbortController();
  const sent = request(receiver, { method: 'POST' });
  const counts = { sent: 0, dropped: 0 };
  const records = await api.open(viewer, {}, { signal: stop.signal, heartbeatMs: HEARTBEAT_MS });
  const following = (async () => {
    for await (const some of records) {
      if (some === null) continue;
      for (const record of some) {
        if ('dropped' in record) counts.dropped += record.dropped;
        else counts.sent += 1;
      }
      const text = some.map((record) => `data: ${JSON.stringify(record)}\n\n`).join('');
      if (!sent.write(text)) await once(sent, 'drain');
    }
  })();
  return {
    counts,
    async close() {
      stop.abort();
      await following;
      sent.end();
      const [answer] = await once(sent, 'response');
      answer.resume();
    },
  };
}
