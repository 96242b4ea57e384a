import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isDecided, reachConsensus, type Verdict } from '../../../actors/judge-panel/consensus/consensus.ts';
import type { ConsensusRule } from '../../../actors/judge-panel/messages.ts';
import { sample } from '../../support/size.ts';
import { rule, ruleOf, verdict, verdictsOf } from './rules.ts';

const verdicts = fc.array(verdict, { minLength: 1, maxLength: 8 });
const RUNS = { numRuns: sample({ normal: 300, long: 3_000 }) };

test('score and confidence stay between 0 and 1', () => {
  fc.assert(
    fc.property(verdicts, rule, (given, by) => {
      const { score, confidence } = reachConsensus(given, by);
      assert.ok(score >= 0 && score <= 1 && confidence >= 0 && confidence <= 1);
    }),
    RUNS,
  );
});

test('the order of the judges does not matter, to the last digit', () => {
  fc.assert(
    fc.property(
      verdicts.chain((given) => fc.tuple(fc.constant(given), fc.shuffledSubarray(given, { minLength: given.length }))),
      rule,
      ([given, shuffled], by) => assert.deepEqual(reachConsensus(shuffled, by), reachConsensus(given, by)),
    ),
    RUNS,
  );
});

test('a mean is never outside of the scores it is made of', () => {
  fc.assert(
    fc.property(verdicts, rule, (given, by) => {
      if (by.strategy === 'majority' || by.strategy === 'unanimous') return;
      const scores = given.map(({ score }) => score);
      const { score } = reachConsensus(given, by);
      assert.ok(score >= Math.min(...scores) - 1e-9 && score <= Math.max(...scores) + 1e-9);
    }),
    RUNS,
  );
});

test('weights count by their ratios only', () => {
  fc.assert(
    fc.property(verdicts, rule, fc.constantFrom(0.5, 2, 1_024), (given, by, factor) => {
      const scaled = given.map((one) => ({ ...one, weight: one.weight * factor }));
      assert.ok(Math.abs(reachConsensus(scaled, by).score - reachConsensus(given, by).score) < 1e-9);
    }),
    RUNS,
  );
});

test('a higher score of a judge never lowers a weighted average, unanimity or an approval', () => {
  fc.assert(
    fc.property(verdicts, rule, fc.nat(7), (given, by, pick) => {
      if (by.strategy === 'best_of_n') return;
      const at = pick % given.length;
      const raised = given.map((one, index) => (index === at ? { ...one, score: (one.score + 1) / 2 } : one));
      assert.ok(reachConsensus(raised, by).score >= reachConsensus(given, by).score - 1e-9);
    }),
    RUNS,
  );
});

/** What some of the missing judges might say, each with its own weight; the others drop out. */
const rest = fc.array(fc.record({ said: verdict, answers: fc.boolean() }), { minLength: 1, maxLength: 5 });

const side = (given: readonly Verdict[], by: ConsensusRule) => {
  const { score, valid } = reachConsensus(given, by);
  return { reached: score >= by.threshold, valid };
};

test('a panel that is decided early ends as it would have with any verdicts of the missing judges', () => {
  let decided = 0;
  fc.assert(
    fc.property(verdicts, rest, rule, (given, others, by) => {
      const missing = others.map(({ said }) => said.weight);
      if (!isDecided(given, missing, by)) return;
      decided += 1;
      const answered = others.filter(({ answers }) => answers).map(({ said }) => said);
      assert.deepEqual(side([...given, ...answered], by), side(given, by));
    }),
    { numRuns: sample({ normal: 3_000, long: 30_000 }) },
  );
  assert.ok(decided > 1_000, `only ${decided} panels were decided early`);
});

test('the same holds for missing judges with extreme scores, in all combinations', () => {
  const extremes = [null, [0, 0], [0, 1], [1, 0], [1, 1], [0.5, 1]] as const;
  fc.assert(
    fc.property(verdicts, fc.array(verdict, { minLength: 1, maxLength: 3 }), rule, (given, others, by) => {
      const missing = others.map(({ weight }) => weight);
      if (!isDecided(given, missing, by)) return;
      for (let code = 0; code < extremes.length ** missing.length; code += 1) {
        const answered = missing.flatMap((weight, index) => {
          const said = extremes[Math.floor(code / extremes.length ** index) % extremes.length];
          return said === null || said === undefined ? [] : [{ score: said[0], confidence: said[1], weight }];
        });
        assert.deepEqual(side([...given, ...answered], by), side(given, by));
      }
    }),
    { numRuns: sample({ normal: 300, long: 3_000 }) },
  );
});

const EARLY: readonly [what: string, decided: boolean, Verdict[], missing: number[], ConsensusRule][] = [
  // 2 fail, 1 passes, 1 missing: at best a tie, 0.5
  ['majority lost', true, verdictsOf([0, 1], [0, 1], [1, 1]), [1], ruleOf('majority')],
  // 3 pass of 5: at worst 3 to 2
  ['majority won', true, verdictsOf([1, 1], [1, 1], [1, 1]), [1, 1], ruleOf('majority')],
  // 2 pass of 4: perhaps a tie
  ['majority that may still tie', false, verdictsOf([1, 1], [1, 1]), [1, 1], ruleOf('majority')],
  // at worst 3 to 2: confidence 0.2
  [
    'majority won with an open confidence',
    false,
    verdictsOf([1, 1], [1, 1], [1, 1]),
    [1, 1],
    ruleOf('majority', { min_agreement_confidence: 0.5 }),
  ],
  ['unanimity broken', true, verdictsOf([1, 1], [0.5, 1]), [1, 1, 1], ruleOf('unanimous')],
  ['unanimity so far', false, verdictsOf([1, 1], [1, 1]), [1], ruleOf('unanimous')],
  ['one approval', true, verdictsOf([0.2, 1], [0.7, 1]), [1, 1], ruleOf('any_approved')],
  ['no approval yet', false, verdictsOf([0.2, 1]), [1], ruleOf('any_approved')],
  // at best (9 * 0.5 + 1) / 10 = 0.55
  ['an average a light judge cannot lift', true, verdictsOf([0.5, 1, 9]), [1], ruleOf('weighted_average')],
  // at worst (9 * 1 + 0) / 10 = 0.9
  ['an average a light judge cannot sink', true, verdictsOf([1, 1, 9]), [1], ruleOf('weighted_average')],
  ['an average a heavy judge can sink', false, verdictsOf([1, 1, 1]), [9], ruleOf('weighted_average')],
  // a verdict that pushes out one of the two has a product of at least 0.9
  ['the best two stay good', true, verdictsOf([1, 0.9], [0.9, 1]), [1, 1], ruleOf('best_of_n', { n: 2 })],
  ['no answer at all', false, [], [1], ruleOf('majority')],
  ['nobody missing', true, verdictsOf([0.2, 1]), [], ruleOf('weighted_average')],
];

for (const [what, decided, given, missing, by] of EARLY) {
  test(`${what} is ${decided ? 'decided' : 'open'}`, () => assert.equal(isDecided(given, missing, by), decided));
}
