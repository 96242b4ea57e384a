import assert from 'node:assert/strict';
import { waitUntil } from '../support/wait-until.ts';
import { type Answer, type Ask, agentYaml } from './product-node.ts';
import type { ThingKind } from './surface.ts';

/** A workflow as JSON, which is YAML. */
export const workflowText = (name: string, states: object, spec: object = {}): string =>
  JSON.stringify({
    apiVersion: 'svc.dev/v1',
    kind: 'Workflow',
    metadata: { name, version: '1.0.0' },
    spec: { initial_state: Object.keys(states)[0], ...spec, states },
  });

export const DONE = { kind: 'System', command: 'finalize', transitions: [] };

/** One object of every kind, and the names that refer to the same object. */
export type TenantObjects = Readonly<Record<Exclude<ThingKind, 'node'>, string>> & {
  readonly agentName: string;
  readonly workflowName: string;
};

/** Requests of the owner to the node. */
type Call = (method: string, path: string, ask?: Ask) => Promise<Answer>;

/** Creates one object of every kind in the caller's tenant: all names contain `word`. */
export async function makeTenantObjects(call: Call, word: string): Promise<TenantObjects> {
  const ask = async (method: string, path: string, body: object | string): Promise<Answer['body']> => {
    const type = typeof body === 'string' ? 'application/yaml' : 'application/json';
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await call(method, path, { body: text, headers: { 'content-type': type } });
    assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`);
    return answer.body;
  };
  const agentName = `agent-${word}`;
  const { agent_id } = await ask('POST', '/v1/agents', agentYaml(agentName));
  const { execution_id } = await ask('POST', '/v1/executions', { agent_id, input: 'quick' });

  const workflowName = `flow-${word}`;
  const gate = { kind: 'Human', prompt: `May ${word} go on?`, transitions: [{ target: 'done' }] };
  const { workflow_id } = await ask('POST', '/v1/workflows', workflowText(workflowName, { gate, done: DONE }));
  const run = await ask('POST', `/v1/workflows/${workflowName}/run`, { intent: `intent of ${word}` });
  const approval = await waitUntil('its run to wait for a human', async () => {
    const { body } = await call('GET', `/v1/workflows/executions/${run.execution_id}`);
    const { waiting_for: wait } = body;
    const open = body.status === 'waiting_for_human_input' && typeof wait === 'object' && wait !== null;
    return open && 'approval_id' in wait && String(wait.approval_id);
  });

  const source = `source-${word}`;
  await ask('PUT', `/v1/stimuli/routes/${source}`, { workflow: workflowName });
  const { stimulus_id } = await ask('POST', '/v1/stimuli', { source, content: `content of ${word}` });
  const { id: volume } = await ask('POST', '/v1/volumes', { name: `volume-${word}` });
  await ask('PUT', `/v1/volumes/${volume}/files/content?path=note.txt`, `note of ${word}`);
  const pipeline = await ask('POST', '/v1/execute', { prompt: `goal of ${word}` });
  const { id: key } = await ask('POST', '/v1/api-keys', { name: `key-${word}` });
  const secret = `secret-${word}`;
  await ask('PUT', `/v1/secrets/${secret}`, { value: `value of ${word}` });
  return {
    ...{ secret, agentName, workflowName, source, approval },
    agent: String(agent_id),
    execution: String(execution_id),
    workflow: String(workflow_id),
    run: String(run.execution_id),
    stimulus: String(stimulus_id),
    volume: String(volume),
    pipeline: String(pipeline.pipeline_execution_id),
    key: String(key),
  };
}
