import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { type StoreKind, startStores, storesMissing } from '../kill/stores.ts';
import { NodeProcess } from '../support/node-process.ts';
import { sample } from '../support/size.ts';
import { waitUntil } from '../support/wait-until.ts';
import { WorkflowCalls } from '../support/workflow-kill-calls.ts';
import { endsOf, startWaiting, WAITING_WORKFLOW } from '../support/workflow-kill-waiting.ts';

const WAITING = sample({ normal: 30, long: 500 });
const SPEC = { kernel: { passivate_after_ms: 500 }, observability: { logging: { level: 'warn' } } };

for (const kind of ['sqlite', 'redis'] as const satisfies readonly StoreKind[]) {
  const title = `${WAITING} workflows on ${kind} that wait for a human are in no memory, and all end when they are answered at once`;
  test(title, { skip: storesMissing(kind), timeout: 300_000 }, async (context) => {
    const directory = await mkdtemp(join(tmpdir(), 'svc-waiting-'));
    const stores = await startStores(kind);
    const config = join(directory, 'svc.yaml');
    await writeFile(config, stringify({ apiVersion: 'svc.dev/v1', kind: 'NodeConfig', spec: SPEC }));
    const node = new NodeProcess([...stores.args, '--config', config]);
    context.after(async () => {
      await node.kill();
      await stores.destroy();
      await rm(directory, { recursive: true, force: true });
    });
    node.spawn();
    const calls = new WorkflowCalls(node, context.signal);
    const noneInMemory = async (): Promise<boolean> => (await calls.residents()) === 0;
    await calls.deploy(WAITING_WORKFLOW);
    const runs = await startWaiting(calls, WAITING);
    await waitUntil('all that wait to leave memory', noneInMemory, 60_000);
    // A read of what a run waits for must not activate it.
    const [first] = runs;
    assert.equal((await calls.get(first?.id ?? '')).status, 'waiting_for_human_input');
    assert.equal(await calls.residents(), 0);

    await Promise.all(runs.map(({ approvalId }, index) => calls.answer(approvalId, { approve: `human ${index}` })));
    const ends = await endsOf(calls, runs);
    assert.deepEqual(
      ends.map(({ status, output }) => ({ status, output })),
      runs.map((_run, index) => ({ status: 'completed', output: { by: `human ${index}` } })),
    );
    await waitUntil('all that ended to leave memory', noneInMemory, 60_000);
  });
}
