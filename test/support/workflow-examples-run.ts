import { createHmac, randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitUntil } from './wait-until.ts';
import { EXAMPLES, type Start, WEBHOOK_SECRET, type WorkflowExample } from './workflow-examples.ts';

type Body = Readonly<Record<string, unknown>>;

export interface Answer {
  readonly status: number;
  readonly body: Body;
}

const ENDED = ['completed', 'failed', 'cancelled'];

/**
 * Runs examples over REST as a user would. It reads `url` before every call, since the node may have
 * restarted, and repeats a failed request under the same id until `patienceMs` are over.
 */
export class ExampleClient {
  readonly #url: () => string | Promise<string>;
  readonly #patienceMs: number;

  constructor(url: () => string | Promise<string>, patienceMs = 90_000) {
    this.#url = url;
    this.#patienceMs = patienceMs;
  }

  async call(
    method: string,
    path: string,
    { body, headers = {} }: { readonly body?: string | Body; readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Answer> {
    const isText = typeof body === 'string';
    const type = isText ? 'application/yaml' : 'application/json';
    const init = {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': type }), ...headers },
      ...(body === undefined ? {} : { body: isText ? body : JSON.stringify(body) }),
    };
    const once = async (): Promise<Answer | null> => {
      try {
        const response = await fetch(`${await this.#url()}${path}`, init);
        const text = await response.text();
        return response.status === 503 ? null : { status: response.status, body: objectOf(text) };
      } catch {
        // The node does not listen at the moment.
        return null;
      }
    };
    return waitUntil(`${method} ${path} to be answered`, once, this.#patienceMs);
  }

  async deploy({ deploy, name, start }: WorkflowExample): Promise<void> {
    for (const { kind, file } of deploy) await this.deployText(kind, await readFile(join(EXAMPLES, file), 'utf8'));
    if (start.by === 'webhook') {
      expect(await this.call('PUT', `/v1/stimuli/routes/${start.source}`, { body: { workflow: name } }), 200);
    }
  }

  /** The id of the agent or workflow. */
  async deployText(kind: 'agent' | 'workflow', yaml: string): Promise<string> {
    const deployed = expect(await this.call('POST', `/v1/${kind}s?force=true`, { body: yaml }), 200);
    return String(deployed[`${kind}_id`]);
  }

  /** The id of the run. */
  async start(name: string, start: Start): Promise<string> {
    const key = randomUUID();
    if (start.by === 'run') {
      const { by: _by, ...body } = start;
      const answer = await this.call('POST', `/v1/workflows/${name}/run`, {
        body,
        headers: { 'idempotency-key': key },
      });
      return String(expect(answer, 200).execution_id);
    }
    const body = await readFile(join(EXAMPLES, start.body), 'utf8');
    const signature = createHmac('sha256', WEBHOOK_SECRET).update(body).digest('hex');
    const headers = { ...start.headers, 'x-svc-signature': `sha256=${signature}`, 'x-idempotency-key': key };
    const answer = await this.call('POST', `/v1/webhooks/${start.source}`, { body, headers });
    // The answer to a repeated delivery names the same run.
    if (answer.status >= 300 && answer.status !== 409) expect(answer, 202);
    return String(answer.body.workflow_execution_id);
  }

  /** The run when it has ended; answers its approvals in turn from `answers`. */
  async end(id: string, answers: WorkflowExample['answers'] = []): Promise<Body> {
    const left = [...answers];
    const answered = new Set<string>();
    const look = async (): Promise<Body | null> => {
      const { body } = await this.call('GET', `/v1/workflows/executions/${id}`);
      if (ENDED.includes(String(body.status))) return body;
      if (body.status !== 'waiting_for_human_input') return null;
      const request = await this.pendingApproval(id);
      if (request === null || answered.has(request)) return null;
      const next = left.shift();
      if (next === undefined) return null;
      answered.add(request);
      await this.answer(request, next);
      return null;
    };
    return waitUntil(`run ${id} to end`, look, this.#patienceMs);
  }

  /** Id of the approval that a run waits for. */
  async pendingApproval(executionId: string): Promise<string | null> {
    const { body } = await this.call('GET', '/v1/human-approvals?limit=200');
    const pending: readonly unknown[] = Array.isArray(body.pending_requests) ? body.pending_requests : [];
    const own = pending.map(asObject).find((request) => request.execution_id === executionId);
    return own === undefined ? null : String(own.id);
  }

  /** After a crash an answer may be sent twice: the second gets 409, and the first stands. */
  async answer(id: string, { verdict, text }: WorkflowExample['answers'][number]): Promise<void> {
    const body = verdict === 'approve' ? { feedback: text } : { reason: text };
    const { status } = await this.call('POST', `/v1/human-approvals/${id}/${verdict}`, { body });
    if (status !== 200 && status !== 409) throw new Error(`${verdict} ${id}: ${status}`);
  }

  /** Deploys, starts, answers and waits. */
  async run(example: WorkflowExample, start: Start = example.start): Promise<Body> {
    await this.deploy(example);
    return this.end(await this.start(example.name, start), example.answers);
  }
}

function expect({ status, body }: Answer, wanted: number): Body {
  if (status !== wanted) throw new Error(`expected ${wanted}, got ${status}: ${JSON.stringify(body)}`);
  return body;
}

/** A JSON object; of anything else an empty one. */
export const asObject = (value: unknown): Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

function objectOf(text: string): Body {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return {};
  }
}
