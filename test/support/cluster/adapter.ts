/**
 * Stands for a transport in a process of its own: it has only a client of the fleet, and tests kill it too.
 * Argument: `AdapterOptions` as JSON. Calls come over its control endpoint.
 */
import { z } from 'zod';
import { addressOf, parseAddress } from '../../../runtime/address.ts';
import type { ActorEvent } from '../../../runtime/client.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { openStores } from '../../../runtime/open-stores.ts';
import { connectClient } from '../../../runtime/runtime.ts';
import { startControlServer } from './control-server.ts';
import { type AdapterOptions, readOptions } from './fleet-options.ts';
import { observeStore } from './observed-store.ts';
import { loadWorkload } from './workload.ts';

const Call = z.object({
  address: z.string(),
  type: z.string(),
  payload: z.json(),
  messageId: z.uuid(),
  timeoutMs: z.number().int().positive(),
});
const Look = z.object({ address: z.string(), after: z.number().int().default(0) });

const Wait = z.object({ address: z.string(), timeoutMs: z.number().int().positive() });

const Load = z.object({
  addresses: z.array(z.string()).min(1),
  type: z.string(),
  payload: z.json(),
  forMs: z.number().positive(),
  inFlight: z.number().int().positive(),
});
const Sum = z.object({ addresses: z.array(z.string()), field: z.string() });
const Numbers = z.record(z.string(), z.number());

const addressIn = (text: string) => {
  const { kind, tenant, id } = parseAddress(text);
  return addressOf(kind, tenant, id);
};

const options = readOptions<AdapterOptions>();
observeStore(options.ambiguity, options.seed);
const { actors } = await loadWorkload(options.workload);
const warn = (message: string, error: unknown): void => console.error(message, error ?? '');
const { dataDir, redis, mongodb, partitions } = options;
const ports = await openStores({ dataDir, redis: [redis], mongodb, warn });
const client = await connectClient({ ...ports, definitions: actors, settings: { partitions }, warn });

const control = await startControlServer({
  'POST /ask': async (body) => {
    const { address, type, payload, messageId, timeoutMs } = Call.parse(body);
    return client.ask(addressIn(address), type, payload, { messageId, timeoutMs });
  },
  'POST /tell': async (body) => {
    const { address, type, payload, messageId, timeoutMs } = Call.parse(body);
    await client.tell(addressIn(address), type, payload, { messageId, timeoutMs });
  },
  'POST /read': async (body) => client.read(addressIn(Look.parse(body).address)),
  'POST /events': async (body) => {
    const { address, after } = Look.parse(body);
    return client.events(addressIn(address), after, 1_000);
  },
  // Sends asks to the actors in turn, this many at a time; returns how many were answered.
  'POST /load': async (body) => {
    const { addresses, type, payload, forMs, inFlight } = Load.parse(body);
    const known = addresses.map(addressIn);
    const until = performance.now() + forMs;
    let sent = 0;
    const lane = async (): Promise<void> => {
      while (performance.now() < until) {
        const to = known[sent++ % known.length];
        if (to !== undefined) await client.ask(to, type, payload);
        answered += 1;
      }
    };
    let answered = 0;
    await Promise.all(Array.from({ length: inFlight }, lane));
    return answered;
  },
  // The sum of a number in the committed states.
  'POST /sum': async (body) => {
    const { addresses, field } = Sum.parse(body);
    const snapshots = await Promise.all(addresses.map((address) => client.read(addressIn(address))));
    const states = snapshots.map((snapshot) => Numbers.parse(snapshot?.state ?? {}));
    return states.reduce((sum, state) => sum + (state[field] ?? 0), 0);
  },
  // The last event of a stream that has ended; `deadline_exceeded` until then.
  'POST /end': async (body) => {
    const { address, timeoutMs } = Wait.parse(body);
    const signal = AbortSignal.timeout(timeoutMs);
    let last: ActorEvent | null = null;
    for await (const event of client.follow(addressIn(address), 0, { signal, heartbeatMs: 10_000 }))
      last = event ?? last;
    if (signal.aborted || last === null) throw new SvcError('deadline_exceeded');
    return last;
  },
});
console.log(JSON.stringify({ control, rest: null }));

process.on('SIGTERM', () => {
  client.close();
  ports.close().then(
    () => process.exit(0),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
