import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentManifest } from '../../../manifests/agent/schema.ts';
import type { JsonObject } from '../../../runtime/json.ts';
import { AGENT_ID, DrivenExecution, EXECUTION_ID, manifestOf, programOf, templateOf } from './driven-execution.ts';

test('a second Start of the same id is answered the same and starts nothing', () => {
  const driven = new DrivenExecution();
  const first = driven.start(manifestOf());
  const again = driven.start(manifestOf());
  assert.deepEqual(again.reply, first.reply);
  assert.deepEqual(again.reply, { ok: true, value: { execution_id: EXECUTION_ID } });
  assert.deepEqual([again.events, again.effects], [[], []]);
  driven.answer('done');
  assert.deepEqual(driven.start(manifestOf()).reply, first.reply);
  assert.equal(driven.view.status, 'completed');
});

test('the id of a running execution is refused for another agent', () => {
  const driven = new DrivenExecution();
  driven.start(manifestOf());
  const other = driven.start(manifestOf(), { agent_id: 'another' });
  assert.equal(other.reply?.ok === false && other.reply.code, 'conflict');
});

interface Refused {
  readonly title: string;
  readonly manifest: AgentManifest;
  readonly extra?: JsonObject;
  readonly code: string;
  readonly names: RegExp;
}

const judge = { type: 'semantic', judge_agent: 'critic' };
const REFUSED: readonly Refused[] = [
  {
    title: 'isolation firecracker',
    manifest: manifestOf({ runtime: { isolation: 'firecracker' } }),
    code: 'unsupported_isolation',
    names: /spec\.runtime\.isolation.*firecracker/,
  },
  {
    title: 'judges without a caller to run for',
    manifest: manifestOf({ execution: { validation: [judge] } }),
    code: 'invalid_argument',
    names: /judges run in the name of/,
  },
  {
    title: 'a judge prompt that does not parse',
    manifest: manifestOf({ execution: { validation: { semantic: { prompt: '{{#if output}}' } } } }),
    code: 'invalid_manifest',
    names: /spec\.execution\.validation\.semantic\.prompt/,
  },
  {
    title: 'judges of tool calls without a caller to run for',
    manifest: manifestOf({ execution: { tool_validation: [judge] } }),
    code: 'invalid_argument',
    names: /judges run in the name of/,
  },
  {
    title: 'tools without a caller to run for',
    manifest: manifestOf({ tools: ['fs.read'] }),
    code: 'invalid_argument',
    names: /tools are used in the name of/,
  },
  {
    title: 'a schema in a file outside of the workspace',
    manifest: manifestOf({ execution: { validation: [{ type: 'json_schema', schema_path: '/etc/s.json' }] } }),
    code: 'invalid_manifest',
    names: /spec\.execution\.validation\[0\]\.schema_path: expected a file of the workspace/,
  },
  {
    title: 'a script outside of the workspace',
    manifest: manifestOf({ execution: { validation: { script: { path: '../check.sh' } } } }),
    code: 'invalid_manifest',
    names: /spec\.execution\.validation\.script\.path: expected a file of the workspace/,
  },
  {
    title: 'a template that does not parse',
    manifest: templateOf('{{#if input}}'),
    code: 'invalid_manifest',
    names: /spec\.task\.prompt_template/,
  },
  {
    title: 'a template with partials',
    manifest: templateOf('{{> other}}'),
    code: 'invalid_manifest',
    names: /partials/,
  },
  {
    title: 'a wrong on-in-doubt annotation',
    manifest: programOf({}, { 'svc.dev/on-in-doubt': 'shrug' }),
    code: 'invalid_manifest',
    names: /on-in-doubt.*retry or fail/,
  },
  {
    title: 'an input over 1 MiB',
    manifest: manifestOf(),
    extra: { input: 'x'.repeat(1024 * 1024 + 1) },
    code: 'payload_too_large',
    names: /1048577 bytes/,
  },
  {
    title: 'a prompt that does not fit a program argument',
    manifest: programOf(),
    extra: { input: 'x'.repeat(200_000) },
    code: 'payload_too_large',
    names: /122880/,
  },
  {
    title: 'nothing to ask',
    manifest: manifestOf({ task: {} }),
    extra: { input: '' },
    code: 'invalid_argument',
    names: /nothing to ask/,
  },
  {
    title: 'network rules for a program, which isolation process cannot enforce',
    manifest: programOf(),
    extra: { security_policy: { network_policy: { allowed_domains: ['example.org'], blocked_domains: [] } } },
    code: 'unsupported_isolation',
    names: /security_policy\.network_policy/,
  },
  {
    title: 'a security policy of another shape',
    manifest: manifestOf(),
    extra: { security_policy: { resource_limits: { timeout_seconds: 'soon' } } },
    code: 'invalid_argument',
    names: /timeout_seconds/,
  },
  {
    title: 'a manifest that was not normalised',
    manifest: manifestOf(),
    extra: { manifest: { kind: 'Agent' } },
    code: 'invalid_argument',
    names: /manifest/,
  },
];

