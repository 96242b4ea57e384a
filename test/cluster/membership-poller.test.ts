import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MembershipPoller } from '../../cluster/placement/membership-poller.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { Member, MembersRead } from '../../runtime/members.ts';
import { systemRandom } from '../../runtime/random.ts';

const member = (node: string, incarnation = 'one'): Member => ({ node, incarnation, card: '{}' });
const soonestMs = Number.POSITIVE_INFINITY;

/** A poller whose reads end when the test says so, with their number in the order of their calls. */
function pollerOf() {
  const reads: { readonly known: string; readonly answer: (read: MembersRead) => void }[] = [];
  let seen = 0;
  const poller = new MembershipPoller({
    members: {
      readMembers: (_node, known) => new Promise((answer) => reads.push({ known, answer })),
      pools: async () => [{ pool: 'default', partitions: 1 }],
    },
    node: 'a',
    clock: systemClock,
    random: systemRandom,
    warn: (message, error) => assert.fail(`${message} ${String(error)}`),
    onSeen: () => {
      seen += 1;
    },
    onSurprise: () => {},
  });
  const readOf = (n: number) => reads[n] ?? assert.fail(`read ${n} has begun`);
  const begun = async (): Promise<void> => {
    const poll = poller.poll();
    readOf(reads.length - 1).answer({ version: '1', members: [member('a'), member('b')], gone: null, soonestMs });
    await poll;
  };
  return { poller, readOf, begun, changesSeen: () => seen };
}

test('changes are applied to the members of the version that they were asked with, in whichever order answers come', async () => {
  for (const order of [
    [1, 2],
    [2, 1],
  ]) {
    const { poller, readOf, begun } = pollerOf();
    await begun();
    const polls = [poller.poll(), poller.poll()];
    assert.deepEqual([readOf(1).known, readOf(2).known], ['1', '1']);
    const answers: Record<number, MembersRead> = {
      1: { version: '2', members: [member('c')], gone: [], soonestMs },
      2: { version: '3', members: [member('b', 'two')], gone: ['c'], soonestMs },
    };
    for (const n of order) {
      readOf(n).answer(answers[n] ?? assert.fail('there is such an answer'));
      await polls[n - 1];
    }
    await Promise.all(polls);
    assert.deepEqual(poller.fleet?.incarnations, ['a/one', 'b/two']);
    const next = poller.poll();
    assert.equal(readOf(3).known, '3');
    readOf(3).answer({ version: '4', members: [member('d')], gone: ['b'], soonestMs });
    assert.deepEqual((await next).incarnations, ['a/one', 'd/one']);
  }
});

test('of two polls the later one counts, also where the store answered it with an earlier version', async () => {
  const { poller, readOf, begun } = pollerOf();
  await begun();
  const polls = [poller.poll(), poller.poll()];
  readOf(1).answer({ version: '3', members: [member('c'), member('d')], gone: ['b'], soonestMs });
  await polls[0];
  readOf(2).answer({ version: '2', members: [member('c')], gone: [], soonestMs });
  await polls[1];
  assert.deepEqual(poller.fleet?.incarnations, ['a/one', 'b/one', 'c/one']);
  const next = poller.poll();
  assert.equal(readOf(3).known, '2');
  readOf(3).answer({ version: '3', members: [member('d')], gone: ['b'], soonestMs });
  assert.deepEqual((await next).incarnations, ['a/one', 'c/one', 'd/one']);
});

test('a poll that finds the same members keeps the fleet and its assignment', async () => {
  const { poller, readOf, begun, changesSeen } = pollerOf();
  await begun();
  const { fleet } = poller;
  const polls = [poller.poll(), poller.poll()];
  readOf(1).answer({ version: '1', members: [], gone: [], soonestMs });
  readOf(2).answer({ version: '1', members: [member('a'), member('b')], gone: null, soonestMs });
  assert.ok((await Promise.all(polls)).every((found) => found === fleet));
  assert.equal(changesSeen(), 1);
});
