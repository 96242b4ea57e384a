import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressOf, type Partition } from '../../runtime/address.ts';
import { Progress } from '../../runtime/dispatch/progress.ts';

const HERE: Partition = 'default:1';
const THERE: Partition = 'default:2';
const actor = (n: number, partition: Partition) => ({ address: addressOf('thing', 'acme', `${n}`), partition });

test('an actor that handled messages behind a position counts once, in the partition of its last one', () => {
  const progress = new Progress(0, 0);
  for (let cursor = 1; cursor <= 600; cursor += 1) progress.moved(cursor, 0, [actor(cursor % 100, HERE)]);
  assert.equal(progress.actorsBehind(0, HERE), 100);
  assert.equal(progress.actorsBehind(590, HERE), 10);
  progress.moved(601, 0, [actor(7, THERE)]);
  assert.deepEqual([progress.actorsBehind(0, HERE), progress.actorsBehind(0, THERE)], [99, 1]);
});

test('the last 512 actors of many are remembered', () => {
  const progress = new Progress(0, 0);
  for (let cursor = 1; cursor <= 3_000; cursor += 1) progress.moved(cursor, 0, [actor(cursor, HERE)]);
  assert.equal(progress.actorsBehind(3_000 - 512, HERE), 512);
});
