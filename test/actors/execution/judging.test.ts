import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RUN_RULES } from '../../../actors/run-rules.ts';
import type { JsonObject } from '../../../runtime/json.ts';
import { EXECUTION_ID } from './driven-execution.ts';
import { ada, CRITIC, DIGITS, JudgedExecution, judgedBy, type Said, started, THREE } from './judged.ts';

describe('a result that agents judge', () => {
  test('an execution starts one panel as its own caller, one level deeper, and waits for it', () => {
    const driven = new JudgedExecution();
    driven.start(judgedBy([CRITIC]), { workflow_execution_id: 'wf-1', depth: 1 });
    driven.identity = null;
    driven.answer('short');
    const { panel } = driven;
    assert.deepEqual(
      [panel.identity, panel.depth, panel.workflow_execution_id, panel.notify?.to, panel.notify?.as],
      [ada, 2, 'wf-1', `execution/acme/${EXECUTION_ID}`, 'PanelWord'],
    );
    assert.equal(driven.sent('Convene')[0]?.to, `judge-panel/acme/${panel.panel_id}`);
    assert.deepEqual(
      panel.judges.map(({ agent, weight, timeout_ms }) => ({ agent, weight, timeout_ms })),
      [{ agent: 'critic', weight: 1, timeout_ms: 295_000 }],
    );
    assert.deepEqual(driven.names, ['execution_started', 'iteration_started']);
    assert.equal(driven.view.status, 'running');
  });

  test('a judge receives the task, the output, the criteria and the evidence, as JSON', () => {
    const driven = started([CRITIC]);
    driven.answer('short');
    assert.deepEqual(JSON.parse(driven.panel.judges[0]?.input ?? ''), {
      task: 'Summarize.\n\nthe text',
      output: 'short',
      criteria: 'Is it short?',
      generation_evidence: { iteration_number: 1, exit_code: 0, stderr: '' },
      validation_context: 'semantic_judge_post_execution',
    });
  });

  test('a judge has its own timeout, always short enough that a hanging judge does not time out the iteration', () => {
    const ROWS = [
      ['600s', 0, 300_000],
      ['300s', 0, 295_000],
      ['300s', 100_000, 195_000],
      ['20s', 10_000, 9_000],
      ['1s', 999, 1],
    ] as const;
    for (const [iteration_timeout, passedMs, timeoutMs] of ROWS) {
      const driven = started([CRITIC], { iteration_timeout });
      driven.advance(passedMs);
      driven.answer('short');
      assert.equal(driven.panel.judges[0]?.timeout_ms, timeoutMs, `${iteration_timeout}, ${passedMs} ms passed`);
    }
  });

  test('the confidence in a single judge is its own; in several it counts how far they agree', () => {
    const one = started([CRITIC]);
    one.answer('x');
    const three = started([{ ...THREE, consensus: 'majority', min_judges_required: 2, min_score: 0.8 }]);
    three.answer('x');
    const { confidence_weighting: own } = one.panel.consensus;
    assert.deepEqual(own, { agreement_factor: 0, self_confidence_factor: 1 });
    assert.deepEqual(three.panel.consensus, {
      strategy: 'majority',
      threshold: 0.8,
      min_judges_required: 2,
      confidence_weighting: { agreement_factor: 0.7, self_confidence_factor: 0.3 },
      early_stop: false,
    });
    assert.deepEqual(
      three.panel.judges.map(({ agent }) => agent),
      ['a', 'b', 'c'],
    );
  });
});

interface Row {
  readonly title: string;
  readonly validator: JsonObject;
  readonly consensus: Said;
  readonly passes: boolean;
  readonly says?: RegExp;
}

const ROWS: readonly Row[] = [
  { title: 'at the least score', validator: CRITIC, consensus: { score: 0.7 }, passes: true },
  {
    title: 'below the least score',
    validator: CRITIC,
    consensus: { score: 0.69 },
    passes: false,
    says: /semantic \(critic\): score 0\.69, at least 0\.7 is needed/,
  },
  {
    title: 'at the least confidence',
    validator: { ...CRITIC, min_confidence: 0.5 },
    consensus: { score: 0.9, confidence: 0.5 },
    passes: true,
  },
  {
    title: 'below the least confidence',
    validator: { ...CRITIC, min_confidence: 0.5 },
    consensus: { score: 0.9, confidence: 0.4 },
    passes: false,
    says: /score 0\.9, but confidence 0\.4, at least 0\.5 is needed/,
  },
  { title: 'of three judges', validator: THREE, consensus: { score: 0.9, confidence: 0.1 }, passes: true },
  {
    title: 'of three judges below the least agreement',
    validator: { ...THREE, min_agreement_confidence: 0.6 },
    consensus: { score: 0.9, confidence: 0.59 },
    passes: false,
    says: /multi_judge: .*confidence 0\.59, at least 0\.6/,
  },
  {
    title: 'of three judges at the least agreement, below the least confidence',
    validator: { ...THREE, min_agreement_confidence: 0.6, min_confidence: 0.8 },
    consensus: { score: 0.9, confidence: 0.7 },
    passes: false,
    says: /at least 0\.8/,
  },
];

