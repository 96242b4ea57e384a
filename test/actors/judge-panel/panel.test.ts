import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ada, agentId, DrivenPanel, PANEL_ID, written } from './driven-panel.ts';
import { ruleOf } from './rules.ts';

describe('a judge panel', () => {
  test('a panel asks each judge once, one-shot, as its caller, and names where the result goes', () => {
    const panel = new DrivenPanel();
    const turn = panel.convene({ judges: 2 });
    assert.deepEqual(turn.reply, { ok: true, value: { panel_id: PANEL_ID } });
    assert.equal(panel.asked.length, 2);
    panel.asked.forEach(({ request }, judge) => {
      assert.equal(request.kind, 'agent.start');
      assert.equal(request.mode, 'repeatable');
      assert.equal(request.replyAs, 'JudgeStarted');
      assert.deepEqual(request.input, {
        execution_id: panel.seat(judge).execution_id,
        agent: `judge-${judge}`,
        input: `judge this, ${judge}`,
        one_shot: true,
        workflow_execution_id: 'wf-1',
        notify: { to: `judge-panel/acme/${PANEL_ID}`, as: 'JudgeWord', context: { judge } },
        identity: { ...ada },
      });
    });
    assert.deepEqual([...panel.timers.keys()], ['judge-0', 'judge-1']);
    assert.notEqual(panel.seat(0).execution_id, panel.seat(1).execution_id);
  });

  test('a panel concludes when the last judge has answered, and notifies its caller', () => {
    const panel = new DrivenPanel();
    panel.convene({ judges: 2, weights: [3, 1] });
    panel.answers(1, written(0.2, 0.9));
    assert.equal(panel.view.status, 'judging');
    panel.answers(0, `\`\`\`json\n${written(1, 0.5, { suggestions: ['more'] })}\n\`\`\``);
    // (3 * 1 + 0.2) / 4; see the table of consensus for the confidence.
    assert.equal(panel.outcome.status, 'concluded');
    assert.equal(panel.outcome.consensus?.score, 0.8);
    assert.equal(panel.outcome.consensus?.confidence, 0.432);
    assert.equal(panel.outcome.consensus?.strategy, 'weighted_average');
    assert.equal(panel.outcome.consensus?.metadata.all_succeeded, true);
    assert.equal(panel.outcome.binary_valid, true);
    assert.deepEqual(panel.outcome.individual_results, [
      { agent_id: agentId(0), score: 1, confidence: 0.5, reasoning: 'It does what was asked.' },
      { agent_id: agentId(1), score: 0.2, confidence: 0.9, reasoning: 'It does what was asked.' },
    ]);
    assert.deepEqual(panel.outcome.agents[0], {
      agent_id: agentId(0),
      output: { score: 1, confidence: 0.5, reasoning: 'It does what was asked.', suggestions: ['more'] },
      weight: 3,
    });
    assert.deepEqual(panel.outcome.context, { state: 'REVIEW' });
    assert.deepEqual(panel.sent('PanelConcluded'), [{ to: 'workflow/acme/wf-1', payload: panel.outcome }]);
    assert.equal(panel.timers.size, 0);
    assert.deepEqual(panel.names, [
      'JudgePanelConvened',
      'JudgeAsked',
      'JudgeAnswered',
      'JudgeAsked',
      'JudgeAnswered',
      'MultiJudgeConsensus',
      'JudgePanelConcluded',
    ]);
    assert.deepEqual(panel.payloads('MultiJudgeConsensus'), [
      {
        judge_scores: [
          { agent_id: agentId(0), score: 1 },
          { agent_id: agentId(1), score: 0.2 },
        ],
        final_score: 0.8,
        confidence: 0.432,
      },
    ]);
  });

  test('a repeated start with the same id gets the same answer and asks no judge, also after the end', () => {
    const panel = new DrivenPanel();
    const first = panel.convene({ judges: 1 });
    const second = panel.convene({ judges: 1 });
    panel.answers(0, written(1));
    const third = panel.convene({ judges: 1 });
    assert.deepEqual(second.reply, first.reply);
    assert.deepEqual(third.reply, first.reply);
    assert.equal(panel.asked.length, 1);
    const other = panel.convene({ judges: 2 });
    assert.ok(other.reply?.ok === false && other.reply.code === 'conflict');
  });

  test('an identity of another tenant, or no identity, starts no panel', () => {
    const panel = new DrivenPanel();
    const stranger = panel.convene({ identity: { ...ada, tenant: 'other' } });
    assert.ok(stranger.reply?.ok === false && stranger.reply.code === 'forbidden');
    const nobody = panel.convene({ identity: null });
    assert.ok(nobody.reply?.ok === false && nobody.reply.code === 'invalid_argument');
    assert.equal(panel.asked.length, 0);
  });

  test('the reason of a judge whose error names its code has the code once, under rules 5', () => {
    const ended = { reason: 'model_refused', error: 'model_refused: the provider answered 400' };
    const panel = new DrivenPanel();
    panel.convene({ rules: 5 });
    panel.word(0, 'failed', ended);
    assert.equal(
      panel.seat(0).reason,
      'its execution ended without an output: model_refused: the provider answered 400',
    );
  });

  const LEFT_OUT: readonly [what: string, fail: (panel: DrivenPanel) => void, reason: RegExp, name: string][] = [
    [
      'that is not deployed',
      (p) => p.notStarted(0, 'not_found', 'agent "judge-0" is not deployed'),
      /^not_found: agent "judge-0"/,
      'judge-0',
    ],
    [
      'whose execution failed',
      (p) => p.word(0, 'failed', { error: 'the model refused' }),
      /max_iterations_exceeded: the model refused/,
      agentId(0),
    ],
    ['whose execution was cancelled', (p) => p.word(0, 'cancelled'), /cancelled/, agentId(0)],
    ['that writes prose', (p) => p.answers(0, 'Looks good to me!'), /expected JSON/, agentId(0)],
    ['that scores over 1', (p) => p.answers(0, written(80)), /score: expected a number from 0.0 to 1.0/, agentId(0)],
    [
      'that is too slow',
      (p) => {
        p.started(0);
        p.fire('judge-0');
      },
      /no verdict within 60 s/,
      agentId(0),
    ],
  ];
  for (const [what, fail, reason, name] of LEFT_OUT) {
    test(`a panel goes on without a judge ${what}, and names it`, () => {
      const panel = new DrivenPanel();
      panel.convene({ judges: 2 });
      fail(panel);
      panel.answers(1, written(0.9));
      assert.equal(panel.outcome.status, 'concluded');
      assert.equal(panel.outcome.consensus?.score, 0.9);
      assert.equal(panel.outcome.individual_results.length, 1);
      assert.equal(panel.outcome.agents.length, 2);
      assert.equal(panel.outcome.agents[1]?.agent_id, agentId(1));
      assert.equal(panel.outcome.consensus?.metadata.all_succeeded, false);
      const [failed] = panel.payloads('JudgeFailed');
      assert.equal(failed?.agent_id, name);
      assert.match(String(failed?.reason), reason);
      assert.deepEqual(panel.outcome.consensus?.metadata.failed, [{ agent_id: name, reason: failed?.reason }]);
    });
  }

  test('a panel with fewer verdicts than required fails, and names the judges and the reasons', () => {
    const panel = new DrivenPanel();
    panel.convene({ judges: 3, rule: ruleOf('majority', { min_judges_required: 2 }) });
    panel.answers(0, written(1));
    panel.answers(1, 'nonsense');
    assert.equal(panel.view.status, 'judging');
    panel.notStarted(2, 'not_found', 'agent "judge-2" is not deployed in this tenant');
    assert.equal(panel.outcome.status, 'failed');
    assert.equal(panel.outcome.consensus, null);
    assert.equal(panel.outcome.binary_valid, false);
    assert.match(
      String(panel.outcome.error),
      /^1 of 3 judges gave a verdict, at least 2 must: judge judge-1: expected JSON.*; judge judge-2: not_found/,
    );
    assert.deepEqual(panel.names.at(-1), 'JudgePanelConcluded');
    assert.ok(!panel.names.includes('MultiJudgeConsensus'));
    assert.equal(panel.sent('PanelConcluded').length, 1);
  });

  const hopeless: readonly [
    what: string,
    fail: (panel: DrivenPanel) => void,
    code: string | undefined,
    rules?: number,
  ][] = [
    [
      'whose model refuses its key',
      (panel) => void panel.word(0, 'failed', { reason: 'unauthenticated' }),
      'unauthenticated',
    ],
    ['whose model has an unknown alias', (panel) => void panel.word(0, 'failed', { reason: 'not_found' }), 'not_found'],
    ['that is not deployed', (panel) => void panel.notStarted(0, 'not_found', 'none'), 'not_found'],
    ['that used up its iteration', (panel) => void panel.word(0, 'failed'), undefined],
    [
      'to whom the output is too long',
      (panel) => void panel.word(0, 'failed', { reason: 'payload_too_large' }),
      undefined,
    ],
    [
      'of a run that began before this was said',
      (panel) => void panel.word(0, 'failed', { reason: 'forbidden' }),
      undefined,
      2,
    ],
  ];
  for (const [what, fail, code, rules = 3] of hopeless) {
    test(`a judge ${what}: the code that ends the asking run is ${code ?? 'nothing'}`, () => {
      for (const [needed, said] of [
        [2, code],
        [1, undefined],
      ] as const) {
        const panel = new DrivenPanel();
        panel.convene({ judges: 2, rules, rule: ruleOf('weighted_average', { min_judges_required: needed }) });
        fail(panel);
        panel.started(1);
        panel.word(1, 'failed');
        assert.deepEqual([panel.outcome.status, panel.outcome.code], ['failed', said]);
      }
    });
  }

  test('a panel with fewer judges than must answer fails at once and asks none', () => {
    const panel = new DrivenPanel();
    panel.convene({ judges: 2, rule: ruleOf('majority', { min_judges_required: 3 }) });
    assert.equal(panel.outcome.status, 'failed');
    assert.equal(panel.asked.length, 0);
    assert.equal(panel.timers.size, 0);
    assert.equal(panel.sent('PanelConcluded').length, 1);
  });

  test('a judge that is too slow is stopped: its start, its execution, and a start that arrives even later', () => {
    const panel = new DrivenPanel();
    panel.convene({ judges: 2 });
    const { execution_id } = panel.seat(0);
    const turn = panel.fire('judge-0');
    assert.deepEqual(turn.cancelled, [panel.seat(0).effect_id]);
    assert.equal(panel.sent('Cancel').length, 1);
    assert.equal(panel.word(0, 'running').sends.length, 1);
    assert.deepEqual(
      panel.sent('Cancel').map(({ to }) => to),
      [`execution/acme/${execution_id}`, `execution/acme/${execution_id}`],
    );
    // Its verdict comes too late.
    assert.equal(panel.word(0, 'completed', { output: written(1) }).sends.length, 0);
    panel.answers(1, written(0.5));
    assert.equal(panel.outcome.consensus?.score, 0.5);
  });

  test('an event of a judge that arrives before the answer to its start counts, and the judge is asked once', () => {
    const panel = new DrivenPanel();
    panel.convene({ judges: 2 });
    panel.word(0, 'running');
    panel.started(0);
    panel.word(0, 'completed', { output: written(0.6) });
    panel.started(0);
    assert.equal(panel.payloads('JudgeAsked').length, 1);
    assert.equal(panel.seat(0).status, 'answered');
  });

  test('a start that is reported as failed after an event of the judge changes nothing', () => {
    const panel = new DrivenPanel();
    panel.convene({ judges: 2 });
    panel.word(0, 'running');
    panel.notStarted(0, 'deadline_exceeded', 'no answer');
    assert.equal(panel.seat(0).status, 'judging');
  });

  test('a cancelled panel stops every running judge, notifies its caller, and concludes nothing', () => {
    const panel = new DrivenPanel();
    panel.convene({ judges: 3 });
    panel.answers(0, written(1));
    panel.started(1);
    const [, running, waiting] = [0, 1, 2].map((judge) => panel.seat(judge));
    const turn = panel.send('Cancel', { reason: 'the workflow was cancelled' });
    assert.deepEqual(turn.reply, { ok: true, value: { cancelled: true } });
    assert.deepEqual(turn.cancelled, [waiting?.effect_id]);
    assert.deepEqual(
      panel.sent('Cancel').map(({ to }) => to),
      [`execution/acme/${running?.execution_id}`, `execution/acme/${waiting?.execution_id}`],
    );
    assert.equal(panel.outcome.status, 'cancelled');
    assert.equal(panel.outcome.error, 'the workflow was cancelled');
    assert.equal(panel.timers.size, 0);
    assert.equal(panel.names.at(-1), 'JudgePanelCancelled');
    // A start that was on its way.
    assert.equal(panel.word(2, 'running').sends.length, 1);
    const again = panel.send('Cancel', {});
    assert.ok(again.reply?.ok === false && again.reply.code === 'failed_precondition');
  });

  test('a message to a panel that does not exist is not found', () => {
    const turn = new DrivenPanel().send('Cancel', {});
    assert.ok(turn.reply?.ok === false && turn.reply.code === 'not_found');
  });

  test('a panel stops early only when that was requested', () => {
    const rule = ruleOf('any_approved');
    const patient = new DrivenPanel();
    patient.convene({ judges: 3, rule });
    patient.answers(0, written(0.9));
    assert.equal(patient.view.status, 'judging');

    const eager = new DrivenPanel();
    eager.convene({ judges: 3, rule: { ...rule, early_stop: true } });
    eager.answers(1, written(0.6));
    assert.equal(eager.view.status, 'judging');
    eager.answers(0, written(0.9));
    assert.equal(eager.outcome.binary_valid, true);
    assert.equal(eager.outcome.consensus?.metadata.not_awaited, 1);
    assert.equal(eager.sent('Cancel').length, 1);
    assert.equal(eager.seat(2).status, 'dropped');
  });

  test('a panel does not stop early before the required number of judges has answered', () => {
    const panel = new DrivenPanel();
    panel.convene({ judges: 3, rule: ruleOf('any_approved', { early_stop: true, min_judges_required: 2 }) });
    panel.answers(0, written(0.9));
    assert.equal(panel.view.status, 'judging');
    panel.answers(1, written(0.1));
    assert.equal(panel.outcome.status, 'concluded');
  });

  test('a panel stops early when too few judges are left to answer', () => {
    const panel = new DrivenPanel();
    panel.convene({ judges: 3, rule: ruleOf('majority', { early_stop: true, min_judges_required: 3 }) });
    panel.answers(0, 'nonsense');
    assert.equal(panel.outcome.status, 'failed');
    assert.equal(panel.sent('Cancel').length, 2);
  });

  test('a hundred judges with long outputs stay within what one message may hold', () => {
    const panel = new DrivenPanel();
    panel.convene({ judges: 100 });
    const output = written(0.5, 0.5, { notes: 'x'.repeat(60_000) });
    for (let judge = 0; judge < 100; judge += 1) {
      panel.word(judge, 'completed', { output, agent_id: `agent-${judge}` });
    }
    assert.ok(JSON.stringify(panel.outcome).length < 8 * 1024 * 1024);
    assert.ok(JSON.stringify(panel.state).length < 8 * 1024 * 1024);
  });
});
