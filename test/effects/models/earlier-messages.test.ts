import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ModelInput } from '../../../effects/models/call.ts';
import { EarlierMessages } from '../../../effects/models/earlier-messages.ts';
import { FileBlobs } from '../../../runtime/sqlite/blobs.ts';

let directory: string;
let blobs: FileBlobs;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'svc-earlier-'));
  blobs = new FileBlobs({ directory });
  await blobs.open();
});
after(async () => {
  await blobs.close();
  await rm(directory, { recursive: true, force: true });
});

const user = (content: string) => ({ role: 'user', content });
const asked = (messages: object[], more: object = {}): ModelInput =>
  ModelInput.parse({ model: 'default', messages, keep_aside: true, ...more });
const LONG = 'x'.repeat(20_000);

test('a long conversation that was stored separately is restored completely, on another node too', async () => {
  const first = asked([user('the task'), user(LONG)]);
  const aside = await new EarlierMessages(blobs).store(first, 'acme', 'execution/acme/one');
  assert.equal(aside?.messages, 2);
  const second = asked([user('more'), user(LONG)], { earlier: [aside?.ref] });
  const other = new EarlierMessages(blobs);
  const next = await other.store(second, 'acme', 'execution/acme/one');
  const third = asked([user('last')], { earlier: [aside?.ref, next?.ref] });
  const whole = await other.whole(third, 'acme');
  assert.deepEqual(
    whole.messages.map(({ content }) => content),
    ['the task', LONG, 'more', LONG, 'last'],
  );
  assert.deepEqual(
    [whole.earlier, await other.store(third, 'acme', 'execution/acme/one')],
    [undefined, null],
    'a short one stays in place',
  );
});

test('the same conversation asked again is the same part', async () => {
  const input = asked([user(LONG)]);
  const parts = await Promise.all(
    [1, 2].map(() => new EarlierMessages(blobs).store(input, 'acme', 'execution/acme/one')),
  );
  assert.deepEqual(parts[0], parts[1]);
});

test('messages that are not to be kept by reference stay in place', async () => {
  const input = asked([user(LONG)], { keep_aside: false });
  assert.equal(await new EarlierMessages(blobs).store(input, 'acme', 'execution/acme/one'), null);
});

test('parts of another tenant, and parts that are gone, are not found', async () => {
  const seen = new EarlierMessages(blobs);
  const aside = await seen.store(asked([user(LONG)]), 'acme', 'execution/acme/one');
  const input = asked([user('go on')], { earlier: [aside?.ref] });
  await assert.rejects(seen.whole(input, 'other'), { code: 'not_found' });
  await assert.rejects(seen.whole(asked([user('x')], { earlier: ['0'.repeat(64)] }), 'acme'), { code: 'not_found' });
});
