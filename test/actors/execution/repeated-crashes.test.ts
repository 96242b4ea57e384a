import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../../actors/execution/limits.ts';
import { deathsInARow } from '../../../actors/execution/state.ts';
import { nothingStreamed } from '../../../actors/execution/streamed.ts';
import type { JsonObject } from '../../../runtime/json.ts';
import { Bootstrapped, DOCKER, PROGRAM } from './bootstrapped.ts';
import { run, write } from './tooled.ts';

const REPEATS = LIMITS.inDoubtRepeats;
const ALL = LIMITS.inDoubtRepeatsInAll;

function looping(spec: JsonObject = PROGRAM): Bootstrapped {
  const driven = Bootstrapped.of(spec);
  driven.generate();
  driven.granted();
  return driven;
}

function dies(driven: Bootstrapped, times: number): void {
  for (let death = 0; death < times; death += 1) driven.programEnds({ kind: 'in_doubt' });
}

const iterations = ({ view }: Bootstrapped): number => (view.status === 'pending' ? 0 : view.iteration_count);
const doubts = ({ view }: Bootstrapped): number => (view.status === 'pending' ? 0 : view.in_doubt);
const failed = (driven: Bootstrapped): string => JSON.stringify(driven.payloads('iteration_failed'));

for (const [what, spec] of [
  ['program', PROGRAM],
  ['container', DOCKER],
] as const) {
  test(`a ${what} whose loop makes progress between crashes of its node uses up no iteration`, () => {
    const driven = looping(spec);
    dies(driven, REPEATS);
    driven.says('', [write(), run('make')]);
    dies(driven, REPEATS);
    driven.ends();
    driven.dispatchEnded(driven.dispatched);
    dies(driven, REPEATS);
    driven.says('done');
    dies(driven, REPEATS);
    assert.deepEqual([iterations(driven), doubts(driven)], [1, 4 * REPEATS], 'every death is counted in the status');
    driven.prints('printed at last');
    assert.deepEqual([driven.view.status, iterations(driven)], ['completed', 1]);
  });
}

/** Each from a loop that was asked for, up to a step that is the progress. */
const STEPS: Readonly<Record<string, (driven: Bootstrapped) => unknown>> = {
  'a call of a tool that ended'(driven) {
    driven.says('', [write()]);
    dies(driven, REPEATS);
    driven.ends();
  },
  'a command of the program that ended'(driven) {
    dies(driven, REPEATS - 1);
    driven.says('', [run('first'), run('second')]);
    dies(driven, 1);
    driven.dispatchEnded(driven.dispatched);
  },
  'an answer of the model with calls'(driven) {
    dies(driven, REPEATS);
    driven.says('', [write()]);
  },
  'the last answer of the model'(driven) {
    dies(driven, REPEATS);
    driven.says('done');
  },
};

for (const [what, upTo] of Object.entries(STEPS)) {
  test(`crashes are counted from zero after ${what}, and the bound holds from there`, () => {
    const driven = looping();
    upTo(driven);
    dies(driven, REPEATS);
    assert.equal(iterations(driven), 1);
    dies(driven, 1);
    assert.equal(iterations(driven), 2);
    assert.match(failed(driven), new RegExp(`"in_doubt".*died ${REPEATS + 1} times in a row`));
  });
}

test('a program whose loop makes no progress is not repeated without end, whatever it did before', () => {
  const driven = looping();
  driven.says('', [write()]);
  driven.ends();
  dies(driven, REPEATS + 1);
  assert.equal(iterations(driven), 2);
});

test('a command that crashes its node counts as no progress when it is in doubt', () => {
  const driven = looping();
  driven.says('', [run('kill everything'), run('kill everything')]);
  dies(driven, REPEATS);
  assert.equal(iterations(driven), 1);
  dies(driven, 1);
  assert.equal(iterations(driven), 2);
});

test(`a program that gets a step further each time is repeated ${ALL} times in an iteration and no more`, () => {
  const driven = looping();
  for (let death = 0; death < ALL; death += 1) {
    dies(driven, 1);
    if (driven.phase === 'final') driven.generate({ prompt: `number ${death}` });
    driven.says('next');
  }
  assert.deepEqual([iterations(driven), doubts(driven)], [1, ALL]);
  dies(driven, 1);
  assert.equal(iterations(driven), 2);
  assert.match(failed(driven), new RegExp(`died ${ALL + 1} times`));
});

test('a new iteration counts crashes from zero', () => {
  const driven = looping();
  dies(driven, REPEATS + 1);
  dies(driven, REPEATS);
  assert.equal(iterations(driven), 2);
});

test('crashes that an earlier version counted, before it knew progress, still count', () => {
  const before = { effect_id: '', streamed: nothingStreamed };
  assert.equal(deathsInARow({ ...before, in_doubt: 0 }), 1);
  assert.equal(deathsInARow({ ...before, in_doubt: REPEATS }), REPEATS + 1);
});
