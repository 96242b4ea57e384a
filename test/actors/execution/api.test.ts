import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { execution } from '../../../actors/execution/definition.ts';
import { createModelEffect } from '../../../effects/models/model-effect.ts';
import { createProgramEffect } from '../../../effects/programs/program-effect.ts';
import type { AgentManifest } from '../../../manifests/agent/schema.ts';
import { ModelSelection, ProviderConfig } from '../../../manifests/node/models.ts';
import type { ActorEvent } from '../../../runtime/client.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Identity } from '../../../runtime/identity.ts';
import { type OpenStores, openStores } from '../../../runtime/open-stores.ts';
import { type Runtime, startRuntime } from '../../../runtime/runtime.ts';
import {
  createExecutionApi,
  EXECUTIONS,
  type ExecutionApi,
  type ExecutionDocument,
} from '../../../usecases/executions.ts';
import { leftOfRun } from '../../support/left-of-run.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { manifestOf } from './driven-execution.ts';

const TENANT = 'acme';
const identity: Identity = { kind: 'operator', subject: 'ann', tenant: TENANT, roles: [], tier: 'free' };
const secrets = { resolve: (_tenant: string, reference: string) => Promise.resolve(reference) };
const SCRIPT = `
rules:
  - match: {iteration: 1, contains: count}
    reply: {text: seven, chunks: 2}
  - reply: {text: "7", usage: {input_tokens: 3, output_tokens: 1}}
`;

