import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { crc32 } from 'node:zlib';
import type { Message } from '../../runtime/message.ts';
import { JsonTexts } from '../../runtime/turns/codec.ts';
import { decisionDigest, partsOf } from '../../runtime/turns/digest.ts';
import type { Decision } from '../../runtime/turns/turn.ts';

const message: Message = {
  ...{ id: 'm-1', to: 'run/acme/a', from: 'run/acme/a', cause: 'm-0', trace: 'a'.repeat(32), origin: 'timer' },
  ...{ type: 'TimedOut', payload: { entry: 1, text: '"quoted" \u2028' }, identity: undefined, timer: 'state' },
};

const decision: Decision = {
  events: [
    { name: 'Left "one"', payload: { at: 'now', left: undefined, output: { code: 0, text: 'ä\n' } } },
    { name: 'Entered', payload: [] },
  ],
  sends: [message],
  lazy: [],
  timersSet: [{ name: 'state', afterMs: 0.5, message }],
  timersCleared: ['retry'],
  effects: [
    { id: 'e-1', request: { kind: 'work', mode: 'once', input: { n: 1e21 }, replyAs: 'Done', retry: undefined } },
  ],
  effectsCancelled: ['e-0'],
  reply: { ok: true, value: null },
};

const sumOf = (value: unknown): string => crc32(JSON.stringify(value)).toString(36);

describe('the digest of a turn', () => {
  test('has the checksums of the decisions as JSON.stringify encodes them, so that it fits those of earlier versions', () => {
    const { events, effects, effectsCancelled, sends, reply, timersSet, timersCleared } = decision;
    assert.deepEqual(partsOf(decisionDigest(decision, new JsonTexts())), {
      events: sumOf(events),
      effects: sumOf([effects, effectsCancelled]),
      messages: sumOf([sends, reply]),
      timers: sumOf([timersSet, timersCleared]),
    });
  });

  test('is the same for events that are no objects', () => {
    const events = [{ name: 'Counted', payload: 3 }, ...decision.events];
    assert.equal(partsOf(decisionDigest({ ...decision, events }, new JsonTexts())).events, sumOf(events));
  });

  test('leaves the texts of events, requests and timers for the commit', (context) => {
    const texts = new JsonTexts();
    decisionDigest(decision, texts);
    const encode = context.mock.method(JSON, 'stringify');
    const [event] = decision.events;
    const [effect] = decision.effects;
    for (const value of [event?.payload, effect?.request, message]) assert.ok(texts.of(value).startsWith('{'));
    assert.equal(encode.mock.callCount(), 0);
  });
});
