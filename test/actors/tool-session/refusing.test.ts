import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as soon } from 'node:timers/promises';
import { addressOf } from '../../../runtime/address.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Json } from '../../../runtime/json.ts';
import { refusalsInTurn } from '../../../usecases/tool-sessions.ts';

const one = addressOf('tool-session', 'acme', 'one');
const other = addressOf('tool-session', 'acme', 'other');

test('a flood of refused envelopes has one message at a time in the mailbox of its session', async () => {
  const open = new Map<string, number>();
  const heard: string[] = [];
  let most = 0;
  const refuse = refusalsInTurn({
    async ask(to, _type, payload): Promise<Json> {
      open.set(to, (open.get(to) ?? 0) + 1);
      most = Math.max(most, open.get(to) ?? 0);
      await soon();
      open.set(to, (open.get(to) ?? 0) - 1);
      heard.push(`${to} ${JSON.stringify(payload)}`);
      if (payload === 3) throw new SvcError('unavailable', 'the store is down');
      return {};
    },
  });
  const flood = Array.from({ length: 500 }, (_, n) => refuse(one, n));
  const results = await Promise.allSettled([...flood, refuse(other, 0)]);
  assert.equal(most, 1);
  assert.equal(results.filter(({ status }) => status === 'rejected').length, 1, 'one that fails stops no other');
  assert.equal(heard.filter((line) => line.startsWith(one)).length, 64, 'the rest of a flood is not recorded');
  assert.ok(heard.indexOf(`${other} 0`) < 5, 'other sessions do not wait');
  await refuse(one, 'later');
  assert.equal(heard.at(-1), `${one} "later"`);
});
