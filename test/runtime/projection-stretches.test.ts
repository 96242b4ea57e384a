import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { z } from 'zod';
import { type Address, addressOf } from '../../runtime/address.ts';
import { defineActor } from '../../runtime/define-actor.ts';
import type { StoredDocument } from '../../runtime/documents.ts';
import { HeldDocuments } from '../support/held-documents.ts';
import { startKernelNode } from '../support/kernel-node.ts';
import { waitUntil } from '../support/wait-until.ts';

/** Ends with its first message, which it also tells. */
const brief = defineActor({
  kind: 'brief',
  version: 1,
  state: z.object({ over: z.boolean() }),
  initial: () => ({ over: false }),
  messages: { End: z.object({}) },
  events: { Ended: z.object({ text: z.string() }) },
  on: {
    End(_state, _end, turn) {
      turn.emit('Ended', { text: 'over' });
      return { over: true };
    },
  },
  view: { collection: 'briefs', project: ({ over }, { tenant, id }) => ({ tenant, id, over }) },
  done: ({ over }) => over,
});

const MANY = 200;
const addresses = (): Address[] => Array.from({ length: MANY }, () => addressOf('brief', 'acme', randomUUID()));

async function ended(t: TestContext) {
  const written = new HeldDocuments();
  const forgotten: (readonly Address[])[] = [];
  const node = await startKernelNode({
    definitions: [brief],
    documents: (inner) => written.over(inner),
    store: (inner) => ({
      forget(lease, after, some) {
        forgotten.push(some);
        return inner.forget(lease, after, some);
      },
    }),
  });
  t.after(() => node.stop());
  const all = addresses();
  await Promise.all(all.map((to) => node.runtime.client.ask(to, 'End', {})));
  written.isDown = false;
  const inStore = () => node.store.recorded('default:0');
  await waitUntil('all to leave the store', async () => (await inStore()).length === 0);
  return { node, written, forgotten, all };
}

test('actors that end together are projected in stretches of 64: one write of each list and of the archive, one forget', async (t) => {
  const { node, written, forgotten, all } = await ended(t);
  for (const collection of ['briefs', 'archived_actors']) {
    const sizes = written.sizes.get(collection) ?? [];
    assert.equal(
      sizes.reduce((sum, size) => sum + size, 0),
      MANY,
      `${collection}: ${sizes}`,
    );
    assert.ok(Math.max(...sizes) <= 64, `${collection}: ${sizes}`);
    assert.ok(sizes.length <= Math.ceil(MANY / 64), `${collection}: ${sizes}`);
  }
  assert.equal(forgotten.flat().length, MANY);
  assert.ok(forgotten.length <= Math.ceil(MANY / 64), `${forgotten.length} calls of forget`);
  for (const address of all) {
    assert.ok((await node.runtime.archive.loadRecord(address)) !== null);
    assert.equal((await node.runtime.archive.readEvents(address, 0, 10)).length, 1);
  }
});

test('an actor whose record is not the archived one stays in the store, and the others of its stretch leave it', async (t) => {
  const [one, other] = addresses();
  assert.ok(one !== undefined && other !== undefined);
  const forgotten: Address[][] = [];
  const archive = new HeldDocuments('archived_actors');
  let looks = 0;
  const node = await startKernelNode({
    definitions: [brief],
    documents: (inner) => archive.over(inner),
    store: (inner) => ({
      /** The projection reads another text of the record than the one that was committed. */
      async load(partition, wanted) {
        const texts = await inner.load(partition, wanted);
        if (archive.isDown || !wanted.includes(one)) return texts;
        looks += 1;
        return looks > 1 ? texts : texts.map((text, index) => (wanted[index] === one ? `${text} ` : text));
      },
      async forget(lease, after, some) {
        const isDone = await inner.forget(lease, after, some);
        forgotten.push([...some]);
        return isDone;
      },
    }),
  });
  t.after(() => node.stop());
  await Promise.all([one, other].map((to) => node.runtime.client.ask(to, 'End', {})));
  // An actor in memory is not read from the store.
  await waitUntil('both in memory', async () => node.runtime.activations() === 2);
  await node.runtime.dropActor(one);
  archive.isDown = false;
  await waitUntil('the archive of both', async () => {
    const kept = await Promise.all([one, other].map((to) => node.runtime.archive.loadRecord(to)));
    return kept.every((record) => record !== null) && forgotten.length > 0;
  });
  assert.deepEqual(forgotten.flat(), [other]);
  assert.deepEqual(await node.store.recorded('default:0'), [one]);
});

test('an actor is listed as ended only when the archive has it: a store that goes away in between may come back without it', async (t) => {
  const [one] = addresses();
  assert.ok(one !== undefined);
  const archive = new HeldDocuments('archived_actors');
  const node = await startKernelNode({ definitions: [brief], documents: (inner) => archive.over(inner) });
  t.after(() => node.stop());
  const briefs = await node.documents.collection<StoredDocument>({ name: 'briefs', unique: [], indexes: [] });
  await node.runtime.client.ask(one, 'End', {});
  await waitUntil('the archive was tried twice', () => archive.tried >= 2);
  assert.equal(await briefs.count({ tenant: 'acme' }), 0);
  archive.isDown = false;
  await waitUntil('the end is listed', async () => (await briefs.count({ tenant: 'acme' })) === 1);
  assert.ok((await node.runtime.archive.loadRecord(one)) !== null);
});
