import { runAgent, runPanel } from './agents.ts';
import { runContainer, runContainers, runSystem } from './commands.ts';
import { conditionHolds } from './conditions.ts';
import {
  type Case,
  isMap,
  type Json,
  type JsonMap,
  memberOf,
  OPEN,
  type Reply,
  type State,
  type Transition,
  textOr,
  type Workflow,
} from './manifest.ts';
import type { Files } from './shell.ts';
import { render } from './templates.ts';

/** The end of a run, as far as the document defines it. */
export interface Ended {
  readonly status: 'completed' | 'failed';
  readonly outcome: 'succeeded' | 'failed';
  /** Code of the error; null after a success. */
  readonly code: string | null;
  /** Names of the states, in the order in which they were entered. */
  readonly path: readonly string[];
  readonly blackboard: JsonMap;
  readonly output: Json;
}

/** The result of a state: the entry of the blackboard, and the reason of its failure. */
export interface Left {
  readonly entry: JsonMap;
  /** Code of the error; null: it succeeded. */
  readonly error: string | null;
  /** Further blackboard entries, written before this one. */
  readonly writes?: JsonMap;
  /** The run ends with `entry.output` as its output. */
  readonly final?: boolean;
}

const MOST_TRANSITIONS = 1_000;

/**
 * A run of a workflow, implemented from the document alone: one state after the other, in memory. It shares no code
 * with the product.
 */
export class Interpretation {
  readonly workflow: Workflow;
  readonly children: ReadonlyMap<string, Workflow>;
  readonly intent: string;
  readonly input: JsonMap;
  readonly volumes: ReadonlyMap<string, Files>;
  readonly blackboard: Record<string, Json>;
  context: JsonMap;
  feedback = '';
  human: string | null = null;
  readonly path: string[] = [];
  readonly #replies: readonly Reply[];
  #asked = 0;

  constructor(
    workflow: Workflow,
    children: ReadonlyMap<string, Workflow>,
    { start, replies }: Pick<Case, 'start' | 'replies'>,
  ) {
    this.workflow = workflow;
    this.children = children;
    this.intent = start.intent;
    this.input = start.input;
    this.context = workflow.context;
    this.blackboard = { ...workflow.context, ...start.blackboard };
    this.#replies = replies;
    this.volumes = new Map(['workspace', ...workflow.shared].map((name): [string, Files] => [name, new Map()]));
  }

  run(): Ended {
    let [name = ''] = Object.keys(this.workflow.states);
    for (let moves = 0; moves <= MOST_TRANSITIONS; moves += 1) {
      const state = this.workflow.states[name];
      if (state === undefined) throw new Error(`no state ${name}`);
      this.path.push(name);
      const left = this.#enter(state, name);
      Object.assign(this.blackboard, left.writes);
      this.blackboard[name] = left.entry;
      if (left.final === true || state.transitions.length === 0) return this.#completed(left);
      const next = state.transitions.find((transition) => this.#matches(transition, state, name, left));
      if (next === undefined) return this.#failed(left.error ?? 'no_transition_matched');
      const { feedback } = next;
      this.feedback = typeof feedback === 'string' ? render(feedback, this.scope(), name) : '';
      name = next.target;
    }
    return this.#failed('max_transitions_exceeded');
  }

  /** The variables of templates. A state has a variable once it was entered. */
  scope(): JsonMap {
    const entered = this.path.flatMap((name) => {
      const entry = memberOf(this.blackboard, name);
      return entry === undefined ? [] : [[name, entry] as const];
    });
    return {
      ...Object.fromEntries(entered),
      intent: this.intent,
      input: this.input,
      workflow: { context: this.context },
      blackboard: this.blackboard,
      state: { feedback: this.feedback },
      human: this.human === null ? {} : { feedback: this.human },
    };
  }

  #enter(state: State, name: string): Left {
    switch (state.kind) {
      case 'System':
        return runSystem(state, name, this);
      case 'ContainerRun':
        return runContainer(state, name, this);
      case 'ParallelContainerRun':
        return runContainers(state, name, this);
      case 'Agent':
        return runAgent(state, name, this);
      case 'ParallelAgents':
        return runPanel(state, name, this);
      case 'Human':
        return this.#ask(state);
      case 'Subworkflow':
        return this.#call(state, name);
      default:
        throw new Error(`no kind ${state.kind}`);
    }
  }

  #matches(transition: Transition, state: State, name: string, left: Left): boolean {
    return conditionHolds(transition, { state, name, left, scope: this.scope() });
  }

  #ask(state: State): Left {
    if (state.timeout !== undefined) {
      const given = state.default_response;
      if (typeof given !== 'string') return { entry: { status: 'failed' }, error: 'human_input_timeout' };
      this.human = given;
      return { entry: { status: 'success', output: given, feedback: given }, error: null };
    }
    const reply = this.#replies[this.#asked % this.#replies.length];
    if (reply === undefined) throw new Error('the case has no reply');
    this.#asked += 1;
    const payload = { signal: reply.text, approve: 'approved', reject: 'rejected' }[reply.by];
    this.human = reply.text;
    return { entry: { status: 'success', output: payload, feedback: reply.text }, error: null };
  }

  #call(state: State, name: string): Left {
    const child = this.children.get(render(textOr(state.workflow_id, ''), this.scope(), name));
    if (child === undefined) return { entry: { status: 'failed' }, error: 'not_found' };
    if (state.mode === 'fire_and_forget') {
      return { entry: { status: 'success', child_execution_id: OPEN }, error: null };
    }
    const text = state.input === undefined ? '' : render(textOr(state.input, ''), this.scope(), name);
    const start = { intent: this.intent, input: inputOf(text), blackboard: {} };
    const ended = new Interpretation(child, this.children, { start, replies: [] }).run();
    const hasKey = typeof state.result_key === 'string';
    const writes = hasKey ? { [textOr(state.result_key, '')]: ended.blackboard } : {};
    const failed = ended.status === 'failed';
    const entry = { status: failed ? 'failed' : 'success', result: failed ? null : ended.output };
    return { entry: { ...entry, child_execution_id: OPEN }, error: failed ? ended.code : null, writes };
  }

  #completed({ entry, error }: Left): Ended {
    const { status: _status, output, result, ...rest } = entry;
    const own = output ?? result ?? rest;
    const failed = { outcome: error === null ? 'succeeded' : 'failed', code: error } as const;
    return { status: 'completed', ...failed, path: this.path, blackboard: this.blackboard, output: own };
  }

  #failed(code: string): Ended {
    return { status: 'failed', outcome: 'failed', code, path: this.path, blackboard: this.blackboard, output: null };
  }
}

/** JSON when it parses as JSON, else `{input: text}`. */
function inputOf(text: string): JsonMap {
  if (text.trim() === '') return {};
  try {
    const value: Json = JSON.parse(text);
    return isMap(value) ? value : { input: text };
  } catch {
    return { input: text };
  }
}

/** The expected result of a case. */
export function interpret({ workflow, children, start, replies }: Case): Ended {
  const byName = new Map(children.map((child) => [child.name, child]));
  return new Interpretation(workflow, byName, { start, replies }).run();
}
