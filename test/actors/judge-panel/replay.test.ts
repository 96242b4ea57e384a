import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ConsensusRule } from '../../../actors/judge-panel/messages.ts';
import { DrivenPanel, written } from './driven-panel.ts';
import { ruleOf } from './rules.ts';

type Step = (panel: DrivenPanel) => void;

const JUDGES = 4;
const RULE: ConsensusRule = ruleOf('weighted_average', { min_judges_required: 2 });

/** A whole panel's mailbox: two answers, one that is none, one judge too slow. */
const MAILBOX: readonly Step[] = [
  (panel) => void panel.convene({ judges: JUDGES, rule: RULE }),
  (panel) => void panel.started(0),
  (panel) => void panel.started(1),
  (panel) => void panel.word(2, 'running'),
  (panel) => void panel.word(0, 'running'),
  (panel) => void panel.started(2),
  (panel) => void panel.word(0, 'completed', { output: written(0.9, 0.8) }),
  (panel) => void panel.word(1, 'running'),
  (panel) => void panel.started(3),
  (panel) => void panel.word(2, 'completed', { output: 'not JSON' }),
  (panel) => void panel.word(1, 'completed', { output: written(0.7, 0.6) }),
  (panel) => void panel.send('JudgeTimedOut', { judge: 3 }, 'timer'),
];

function run(steps: readonly Step[]): DrivenPanel {
  const panel = new DrivenPanel();
  for (const step of steps) step(panel);
  return panel;
}

const unkilled = run(MAILBOX);

test('a panel that is restored from its record at any message makes the same decisions with the same ids', () => {
  assert.equal(unkilled.outcome.status, 'concluded');
  MAILBOX.forEach((step, at) => {
    // The process ends after the turn and before its commit: what it decided is lost, and the message comes again.
    const lost = run(MAILBOX.slice(0, at + 1)).turns.at(-1);
    const revived = run(MAILBOX.slice(0, at));
    step(revived);
    assert.deepEqual(revived.turns.at(-1), lost);
    for (const next of MAILBOX.slice(at + 1)) next(revived);
    assert.deepEqual(revived.turns, unkilled.turns);
    assert.deepEqual(revived.state, unkilled.state);
  });
});

test('any message delivered twice changes neither the verdict nor who was asked', () => {
  for (let at = 0; at < MAILBOX.length; at += 1) {
    for (let later = at + 1; later <= MAILBOX.length; later += 1) {
      const repeated = MAILBOX[at];
      if (repeated === undefined) continue;
      const panel = run([...MAILBOX.slice(0, later), repeated, ...MAILBOX.slice(later)]);
      assert.deepEqual(panel.outcome.consensus, unkilled.outcome.consensus);
      assert.equal(panel.asked.length, JUDGES);
      assert.equal(panel.sent('PanelConcluded').length, 1);
      assert.equal(panel.payloads('JudgeAsked').length, JUDGES);
    }
  }
});

/** Judges' messages in any order of the judges, each judge's own in theirs. */
const life = (judge: number): fc.Arbitrary<readonly Step[]> =>
  fc.constantFrom<(readonly Step[])[]>(
    [
      (panel) => void panel.started(judge),
      (panel) => void panel.word(judge, 'running'),
      (panel) => void panel.word(judge, 'completed', { output: written(judge / 4, 0.5) }),
    ],
    [
      (panel) => void panel.word(judge, 'running'),
      (panel) => void panel.word(judge, 'completed', { output: written(1 - judge / 4) }),
      (panel) => void panel.started(judge),
    ],
    [(panel) => void panel.notStarted(judge, 'not_found', 'no such agent')],
    [(panel) => void panel.started(judge), (panel) => void panel.word(judge, 'failed')],
    [(panel) => void panel.send('JudgeTimedOut', { judge }, 'timer'), (panel) => void panel.word(judge, 'running')],
  );

const rule = fc
  .tuple(
    fc.constantFrom('weighted_average', 'majority', 'unanimous', 'best_of_n', 'any_approved'),
    fc.boolean(),
    fc.integer({ min: 1, max: 4 }),
  )
  .map(([strategy, early_stop, min_judges_required]) => ruleOf(strategy, { early_stop, min_judges_required, n: 2 }));

test('for any order of messages a panel ends once, asks each judge once and leaves nothing running', () => {
  fc.assert(
    fc.property(
      rule,
      fc.tuple(life(0), life(1), life(2), life(3)),
      fc.array(fc.nat(3), { maxLength: 40 }),
      fc.option(fc.nat(12)),
      (by, lives, order, cancelAt) => {
        const queues = lives.map((steps) => [...steps]);
        const mixed: Step[] = [];
        for (const judge of [...order, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]) {
          const step = queues[judge]?.shift();
          if (step !== undefined) mixed.push(step);
        }
        if (cancelAt !== null) mixed.splice(cancelAt, 0, (panel) => void panel.send('Cancel', {}));
        const panel = run([(one) => void one.convene({ judges: JUDGES, rule: by }), ...mixed]);
        const finals = panel.names.filter((name) => name === 'JudgePanelConcluded' || name === 'JudgePanelCancelled');
        assert.equal(finals.length, 1);
        assert.equal(panel.names.at(-1), finals[0]);
        assert.equal(panel.sent('PanelConcluded').length, 1);
        assert.equal(panel.asked.length, JUDGES);
        assert.equal(panel.timers.size, 0);
        for (const { judge } of panel.payloads('JudgeAsked')) {
          assert.equal(panel.payloads('JudgeAsked').filter((asked) => asked.judge === judge).length, 1);
        }
        for (const seat of panel.ended.seats.filter(({ status }) => status === 'dropped')) {
          assert.ok(panel.sent('Cancel').some(({ to }) => to === `execution/acme/${seat.execution_id}`));
        }
      },
    ),
    { numRuns: 300 },
  );
});
