import { readFile } from 'node:fs/promises';
import { type JsonObject, listOf, textOf } from '../../cli/json.ts';
import type { NodeClient } from '../../cli/node-client.ts';
import { waitFor } from './wait-for.ts';

const MANIFEST = 'repo-review.workflow.yaml';
/** Longer than the scripted agent takes; a provider's model may be slower. */
const ASKED_WITHIN_MS = 120_000;
const ENDED_WITHIN_MS = 30_000;

/** The run of the workflow, waiting for a person. */
export interface Review {
  readonly executionId: string;
  readonly approvalId: string;
  /** The sentence of `GET /v1/workflows/executions/{id}/why`. */
  readonly why: string;
}

/**
 * Deploys and starts the workflow of the demo, and waits until it asks for an approval. `agents` is the folder of its manifest.
 */
export async function startReview(
  client: NodeClient,
  agents: string,
  input: { readonly directory: string; readonly text: string },
): Promise<Review> {
  const manifest = { type: 'application/yaml', text: await readFile(`${agents}/${MANIFEST}`, 'utf8') };
  await client.json('POST', '/v1/workflows', { body: manifest, query: { force: 'true' } });
  const started = await client.json('POST', '/v1/workflows/repo-review/run', { json: { input } });
  const executionId = textOf(started, 'execution_id');
  const approval = await waitFor(ASKED_WITHIN_MS, async () => {
    const pending = listOf(await client.json('GET', '/v1/human-approvals'), 'pending_requests');
    return pending.find((one) => textOf(one, 'execution_id') === executionId) ?? (await failureOf(client, executionId));
  });
  const why = await client.json('GET', `/v1/workflows/executions/${executionId}/why`);
  return { executionId, approvalId: textOf(approval, 'id'), why: textOf(why, 'sentence') };
}

/** Answers the approval in place of a person, and returns the run after its end. */
export async function signOff(client: NodeClient, { executionId, approvalId }: Review): Promise<JsonObject> {
  const json = { feedback: 'signed by the demo itself, since it was started with --once' };
  await client.json('POST', `/v1/human-approvals/${approvalId}/approve`, { json });
  return waitFor(ENDED_WITHIN_MS, async () => {
    const run = await client.json('GET', `/v1/workflows/executions/${executionId}`);
    return textOf(run, 'status') === 'completed' ? run : undefined;
  });
}

async function failureOf(client: NodeClient, executionId: string): Promise<undefined> {
  const status = textOf(await client.json('GET', `/v1/workflows/executions/${executionId}`), 'status');
  if (['completed', 'failed', 'cancelled'].includes(status))
    throw new Error(`the run ${executionId} ended as ${status}`);
  return undefined;
}
