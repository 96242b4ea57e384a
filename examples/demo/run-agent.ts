import { readFile } from 'node:fs/promises';
import { followExecution } from '../../cli/follow.ts';
import { type JsonObject, textOf } from '../../cli/json.ts';
import type { NodeClient } from '../../cli/node-client.ts';
import { EventLines } from '../../cli/screen/event-lines.ts';
import type { Paint } from '../../cli/screen/paint.ts';

export interface DemoAgent {
  readonly name: string;
  readonly manifest: string;
  readonly colour: (text: string) => string;
}

export interface DemoRun {
  readonly agent: DemoAgent;
  readonly executionId: string;
  /** The answer of GET /v1/executions/{id} after the end. */
  readonly status: JsonObject;
}

const NAME_WIDTH = 12;
const OUTPUT_LINES = 8;

/** Deploys a manifest, replacing an earlier one of the same version; returns the agent's id. */
export async function deploy(client: NodeClient, { manifest }: DemoAgent): Promise<string> {
  const body = { type: 'application/yaml', text: await readFile(manifest, 'utf8') };
  return textOf(await client.json('POST', '/v1/agents', { body, query: { force: 'true' } }), 'agent_id');
}

/** Starts an agent and prints its events, line by line after its name, until it ends or `signal` is aborted. */
export async function runAgent(
  client: NodeClient,
  agent: DemoAgent,
  call: { readonly agentId: string; readonly input: string },
  view: { readonly paint: Paint; readonly signal: AbortSignal },
): Promise<DemoRun> {
  const json = { agent_id: call.agentId, input: call.input };
  const executionId = textOf(await client.json('POST', '/v1/executions', { json }), 'execution_id');
  const lines = new EventLines({
    write: (line) => console.log(line),
    paint: view.paint,
    prefix: agent.colour(`${agent.name.padEnd(NAME_WIDTH)} │ `),
    wrapAt: 96,
    maxOutputLines: OUTPUT_LINES,
  });
  for await (const event of followExecution(client, executionId, { after: 0, signal: view.signal })) lines.add(event);
  const status = await client.json('GET', `/v1/executions/${executionId}`);
  return { agent, executionId, status };
}
