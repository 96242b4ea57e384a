import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { addressOf } from '../../runtime/address.ts';
import type { EffectContext } from '../../runtime/effect.ts';
import { TargetGates, type TargetGatesOptions, type TargetHealth } from '../../runtime/effects/target-gates.ts';
import { HandClock, settled } from '../support/hand-clock.ts';

type Caller = Pick<EffectContext, 'effectId' | 'address' | 'fairnessKey' | 'signal' | 'parked'>;

/** Gates on a clock that the test moves, and calls that end as it says. */
function setup(options: Partial<TargetGatesOptions> = {}) {
  const clock = new HandClock();
  const told: string[] = [];
  const onChange = (target: string, state: string) => void told.push(`${target} ${state}`);
  const gates = new TargetGates({ clock, most: 4, onChange, ...options });
  const begun: string[] = [];
  let ids = 0;
  /** Calls a target; `end` decides what the call says of it. */
  function call(target: string, agent = 'agent', tenant = 'acme') {
    const ending = Promise.withResolvers<TargetHealth>();
    const stop = new AbortController();
    ids += 1;
    const effectId = `effect-${ids}`;
    let answered = (): void => {};
    const context: Caller = {
      effectId,
      address: addressOf('probe', tenant, effectId),
      fairnessKey: agent,
      signal: stop.signal,
      parked: (waiting) => waiting,
    };
    const made = gates.through(target, context, {
      async call(onAnswer) {
        begun.push(`${target} ${agent}`);
        answered = onAnswer;
        const health = await ending.promise;
        if (health !== 'alive') throw new Error(health);
        return health;
      },
      healthOf: (thrown) => (thrown instanceof Error && thrown.message === 'failed' ? 'failed' : 'unknown'),
    });
    const over = made.then(
      () => true,
      () => false,
    );
    return {
      ...{ effectId, over },
      answer: () => answered(),
      abort: () => stop.abort(new Error('stopped')),
      async end(health: TargetHealth) {
        ending.resolve(health);
        await settled();
      },
    };
  }
  async function fail(target: string, times: number): Promise<void> {
    for (let n = 0; n < times; n += 1) await call(target).end('failed');
  }
  return { clock, told, gates, begun, call, fail };
}

