import type { ExecutionEvent } from '../follow.ts';
import { isObject, type JsonObject, textOf } from '../json.ts';

export type Mark = 'pending' | 'running' | 'waiting' | 'done' | 'failed' | 'skipped';

/** A state of the manifest in this run. */
export interface StateLine {
  readonly name: string;
  readonly mark: Mark;
  /** Number of times it was entered. */
  readonly visits: number;
  /** Of the last visit; `endedAt` is null while it is active. */
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** Wait reason or output, on one line. */
  readonly note: string;
}

const LAST_WORKFLOW_EVENTS: ReadonlySet<string> = new Set([
  'WorkflowExecutionCompleted',
  'WorkflowExecutionFailed',
  'WorkflowExecutionCancelled',
]);

export const isLastWorkflowEvent = ({ name }: ExecutionEvent): boolean => LAST_WORKFLOW_EVENTS.has(name);

const MAX_NOTE_CHARS = 200;

/** A run of a workflow, built from its events. When it has ended, states that were never entered are skipped. */
export class LiveViewModel {
  readonly #lines = new Map<string, StateLine>();
  #current: string | null = null;
  status: 'running' | 'completed' | 'failed' | 'cancelled' = 'running';

  /** `states`: names in the order of the manifest. */
  constructor(states: readonly string[]) {
    for (const name of states) this.#set(name, {});
  }

  get lines(): readonly StateLine[] {
    return [...this.#lines.values()];
  }

  get current(): StateLine | null {
    return this.#current === null ? null : (this.#lines.get(this.#current) ?? null);
  }

  /** Sets the wait reason of the current state. */
  wait(reason: string): void {
    const line = this.current;
    if (line !== null && (line.mark === 'running' || line.mark === 'waiting'))
      this.#set(line.name, { note: oneLine(reason) });
  }

  add({ name, payload }: ExecutionEvent): void {
    const state = textOf(payload, 'state_name') || textOf(payload, 'parent_state_name');
    switch (name) {
      case 'WorkflowStateEntered':
        this.#enter(state, payload);
        break;
      case 'WorkflowStateExited':
        this.#exit(state, payload);
        break;
      case 'WorkflowHumanInputRequested':
        this.#set(state, {
          mark: 'waiting',
          note: oneLine(`${textOf(payload, 'prompt')} (approval ${textOf(payload, 'approval_id')})`),
        });
        break;
      case 'WorkflowHumanInputReceived':
        this.#set(state, { mark: 'running', note: oneLine(`answered ${textOf(payload, 'payload')}`) });
        break;
      case 'ContainerRunStarted':
        this.#set(state, { note: oneLine(`container ${textOf(payload, 'image')}`) });
        break;
      case 'ContainerRunFailed':
        this.#set(state, { note: oneLine(textOf(payload, 'reason')) });
        break;
      case 'SubworkflowTriggered':
        this.#set(state, { note: `child ${textOf(payload, 'child_execution_id')}` });
        break;
      case 'WorkflowExecutionCompleted':
        this.#end('completed', payload);
        break;
      case 'WorkflowExecutionFailed':
        this.#end('failed', payload);
        break;
      case 'WorkflowExecutionCancelled':
        this.#end('cancelled', payload);
        break;
      default:
        break;
    }
  }

  #enter(state: string, payload: JsonObject): void {
    const visits = (this.#lines.get(state)?.visits ?? 0) + 1;
    this.#current = state;
    this.#set(state, { mark: 'running', visits, startedAt: timeOf(payload, 'entered_at'), endedAt: null, note: '' });
  }

  #exit(state: string, payload: JsonObject): void {
    const mark = textOf(payload, 'status') === 'failed' ? 'failed' : 'done';
    this.#set(state, { mark, endedAt: timeOf(payload, 'exited_at'), note: outputInOneLine(payload.output) });
  }

  #end(status: 'completed' | 'failed' | 'cancelled', payload: JsonObject): void {
    this.status = status;
    const at = timeOf(payload, `${status}_at`);
    for (const line of this.#lines.values()) {
      if (line.mark === 'pending') this.#set(line.name, { mark: 'skipped' });
      if (line.mark === 'running' || line.mark === 'waiting')
        this.#set(line.name, { mark: status === 'completed' ? 'done' : 'failed', endedAt: at });
    }
  }

  #set(name: string, change: Partial<StateLine>): void {
    if (name === '') return;
    const known = this.#lines.get(name);
    const fresh: StateLine = { name, mark: 'pending', visits: 0, startedAt: null, endedAt: null, note: '' };
    this.#lines.set(name, { ...(known ?? fresh), ...change });
  }
}

function timeOf(payload: JsonObject, field: string): number | null {
  const at = Date.parse(textOf(payload, field));
  return Number.isNaN(at) ? null : at;
}

/** A state's output for people: its text or standard output, else its JSON. */
export function outputInOneLine(output: unknown): string {
  if (typeof output === 'string') return oneLine(output);
  if (!isObject(output)) return output === null || output === undefined ? '' : oneLine(JSON.stringify(output));
  const inner = output.output;
  const text = textOf(inner, 'stdout').trim() || textOf(output, 'output') || textOf(output, 'stdout').trim();
  const error = textOf(inner, 'stderr').trim() || textOf(output, 'error');
  return oneLine(text || error || JSON.stringify(inner ?? output));
}

const oneLine = (text: string): string => {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > MAX_NOTE_CHARS ? `${line.slice(0, MAX_NOTE_CHARS - 1)}…` : line;
};
