import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Rounds } from '../../../runtime/kit/rounds.ts';
import { HandClock, settled } from '../../support/hand-clock.ts';

const LEAST = 4;

/** Rounds whose starts are kept, each as the requests that were made since the one before. */
function underTest() {
  const clock = new HandClock();
  const rounds = new Rounds(clock, LEAST);
  const started: string[][] = [];
  let [waiting, isNoted]: [string[], boolean] = [[], false];
  const request = (...ids: readonly string[]): void => {
    for (const id of ids) rounds.add(id);
    waiting.push(...ids);
    if (isNoted) return;
    isNoted = true;
    rounds.next(() => {
      started.push(waiting);
      [waiting, isNoted] = [[], false];
    });
  };
  const answer = (...ids: readonly string[]): void => {
    for (const id of ids) rounds.answered(id);
  };
  return { clock, request, answer, started };
}

const many = (from: number, count: number): string[] => Array.from({ length: count }, (_, n) => `m${from + n}`);

describe('a round', () => {
  test('starts at the end of the tick when few answers are missing, with all requests of the tick', async () => {
    const { clock, request, started } = underTest();
    request('a');
    request('b');
    await new Promise<void>((resolve) => process.nextTick(resolve));
    request('c');
    await settled();
    assert.deepEqual(started, [['a', 'b'], ['c']]);
    assert.equal(clock.now(), 0, 'without a timer');
  });

  test('waits until most requests follow an answer of the last one, and has them all', async () => {
    const { request, answer, started } = underTest();
    const first = many(0, 16);
    request(...first);
    await settled();
    for (let n = 0; n < 11; n += 1) {
      answer(`m${n}`);
      request(`n${n}`);
      await settled();
      assert.equal(started.length, 1, `${n + 1} answers`);
    }
    // Three requests for each answer that is missing.
    answer('m11');
    request('n11');
    await settled();
    assert.deepEqual(
      started,
      [16, 12].map((count, n) => Array.from({ length: count }, (_, one) => `${n === 0 ? 'm' : 'n'}${one}`)),
    );
  });

  test('waits as long as the first answer of the last ones took at most, and ten milliseconds', async () => {
    const { clock, request, answer, started } = underTest();
    // The time of the first answer is learned over several rounds.
    for (const [answerMs, mostMs] of [
      [4, 4],
      [100, 10],
    ] as const) {
      for (let n = 0; n < 50; n += 1) {
        const ids = many(n * 10, LEAST);
        request(...ids);
        await settled();
        await clock.pass(answerMs);
        answer(...ids);
        await settled();
      }
      request(...many(1_000, LEAST));
      await settled();
      const before = started.length;
      request('x');
      await clock.pass(mostMs - 0.5);
      assert.equal(started.length, before);
      await clock.pass(0.5);
      assert.deepEqual(started.at(-1), ['x']);
    }
  });

  test('is delayed once by requests that are answered much later', async () => {
    const { clock, request, started } = underTest();
    request(...many(0, 100));
    await settled();
    request('a');
    await clock.pass(10);
    assert.deepEqual(started.at(-1), ['a']);
    for (const id of ['b', 'c']) {
      request(id);
      await settled();
      assert.deepEqual(started.at(-1), [id]);
    }
  });

  test('does not wait for answers that will not come', async () => {
    const { request, answer, started } = underTest();
    request(...many(0, 8));
    await settled();
    request('a');
    answer(...many(0, 5));
    await settled();
    assert.deepEqual(started.at(-1), ['a']);
  });
});
