import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { booking } from '../../examples/actors/booking.ts';
import { startBookings } from '../../examples/actors/bookings-node.ts';
import { createPlayTill } from '../../examples/actors/payment.ts';
import type { Json } from '../../runtime/json.ts';
import { ActorDriver, type OpenEffect } from '../../runtime/testing/actor-driver.ts';
import { waitUntil } from '../support/wait-until.ts';

const run = promisify(execFile);

const resultOf = (effect: OpenEffect | undefined, outcome: Json): Json => ({
  effectId: effect?.id ?? '',
  kind: 'payment.charge',
  attempt: 1,
  outcome,
});
const refused = (message: string) => ({ ok: false, code: 'failed_precondition', message, details: [] });

test('the program of the tutorial prints what the page shows', async () => {
  const { stdout, stderr } = await run(process.execPath, ['examples/actors/main.ts'], { timeout: 30_000 });
  assert.equal(stderr.replace(/^.*(ExperimentalWarning|--trace-warnings).*\n/gm, ''), '');
  assert.equal(stdout, await readFile('test/docs/tutorial.txt', 'utf8'));
});

test('a payment in doubt waits for a person and is never asked for again', () => {
  const actor = new ActorDriver(booking, 'theatre', 'b-1');
  actor.send('Hold', { seat: 'A1', price_cents: 100 });
  actor.send('Pay', { card_token: 'good' });
  const [effect] = actor.effects.values();
  actor.send('Charged', resultOf(effect, { kind: 'in_doubt' }), 'effect');
  assert.equal(actor.effects.size, 1);
  assert.deepEqual(actor.send('Pay', { card_token: 'good' }).reply, refused('the booking is unclear'));
  actor.send('Settle', { paid: true });
  assert.deepEqual(actor.events.at(-1)?.payload, { receipt: 'settled by hand' });
});

test('a hold that was paid is not ended by its timer', () => {
  const actor = new ActorDriver(booking, 'theatre', 'b-2');
  actor.send('Hold', { seat: 'A2', price_cents: 100 });
  actor.send('Pay', { card_token: 'good' });
  assert.equal(actor.timers.size, 0);
  // A timer that was on its way already is a message like any other.
  assert.deepEqual(actor.send('HoldEnded', {}, 'timer').events, []);
});

test('bookings are listed by status, and an ended one can still be read', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'svc-tutorial-'));
  const { client, bookings, address, stop } = await startBookings(dataDir, createPlayTill());
  try {
    await client.ask(address('b-1'), 'Hold', { seat: 'A1', price_cents: 100 });
    await client.ask(address('b-1'), 'Pay', { card_token: 'empty' });
    const where = { status: 'released' };
    const [listed] = await waitUntil('the booking in its list', async () => {
      const found = await bookings.find({ tenant: 'theatre', where, limit: 10 });
      return found.length > 0 && found;
    });
    assert.equal(listed?.seat, 'A1');
    await waitUntil('the booking in the archive', async () => (await client.read(address('b-1')))?.archived);
    const events = await client.events(address('b-1'), 0, 10);
    assert.deepEqual(events.map(({ name, payload }) => [name, name === 'payment_failed' ? payload : null]).slice(1), [
      ['payment_failed', { reason: 'the card is empty' }],
      ['booking_released', null],
    ]);
    await assert.rejects(client.ask(address('b-9'), 'Pay', { card_token: 'good' }), { code: 'not_found' });
    await assert.rejects(client.ask(address('b-9'), 'Hold', { seat: 'A1', price_cents: 0 }), /price_cents/);
  } finally {
    await stop();
    await rm(dataDir, { recursive: true, force: true });
  }
});
