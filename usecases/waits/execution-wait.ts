import { endOfIteration } from '../../actors/execution/ending.ts';
import type { StartExecution } from '../../actors/execution/messages.ts';
import { type Phase, phaseOf, type Wait, waitsOf } from '../../actors/execution/phase.ts';
import type { RunningExecution } from '../../actors/execution/state.ts';
import type { ExecutionDocument } from '../../actors/execution/view.ts';
import { type Address, tenantOf } from '../../runtime/address.ts';
import type { ActorClient, ActorSnapshot } from '../../runtime/client.ts';
import { ownerPart } from '../../runtime/identity.ts';
import { judgesWait } from '../judge-panels.ts';
import { nodeWait, turnWait, type WaitLookups, type WaitReason, waitedEffects, withProgress } from './wait-reason.ts';

const WAITING_VERSION = 0;

/**
 * The list document of an execution until its actor has handled the start. Its revision is below every revision of an
 * actor, so that the projector overwrites it.
 */
export function waitingDocument(request: StartExecution, tags: readonly string[], at: string): ExecutionDocument {
  return {
    tenant: request.identity.tenant,
    id: request.executionId,
    version: WAITING_VERSION,
    agent_id: request.agentId,
    agent_name: request.manifest.metadata.name,
    agent_version: request.manifest.metadata.version,
    status: 'pending',
    iteration_count: 0,
    started_at: at,
    ended_at: null,
    updated_at: at,
    last_error: null,
    last_output: null,
    reason: null,
    usage: { input_tokens: 0, output_tokens: 0, cost: 0 },
    in_doubt: 0,
    workflow_execution_id: request.workflowExecutionId ?? null,
    removed: false,
    ...ownerPart(request.identity),
    labels: request.labels,
    waiting_tags: tags,
  };
}

/**
 * What a pending execution waits for. Undefined when a live node may serve it, and for an execution that is not
 * pending.
 */
export async function waitingFor(
  client: WaitLookups['client'],
  { status, waiting_tags, cancel_asked }: ExecutionDocument,
): Promise<WaitReason | undefined> {
  if (status !== 'pending' || waiting_tags === undefined) return undefined;
  const wait = await nodeWait(client, waiting_tags);
  if (wait === undefined || cancel_asked === undefined) return wait;
  return { ...wait, reason: `${wait.reason}, which will end it without work: its cancel is stored` };
}

/** The wait of a pending execution that a live node may serve. */
export const aboutToStart: WaitReason = { kind: 'turn', reason: 'about to start' };

/** Lookups for what an execution waits for elsewhere. */
interface ExecutionWaitLookups extends WaitLookups {
  readonly client: Pick<ActorClient, 'isServed' | 'read'>;
}

/** What a running execution waits for: a node that serves it, the effects of its phase, or judges. */
export async function executionWait(
  lookups: ExecutionWaitLookups,
  running: RunningExecution,
  snapshot: Pick<ActorSnapshot, 'stuck'>,
  address: Address,
): Promise<WaitReason> {
  const turn = await turnWait(lookups, snapshot, address);
  if (turn !== undefined) return turn;
  const { place, judged, effects: asked } = needsOf(running);
  const until = new Date(endOfIteration(running)).toISOString();
  if (judged !== null) {
    const wait = await judgesWait(lookups.client, judged, tenantOf(address));
    const whose = judged.tool === null ? '' : `the judges of tool call ${judged.tool}: `;
    return { ...wait, reason: `${place}: ${whose}${wait.reason}`, until };
  }
  const { ids, what } = asked;
  const effects = await waitedEffects(lookups, ids, address);
  return { kind: 'effect', reason: withProgress(`${place} waits for its ${what}`, effects), effects, until };
}

/** The work that a running execution needs to continue, from its state alone. */
interface ExecutionNeeds {
  /** `iteration 2, round 3` */
  readonly place: string;
  /** The panel whose judges it waits for, of its output or of a proposed tool call; null when it waits for effects. */
  readonly judged: { readonly panel_id: string; readonly judges: number; readonly tool: string | null } | null;
  readonly effects: AwaitedEffects;
}

export function needsOf(running: RunningExecution): ExecutionNeeds {
  const phase = phaseOf(running);
  const waits = waitsOf(phase);
  const wait = waits.find(isJudged);
  const judged =
    wait === undefined
      ? null
      : {
          panel_id: wait.id,
          judges: judgesOf(running, wait),
          tool: wait.kind === 'panel' ? null : wait.call.name,
        };
  return { place: placeOf(running, phase), judged, effects: awaitedEffects(running, waits) };
}

type JudgedWait = Extract<Wait, { readonly kind: 'panel' | 'call judges' }>;

const isJudged = (wait: Wait): wait is JudgedWait => wait.kind === 'panel' || wait.kind === 'call judges';

function judgesOf({ plan }: RunningExecution, wait: JudgedWait): number {
  if (wait.kind === 'call judges') return plan.tool_checks[wait.call.judged]?.judges.length ?? 0;
  return wait.judging.by.kind === 'panel' ? wait.judging.by.judges : 0;
}

/** `iteration 2`, or `iteration 2, round 3` in the inner loop. */
function placeOf({ iteration_count }: RunningExecution, phase: Phase): string {
  const loop = phase.kind === 'loop' || phase.kind === 'program' ? phase.loop : null;
  const isOver = loop === null || loop.phase === 'final' || loop.phase === 'failed';
  if (iteration_count === 0) return 'the run';
  return isOver || loop.round === 0
    ? `iteration ${iteration_count}`
    : `iteration ${iteration_count}, round ${loop.round}`;
}

export interface AwaitedEffects {
  /** Kinds of the effects by effect id. */
  readonly ids: ReadonlyMap<string, string>;
  /** Name of the effects for people, such as `its model`. */
  readonly what: string;
}

/**
 * The effects that a running execution waits for. The loop of a bootstrap is preferred, since it says more than the program
 * that runs beside it.
 */
function awaitedEffects(running: RunningExecution, waits: readonly Wait[]): AwaitedEffects {
  const calls = waits.flatMap((wait) => (wait.kind === 'call' ? [wait] : []));
  if (calls.length > 0) {
    const names = calls.map(({ call }) => call.name).join(', ');
    return { ids: new Map(calls.map(({ id }) => [id, 'tool.call'])), what: `tool call ${names}` };
  }
  const wait = waits.find(({ kind }) => kind !== 'program') ?? waits[0];
  if (wait === undefined) return { ids: new Map(), what: 'next step' };
  if (wait.kind === 'dispatch') return { ids: new Map(), what: `bootstrap, which has ${wait.call.name} to run` };
  const [kind, what] = effectOf(running, wait.kind);
  return { ids: new Map([[wait.id, kind]]), what };
}

/** The kind of the effect behind a wait, and its name for people. */
function effectOf({ plan }: RunningExecution, kind: Wait['kind']): readonly [string, string] {
  switch (kind) {
    case 'program':
      return plan.container === null ? ['program.run', 'program'] : ['agent.container', 'container'];
    case 'worker':
      return ['execution.forward', 'worker'];
    case 'context':
      return ['context.read', 'context'];
    case 'grant':
      return ['tools.grant', 'tools'];
    case 'judge model':
      return ['model.generate', 'judge'];
    case 'files':
      return ['files.read', 'validator, which reads files'];
    case 'script':
      return [plan.container === null ? 'script.run' : 'script.container', 'validator, which runs a script'];
    case 'hints':
      return ['pattern.query', 'learned patterns'];
    case 'store':
      return ['pattern.store', 'pattern to be stored'];
    default:
      return ['model.generate', 'model'];
  }
}
