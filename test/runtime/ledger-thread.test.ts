import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressOf, type Partition, type SharedLog } from '../../runtime/address.ts';
import { SvcError } from '../../runtime/errors.ts';
import { keysOfTurn } from '../../runtime/ledger/keys.ts';
import { LedgerRound, type RoundPacker } from '../../runtime/ledger/writing/ledger-round.ts';
import { LedgerThread } from '../../runtime/ledger/writing/ledger-thread.ts';
import { ledgerPart } from '../../runtime/ledger/writing/ledger-writer.ts';
import type { RecordedDeliveries } from '../../runtime/ledger/writing/recorded-commits.ts';
import type { Message } from '../../runtime/message.ts';
import type { ProjectedCommit } from '../../runtime/projection/views.ts';
import type { TurnRow } from '../../runtime/turns/actor-draft.ts';
import { UNREADABLE } from '../../runtime/turns/loading.ts';

const done: TurnRow = { outcome: 'done', now: 5, waitMs: 1, turnUs: 14, digest: 'S1' };

const messageOf = (id: string, more: Partial<Message> = {}): Message => ({
  id,
  to: addressOf('counter', 'acme', id.length % 2 === 0 ? 'even' : 'odd'),
  from: null,
  cause: null,
  trace: `t-${id}`,
  origin: 'client',
  type: 'Add',
  payload: { text: 'ü "quoted" \n' },
  ...more,
});

/** Deliveries of each kind that a commit can have. */
function commitOf(first: number): ProjectedCommit {
  const client = messageOf(`client-${first}`);
  const told = messageOf(`told-${first}`, { from: client.to, cause: client.id, origin: 'actor' });
  const timer = messageOf(`timer-${first}`, { from: client.to, cause: told.id, origin: 'timer', timer: 'later' });
  const effect = { origin: 'effect', cause: told.id, payload: { effectId: `effect-${first}` } } as const;
  const traced = messageOf(`traced-${first}`, { traceContext: { sampled: false }, causeTrace: 'another' });
  const odd = messageOf('an id with "quotes" \\ and\nlines', { cause: 'a "cause"' });
  const blob = messageOf(`blob-${first}`);
  const all: { message: Message; body?: string; row?: TurnRow; to?: typeof UNREADABLE }[] = [
    ...[client, told, timer, messageOf(`result-${first}`, effect), traced, odd].map((message) => ({ message })),
    {
      message: messageOf(`retry-${first}`),
      row: { ...done, drained: [{ body: JSON.stringify(odd), outcome: 'done' }] },
    },
    { message: blob, body: '@acme/abc' },
    { message: messageOf('unreadable'), body: 'no message\nat all', to: UNREADABLE },
    { message: messageOf('later'), row: { ...done, outcome: 'postponed' } },
  ];
  const bodies = all.map(({ message, body }) => body ?? JSON.stringify(message));
  const rows = all.map(({ row }) => row ?? done);
  const drained = new Map([[JSON.stringify(odd), odd]]);
  return {
    upTo: first + all.length,
    epoch: 3,
    node: first % 20 === 0 ? 'node-a' : null,
    entries: bodies.map((body, at) => ({ seq: first + at, at: 1_000 + first + at, body })),
    targets: all.map(({ message, to }) => to ?? message.to),
    partitions: all.map((_one, at): Partition => `default:${at % 3}`),
    rows,
    rowTexts: rows.map((row) => JSON.stringify(row)),
    keys: all.map(({ message, to }, at) =>
      to === undefined ? keysOfTurn(message, bodies[at] ?? '', rows[at], drained) : null,
    ),
  };
}

function recorded(log: SharedLog | null, ...firsts: number[]): RecordedDeliveries[] {
  const { recorded: deliveries } = ledgerPart(log, firsts.map(commitOf));
  return deliveries === null ? [] : [deliveries];
}

const LOGS = [null, 'log-1', 'log-2'] as const;
const ALL = LOGS.map((log, at) => recorded(log, 10 * at, 10 * at + 100));

async function packed(packer: RoundPacker) {
  packer.begin('node-a', 7);
  for (const some of ALL) assert.equal(await packer.add(some, 8), null);
  return packer.end();
}

test('another thread packs the same segments and keys of all kinds of deliveries as this one', async () => {
  const thread = new LedgerThread();
  try {
    const here = await packed(new LedgerRound());
    assert.ok((here.runs[0]?.keys.count ?? 0) > 100);
    assert.deepEqual(await packed(thread), here);
    // A round that was begun and not ended leaves nothing in the next one.
    thread.begin('node-a', 6);
    await thread.add(recorded(null, 0), 7);
    assert.deepEqual(await packed(thread), here);
  } finally {
    await thread.close();
  }
});

test('a thread that cannot be started is not tried again for some time', async () => {
  const thread = new LedgerThread('no-such-module');
  assert.equal(thread.isReady, true);
  await assert.rejects(
    packed(thread),
    (thrown: unknown) => thrown instanceof SvcError && thrown.code === 'unavailable',
  );
  assert.equal(thread.isReady, false);
});
