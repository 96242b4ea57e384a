import { z } from 'zod';
import { untilAnswered } from '../kill/calls.ts';
import type { NodeProcess } from './node-process.ts';
import { waitUntil } from './wait-until.ts';

const Execution = z.object({
  execution_id: z.string(),
  workflow_name: z.string(),
  status: z.enum(['running', 'waiting_for_human_input', 'completed', 'failed', 'cancelled']),
  current_state: z.string().nullable(),
  reason: z.string().nullable(),
  blackboard: z.record(z.string(), z.json()),
  output: z.json(),
  ended_at: z.string().nullable(),
  waiting_for: z.looseObject({ reason: z.string(), approval_id: z.string().optional() }).optional(),
});
/** What `GET /v1/workflows/executions/{id}` says. */
export type WorkflowSeen = z.output<typeof Execution>;

const LogEvent = z.object({
  sequence: z.number(),
  event_type: z.string(),
  state_name: z.string().nullable(),
  payload: z.record(z.string(), z.json()),
  recorded_at: z.string(),
});
export type WorkflowLogged = z.output<typeof LogEvent>;
const Log = z.object({ events: z.array(LogEvent), total: z.number() });
const LOG_PAGE = 200;

/** The answer of a human. */
export type HumanAnswer = { readonly approve: string } | { readonly reject: string };

/**
 * A client of workflows that works across restarts of the node: it repeats each call until it is answered. A repeat is
 * harmless, since the call has an idempotency key or names an id.
 */
export class WorkflowCalls {
  readonly #node: Pick<NodeProcess, 'url'>;
  readonly #signal: AbortSignal;

  constructor(node: Pick<NodeProcess, 'url'>, signal: AbortSignal) {
    this.#node = node;
    this.#signal = signal;
  }

  async deploy(manifest: string): Promise<void> {
    const type = { 'content-type': 'application/yaml' };
    await this.#call('POST', '/v1/workflows?force=true', { headers: type, body: manifest });
  }

  async deployAgent(manifest: string): Promise<void> {
    const type = { 'content-type': 'application/yaml' };
    await this.#call('POST', '/v1/agents?force=true', { headers: type, body: manifest });
  }

  /** Returns the execution id; calls with the same `key` start one run. */
  async run(workflow: string, start: object, key: string): Promise<string> {
    const headers = { 'content-type': 'application/json', 'idempotency-key': key };
    const answer = await this.#call('POST', `/v1/workflows/${workflow}/run`, { headers, body: JSON.stringify(start) });
    return z.object({ execution_id: z.string() }).parse(answer).execution_id;
  }

  /**
   * The same for a delivery of a webhook. The answer to a repeat (409) names the same run; resolves when the run has begun.
   */
  async deliver(source: string, body: string, headers: Readonly<Record<string, string>>, key: string): Promise<string> {
    const init = { headers: { ...headers, 'x-idempotency-key': key }, body };
    const answer = await this.#call('POST', `/v1/webhooks/${source}`, init, [409]);
    const { workflow_execution_id: id } = z.object({ workflow_execution_id: z.string() }).parse(answer);
    const hasBegun = async (): Promise<boolean> => {
      const seen = await this.#call('GET', `/v1/workflows/executions/${id}`, {}, [404]);
      return Execution.safeParse(seen).success;
    };
    await waitUntil(`the run ${id} of a delivery to begin`, hasBegun, 60_000);
    return id;
  }

  /** Makes deliveries of the source start this workflow. */
  async route(source: string, workflow: string): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    await this.#call('PUT', `/v1/stimuli/routes/${source}`, { headers, body: JSON.stringify({ workflow }) });
  }

  async get(executionId: string): Promise<WorkflowSeen> {
    return Execution.parse(await this.#call('GET', `/v1/workflows/executions/${executionId}`));
  }

  /** The first answer counts; a repeat gets 409. */
  async answer(approvalId: string, answer: HumanAnswer): Promise<void> {
    const [verb, body] =
      'approve' in answer ? ['approve', { feedback: answer.approve }] : ['reject', { reason: answer.reject }];
    const headers = { 'content-type': 'application/json' };
    const path = `/v1/human-approvals/${approvalId}/${verb}`;
    await this.#call('POST', path, { headers, body: JSON.stringify(body) }, [404, 409]);
  }

  /** A repeat gets 404. */
  async remove(executionId: string): Promise<void> {
    await this.#call('DELETE', `/v1/workflows/executions/${executionId}`, {}, [404]);
  }

  async log(executionId: string): Promise<WorkflowLogged[]> {
    const events: WorkflowLogged[] = [];
    for (;;) {
      const path = `/v1/workflows/executions/${executionId}/logs?limit=${LOG_PAGE}&offset=${events.length}`;
      const page = Log.parse(await this.#call('GET', path));
      events.push(...page.events);
      if (page.events.length === 0 || events.length >= page.total) return events;
    }
  }

  /** Number of active actors on the node. */
  async residents(): Promise<number> {
    const status = z.object({ node: z.object({ residents: z.number() }) });
    return status.parse(await this.#call('GET', '/v1/cluster/status')).node.residents;
  }

  /** Number of runs with this status, from the list. */
  async count(status?: WorkflowSeen['status']): Promise<number> {
    const filter = status === undefined ? '' : `&status=${status}`;
    const answer = await this.#call('GET', `/v1/workflows/executions?limit=1${filter}`);
    return z.object({ total: z.number() }).parse(answer).total;
  }

  #call(method: string, path: string, init: RequestInit = {}, also: readonly number[] = []): Promise<unknown> {
    return untilAnswered(this.#node, path, { ...init, method }, this.#signal, also);
  }
}
