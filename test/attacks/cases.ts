import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { AttackedNode } from './attacked-node.ts';
import { COSTLY, MOST_BYTES } from './bodies.ts';

/** One request with the largest allowed input, or a little more. */
export interface Attack {
  readonly name: string;
  /** Sends it and reads the answer; the status. */
  send(): Promise<number>;
}

const OpenApi = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.object({ requestBody: z.unknown().optional() }))),
});
const Deployed = z.object({ agent_id: z.string().default(''), workflow_id: z.string().default('') });

export const AGENT = `apiVersion: svc.dev/v1
kind: Agent
metadata: { name: attacked, version: "1.0.0", description: for attacks }
spec: { task: { prompt_template: "{{input}}" } }
`;
const WORKFLOW = `apiVersion: svc.dev/v1
kind: Workflow
metadata: { name: attacked, version: "1.0.0" }
spec:
  initial_state: done
  states:
    done: { kind: System, command: update_blackboard, env: { x: "1" }, transitions: [] }
`;

/** Fields for a costly part of a valid body, by path; every other route gets it as `x`. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  '/v1/executions': ['input', 'context'],
  '/v1/agents/{id}/execute': ['input', 'context'],
  '/v1/workflows/{name}/run': ['input', 'blackboard'],
  '/v1/runs/{id}/fork': ['input', 'blackboard', 'manifest'],
  '/v1/stimuli': ['content'],
  '/v1/tools/{name}': ['query'],
};

const MiB = 1024 * 1024;
/** Bounds of the classes of routes. */
const SIZES: readonly number[] = [64 * 1024, MiB, MOST_BYTES];

/** Calls that the routes with the largest values accept. */
const TAKEN: Readonly<Record<string, number>> = {
  '/v1/workflows/{name}/run': 5 * MiB,
  '/v1/tools/{name}': 15 * MiB,
};

interface Chosen {
  /** A few routes and the two costliest bodies only. */
  readonly sample: boolean;
}
const SAMPLE: readonly string[] = ['/v1/executions', '/v1/workflows/{name}/run', '/v1/stimuli', '/v1/api-keys'];

/** Every route that takes a body, with each costly body, at the bound of each class. */
export async function restAttacks(node: AttackedNode, { sample }: Chosen): Promise<Attack[]> {
  const agent = await deploy(node, '/v1/agents', AGENT);
  await deploy(node, '/v1/workflows', WORKFLOW);
  const { paths } = OpenApi.parse(await (await fetch(`${node.url}/v1/openapi.json`)).json());
  const attacks: Attack[] = [];
  for (const [path, methods] of Object.entries(paths)) {
    if (sample && !SAMPLE.includes(path)) continue;
    for (const [method, { requestBody }] of Object.entries(methods)) {
      if (requestBody === undefined || path.startsWith('/v1/webhooks')) continue;
      attacks.push(...ofRoute(node, { method: method.toUpperCase(), path, agent, sample }));
    }
  }
  return attacks;
}

function ofRoute(
  node: AttackedNode,
  { method, path, agent, sample }: { method: string; path: string; agent: string; sample: boolean },
): Attack[] {
  const id = path.startsWith('/v1/agents') ? agent : randomUUID();
  const url = node.url + path.replace('{name}', 'attacked').replaceAll(/\{\w+\}/g, id);
  const attacks: Attack[] = [];
  for (const { name, part } of COSTLY) {
    for (const bytes of sample ? [MOST_BYTES] : [...SIZES, ...(path in TAKEN ? [TAKEN[path] ?? 0] : [])]) {
      for (const field of FIELDS[path] ?? ['x']) {
        const fixed: Record<string, string> = { agent_id: agent, input: 'x', source: 'http_api', content: 'x' };
        delete fixed[field];
        const known = (FIELDS[path] ?? []).length > 0 ? Object.entries(fixed).filter(([key]) => needs(path, key)) : [];
        const head = known.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)},`).join('');
        const title = `${method} ${path} ${field}: ${name}, ${bytes / 1024} KiB`;
        attacks.push({
          name: title,
          send: () => {
            // A key costs a hash of the whole body.
            const key: Record<string, string> = path in FIELDS ? { 'idempotency-key': randomUUID() } : {};
            return sendBody(url, method, `{${head}"${field}":${fitting(field, part(bytes))}}`, key);
          },
        });
      }
    }
  }
  return attacks;
}

/** Fields that take an object get a list as a member of one. */
const fitting = (field: string, part: string): string =>
  part.startsWith('[') && field !== 'x' ? `{"list":${part}}` : part;

const NEEDED: Readonly<Record<string, readonly string[]>> = {
  '/v1/executions': ['agent_id', 'input'],
  '/v1/agents/{id}/execute': ['input'],
  '/v1/stimuli': ['source', 'content'],
};
const needs = (path: string, key: string): boolean => NEEDED[path]?.includes(key) === true;

/** The status of the answer; 0 when the node closed the connection before it had read all. */
export async function sendBody(
  url: string,
  method: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const type = { 'content-type': 'application/json' };
  const answer = await fetch(url, { method, body, headers: { ...type, ...headers } }).catch(refused);
  await answer?.arrayBuffer().catch(refused);
  return answer?.status ?? 0;
}

/** A node that has answered 413 may close before all was sent. */
function refused(): undefined {
  return undefined;
}

/** Deploys a manifest as the operator; the id of what it made. */
export async function deploy(node: AttackedNode, path: string, manifest: string): Promise<string> {
  const authorized = node.token === '' ? {} : { authorization: `Bearer ${node.token}` };
  const headers = { 'content-type': 'application/yaml', ...authorized };
  const answer = await fetch(node.url + path, { method: 'POST', body: manifest, headers });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  const { agent_id, workflow_id } = Deployed.parse(await answer.json());
  return agent_id || workflow_id;
}

/** The internal address without a token: an envelope of 1 MiB, and what costs the parser most behind a bad token. */
export function strangerAttacks(node: AttackedNode): Attack[] {
  return COSTLY.flatMap(({ name, part }) =>
    [MiB - 64, MOST_BYTES].map((bytes) => ({
      name: `POST internal /v1/seal/invoke without a token: ${name}, ${Math.ceil(bytes / 1024)} KiB`,
      send: () =>
        sendBody(`${node.internalUrl}/v1/seal/invoke`, 'POST', `{"security_token":"x","payload":${part(bytes)}}`),
    })),
  );
}
