import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { z } from 'zod';
import { addressOf } from '../../runtime/address.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import type { Documents, StoredDocument } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { unpackLines } from '../../runtime/ledger/packing.ts';
import { counter, job, workEffect } from '../support/actors.ts';
import { startKernelNode } from '../support/kernel-node.ts';
import { checkedDocuments } from '../support/over-documents.ts';
import { waitUntil } from '../support/wait-until.ts';

/** Its list view is broken for some states. */
const listed = defineActor({
  kind: 'listed',
  version: 1,
  state: z.object({ text: z.string() }),
  initial: () => ({ text: '' }),
  messages: { Write: z.object({ text: z.string() }) },
  events: {},
  on: { Write: (_state, { text }) => ({ text }) },
  view: {
    collection: 'listed',
    project({ text }, { tenant, id }) {
      if (text === 'broken') throw new Error('this view is broken');
      return { tenant, id, text };
    },
  },
});

const fresh = (kind: string) => addressOf(kind, 'acme', randomUUID());
const viewOf = (documents: Documents, name: string) => documents.collection({ name, unique: [], indexes: [] });
const idOf = (address: string): string => address.split('/')[2] ?? '';

test('a broken view keeps no other actor from its list', async () => {
  const node = await startKernelNode({ definitions: [listed] });
  try {
    const good = fresh('listed');
    await node.runtime.client.ask(fresh('listed'), 'Write', { text: 'broken' });
    await node.runtime.client.ask(good, 'Write', { text: 'fine' });
    const view = await viewOf(node.documents, 'listed');
    await waitUntil('the good one in its list', () => view.get('acme', idOf(good)));
    assert.ok(node.warnings.some((warning) => warning.includes('the view of')));
  } finally {
    await node.stop();
  }
});

/** Its state has the requested size, so that it is stored separately; it ends on request. */
const heap = defineActor({
  kind: 'heap',
  version: 1,
  state: z.object({ text: z.string(), over: z.boolean() }),
  initial: () => ({ text: '', over: false }),
  messages: { Grow: z.object({ chars: z.number() }), End: z.object({}) },
  events: {},
  on: {
    Grow: (state, { chars }) => ({ ...state, text: 'x'.repeat(chars) }),
    End: (state) => ({ ...state, over: true }),
  },
  view: {
    collection: 'heaps',
    project: ({ text, over }, { tenant, id }) => ({ tenant, id, chars: text.length, over }),
  },
  done: ({ over }) => over,
});

const LARGE_CHARS = 100 * 1_024;

test('a state whose stored payload is missing is dead-lettered alone: lists, archive and journal of its partition go on', async () => {
  let isDown = true;
  const asked = new Map<string, number>();
  const node = await startKernelNode({
    definitions: [heap],
    documents: (inner) => failingPuts(inner, () => isDown),
    blobs: (inner) => ({
      open: () => inner.open(),
      close: () => inner.close(),
      put: (...args) => inner.put(...args),
      delete: (...args) => inner.delete(...args),
      deleteOwned: (...args) => inner.deleteOwned(...args),
      get(tenant, ref) {
        asked.set(ref, (asked.get(ref) ?? 0) + 1);
        return inner.get(tenant, ref);
      },
    }),
  });
  try {
    const broken = fresh('heap');
    const good = fresh('heap');
    await node.runtime.client.ask(broken, 'Grow', { chars: LARGE_CHARS });
    const [text] = await node.store.load('default:0', [broken]);
    const ref = text?.split('/')[1] ?? '';
    await node.blobs.delete('acme', ref);
    await node.runtime.client.ask(good, 'Grow', { chars: 3 });
    await node.runtime.client.ask(good, 'End', {});
    isDown = false;
    const view = await viewOf(node.documents, 'heaps');
    await waitUntil('the good one in its list', () => view.get('acme', idOf(good)));
    await waitUntil('the good one in the archive', () => node.runtime.archive.loadRecord(good));
    const letters = await viewOf(node.documents, 'dead_letters');
    await waitUntil('the dead letter', async () => (await letters.count({ tenant: 'acme' })) === 1);
    await waitUntil('the journal to be trimmed', async () => {
      return (await node.store.readJournal('default:0', 0, 10)).length === 0;
    });
    const seen = asked.get(ref) ?? 0;
    for (let count = 0; count < 20; count += 1) await node.runtime.client.ask(fresh('heap'), 'Grow', { chars: 1 });
    const last = fresh('heap');
    await node.runtime.client.ask(last, 'End', {});
    await waitUntil('later ones in the archive', () => node.runtime.archive.loadRecord(last));
    assert.equal(asked.get(ref) ?? 0, seen, 'it is not looked for again and again');
    assert.ok(seen <= 4, `looked for ${seen} times`);
  } finally {
    await node.stop();
  }
});