for (const { title, manifest, extra, code, names } of REFUSED) {
  test(`Start refuses ${title}`, () => {
    const driven = new DrivenExecution();
    const { reply } = driven.start(manifest, extra);
    assert.ok(reply?.ok === false);
    assert.equal(reply.code, code);
    assert.match(reply.message, names);
    assert.equal(driven.view.status, 'pending');
    assert.deepEqual([driven.events.length, driven.effects.size, driven.timers.size], [0, 0, 0]);
  });
}

test('the model is asked with alias, prompt, temperature and a time limit', () => {
  const driven = new DrivenExecution();
  driven.start(manifestOf({ runtime: { model: 'smart', temperature: 0.2 }, task: { instruction: 'Do it.' } }));
  const request = driven.effects.get(driven.effectId)?.request;
  assert.equal(request?.kind, 'model.generate');
  assert.equal(request?.mode, 'repeatable');
  assert.equal(request?.timeoutMs, 300_000);
  assert.deepEqual(request?.input, {
    model: 'smart',
    messages: [{ role: 'user', content: 'Do it.\n\nthe text' }],
    iteration: 1,
    temperature: 0.2,
  });
});

test('a program gets its prompt as argument, the node environment, references unresolved, and its limits', () => {
  const driven = new DrivenExecution();
  const manifest = manifestOf({
    advanced: { bootstrap_path: './agent.sh' },
    env: { TOKEN: 'secret:api', PLAIN: 'x' },
    task: { instruction: 'secret:not-a-reference' },
    security: { resources: { memory: '64Mi', cpu: 500 } },
  });
  driven.start(manifest, { security_policy: { resource_limits: { memory_bytes: '1048576', timeout_seconds: 60 } } });
  const request = driven.effects.get(driven.effectId)?.request;
  assert.equal(request?.kind, 'program.run');
  assert.equal(request?.mode, 'once');
  assert.deepEqual(request?.input, {
    path: './agent.sh',
    args: ['secret:not-a-reference\n\nthe text'],
    env: {
      TOKEN: 'secret:api',
      PLAIN: 'x',
      SVC_AGENT_ID: AGENT_ID,
      SVC_EXECUTION_ID: EXECUTION_ID,
      SVC_ITERATION: '1',
      SVC_ITERATION_HISTORY: '[]',
      SVC_MODEL_ALIAS: 'default',
      SVC_AGENT_INSTRUCTION: 'literal:secret:not-a-reference',
      SVC_PROMPT_TEMPLATE: '',
      SVC_LLM_TIMEOUT_SECONDS: '300',
    },
    execution_id: EXECUTION_ID,
    limits: { timeout_ms: 60_000, memory_bytes: 1_048_576, cpu_millicores: 500, output_bytes: 1_048_576 },
    // Nothing of the network was allowed.
    rules: { network: 'closed', read_only: false },
  });
  assert.equal(driven.timers.get('execution')?.at, driven.now + 60_000);
});

test('an input of exactly 1 MiB is accepted, and with a context by which it is larger it is not', () => {
  const input = 'x'.repeat(1024 * 1024);
  assert.equal(new DrivenExecution().start(manifestOf(), { input }).reply?.ok, true);
  const { reply } = new DrivenExecution().start(manifestOf(), { input, context: { a: 1 } });
  assert.equal(reply?.ok === false && reply.code, 'payload_too_large');
});

test('a security policy never widens, and zero means not given', () => {
  const driven = new DrivenExecution();
  driven.start(programOf(), { security_policy: { resource_limits: { timeout_seconds: 86_400, cpu_millicores: 0 } } });
  assert.equal(driven.timers.get('execution')?.at, driven.now + 1_800_000);
  const limits = driven.effects.get(driven.effectId)?.request.input.limits;
  assert.match(JSON.stringify(limits), /"cpu_millicores":1000/);
});

test('the next iteration of a program receives the history', () => {
  const driven = new DrivenExecution();
  driven.start(programOf());
  driven.exit(2, 'half', { stderr: 'no such file' });
  const env = driven.effects.get(driven.effectId)?.request.input.env;
  const history: unknown = JSON.parse(
    env !== null && typeof env === 'object' && 'SVC_ITERATION_HISTORY' in env ? String(env.SVC_ITERATION_HISTORY) : '',
  );
  assert.deepEqual(history, [
    {
      iteration: 1,
      output: 'half',
      error: 'the program ended with exit code 2: no such file',
      exit_code: 2,
      validation_failed: false,
      validation_reason: null,
      feedback: 'program_failed: the program ended with exit code 2: no such file',
    },
  ]);
});
