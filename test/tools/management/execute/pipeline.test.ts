import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createBuiltIns } from '../../../../catalog/built-in/built-ins.ts';
import { NodePipeline } from '../../../../manifests/node/models.ts';
import { SvcError } from '../../../../runtime/errors.ts';
import type { Identity } from '../../../../runtime/identity.ts';
import { fittingAgent, pipelineFor, programTimeoutMs, WRITES_LABEL, writerName } from '../../../../usecases/intents.ts';

const settings = NodePipeline.parse({ tier_timeouts: { enterprise: 900 } });
const caller = (kind: Identity['kind'], tier: Identity['tier']): Identity => ({
  ...{ kind, tier, subject: 'ada', tenant: 'acme', roles: [] },
});
const asked = (timeout_seconds?: number) => ({ intent: 'x', language: 'python' as const, timeout_seconds });

describe('how long a program may run', () => {
  const rows: readonly [Identity['kind'], Identity['tier'], number | undefined, number][] = [
    ['consumer', 'free', undefined, 30],
    ['consumer', 'free', 29, 29],
    ['consumer', 'free', 600, 30],
    ['tenant_user', 'pro', undefined, 120],
    ['tenant_user', 'pro', 121, 120],
    ['tenant_user', 'business', 10_000, 600],
    ['tenant_user', 'enterprise', 10_000, 900],
    ['service_account', 'free', undefined, 900],
    ['operator', 'free', 800, 800],
    ['local', 'enterprise', 901, 900],
  ];
  for (const [kind, tier, seconds, allowed] of rows)
    test(`${kind}, tier ${tier}, asks for ${seconds ?? 'nothing'}: ${allowed} s`, () => {
      assert.equal(programTimeoutMs(settings, caller(kind, tier), asked(seconds)), allowed * 1_000);
    });
});

describe('the manifest of one run', () => {
  const [shipped] = createBuiltIns().workflows;
  assert.ok(shipped !== undefined);
  const call = { image: 'team/bash:1', timeoutMs: 7_000 };

  test('has its image in all containers, its time and volume in the program alone', () => {
    const volumeId = '3f0c9a52-7a3e-4b67-9d44-0d0f6d1f2a11';
    const { states, storage } = pipelineFor(shipped.manifest, { ...call, volumeId }).spec;
    const containers = Object.entries(states).flatMap(([name, state]) =>
      state.kind === 'ContainerRun' ? [[name, state] as const] : [],
    );
    assert.deepEqual(
      containers.map(([name, { image, resources, volumes }]) => [name, image, resources.timeout_ms, volumes.length]),
      [
        ['VALIDATE_CODE', 'team/bash:1', 30_000, 0],
        ['VALIDATE_REPAIRED', 'team/bash:1', 30_000, 0],
        ['EXECUTE_CODE', 'team/bash:1', 7_000, 1],
      ],
    );
    assert.deepEqual(storage.shared_volumes, [{ name: 'data', storage_class: 'persistent', volume_id: volumeId }]);
    for (const [, { resources }] of containers)
      assert.deepEqual([resources.cpu_millicores, resources.memory_bytes], [500, 256 * 1024 * 1024]);
  });

  test('does not change the manifest of the product, and has no volume when the call names none', () => {
    const before = JSON.stringify(shipped.manifest);
    const made = pipelineFor(shipped.manifest, call);
    assert.equal(JSON.stringify(shipped.manifest), before);
    assert.deepEqual(made.spec.storage.shared_volumes, []);
    assert.equal(made.metadata.annotations['svc.dev/containers'], 'sealed');
  });
});

describe('an agent for a goal', () => {
  const reader = { tenant: 'acme', subject: 'ada' };
  const goal = { intent: '  Sum the NUMBERS of the list ', language: 'bash' as const };
  const found = (labels: Record<string, string>, status: 'deployed' | 'paused' = 'deployed') => ({
    agents: { lookup: async () => ({ ...AGENT, labels, status }) },
    minScore: 0.75,
    search: { agents: async () => [], workflows: async () => [] },
  });
  const AGENT = {
    ...{ agent_id: 'made', name: 'n', tenant_id: 'acme', version: '1.0.0', description: '', owner: null },
    ...{ scope: 'tenant' as const, deployed_at: '' },
  };

  test('is named by the goal and its language, in the form of names', () => {
    assert.match(writerName(goal), /^sum-the-numbers-of-the-list-[0-9a-f]{8}$/);
    assert.equal(writerName(goal), writerName({ ...goal, intent: 'sum the numbers of the list' }));
    assert.notEqual(writerName(goal), writerName({ ...goal, language: 'python' }));
    for (const intent of ['日本語', '---', 'x'.repeat(10_000), 'Ünï çödé & <b>'])
      assert.match(writerName({ ...goal, intent }), /^[a-z0-9][a-z0-9-]{0,62}$/);
  });

  test('is the one that was made for it, while it writes this language and is deployed', async () => {
    assert.deepEqual(await fittingAgent(found({ [WRITES_LABEL]: 'bash' }), reader, goal), { id: 'made' });
    assert.equal(await fittingAgent(found({ [WRITES_LABEL]: 'python' }), reader, goal), null);
    assert.equal(await fittingAgent(found({}), reader, goal), null);
    assert.equal(await fittingAgent(found({ [WRITES_LABEL]: 'bash' }, 'paused'), reader, goal), null);
  });

  const refusing = (code: 'not_found' | 'cortex_not_configured' | 'unavailable') => async (): Promise<never> => {
    throw new SvcError(code);
  };

  test('is none where memory is switched off; a search that fails temporarily is an error', async () => {
    const agents = { lookup: refusing('not_found') };
    const search = (code: 'cortex_not_configured' | 'unavailable') => ({
      agents: refusing(code),
      workflows: refusing(code),
    });
    assert.equal(
      await fittingAgent({ agents, search: search('cortex_not_configured'), minScore: 1 }, reader, goal),
      null,
    );
    await assert.rejects(fittingAgent({ agents, search: search('unavailable'), minScore: 1 }, reader, goal));
  });
});