test('stored payloads that are unavailable are waited for: nothing is dead-lettered, and lists are complete afterwards', async () => {
  let isAway = false;
  const node = await startKernelNode({
    definitions: [heap],
    blobs: (inner) => ({
      open: () => inner.open(),
      close: () => inner.close(),
      put: (...args) => inner.put(...args),
      delete: (...args) => inner.delete(...args),
      deleteOwned: (...args) => inner.deleteOwned(...args),
      get: (tenant, ref) =>
        isAway ? Promise.reject(new SvcError('unavailable', 'payloads are away')) : inner.get(tenant, ref),
    }),
  });
  try {
    isAway = true;
    const large = fresh('heap');
    await node.runtime.client.ask(large, 'Grow', { chars: LARGE_CHARS });
    await waitUntil('the projection to wait', async () =>
      node.warnings.some((text) => text.includes('could not be written')),
    );
    isAway = false;
    const view = await viewOf(node.documents, 'heaps');
    await waitUntil('it in its list', () => view.get('acme', idOf(large)));
    const letters = await viewOf(node.documents, 'dead_letters');
    assert.equal(await letters.count({ tenant: null }), 0);
  } finally {
    await node.stop();
  }
});

test('an entry that cannot be read is dead-lettered and keeps nothing else from its list after a restart', async () => {
  let isDown = true;
  const node = await startKernelNode({
    definitions: [listed],
    documents: (inner) => failingPuts(inner, () => isDown),
  });
  try {
    const poisoned = fresh('listed');
    await node.store.append('default:0', [{ id: randomUUID(), to: poisoned, body: '{"this is": "no message"' }], 10);
    const good = fresh('listed');
    await node.runtime.client.ask(good, 'Write', { text: 'fine' });
    // Another life of the node takes the partition: its projector reads the journal back.
    const taken = await node.store.acquire('default:0', 'node-a', randomUUID(), 5_000);
    assert.equal(taken.kind, 'granted');
    await node.runtime.client.ask(good, 'Write', { text: 'again' });
    isDown = false;
    const view = await viewOf(node.documents, 'listed');
    await waitUntil('the good one in its list', () => view.get('acme', idOf(good)));
    const letters = await viewOf(node.documents, 'dead_letters');
    await waitUntil('the dead letter', async () => (await letters.count({ tenant: null })) === 1);
    const ledger = await node.documents.collection<StoredDocument & { lines: string }>({
      name: 'ledger',
      unique: [],
      indexes: [],
    });
    for (const { lines } of await ledger.find({ tenant: null, limit: 100 })) JSON.parse(await unpackLines(lines));
  } finally {
    await node.stop();
  }
});

test('changes made while documents were down are in the lists and the ledger when they are back', async () => {
  let isDown = true;
  const node = await startKernelNode({
    definitions: [job, counter],
    handlers: [workEffect({ begun: [], aborted: [] })],
    documents: (inner) => failingPuts(inner, () => isDown),
  });
  try {
    const done = fresh('job');
    await node.runtime.client.ask(done, 'Run', { input: { value: 1 } });
    const busy = fresh('counter');
    const text = 'x'.repeat(60_000);
    // More than memory keeps of one partition: the journal has the rest.
    for (let round = 0; round < 30; round += 1) {
      const calls = Array.from({ length: 12 }, () => node.runtime.client.ask(busy, 'Add', { by: 1, text }));
      await Promise.all(calls);
    }
    isDown = false;
    const view = await viewOf(node.documents, 'jobs');
    await waitUntil('the job in its list', () => view.get('acme', idOf(done)));
    await waitUntil('the archive', async () => (await node.runtime.client.read(done))?.archived === true);
    const seen = new Set<number>();
    await waitUntil(
      'all deliveries in the ledger',
      async () => {
        const ledger = await node.documents.collection<StoredDocument & { lines: string }>({
          name: 'ledger',
          unique: [],
          indexes: [],
        });
        for (const { lines } of await ledger.find({ tenant: 'acme', limit: 1_000 })) {
          for (const [seq] of z
            .array(z.tuple([z.number()]).rest(z.unknown()))
            .parse(JSON.parse(await unpackLines(lines))))
            seen.add(seq);
        }
        return seen.size >= 362;
      },
      60_000,
    );
    const inMailbox = [...seen].filter(Number.isInteger).sort((a, b) => a - b);
    assert.deepEqual(
      inMailbox,
      Array.from({ length: 361 }, (_, index) => index + 1),
    );
    assert.equal(seen.size, 362, 'and the result of the job, which was in no mailbox');
  } finally {
    await node.stop();
  }
});

test('lists of a node without the ledger are written after a restart too', async () => {
  let isDown = true;
  const node = await startKernelNode({
    definitions: [listed],
    settings: { ledger: false },
    documents: (inner) => failingPuts(inner, () => isDown),
  });
  try {
    const to = fresh('listed');
    await node.runtime.client.ask(to, 'Write', { text: 'fine' });
    await node.store.acquire('default:0', 'node-a', randomUUID(), 5_000);
    // Another actor: what was written under the lost lease comes from the journal alone.
    await node.runtime.client.ask(fresh('listed'), 'Write', { text: 'other' });
    isDown = false;
    const view = await viewOf(node.documents, 'listed');
    await waitUntil('the first one in its list', () => view.get('acme', idOf(to)));
  } finally {
    await node.stop();
  }
});

const failingPuts = (inner: Documents, isDown: () => boolean): Documents =>
  checkedDocuments(inner, (method) => {
    if (method.startsWith('put') && isDown()) throw new SvcError('unavailable', 'documents are away');
  });
