import { setTimeout as pause } from 'node:timers/promises';
import type { NodeProcess } from '../support/node-process.ts';
import type { KillAgent } from './agents.ts';

/** Answer of `GET /v1/executions/{id}` for an ended execution. */
export interface FinalStatus {
  readonly status: string;
  readonly iteration_count: number;
  readonly last_output: string | null;
  readonly last_error: string | null;
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
  readonly in_doubt?: number;
  readonly tool_calls_executed?: number;
  readonly calls_in_doubt?: readonly {
    readonly tool: string;
    readonly call: string;
    readonly iteration: number;
    readonly round: number;
  }[];
}

const AGAIN_MS = 10;

/**
 * Cancels an execution and repeats the call while nodes die: 409 means that an earlier attempt succeeded, or that the
 * execution had ended. False: the execution completed before any attempt succeeded.
 */
export async function cancel(node: Pick<NodeProcess, 'url'>, id: string, signal: AbortSignal): Promise<boolean> {
  const answer = await untilAnswered(node, `/v1/executions/${id}/cancel`, { method: 'POST' }, signal, [409]);
  return !JSON.stringify(answer).includes('completed already');
}

/** Repeats a call until a node answers it. Throws for other statuses than 200, 503 and `also`. */
export async function untilAnswered(
  node: Pick<NodeProcess, 'url'>,
  path: string,
  init: RequestInit,
  signal: AbortSignal,
  also: readonly number[] = [],
): Promise<unknown> {
  for (;;) {
    signal.throwIfAborted();
    const response = await node.url.then((url) => fetch(`${url}${path}`, { ...init, signal })).catch(() => null);
    if (response !== null && response.status !== 503) {
      const text = await response.text().catch(() => null);
      if (text !== null && (response.ok || also.includes(response.status)))
        return text === '' ? null : JSON.parse(text);
      if (text !== null) throw new Error(`${init.method ?? 'GET'} ${path} answered ${response.status} ${text}`);
    }
    await pause(AGAIN_MS);
  }
}

function textField(answer: unknown, field: string): string {
  const value =
    typeof answer === 'object' && answer !== null ? Object.entries(answer).find(([name]) => name === field) : undefined;
  if (typeof value?.[1] !== 'string') throw new Error(`an answer without ${field}: ${JSON.stringify(answer)}`);
  return value[1];
}

export async function deploy(
  node: Pick<NodeProcess, 'url'>,
  agent: Pick<KillAgent, 'manifest'>,
  signal: AbortSignal,
): Promise<string> {
  const init = { method: 'POST', headers: { 'content-type': 'application/yaml' }, body: agent.manifest };
  return textField(await untilAnswered(node, '/v1/agents', init, signal), 'agent_id');
}

/** Starts one execution and repeats the call while nodes die; the key makes repeats harmless. */
export async function start(
  node: Pick<NodeProcess, 'url'>,
  agentId: string,
  key: string,
  signal: AbortSignal,
): Promise<string> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify({ agent_id: agentId, input: key }),
  };
  return textField(await untilAnswered(node, '/v1/executions', init, signal), 'execution_id');
}

export async function finalStatus(
  node: Pick<NodeProcess, 'url'>,
  id: string,
  signal: AbortSignal,
): Promise<FinalStatus> {
  const answer = await untilAnswered(node, `/v1/executions/${id}`, {}, signal);
  // The fields of the answer are compared with those of a run without kills.
  return answer as FinalStatus;
}
