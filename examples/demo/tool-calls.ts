import { callsOf } from '../../cli/commands/session.ts';
import { type JsonObject, listOf, textOf } from '../../cli/json.ts';
import type { NodeClient } from '../../cli/node-client.ts';
import type { Paint } from '../../cli/screen/paint.ts';
import { verifyAudit } from '../../manifests/audit/verify.ts';
import { waitFor } from './wait-for.ts';

const CLOSED_WITHIN_MS = 5_000;

/** The tool calls of an execution's agent, from its audit chain, and whether the chain is intact: lines to print. */
export async function toolCallLines(client: NodeClient, executionId: string, paint: Paint): Promise<string[]> {
  await closed(client, executionId);
  const chain = await client.json('GET', `/v1/seal/sessions/${executionId}/audit`);
  const keys = listOf(await client.json('GET', '/.well-known/jwks.json'), 'keys');
  const { valid, records } = await verifyAudit(chain, { keys: keys.map((key) => ({ ...key })) });
  const verdict = valid ? paint.green('nothing wrong') : paint.red('not what was recorded');
  return [
    ...callsOf(chain).map((call) => lineOf(call, paint)),
    `audit chain: ${records} records, checked with the node's public keys: ${verdict}`,
  ];
}

function lineOf(call: JsonObject, paint: Paint): string {
  const [tool, decision, outcome, why] = ['tool', 'decision', 'outcome', 'why'].map((key) => textOf(call, key));
  const said = decision === 'allowed' ? paint.green(`allowed, ${outcome}`) : paint.red(`denied, ${why}`);
  return `${(tool ?? '').padEnd(10)} ${said}`;
}

/** The chain receives calls by messages, so its end comes a moment after that of the execution. */
async function closed(client: NodeClient, id: string): Promise<void> {
  await waitFor(CLOSED_WITHIN_MS, async () => {
    const session = await client.json('GET', `/v1/seal/sessions/${id}`);
    return textOf(session, 'status') === 'closed' ? session : undefined;
  });
}
