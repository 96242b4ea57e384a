import { EventEmitter, once } from 'node:events';
import type { ActorEvent, CallOptions } from '../../../runtime/client.ts';
import type { PageAsked } from '../../../runtime/documents/pages.ts';
import { SvcError } from '../../../runtime/errors.ts';
import { tenantOfViewer, type Viewer } from '../../../runtime/identity.ts';
import type { Json } from '../../../runtime/json.ts';
import type { ExecutionApi, ExecutionStatus, StartExecution, WaitReason } from '../../../usecases/executions.ts';

interface Run {
  readonly tenant: string;
  readonly start: StartExecution;
  readonly events: ActorEvent[];
  readonly news: EventEmitter;
  status: ExecutionStatus['status'];
}

const ended = (run: Run): boolean => run.status !== 'pending' && run.status !== 'running';

/** Executions in memory that implement the port; a test records their events. */
export class FakeExecutions implements ExecutionApi {
  readonly runs = new Map<string, Run>();
  readonly starts: { request: StartExecution; options: CallOptions | undefined }[] = [];
  readonly #removed = new Set<string>();
  /** Open event streams. */
  following = 0;
  failure: unknown = null;
  /** The cause that every run waits for. */
  waits: WaitReason | null = null;

  async start(request: StartExecution, options?: CallOptions) {
    if (this.failure !== null) throw this.failure;
    this.starts.push({ request, options });
    if (this.runs.has(request.executionId)) throw new SvcError('conflict', 'it exists');
    this.runs.set(request.executionId, {
      tenant: request.identity.tenant,
      start: request,
      events: [],
      news: new EventEmitter().setMaxListeners(0),
      status: 'running',
    });
    return { execution_id: request.executionId };
  }

  /** Records an event; `execution_completed` and `execution_failed` end the run. */
  emit(id: string, name: string, payload: Json): void {
    const run = this.runs.get(id);
    if (run === undefined) throw new Error(`no run ${id}`);
    run.events.push({ seq: run.events.length + 1, at: 1_700_000_000_000, name, payload });
    if (name === 'execution_completed') run.status = 'completed';
    if (name === 'execution_failed') run.status = 'failed';
    run.news.emit('news');
  }

  #run(viewer: Viewer, id: string): Run {
    const run = this.runs.get(id);
    if (run === undefined || run.tenant !== tenantOfViewer(viewer))
      throw new SvcError('not_found', `${id} of another tenant`);
    return run;
  }

  async presence(tenant: string, id: string) {
    if (this.#removed.has(id)) return 'removed' as const;
    return this.runs.get(id)?.tenant === tenant ? ('there' as const) : ('unknown' as const);
  }

  async requestHash(): Promise<undefined> {
    return undefined;
  }

  async hasEnded(viewer: Viewer, executionId: string): Promise<boolean> {
    return ended(this.#run(viewer, executionId));
  }

  async ended(viewer: Viewer, agentId: string) {
    const executions = [...this.runs.values()]
      .filter((run) => run.tenant === tenantOfViewer(viewer) && run.start.agentId === agentId && ended(run))
      .map((run) => this.#statusOf(run));
    return { executions, total: executions.length };
  }

  #statusOf({ start, status }: Run): ExecutionStatus {
    return {
      execution_id: start.executionId,
      agent_id: start.agentId,
      status,
      iteration_count: 0,
      last_output: null,
      last_error: null,
      outcome: null,
      started_at: null,
      ended_at: null,
      usage: { input_tokens: 0, output_tokens: 0, cost: 0 },
      ...(this.waits === null ? {} : { waiting_for: this.waits }),
    };
  }

  async status(viewer: Viewer, id: string): Promise<ExecutionStatus> {
    if (this.failure !== null) throw this.failure;
    return this.#statusOf(this.#run(viewer, id));
  }

  async events(viewer: Viewer, id: string, after: number, limit: number): Promise<ActorEvent[]> {
    return this.#run(viewer, id).events.slice(after, after + limit);
  }

  async *follow(
    viewer: Viewer,
    id: string,
    after: number,
    options: { readonly signal: AbortSignal; readonly heartbeatMs: number },
  ): AsyncGenerator<ActorEvent | null> {
    const run = this.#run(viewer, id);
    this.following += 1;
    try {
      for (let next = after; ; ) {
        const event = run.events[next];
        if (event !== undefined) {
          next += 1;
          yield event;
        } else if (ended(run)) return;
        else if (!(await this.#newsWithin(run, options))) yield null;
      }
    } finally {
      this.following -= 1;
    }
  }

  async #newsWithin(run: Run, options: { signal: AbortSignal; heartbeatMs: number }): Promise<boolean> {
    const quiet = new AbortController();
    const timer = setTimeout(() => quiet.abort(), options.heartbeatMs);
    try {
      await once(run.news, 'news', { signal: AbortSignal.any([options.signal, quiet.signal]) });
      return true;
    } catch (error) {
      if (!quiet.signal.aborted) throw error;
      return false;
    } finally {
      clearTimeout(timer);
    }
  }

  async logs(viewer: Viewer, id: string, page: { readonly limit: number; readonly offset: number }) {
    const run = this.#run(viewer, id);
    const events = run.events.slice(page.offset, page.offset + page.limit).map((event) => ({
      sequence: event.seq,
      event_type: event.name,
      payload: typeof event.payload === 'object' && !Array.isArray(event.payload) ? { ...event.payload } : {},
      recorded_at: new Date(event.at).toISOString(),
    }));
    return { status: run.status, events, total: run.events.length };
  }

  async cancel(viewer: Viewer, id: string): Promise<void> {
    const run = this.#run(viewer, id);
    if (ended(run)) throw new SvcError('failed_precondition', 'the execution has ended');
    this.emit(id, 'execution_failed', { execution_id: id, reason: 'cancelled' });
    run.status = 'cancelled';
  }

  async list(viewer: Viewer, filter: PageAsked & { agentId?: string; status?: string }) {
    const items = [...this.runs.values()]
      .filter((run) => run.tenant === tenantOfViewer(viewer))
      .filter((run) => filter.status === undefined || run.status === filter.status)
      .filter((run) => filter.agentId === undefined || run.start.agentId === filter.agentId)
      .slice(filter.skip ?? 0, (filter.skip ?? 0) + filter.limit)
      .map((run) => this.#statusOf(run));
    return { items };
  }

  async remove(viewer: Viewer, id: string): Promise<void> {
    if (!ended(this.#run(viewer, id))) throw new SvcError('failed_precondition', 'the execution runs');
    this.runs.delete(id);
    this.#removed.add(id);
  }
}