describe('the gate of a target', () => {
  test('the circuit of a target opens after five calls in a row without an answer, and no other circuit does', async () => {
    const { gates, fail, call, told, begun } = setup();
    await fail('one', 4);
    await call('one').end('alive');
    await fail('one', 4);
    assert.equal(gates.isOpen('one'), false);
    await fail('one', 1);
    assert.deepEqual([gates.isOpen('one'), gates.isOpen('two')], [true, false]);
    assert.deepEqual(told, ['one open']);
    const other = call('two');
    await settled();
    assert.equal(begun.at(-1), 'two agent');
    await other.end('alive');
  });

  test('of targets without a call only the last thousand keep their failures; one with a call keeps them too', async () => {
    const { gates, fail, call } = setup();
    for (const target of ['idle', 'used', 'busy']) await fail(target, 4);
    const running = call('busy');
    for (let n = 0; n < 998; n += 1) {
      await fail(`host ${n}`, 1);
      if (n === 500) await call('used').end('unknown');
    }
    for (const target of ['used', 'idle']) await fail(target, 1);
    assert.deepEqual([gates.isOpen('used'), gates.isOpen('idle')], [true, false]);
    await running.end('failed');
    assert.equal(gates.isOpen('busy'), true);
  });

  test('a failure that is not the target’s neither opens nor closes the circuit', async () => {
    const { gates, call, fail } = setup();
    for (let n = 0; n < 10; n += 1) await call('one').end('unknown');
    assert.equal(gates.isOpen('one'), false);
    await fail('one', 5);
    assert.equal(gates.isOpen('one'), true);
  });

  test('an open circuit lets one call at a time probe, with growing pauses; waiting calls name their target', async () => {
    const { gates, fail, call, clock, begun } = setup();
    await fail('one', 5);
    begun.length = 0;
    const calls = Array.from({ length: 6 }, () => call('one'));
    assert.match(gates.waitOf(calls[3]?.effectId ?? '') ?? '', /^one does not answer; it is probed/);
    assert.equal(begun.length, 0);
    const probes: number[] = [];
    for (let probe = 0; probe < 4; probe += 1) {
      const from = clock.now();
      while (begun.length === probe) await clock.pass(100);
      probes.push(clock.now() - from);
      assert.equal(begun.length, probe + 1, 'one at a time');
      await calls[probe]?.end('failed');
    }
    assert.deepEqual(probes, [1_000, 2_000, 4_000, 5_000]);
  });

  test('a caller that is alone at an open circuit is its probe at once', async () => {
    const { fail, call, clock, begun } = setup();
    await fail('one', 5);
    begun.length = 0;
    const alone = call('one');
    await clock.pass(0);
    assert.equal(begun.length, 1);
    await alone.end('alive');
    assert.equal(await alone.over, true);
  });

  test('the first answer closes the circuit, and all calls go on, as many at a time as allowed', async () => {
    const { gates, fail, call, clock, begun, told } = setup();
    await fail('one', 5);
    begun.length = 0;
    const calls = Array.from({ length: 6 }, () => call('one'));
    await clock.pass(1_000);
    await calls[0]?.end('alive');
    assert.equal(gates.isOpen('one'), false);
    assert.deepEqual(told, ['one open', 'one closed']);
    assert.equal(begun.length, 1 + 4);
    for (const waiting of calls) await waiting.end('alive');
    assert.deepEqual(await Promise.all(calls.map(({ over }) => over)), Array(6).fill(true));
  });

  test('the calls of a target are shared fairly: a new agent finds one free, and waiting ones take turns', async () => {
    const { call, begun } = setup({ most: 32 });
    const noisy = Array.from({ length: 40 }, () => call('one', 'noisy'));
    await settled();
    assert.equal(begun.length, 28);
    const newcomer = call('one', 'newcomer');
    await settled();
    assert.equal(begun.at(-1), 'one newcomer');
    const elsewhere = call('one', 'agent', 'other');
    await settled();
    assert.equal(begun.at(-1), 'one agent');
    const all = [...noisy, newcomer, elsewhere];
    for (const one of all) await one.end('alive');
    assert.deepEqual(await Promise.all(all.map(({ over }) => over)), Array(42).fill(true));
  });

  test('a call that is stopped while it waits uses up no turn', async () => {
    const { call, begun, gates } = setup({ most: 1 });
    const first = call('one');
    const stopped = call('one');
    const last = call('one');
    stopped.abort();
    assert.equal(await stopped.over, false);
    assert.equal(gates.waitOf(stopped.effectId), undefined);
    await first.end('alive');
    assert.equal(begun.length, 2);
    await last.end('alive');
    assert.equal(await last.over, true);
  });

  test('a call without an answer for two seconds gives up its place, one with a partial answer keeps it', async () => {
    const clock = new HandClock();
    const gates = new TargetGates({ clock, most: 4 });
    const parked: string[] = [];
    const made = (effectId: string, answers: boolean) => {
      const ending = Promise.withResolvers<string>();
      const context: Caller = {
        ...{ effectId, address: addressOf('probe', 'acme', effectId), signal: new AbortController().signal },
        parked(waiting) {
          parked.push(effectId);
          return waiting;
        },
      };
      const call = (onAnswer: () => void): Promise<string> => {
        if (answers) onAnswer();
        return ending.promise;
      };
      return { done: gates.through('one', context, { call, healthOf: () => 'unknown' }), end: ending.resolve };
    };
    const [silent, answering] = [made('silent', false), made('speaking', true)];
    await settled();
    await clock.pass(1_999);
    assert.deepEqual(parked, []);
    await clock.pass(1);
    assert.deepEqual(parked, ['silent']);
    for (const { done, end } of [silent, answering]) {
      end('ok');
      assert.equal(await done, 'ok');
    }
  });

  test('for any sequence: never more calls than allowed, and once the target answers every call has ended', async () => {
    const health = fc.constantFrom<TargetHealth>('alive', 'failed', 'unknown');
    const step = fc.oneof(
      fc.record({ call: fc.constantFrom('x', 'y', 'z') }),
      fc.record({ ends: fc.nat(20), health }),
      fc.record({ stops: fc.nat(20) }),
      fc.record({ passesMs: fc.nat(3_000) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
        const { call, clock, begun, gates } = setup({ most: 3 });
        const calls: ReturnType<typeof call>[] = [];
        let over = 0;
        const add = (agent: string): void => {
          const made = call('one', agent);
          calls.push(made);
          made.over.then(() => {
            over += 1;
          }, assert.fail);
        };
        for (const one of steps) {
          if ('call' in one) add(one.call);
          else if ('ends' in one) await calls[one.ends]?.end(one.health);
          else if ('stops' in one) calls[one.stops]?.abort();
          else await clock.pass(one.passesMs);
          await settled();
          assert.ok(begun.length - over <= 3, 'calls at a time');
        }
        for (const made of calls) await made.end('alive');
        add('last');
        await calls.at(-1)?.end('alive');
        await clock.pass(60_000);
        assert.equal(over, calls.length);
        assert.equal(gates.isOpen('one') && calls.length > 0 && begun.length > 0, false);
      }),
      { numRuns: 100 },
    );
  });
});
