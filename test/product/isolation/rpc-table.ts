import { generateKeyPairSync } from 'node:crypto';
import type { Metadata } from '@grpc/grpc-js';
import type { SvcRuntimeClient } from '../../../proto/gen/svc/runtime/v1/runtime.ts';
import { ended, request, unary } from '../../transport/grpc/call.ts';
import { CALLING_AGENT, type Things } from './isolated-tenants.ts';

type RpcAnswer = (client: SvcRuntimeClient, as: Metadata, name: string) => Promise<unknown>;

/** A name or id that an RPC of the public endpoint takes. */
export interface RpcRow {
  readonly rpc: string;
  readonly field: string;
  readonly things: readonly (keyof Things)[];
  readonly ask: RpcAnswer;
}

const PEM = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString();

/** A unary answer without the parts that differ between any two calls. */
async function answered(call: Parameters<typeof unary>[0]): Promise<unknown> {
  const { code, details, metadata, answer } = await unary(call);
  return { code, details, trailers: Object.keys(metadata?.getMap() ?? {}).sort(), answer };
}

/** Events of a stream, without the ids and times of the run. */
async function streamed(call: ReturnType<SvcRuntimeClient['executeAgent']>): Promise<unknown> {
  const { events, status, code } = await ended(call);
  return { events: events.map(({ $case }) => $case), code, details: status.details };
}

const attested =
  (field: 'agent_id' | 'execution_id' | 'container_id', rest: object = {}): RpcAnswer =>
  (client, as, name) => {
    const ids = { agent_id: name, execution_id: name, container_id: name };
    const asked = { ...ids, public_key_pem: PEM, ...rest, [field]: name };
    return answered((done) => client.attestAgent(asked, as, done));
  };

const judges: RpcAnswer = (client, as, agent_id) => {
  const asked = { task: 't', output: 'o', context_json: '', consensus: undefined };
  const judge = { agent_id, input_template: '', weight: 1 };
  return answered((done) => client.validateWithJudges({ ...asked, judges: [judge] }, as, done));
};

const EXECUTIONS = ['execution', 'running'] as const;

export const RPC_ROWS: readonly RpcRow[] = [
  {
    ...{ rpc: 'executeAgent', field: 'agent_id', things: ['agent', 'agentName'] },
    ask: (client, as, name) => streamed(client.executeAgent(request(name), as)),
  },
  {
    // It links the run to another one; the owner of that run makes no difference.
    ...{ rpc: 'executeAgent', field: 'workflow_execution_id', things: ['run', 'endedRun'] },
    ask: (client, as, name) =>
      streamed(client.executeAgent(request(CALLING_AGENT, 'quick', { workflow_execution_id: name }), as)),
  },
  { rpc: 'validateWithJudges', field: 'judges', things: ['agent', 'agentName'], ask: judges },
  { rpc: 'attestAgent', field: 'agent_id', things: ['agent'], ask: attested('agent_id') },
  { rpc: 'attestAgent', field: 'execution_id', things: EXECUTIONS, ask: attested('execution_id') },
  { rpc: 'attestAgent', field: 'container_id', things: EXECUTIONS, ask: attested('container_id') },
  {
    ...{ rpc: 'ingestStimulus', field: 'source_name', things: ['source'] },
    ask: (client, as, source_name) =>
      answered((done) => client.ingestStimulus({ source_name, content: 'x', headers: {} }, as, done)),
  },
];

/** A delivery of the caller; keys belong to the tenant. */
export const RPC_NAMES_NOTHING: ReadonlySet<string> = new Set(['ingestStimulus idempotency_key']);

/** Fields of requests that may name an object. */
export const rpcMayName = (field: string): boolean =>
  /(_id|_key)$|^(judges|source_name|name|agent|workflow|tenant)$/.test(field);