for (const { title, validator, consensus, passes, says } of ROWS) {
  test(`a verdict ${title} ${passes ? 'accepts' : 'rejects'} the iteration`, () => {
    const driven = started([validator]);
    driven.answer('short');
    driven.verdict(consensus);
    if (passes) {
      assert.deepEqual(driven.names.slice(2), ['iteration_completed', 'execution_completed']);
      return;
    }
    assert.deepEqual(driven.names.slice(2), ['iteration_failed', 'refinement_applied', 'iteration_started']);
    const [failed] = driven.payloads('iteration_failed');
    const text = JSON.stringify(failed?.error);
    assert.match(text, /"error_type":"validation_failed"/);
    assert.match(text, says ?? /./);
  });
}

describe('after the judges', () => {
  test('the next prompt contains what each judge said, by name, once', () => {
    const driven = started([THREE]);
    driven.answer('long');
    const judges = ['It is far too long.', 'It has no source.', 'Fine as it is.'];
    driven.verdict(
      { score: 0.4, confidence: 0.6 },
      judges.map((reasoning, at) => ({ score: at / 2, reasoning })),
    );
    const { prompt } = driven;
    for (const said of judges) assert.equal(prompt.split(said).length, 2, said);
    assert.match(prompt, /judge a \(score 0, confidence 1\): It is far too long\./);
    assert.match(prompt, /Output:\nlong/);
  });

  test('too few judges fail the iteration and say why, and the next one may pass', () => {
    const driven = started([CRITIC]);
    driven.answer('short');
    driven.noVerdict('0 of 1 judges gave a verdict, at least 1 must: judge critic: not_found: agent is not deployed');
    assert.match(driven.prompt, /no verdict: 0 of 1 judges gave a verdict.*not deployed/);
    driven.answer('shorter');
    driven.verdict({ score: 1 });
    assert.equal(driven.view.status, 'completed');
    assert.notEqual(driven.panels[0]?.panel_id, driven.panels[1]?.panel_id);
  });

  test('judges that can never be asked end the run at once, under the code of their error', () => {
    const driven = new JudgedExecution();
    driven.start(judgedBy([CRITIC]), { rules: RUN_RULES });
    driven.answer('one');
    assert.equal(driven.panel.rules, RUN_RULES);
    const said = '0 of 1 judges gave a verdict, at least 1 must: judge critic: unauthenticated';
    driven.noVerdict(said, driven.panel, 'unauthenticated');
    assert.equal(driven.turns.flatMap(({ effects }) => effects).length, 1, 'the model is not asked again');
    const { reason, total_iterations } = driven.payloads('execution_failed').at(-1) ?? {};
    assert.deepEqual([reason, total_iterations], ['unauthenticated', 1]);
    const { error_type, message } = Object(driven.payloads('iteration_failed').at(-1)?.error);
    assert.deepEqual([error_type, message], ['unauthenticated', `semantic (critic): ${said}`]);
  });

  test('judges that never accept end it as every validator does', () => {
    const driven = started([CRITIC]);
    for (let at = 0; at < 3; at += 1) {
      driven.answer(`attempt ${at}`);
      driven.verdict({ score: 0.1, reasoning: 'Not good enough yet.' });
    }
    assert.equal(driven.payloads('execution_failed')[0]?.reason, 'max_iterations_exceeded');
    assert.equal(driven.panels.length, 3);
  });

  test('cheaper validators before the judges run first, and no judge is asked about an output that they refuse', () => {
    const driven = started([DIGITS, CRITIC]);
    driven.answer('words');
    assert.equal(driven.panels.length, 0);
    driven.answer('42');
    assert.equal(driven.panels.length, 1);
    driven.verdict({ score: 0.75 });
    assert.equal(driven.view.status, 'completed');
  });

  test('validators after the judges run in order, and the score is the lowest of all', () => {
    const driven = new JudgedExecution();
    const notify = { to: 'workflow/acme/wf-1', as: 'AgentWord', context: null };
    driven.start(judgedBy([CRITIC, DIGITS, THREE]), { notify });
    driven.answer('42');
    driven.verdict({ score: 0.8 });
    assert.deepEqual(
      driven.panels.map(({ judges }) => judges.length),
      [1, 3],
    );
    driven.verdict({ score: 0.72 });
    assert.equal(driven.view.status, 'completed');
    const word = JSON.parse(JSON.stringify(driven.sent('AgentWord').at(-1)?.payload));
    assert.equal(word.score, 0.72);
  });

  test('a later check that fails is reported together with the verdict before it', () => {
    const driven = started([CRITIC, DIGITS]);
    driven.answer('words');
    driven.verdict({ score: 0.8 });
    assert.match(driven.prompt, /- semantic \(critic\): passed\n- regex \(stdout\): failed/);
    assert.equal(driven.panels.length, 1);
  });
});

