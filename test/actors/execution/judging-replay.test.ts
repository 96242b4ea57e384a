import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CRITIC, DIGITS, JudgedExecution, judgedBy, THREE } from './judged.ts';

type Step = (driven: JudgedExecution) => void;

const AGENT = judgedBy([DIGITS, CRITIC, THREE]);

/** Refused by the cheap check, by the critic, by too few of three judges, and then accepted by all. */
const MAILBOX: readonly Step[] = [
  (driven) => void driven.start(AGENT),
  (driven) => void driven.answer('words'),
  (driven) => void driven.answer('1'),
  (driven) => void driven.verdict({ score: 0.2, reasoning: 'One is not enough.' }),
  (driven) => void driven.chunk('2'),
  (driven) => void driven.answer('2'),
  (driven) => void driven.verdict({ score: 0.9 }),
  (driven) => void driven.verdict({ score: 0.8 }, [{ score: 0.8 }, { score: 0.8 }]),
];

function run(steps: readonly Step[]): JudgedExecution {
  const driven = new JudgedExecution();
  for (const step of steps) step(driven);
  return driven;
}

const unkilled = run(MAILBOX);

test('an execution that is restored from its record at any message is judged the same, with the same ids', () => {
  assert.equal(unkilled.view.status, 'completed');
  assert.equal(unkilled.panels.length, 3);
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

/** Of the last effect that was asked for, cancelled or not. */
const lastAsked = (driven: JudgedExecution): string =>
  driven.turns.flatMap(({ effects }) => effects.map(({ id }) => id)).at(-1) ?? 'none';

const answer = (driven: JudgedExecution, text: string) =>
  driven.result('ModelAnswered', { kind: 'done', value: { text } }, lastAsked(driven));

/** Messages of any panel so far, most of which are late, mixed with all other messages. */
const MODEL_SAYS = ['{"score": 1}', '{"score": 1, "confidence": 1, "reasoning": "Good as it is."}'];
const score = fc.constantFrom(0, 0.5, 0.7, 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom('7', 'words').map(
      (text): Step =>
        (driven) =>
          void answer(driven, text),
    ),
  },
  {
    weight: 8,
    arbitrary: fc.tuple(fc.nat(3), score, fc.boolean()).map(
      ([back, said, failed]): Step =>
        (driven) => {
          const panel = driven.panels.toReversed()[back];
          if (panel === undefined) return;
          if (failed) driven.noVerdict('too few', panel);
          else driven.verdict({ score: said }, undefined, panel);
        },
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(...MODEL_SAYS).map(
      (text): Step =>
        (driven) =>
          void driven.judgedText(text, lastAsked(driven)),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Step>((driven) => void driven.send('Cancel', {})) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('iteration', 'execution').map(
      (timer): Step =>
        (driven) => {
          if (driven.timers.has(timer)) driven.fire(timer);
        },
    ),
  },
);
const AGENTS = [
  AGENT,
  judgedBy([CRITIC]),
  judgedBy([THREE, CRITIC, DIGITS], { mode: 'one-shot' }),
  judgedBy({ semantic: {} }),
];
const mailbox = fc.tuple(fc.constantFrom(...AGENTS), fc.array(step, { maxLength: 40 }));

const GRAMMAR = /^S(i(fri|o)*)*(cC|fF)?$/;
const LETTER: Readonly<Record<string, string>> = {
  ...{ execution_started: 'S', iteration_started: 'i', iteration_output: 'o', iteration_completed: 'c' },
  ...{ iteration_failed: 'f', refinement_applied: 'r', execution_completed: 'C', execution_failed: 'F' },
};

test('for any order of messages one verdict counts once, and every judge that was asked either answers or is stopped', () => {
  fc.assert(
    fc.property(mailbox, ([agent, steps]) => {
      const driven = run([(one) => void one.start(agent), ...steps]);
      assert.match(driven.names.map((name) => LETTER[name]).join(''), GRAMMAR);
      const { view } = driven;
      const asked = agent.spec.execution.validation.filter(({ type }) => /semantic$|multi_judge/.test(type)).length;
      assert.ok(driven.panels.length <= asked * driven.payloads('iteration_started').length);
      assert.equal(driven.timers.size, view.status === 'running' ? 2 : 0);
      // The only panel that has neither answered nor been cancelled is the one that the execution waits for.
      const waited = view.status === 'running' ? view.current.judging?.by : undefined;
      const cancelled = new Set(driven.sent('Cancel').map(({ to }) => to.split('/').at(-1)));
      const counted = countedPanels(driven);
      const open = driven.panels.filter(({ panel_id: id }) => !cancelled.has(id) && !counted.has(id));
      assert.deepEqual(
        open.map(({ panel_id }) => panel_id),
        waited?.kind === 'panel' ? [waited.panel_id] : [],
      );
    }),
    { numRuns: 300 },
  );
});

/** Panels whose message changed something. A late message causes a turn without events, sends and effects. */
function countedPanels(driven: JudgedExecution): ReadonlySet<string> {
  const counted = new Set<string>();
  let waited: string | null = null;
  for (const { type, sends, events } of driven.turns) {
    const convened = sends.find((message) => message.type === 'Convene');
    if (type === 'PanelWord' && waited !== null && (events.length > 0 || convened !== undefined)) counted.add(waited);
    if (convened !== undefined) waited = convened.to.split('/').at(-1) ?? null;
    else if (events.length > 0) waited = null;
  }
  return counted;
}

test('the same messages give the same state, events and sends', () => {
  fc.assert(
    fc.property(mailbox, ([agent, steps]) => {
      const all: Step[] = [(one) => void one.start(agent), ...steps];
      const once = run(all);
      const again = run(all);
      assert.deepEqual(again.state, once.state);
      assert.deepEqual(again.turns, once.turns);
    }),
    { numRuns: 100 },
  );
});
