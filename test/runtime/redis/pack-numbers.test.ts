import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it, type TestContext } from 'node:test';
import { addressOf, type Partition } from '../../../runtime/address.ts';
import { Keys } from '../../../runtime/redis/keys.ts';
import { readLibrary } from '../../../runtime/redis/library.ts';
import { redisMissing } from '../../support/redis.ts';
import { openedStore } from './opened-store.ts';

const PARTITION: Partition = 'default:1';
const BOUND = 100;
const to = addressOf('thing', 'tenant-a', 'one');
const skip = redisMissing() ?? false;
const { name: library } = readLibrary();
/** Answers of `append_pack` and `close_writer` (functions/append_pack.lua). */
const [REFUSED, GAP] = [-1, -2];

/** Packs as a writer sends them: text of one character is a message, all in one pack. */
async function writers(test: TestContext) {
  const { admin, store } = await openedStore(test);
  const keys = new Keys('svc');
  const { meta, mail, depths, held } = keys.of(PARTITION);
  const sentAt = await store.now(PARTITION);
  return {
    async append(writer: string, number: number, text: string, ageMs = 0, life = ''): Promise<unknown> {
      const [lengths, targets] = [[...text].map(() => 1).join(','), [...text].map(() => to).join('\n')];
      const pack = [writer, number, sentAt - ageMs, BOUND, text.length, lengths, targets, text, '', life];
      const section = [meta, mail, depths, held, 1, keys.channels, ...pack];
      const answer: unknown = await admin.fcall(`${library}_append_pack`, 4, ...section);
      return Array.isArray(answer) && Array.isArray(answer[0]) ? answer[0][0] : assert.fail(String(answer));
    },
    async close(writer: string): Promise<unknown> {
      const answer: unknown = await admin.fcall(`${library}_close_writer`, 1, meta, 1, keys.channels, writer, 0);
      return Array.isArray(answer) ? answer[0] : assert.fail(String(answer));
    },
    async bodies(): Promise<string> {
      const granted = await store.acquire(PARTITION, 'node-a', randomUUID(), 60_000);
      assert.ok(granted.kind === 'granted');
      const [entries] = await store.poll([{ lease: granted.lease, after: 0 }], 100);
      return (entries ?? []).map(({ body }) => body).join('');
    },
  };
}

it('of the packs of a writer only the next number is taken; a copy is answered as before, a gap is refused', {
  skip,
}, async (test) => {
  const { append, bodies } = await writers(test);
  assert.equal(await append('w', 2, 'x'), GAP, 'the first pack is missing');
  assert.equal(await append('w', 1, 'ab'), 1);
  assert.equal(await append('w', 3, 'x'), GAP);
  assert.equal(await append('w', 1, 'ab'), 1, 'the newest one again: where its first message is');
  assert.equal(await append('w', 2, 'c'), 3);
  assert.equal(await append('w', 1, 'ab'), 0, 'an older one again: written, its number is forgotten');
  assert.equal(await append('v', 1, 'd'), 4, 'another writer begins at 1');
  assert.equal(await append('w', 3, 'e'), 5);
  assert.equal(await bodies(), 'abcde');
});

it('a closed writer says which of its packs were written, and no other of them is taken, whenever it arrives', {
  skip,
}, async (test) => {
  const { append, close, bodies } = await writers(test);
  assert.equal(await append('w', 1, 'a'), 1);
  assert.deepEqual([await close('w'), await close('w')], [1, 1]);
  assert.equal(await append('w', 2, 'x'), REFUSED);
  assert.equal(await append('w', 1, 'a'), 0);
  assert.equal(await close('unknown'), 0);
  assert.equal(await append('unknown', 1, 'x'), REFUSED);
  assert.equal(await bodies(), 'a');
});

it('a pack for another life of the server is not taken, since that one may have taken its messages from another writer', {
  skip,
}, async (test) => {
  const { append, bodies } = await writers(test);
  assert.equal(await append('w', 1, 'a'), 1);
  assert.equal(await append('w', 1, 'a', 0, 'another'), 1, 'one that was written is known in each life');
  assert.equal(await append('w', 2, 'x', 0, 'another'), '', 'its writer may send it anew');
  assert.equal(await append('v', 1, 'x', 0, 'another'), '');
  assert.equal(await append('w', 2, 'b'), 2);
  assert.equal(await bodies(), 'ab');
});

it('a pack that arrives a minute after it was sent is not taken, nor are those of its writer behind it', {
  skip,
}, async (test) => {
  const { append, bodies } = await writers(test);
  assert.equal(await append('w', 1, 'x', 61_000), REFUSED);
  assert.equal(await append('w', 1, 'x'), REFUSED);
  assert.equal(await append('w', 2, 'x'), REFUSED);
  assert.equal(await bodies(), '');
});