describe('the execution api over the kernel, SQLite and real effects', { timeout: 300_000 }, () => {
  let directory: string;
  let api: ExecutionApi;
  let close: () => Promise<void>;
  let ports: OpenStores;
  let runtime: Runtime;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-execution-'));
    const script = join(directory, 'answers.yaml');
    await writeFile(script, SCRIPT);
    await writeFile(join(directory, 'agent.sh'), '#!/bin/sh\necho "got $1"\necho "iteration $SVC_ITERATION"\n', {
      mode: 0o755,
    });
    await writeFile(join(directory, 'slow.sh'), '#!/bin/sh\necho begun\nexec sleep 600\n', { mode: 0o755 });
    const models = [{ alias: 'default', model: 'demo' }];
    ports = await openStores({ dataDir: directory, warn: assert.fail });
    runtime = await startRuntime({
      ...ports,
      definitions: [execution],
      handlers: [
        createModelEffect({
          providers: [ProviderConfig.parse({ name: 'demo', type: 'scripted', script, models })],
          selection: ModelSelection.parse({}),
          secrets,
        }),
        createProgramEffect({
          workspaces: join(directory, 'workspaces'),
          allow: () => true,
          secrets,
          baseDirectory: directory,
        }),
      ],
      node: 'test',
      settings: { partitions: 4, systemPartitions: 1, removalsGuardedMs: 1_500 },
      warn: (message) => assert.fail(message),
    });
    const executions = await ports.documents.collection<ExecutionDocument>(EXECUTIONS);
    api = createExecutionApi({ client: runtime.client, executions, removals: runtime.removals });
    close = async () => {
      await runtime.stop();
      await ports.close();
    };
  });

  after(async () => {
    await close();
    await rm(directory, { recursive: true });
  });

  const start = async (manifest: AgentManifest, input = 'please count'): Promise<string> => {
    const executionId = randomUUID();
    return (await api.start({ executionId, agentId: randomUUID(), manifest, input, identity })).execution_id;
  };

  const follow = async (id: string): Promise<ActorEvent[]> => {
    const seen: ActorEvent[] = [];
    const signal = AbortSignal.timeout(20_000);
    for await (const event of api.follow(TENANT, id, 0, { signal, heartbeatMs: 1_000 }))
      if (event !== null) seen.push(event);
    return seen;
  };

  const refusal = async (work: Promise<unknown>): Promise<string> => {
    const error = await work.then(
      () => assert.fail('it was not refused'),
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof SvcError, String(error));
    return error.code;
  };

  test('an execution can be followed, read, listed, logged and removed', async () => {
    const id = await start(manifestOf({ execution: { validation: [{ type: 'regex', pattern: '^[0-9]+$' }] } }));
    const events = await follow(id);
    const names = events.map((event) => event.name).filter((name) => name !== 'iteration_output');
    assert.deepEqual(names, [
      'execution_started',
      'iteration_started',
      'iteration_failed',
      'refinement_applied',
      'iteration_started',
      'iteration_completed',
      'execution_completed',
    ]);
    assert.deepEqual(
      events.map((event) => event.seq),
      events.map((_, index) => index + 1),
    );
    const status = await api.status(TENANT, id);
    assert.deepEqual([status.status, status.iteration_count, status.last_output], ['completed', 2, '7']);
    assert.ok(status.usage.output_tokens > 0);

    const logs = await api.logs(TENANT, id, { limit: 2, offset: 0 });
    assert.equal(logs.total, events.length);
    assert.deepEqual(
      logs.events.map((event) => event.event_type),
      ['ExecutionStarted', 'IterationStarted'],
    );
    const listed = await waitUntil('the list to show the end', async () =>
      (await api.list(TENANT, { status: 'completed', limit: 10 })).items.find((each) => each.execution_id === id),
    );
    assert.equal(listed.last_output, '7');

    for (const work of [api.status, api.cancel, api.remove])
      assert.equal(await refusal(work('other', id)), 'not_found');
    assert.deepEqual((await api.list('other', { limit: 10 })).items, []);
    assert.equal(await refusal(api.cancel(TENANT, id)), 'failed_precondition');

    await api.remove(TENANT, id);
    for (const work of [api.status, api.cancel, api.remove]) assert.equal(await refusal(work(TENANT, id)), 'not_found');
    assert.equal(
      (await api.list(TENANT, { limit: 10 })).items.some((each) => each.execution_id === id),
      false,
    );
  });

  const leftOf = (id: string): Promise<string[]> =>
    leftOfRun(runtime, ports, { kind: 'execution', tenant: TENANT, id, list: EXECUTIONS.name });

  test('an execution removed right after its end leaves nothing, whether or not it is archived by then', async () => {
    const ids = await Promise.all(
      [0, 20, 60, 120, 180, 400].map(async (afterMs) => {
        const id = await start(manifestOf());
        await follow(id);
        await new Promise((resolve) => setTimeout(resolve, afterMs));
        await api.remove(TENANT, id);
        assert.equal(await refusal(api.status(TENANT, id)), 'not_found');
        return id;
      }),
    );
    await waitUntil('nothing of them', async () => {
      await runtime.sweep();
      return (await Promise.all(ids.map(leftOf))).flat().length === 0;
    });
    for (const id of ids) assert.equal(await refusal(api.status(TENANT, id)), 'not_found');
  });

  test('a program agent streams its output and completes with it', async () => {
    const id = await start(manifestOf({ advanced: { bootstrap_path: 'agent.sh' } }), 'hello');
    const events = await follow(id);
    const completed = events.find((event) => event.name === 'execution_completed');
    assert.match(JSON.stringify(completed?.payload), /got Summarize\.\\n\\nhello\\niteration 1\\n/);
    assert.ok(events.some((event) => event.name === 'iteration_output'));
  });

  test('a running program is cancelled: last event, status, a second cancel refused', async () => {
    const id = await start(manifestOf({ advanced: { bootstrap_path: 'slow.sh' } }));
    await waitUntil('the program to write', async () =>
      (await api.events(TENANT, id, 0, 100)).some((event) => event.name === 'iteration_output'),
    );
    assert.equal(await refusal(api.remove(TENANT, id)), 'failed_precondition');
    await api.cancel(TENANT, id);
    assert.equal((await api.status(TENANT, id)).status, 'cancelled');
    assert.equal((await follow(id)).at(-1)?.name, 'execution_failed');
    assert.equal(await refusal(api.cancel(TENANT, id)), 'failed_precondition');
  });

  test('a manifest that cannot run here is refused at start, and nothing was started', async () => {
    const executionId = randomUUID();
    const manifest = manifestOf({ runtime: { isolation: 'firecracker' } });
    const asked = api.start({ executionId, agentId: randomUUID(), manifest, input: 'x', identity });
    assert.equal(await refusal(asked), 'unsupported_isolation');
    assert.equal(await refusal(api.status(TENANT, executionId)), 'not_found');
  });

  test('an execution that was never started is not found', async () => {
    assert.equal(await refusal(api.status(TENANT, randomUUID())), 'not_found');
    assert.equal(await refusal(api.logs(TENANT, randomUUID(), { limit: 1, offset: 0 })), 'not_found');
  });
});
