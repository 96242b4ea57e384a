/**
 * A node with the kernel tests' actors in a process of its own, to be killed: takes `KillNodeCall`s over the channel of
 * `fork`, answers each with its id. SIGTERM ends it in order. Arguments: the `StoreLocation` as JSON.
 */

import type { Address } from '../../runtime/address.ts';
import type { Json } from '../../runtime/json.ts';
import { openStores, type StoreLocation } from '../../runtime/open-stores.ts';
import { startRuntime } from '../../runtime/runtime.ts';
import { counter, job, workEffect } from './actors.ts';

export type KillNodeCall = { readonly id: number } & (
  | { readonly verb: 'tell' | 'ask'; readonly to: Address; readonly type: string; readonly payload: Json }
  | { readonly verb: 'read'; readonly to: Address }
);

const location: Omit<StoreLocation, 'warn'> = JSON.parse(process.argv[2] ?? 'null');
const warn = (message: string, error: unknown): void => console.error(message, error ?? '');
const ports = await openStores({ ...location, warn });
const runtime = await startRuntime({
  ...ports,
  definitions: [counter, job],
  handlers: [workEffect({ begun: [], aborted: [] })],
  node: 'node-a',
  settings: {
    partitions: 4,
    systemPartitions: 1,
    retry: { maxAttempts: 5, initialDelayMs: 100, maxDelayMs: 400 },
  },
  warn,
});

async function answer(call: KillNodeCall): Promise<unknown> {
  if (call.verb === 'read') return runtime.client.read(call.to);
  if (call.verb === 'ask') return runtime.client.ask(call.to, call.type, call.payload);
  await runtime.client.tell(call.to, call.type, call.payload);
  return null;
}

process.on('message', (call: KillNodeCall) => {
  answer(call).then(
    (value) => process.send?.({ id: call.id, value }),
    (error: unknown) => process.send?.({ id: call.id, error: String(error) }),
  );
});
process.on('SIGTERM', () => {
  runtime
    .stop()
    .then(() => ports.close())
    .then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
});
process.send?.({ id: 0, value: 'up' });
