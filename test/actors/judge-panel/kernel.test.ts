import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import type { ConsensusRule } from '../../../actors/judge-panel/messages.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { refused } from '../../support/refused.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { ada, written } from './driven-panel.ts';
import { panelRuntime, type Says } from './panel-runtime.ts';
import { ruleOf } from './rules.ts';

const SCORES: Readonly<Record<string, number>> = { strict: 0.6, kind: 0.9, fair: 0.75 };

/** Each judge has its own answer, whatever the question. */
const says: Says = (prompt) => {
  const name = /I am (\w+)\./.exec(prompt)?.[1] ?? '';
  const score = SCORES[name];
  return score === undefined ? 'hang' : written(score);
};

const judgesOf = (names: readonly string[], timeout_ms = 30_000) =>
  names.map((agent) => ({ agent, input: `Judge it, ${agent}.`, weight: 1, timeout_ms }));

const request = (
  names: readonly string[],
  more: { rule?: ConsensusRule; timeoutMs?: number; panelId?: string } = {},
) => ({
  panelId: more.panelId ?? randomUUID(),
  judges: judgesOf(names, more.timeoutMs),
  consensus: more.rule ?? ruleOf('weighted_average'),
  identity: ada,
});

describe('a judge panel on a kernel', () => {
  test('a panel starts its judges as executions of the tenant, receives their ends, and answers its caller', async () => {
    await using at = await panelRuntime({ says });
    for (const name of ['strict', 'kind', 'fair']) await at.deploy(ada, name);
    const concluded = await at.panels.validate(request(['strict', 'kind', 'fair']));
    // (0.6 + 0.9 + 0.75) / 3
    assert.equal(concluded.consensus?.score, 0.75);
    assert.equal(concluded.binary_valid, true);
    assert.equal(at.prompts.length, 3);
    await waitUntil('the lists show the three executions', async () => {
      const runs = (await at.executions.list('acme', { limit: 10 })).items;
      return runs.length === 3 && runs.every(({ status }) => status === 'completed');
    });
  });

  test('a repeated start with the same id returns the same panel and asks no judge again', async () => {
    await using at = await panelRuntime({ says });
    await at.deploy(ada, 'fair');
    const again = request(['fair']);
    const [first, second] = await Promise.all([at.panels.validate(again), at.panels.validate(again)]);
    assert.deepEqual(second, first);
    assert.deepEqual(await at.panels.validate(again), first);
    assert.equal(at.prompts.length, 1);
  });

  test('the error names a judge that is not deployed', async () => {
    await using at = await panelRuntime({ says });
    await at.deploy(ada, 'fair');
    await assert.rejects(
      at.panels.validate(request(['fair', 'nobody'])),
      (error) => refused('not_found')(error) && /nobody/.test(String(error)),
    );
  });

  test('too few verdicts are an error that says why', async () => {
    await using at = await panelRuntime({ says: () => 'I would rather not say.' });
    await at.deploy(ada, 'fair');
    await assert.rejects(
      at.panels.validate(request(['fair'])),
      (error) => refused('failed_precondition')(error) && /0 of 1 judges.*expected JSON/.test(String(error)),
    );
  });

  test('a judge that hangs is stopped at its timeout, and the verdict is made without it', async () => {
    await using at = await panelRuntime({ says });
    for (const name of ['kind', 'silent']) await at.deploy(ada, name);
    const concluded = await at.panels.validate(request(['kind', 'silent'], { timeoutMs: 3_000 }));
    assert.equal(concluded.consensus?.score, 0.9);
    assert.equal(concluded.individual_results.length, 1);
    await waitUntil('the model of the hanging judge was stopped', () => at.stopped.length === 1);
  });

  test('a caller who stops waiting stops the judges', async () => {
    await using at = await panelRuntime({ says });
    await at.deploy(ada, 'silent');
    const waiting = new AbortController();
    const verdict = at.panels.validate(request(['silent']), { signal: waiting.signal });
    await waitUntil('the judge was asked', () => at.prompts.length === 1);
    waiting.abort();
    await assert.rejects(verdict, refused('cancelled'));
    await waitUntil('the model of the judge was stopped', () => at.stopped.length === 1);
    await waitUntil('its execution was cancelled', async () => {
      const [run] = (await at.executions.list('acme', { limit: 1 })).items;
      return run?.status === 'cancelled';
    });
  });

  test('a caller that is gone already starts no judge', async () => {
    await using at = await panelRuntime({ says });
    const asked = request(['kind']);
    const verdict = at.panels.validate(asked, { signal: AbortSignal.abort('client_gone') });
    await assert.rejects(verdict, refused('cancelled'));
    assert.equal(await at.client.read(`judge-panel/acme/${asked.panelId}`), null);
  });

  test('a panel that another caller cancels is an error for its own caller, and its end stays readable in the archive', async () => {
    await using at = await panelRuntime({ says });
    await at.deploy(ada, 'silent');
    const asked = request(['silent']);
    const verdict = at.panels.validate(asked);
    await waitUntil('the judge was asked', () => at.prompts.length === 1);
    await at.client.ask(`judge-panel/acme/${asked.panelId}`, 'Cancel', { reason: 'an operator said so' });
    await assert.rejects(verdict, (error) => refused('cancelled')(error) && /an operator said so/.test(String(error)));
    await waitUntil('it was archived', async () => {
      const snapshot = await at.client.read(`judge-panel/acme/${asked.panelId}`);
      return snapshot?.archived === true;
    });
    await assert.rejects(at.panels.validate(asked), refused('cancelled'));
  });

  test('with an early stop the judges that cannot change the outcome are stopped', async () => {
    await using at = await panelRuntime({ says });
    for (const name of ['kind', 'silent']) await at.deploy(ada, name);
    const rule = ruleOf('any_approved', { early_stop: true });
    const concluded = await at.panels.validate(request(['silent', 'kind'], { rule }));
    assert.equal(concluded.binary_valid, true);
    assert.equal(concluded.consensus?.metadata.not_awaited, 1);
    await waitUntil('the other judge ended', async () => {
      const runs = (await at.executions.list('acme', { limit: 10 })).items;
      return runs.length === 2 && runs.every(({ status }) => status === 'completed' || status === 'cancelled');
    });
  });

  test('whichever commit of a panel is lost, or only its answer, the verdict is the same and no judge is asked twice', async () => {
    const names = ['strict', 'kind', 'fair'];
    let calls = 0;
    for (let struck = 1; struck <= 24; struck += 1) {
      let commits = 0;
      await using at = await panelRuntime({
        says,
        store: (inner) => ({
          async commit(...args) {
            commits += 1;
            if (commits !== struck) return inner.commit(...args);
            if (struck % 2 === 0) await inner.commit(...args);
            throw new SvcError('unavailable', 'the answer was lost');
          },
        }),
      });
      for (const name of names) await at.deploy(ada, name);
      const asked = request(names);
      const concluded = await at.panels.validate(asked, { timeoutMs: 60_000 });
      assert.equal(concluded.consensus?.score, 0.75, `commit ${struck}`);
      assert.equal(concluded.individual_results.length, 3);
      const events = await at.client.events(`judge-panel/acme/${asked.panelId}`, 0, 100);
      assert.equal(events.filter(({ name }) => name === 'JudgeAsked').length, 3);
      const started = await waitUntil('the lists show every execution there is', async () => {
        const runs = (await at.executions.list('acme', { limit: 10 })).items;
        return runs.length >= 3 && runs;
      });
      assert.equal(started.length, 3, `commit ${struck}`);
      calls = Math.max(calls, commits);
    }
    assert.ok(calls > 3, 'commits were struck while the panel lived');
  });
});
