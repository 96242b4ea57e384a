import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Json } from '../../../runtime/json.ts';
import { needsOf } from '../../../usecases/waits/execution-wait.ts';
import { Bootstrapped } from './bootstrapped.ts';
import { DrivenExecution, EXECUTION_ID, manifestOf } from './driven-execution.ts';

const CONTEXT: Record<string, string>[] = [
  { type: 'text', content: 'be brief', description: 'Rules' },
  { type: 'file', path: 'style.md', description: 'Style guide' },
  { type: 'directory', path: 'docs' },
  { type: 'text', content: 'in plain words' },
  { type: 'url', url: 'https://a.example/terms', description: 'Terms' },
];

const TEXTS = ['no adverbs', '### /workspace/docs/a.md\nan A', 'pay by Friday'];

const WHOLE = `Rules:
be brief

Style guide:
no adverbs

docs:
### /workspace/docs/a.md
an A

in plain words

Terms:
pay by Friday`;

const NETWORK = { security: { network: { allowlist: ['a.example'] } } };
const DIGITS = { execution: { validation: [{ type: 'regex', pattern: '^[0-9]+$' }] } };

function started(spec = {}): DrivenExecution {
  const e = new DrivenExecution();
  e.start(manifestOf({ context: CONTEXT, ...NETWORK, ...DIGITS, ...spec }));
  return e;
}

const settle = (e: DrivenExecution, outcome: Json, effectId = e.effectId) =>
  e.send('ContextRead', { effectId, kind: 'context.read', attempt: 1, outcome }, 'effect');
const read = (e: DrivenExecution, texts: Json = TEXTS) => settle(e, { kind: 'done', value: { texts } });
const asked = (e: DrivenExecution, kind: string) =>
  e.turns.flatMap(({ effects }) => effects.filter(({ request }) => request.kind === kind));

describe('files, directories and URLs of spec.context', () => {
  test('are read once, before the first iteration, under the rules of the agent but whatever its tools', () => {
    const e = started();
    assert.deepEqual(e.names, ['execution_started']);
    const [effect] = asked(e, 'context.read');
    assert.equal(effect?.request.mode, 'repeatable');
    const { entries, grant, subject } = effect?.request.input ?? {};
    assert.deepEqual(entries, [
      { index: 1, entry: CONTEXT[1] },
      { index: 2, entry: CONTEXT[2] },
      { index: 4, entry: CONTEXT[4] },
    ]);
    assert.ok(grant !== null && typeof grant === 'object' && !Array.isArray(grant));
    assert.deepEqual([grant.manifest, grant.network], [null, { mode: 'deny', allowlist: ['a.example'], denylist: [] }]);
    assert.ok(subject !== null && typeof subject === 'object' && !Array.isArray(subject));
    assert.equal(subject.execution_id, EXECUTION_ID);
    assert.ok(e.view.status === 'running');
    const { place, effects } = needsOf(e.view);
    assert.equal(`${place} waits for its ${effects.what}`, 'the run waits for its context');
    read(e);
    assert.deepEqual(e.names, ['execution_started', 'iteration_started']);
  });

  test('stand in the order of the manifest, below their descriptions, in every prompt, and are not read again', () => {
    const e = started();
    read(e);
    assert.equal(e.prompt, `Summarize.\n\n${WHOLE}\n\nthe text`);
    e.answer('seven');
    assert.ok(e.prompt.startsWith(`Summarize.\n\n${WHOLE}\n\nthe text`), e.prompt);
    e.answer('7');
    assert.equal(e.view.status, 'completed');
    assert.equal(asked(e, 'context.read').length, 1);
    assert.doesNotMatch(JSON.stringify(e.state), /no adverbs/, 'an ended execution keeps none of it');
  });

  test('are the variable context of a template, also of an agent that is a program, and of one with tools', () => {
    const task = { instruction: 'Summarize.', prompt_template: 'Know: {{context}}' };
    const program = started({ task, advanced: { bootstrap_path: './agent.sh' }, runtime: { isolation: 'process' } });
    read(program);
    assert.equal(program.prompt, `Know: ${WHOLE}`);
    const tools = Bootstrapped.of({ context: CONTEXT, ...NETWORK });
    read(tools);
    assert.match(JSON.stringify(tools.state), /no adverbs/);
    assert.equal(asked(tools, 'tools.grant').length, 1);
  });

  test('context of texts alone reads nothing', () => {
    const e = started({ context: [CONTEXT[0], CONTEXT[3]] });
    assert.equal(e.prompt, 'Summarize.\n\nRules:\nbe brief\n\nin plain words\n\nthe text');
    assert.equal(asked(e, 'context.read').length, 0);
    assert.doesNotMatch(JSON.stringify(e.state), /context_(text|entries)/);
  });

  test('an entry that cannot be read fails the execution at once with its own error code, without an iteration', () => {
    for (const code of ['not_found', 'forbidden', 'payload_too_large', 'unavailable']) {
      const e = started();
      const message = 'spec.context[1] (file): /workspace/style.md does not exist';
      settle(e, { kind: 'failed', code, message });
      assert.deepEqual(e.names, ['execution_started', 'execution_failed']);
      const [failed] = e.payloads('execution_failed');
      assert.deepEqual([failed?.reason, failed?.message, failed?.total_iterations], [code, message, 0]);
      assert.equal(e.timers.size, 0);
    }
  });

  test('a malformed or shorter result ends it as well', () => {
    for (const value of [['only one'], 'nonsense', null]) {
      const e = started();
      read(e, value);
      assert.equal(e.payloads('execution_failed')[0]?.reason, 'internal');
    }
  });

  test('a context that leaves no room for the prompt ends it under payload_too_large', () => {
    const e = started({ advanced: { bootstrap_path: './agent.sh' }, runtime: { isolation: 'process' } });
    read(e, ['x'.repeat(130 * 1024), '', '']);
    assert.deepEqual(e.names, ['execution_started', 'execution_failed']);
    assert.equal(e.payloads('execution_failed')[0]?.reason, 'payload_too_large');
  });

  test('a cancel and the end of its time stop the reading; what arrives later changes nothing', () => {
    const cancelled = started();
    assert.equal(cancelled.send('Cancel', {}).cancelled.length, 1);
    assert.deepEqual(cancelled.names, ['execution_started', 'execution_failed']);
    assert.equal(cancelled.view.status, 'cancelled');
    const late = started();
    const { effectId } = late;
    assert.equal(late.fire('execution').cancelled.length, 1);
    assert.equal(late.payloads('execution_failed')[0]?.reason, 'timed_out');
    settle(late, { kind: 'done', value: { texts: TEXTS } }, effectId);
    assert.deepEqual(late.names, ['execution_started', 'execution_failed']);
    const twice = started();
    const first = twice.effectId;
    read(twice);
    const state = JSON.stringify(twice.state);
    settle(twice, { kind: 'done', value: { texts: ['other', '', ''] } }, first);
    assert.equal(JSON.stringify(twice.state), state);
  });
});
