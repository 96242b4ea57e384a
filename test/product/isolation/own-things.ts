import { waitUntil } from '../../support/wait-until.ts';
import { agentYaml } from '../product-node.ts';
import { DONE, workflowText } from '../tenant-objects.ts';
import { CallingAgent } from './calling-agent.ts';
import { CALLING_AGENT, type IsolatedTenants, type Things } from './isolated-tenants.ts';

type Ownable =
  | ('agent' | 'agentName' | 'workflow' | 'workflowName')
  | ('execution' | 'running' | 'run' | 'endedRun' | 'approval' | 'volume' | 'trace');

/** Objects of one user of a tenant: of scope user, and all runs of them. */
export type OwnThings = Pick<Things, Ownable> & {
  /** Tool session of the running execution. */
  readonly session: string;
  /** Execution of a shared agent, which the user's own workflow started. */
  readonly child: string;
};

const gate = (word: string) => ({ kind: 'Human', prompt: `May ${word}?`, transitions: [{ target: 'done' }] });
const CHILD = { kind: 'Agent', agent: CALLING_AGENT, input: 'quick', transitions: [{ target: 'done' }] };
const STORAGE = { storage: { workspace: { storage_class: 'ephemeral', ttl_hours: 1 } } };

/** Deployed over SEAL, since users cannot deploy over REST; started over REST. */
export async function settleOwn(setup: IsolatedTenants, caller: CallingAgent, word: string): Promise<OwnThings> {
  const { asker } = caller;
  const [agentName, workflowName, endsName] = [`own-agent-${word}`, `own-flow-${word}`, `own-ends-${word}`];
  const deployed = await caller.made('svc.agent.create', { manifest_yaml: agentYaml(agentName) });
  const flow = workflowText(workflowName, { gate: gate(word), done: DONE }, STORAGE);
  const { workflow_id } = await caller.made('svc.workflow.create', { manifest_yaml: flow });
  const ends = workflowText(endsName, { child: CHILD, done: DONE });
  await caller.made('svc.workflow.create', { manifest_yaml: ends });

  const agent = String(deployed.agent_id);
  const started = async (path: string, body: object) => String((await setup.done(asker, path, body)).execution_id);
  const running = await started('/v1/executions', { agent_id: agent, input: 'sleepy' });
  const session = (await CallingAgent.of(setup.tenancy.node, asker, agent, running)).sessionId;
  const execution = await started('/v1/executions', { agent_id: agent, input: 'quick' });
  await setup.settled(asker, '/v1/executions/', execution);
  const endedRun = await started(`/v1/workflows/${endsName}/run`, { intent: `of ${word}` });
  await setup.settled(asker, '/v1/workflows/executions/', endedRun);
  const run = await started(`/v1/workflows/${workflowName}/run`, { intent: `of ${word}` });
  const ids = { agentName, workflowName, agent, workflow: String(workflow_id), running, execution, run, endedRun };
  const { trace } = await setup.traceOf(asker, execution);
  return { ...ids, session, trace, ...(await found(setup, caller, ids)) };
}

/** Objects that the runs created: an approval, a workspace, a child. */
async function found(
  setup: IsolatedTenants,
  { asker }: CallingAgent,
  { run, agent }: Pick<OwnThings, 'run' | 'agent'>,
) {
  const rows = async (path: string, field: string): Promise<readonly Readonly<Record<string, unknown>>[]> => {
    const list = (await setup.ask(asker, 'GET', path)).body[field];
    return Array.isArray(list) ? list : [];
  };
  const shared = String((await setup.ask(asker, 'GET', `/v1/agents/lookup/${CALLING_AGENT}`)).body.agent_id);
  return waitUntil(`what ${agent} and ${run} made is listed`, async () => {
    const approval = (await rows('/v1/human-approvals', 'pending_requests')).find((row) => row.execution_id === run);
    const volume = (await rows('/v1/volumes', 'volumes')).find((row) => row.workflow_execution_id === run);
    const children = await rows(`/v1/executions?agent_id=${shared}&status=completed`, 'executions');
    const [child] = children;
    if (approval === undefined || volume === undefined || child === undefined) return false;
    return { approval: String(approval.id), volume: String(volume.id), child: String(child.execution_id) };
  });
}