describe('while judges are asked', () => {
  const STOPS = [
    ['a cancel', (driven: JudgedExecution) => driven.send('Cancel', { reason: 'enough' }), 'cancelled'],
    ['the time-out of the iteration', (driven: JudgedExecution) => driven.fire('iteration'), 'running'],
    ['the time-out of the execution', (driven: JudgedExecution) => driven.fire('execution'), 'failed'],
  ] as const;
  for (const [what, stop, status] of STOPS) {
    test(`${what} cancels the panel, and its late verdict is ignored`, () => {
      const driven = started([CRITIC]);
      driven.answer('short');
      const { panel } = driven;
      const { sends, cancelled } = stop(driven);
      const told = sends.filter(({ type }) => type === 'Cancel').map(({ to }) => to);
      assert.deepEqual(told, [`judge-panel/acme/${panel.panel_id}`]);
      assert.deepEqual(cancelled, []);
      assert.equal(driven.view.status, status);
      assert.equal(driven.view.attempts[0]?.output, 'short');
      const before = JSON.stringify([driven.state, driven.names]);
      driven.verdict({ score: 1 }, undefined, panel);
      driven.noVerdict('cancelled', panel);
      assert.equal(JSON.stringify([driven.state, driven.names]), before);
    });
  }

  test('a late or repeated result, chunk or verdict asks no judge again', () => {
    const driven = started([CRITIC, THREE]);
    const answered = driven.effectId;
    driven.answer('short');
    const [critic] = driven.panels;
    assert.ok(critic !== undefined);
    const state = (): string => JSON.stringify([driven.state, driven.names, driven.panels.length]);
    const asked = state();
    driven.result('ModelAnswered', { kind: 'in_doubt' }, answered);
    driven.chunk('more', 2, answered);
    assert.equal(state(), asked);
    driven.verdict({ score: 0.9 }, undefined, critic);
    const second = state();
    driven.verdict({ score: 0 }, undefined, critic);
    assert.equal(state(), second);
    assert.equal(driven.panels.length, 2);
  });
});

describe('what no judge can be asked', () => {
  test('judges deeper than 3 fail the validator with MaxRecursiveDepthExceeded', () => {
    for (const [depth, convened] of [
      [2, 1],
      [3, 0],
    ] as const) {
      const driven = new JudgedExecution();
      driven.start(judgedBy([CRITIC], { mode: 'one-shot' }), { depth });
      driven.answer('short');
      assert.equal(driven.panels.length, convened);
      if (convened === 1) continue;
      assert.match(driven.view.status === 'failed' ? (driven.view.last_error ?? '') : '', /MaxRecursiveDepthExceeded/);
    }
  });

  test('an output too long for a judge fails the validator, uncut', () => {
    const driven = started([CRITIC]);
    driven.answer('"'.repeat(200_000));
    assert.equal(driven.panels.length, 0);
    assert.match(JSON.stringify(driven.payloads('iteration_failed')), /would be given \d+ bytes, at most 393216/);
  });

  test('twenty judges of the longest output stay within one message', () => {
    const judges = Array.from({ length: 20 }, (_, at) => `judge-${at}`);
    const driven = started([{ ...THREE, judges }]);
    driven.answer('"'.repeat(190_000));
    assert.ok(JSON.stringify(driven.sent('Convene')).length < 16 * 1024 * 1024);
    assert.equal(driven.panel.judges.length, 20);
  });
});
