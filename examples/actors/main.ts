/** `npx node examples/actors/main.ts`: the bookings of docs/guides/adding-an-actor.md, from the first seat to the last restart. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Json } from '../../runtime/index.ts';
import { startBookings } from './bookings-node.ts';
import { createPlayTill } from './payment.ts';

const dataDir = await mkdtemp(join(tmpdir(), 'svc-bookings-'));
const till = createPlayTill();
let node = await startBookings(dataDir, till);

const ask = async (id: string, type: string, payload: Json): Promise<void> => {
  const answer = await node.client.ask(node.address(id), type, payload).catch((error: unknown) => String(error));
  console.log(`${id}  ${type.padEnd(6)} ${JSON.stringify(answer).replace(/\d{4}-[\d-]+T[\d:.]+Z/, '<time>')}`);
};
const follow = async (id: string, after = 0): Promise<void> => {
  const options = { signal: AbortSignal.timeout(10_000), heartbeatMs: 1_000 };
  for await (const event of node.client.follow(node.address(id), after, options)) {
    if (event !== null) console.log(`${id}  #${event.seq} ${event.name}`);
  }
};

try {
  // Paid at the third attempt: the till was busy twice.
  await ask('b-1', 'Hold', { seat: 'A1', price_cents: 4_500 });
  await ask('b-1', 'Pay', { card_token: 'busy' });
  await follow('b-1');

  // No payment: the timer ends the hold, and a late payment is refused.
  await ask('b-2', 'Hold', { seat: 'A2', price_cents: 4_500, hold_for_ms: 50 });
  await follow('b-2');
  await ask('b-2', 'Pay', { card_token: 'good' });

  // All data survives the process: here the runtime stops and another one starts on the same files.
  await ask('b-3', 'Hold', { seat: 'A3', price_cents: 3_000 });
  await node.stop();
  node = await startBookings(dataDir, till);
  await ask('b-3', 'Pay', { card_token: 'good' });
  await follow('b-3');
  console.log(till.charges.join(', '));
} finally {
  await node.stop();
  await rm(dataDir, { recursive: true, force: true });
}
