import { ApprovalState, type PendingApproval } from '../../actors/approval/messages.ts';
import type { RunningExecution } from '../../actors/execution/state.ts';
import { isOpen, JudgePanelState, type Seat } from '../../actors/judge-panel/state.ts';
import { type AwaitingOf, isRunning, type RunningWorkflow } from '../../actors/workflow/state.ts';
import { outcomeOf } from '../../actors/workflow/view.ts';
import { type Address, addressOf } from '../../runtime/address.ts';
import { sees, tenantOfViewer } from '../../runtime/identity.ts';
import { counted } from '../../runtime/kit/counted.ts';
import { poolOfTags } from '../../runtime/locator.ts';
import type { ExecutionFound } from '../executions.ts';
import { isoTime } from '../traces/reader-view.ts';
import { needsOf } from '../waits/execution-wait.ts';
import { askedEffects, until } from '../waits/workflow-wait.ts';
import type { WorkflowFound } from '../workflow-runs.ts';
import { effectLinks } from './effect-links.ts';
import { childOfEnd, endOfExecution, endOfWorkflow } from './ended.ts';
import { short, timeText, type WhyLink } from './links.ts';
import type { Reading } from './reading.ts';
import { mailboxLink, nodeLinks, turnLinks } from './turn-links.ts';

/** Role of a run in the chain: the run that was asked about, a child, or a judge. */
type As = 'run' | 'child' | 'judge';

/** Finds runs of a tenant, of any owner; null: unknown, removed, or not started. */
export interface RunFinder {
  execution(tenant: string, id: string): Promise<ExecutionFound | null>;
  workflow(tenant: string, id: string): Promise<WorkflowFound | null>;
}

/** Follows one wait from run to run until its last cause. */
export class Walk {
  readonly #reading: Reading;
  readonly #runs: RunFinder;
  readonly #tenant: string;

  constructor(reading: Reading, runs: RunFinder) {
    this.#reading = reading;
    this.#runs = runs;
    this.#tenant = tenantOfViewer(reading.viewer);
  }

  async execution(found: ExecutionFound, id: string, as: As): Promise<void> {
    this.#reading.enter(found.address);
    if ('document' in found) {
      const { agent_name: name, waiting_tags } = found.document;
      this.#reading.add(runLink(as, 'execution', { id, status: 'pending', name, iteration: null }));
      await nodeLinks(this.#reading, poolOfTags(waiting_tags ?? []));
      await mailboxLink(this.#reading, found.address);
      return this.#reading.end({ kind: 'turn', id: found.address, until: null, reason: 'its start' });
    }
    const { address, snapshot, state } = found;
    const { agent_name: name, status, iteration_count: iteration } = state;
    this.#reading.add(runLink(as, 'execution', { id, status, name, iteration }));
    if (state.status !== 'running') return this.#reading.add(...endOfExecution(state));
    await turnLinks(this.#reading, address, snapshot);
    await this.#needsOfExecution(state, address);
  }

  async #needsOfExecution(state: RunningExecution, address: ExecutionFound['address']): Promise<void> {
    const { judged, effects } = needsOf(state);
    if (judged !== null) return this.#panel(judged.panel_id, judged.judges, address);
    await effectLinks(this.#reading, address, { ids: effects.ids, what: `its ${effects.what}` });
  }

  async workflow(found: WorkflowFound, id: string, as: As): Promise<void> {
    const { address, snapshot, state } = found;
    this.#reading.enter(address);
    const { workflow_name: name, status, current_state, last_transition_at } = state;
    this.#reading.add(runLink(as, 'workflow', { id, status, name, iteration: null }));
    if (current_state !== null && status !== 'cancelled' && (isRunning(state) || outcomeOf(state) === 'failed')) {
      const ends = isRunning(state) ? (until(state).until ?? null) : null;
      const reason = `state ${current_state}`;
      this.#reading.add({ kind: 'state', id: current_state, until: ends, reason, entered_at: last_transition_at });
    }
    if (isRunning(state)) {
      await turnLinks(this.#reading, address, snapshot);
      return this.#needsOfWorkflow(state, address);
    }
    const child = childOfEnd(state);
    if (child !== null && (await this.#child(child.kind, child.id, 'child', null))) return;
    this.#reading.add(...endOfWorkflow(state));
  }

  async #needsOfWorkflow(run: RunningWorkflow, address: WorkflowFound['address']): Promise<void> {
    const { awaiting } = run;
    const ids = askedEffects(awaiting);
    const effects = (what: string): Promise<void> => effectLinks(this.#reading, address, { ids, what });
    switch (awaiting.kind) {
      case 'volumes':
        this.#reading.add({ kind: 'volumes', id: null, until: null, reason: 'its volumes' });
        return effects('their preparation');
      case 'turn':
        return effects(`its entry into state ${awaiting.target}`);
      case 'agent':
        if (await this.#child('execution', awaiting.execution_id, 'child', address)) return;
        return effects('the start of its agent');
      case 'child':
        if (await this.#child('workflow', awaiting.execution_id, 'child', address)) return;
        return effects('the start of its child workflow');
      case 'panel':
        return this.#panel(awaiting.panel_id, awaiting.judges, address);
      case 'command':
        return effects('its command');
      case 'container':
        if (awaiting.retry_at === null) return effects(`run ${awaiting.attempt} of its container`);
        return this.#reading.end({
          kind: 'timer',
          id: 'retry',
          until: awaiting.retry_at,
          reason: `attempt ${awaiting.attempt} of its container, which starts at ${timeText(awaiting.retry_at)}`,
        });
      case 'containers':
        return effects(`its containers ${Object.keys(awaiting.effects).join(', ')}`);
      case 'approval':
        return this.#approval(awaiting, address);
    }
  }

  /** Follows a child or judge of a waiting actor, or of an ended run (null). False: it does not exist yet, or no more. */
  async #child(
    kind: 'execution' | 'workflow',
    id: string,
    as: 'child' | 'judge',
    waiting: Address | null,
  ): Promise<boolean> {
    if (kind === 'execution') {
      const found = await this.#reading.ask('actors', () => this.#runs.execution(this.#tenant, id));
      if (found === null) return false;
      this.#requireSeen('document' in found ? found.document.owner : found.state.owner, as, kind);
      await this.execution(found, id, as);
      if (waiting !== null) await this.#answered(waiting, 'its end');
      return true;
    }
    const found = await this.#reading.ask('actors', () => this.#runs.workflow(this.#tenant, id));
    if (found === null) return false;
    this.#requireSeen(found.state.owner, as, kind);
    await this.workflow(found, id, as);
    if (waiting !== null) await this.#answered(waiting, 'its end');
    return true;
  }

  /** Ends the chain at an actor whose mailbox has the awaited message, or gets it in a moment. */
  async #answered(waiting: Address, what: string): Promise<never> {
    await mailboxLink(this.#reading, waiting);
    return this.#reading.end({
      kind: 'turn',
      id: waiting,
      until: null,
      reason: `${what}, which is about to be handled`,
    });
  }

  /** Ends the chain at a run that the reader may not see: it is named by its kind only. */
  #requireSeen(owner: string | undefined, as: 'child' | 'judge', of: 'execution' | 'workflow'): void {
    if (sees(this.#reading.viewer, owner)) return;
    const hidden = { id: null, until: null, reason: `a ${as} that you may not see`, status: null, name: null };
    if (as === 'judge') this.#reading.end({ kind: 'judge', ...hidden, iteration: null });
    this.#reading.end({ kind: 'child', ...hidden, iteration: null, of });
  }

  async #panel(panelId: string, judges: number, waiting: Address): Promise<void> {
    const address = addressOf('judge-panel', this.#tenant, panelId);
    const snapshot = await this.#reading.read(address);
    const panel = snapshot === null ? null : JudgePanelState.parse(snapshot.state);
    const seats: readonly Seat[] = panel === null || panel.status === 'idle' ? [] : panel.seats;
    const open = seats.filter(isOpen);
    const answered = seats.length - open.length;
    const reason =
      seats.length === 0 ? `its ${counted(judges, 'judge')}` : `${open.length} of its ${counted(judges, 'judge')}`;
    this.#reading.add({ kind: 'judges', id: panelId, until: null, reason, judges, answered });
    await turnLinks(this.#reading, address, snapshot);
    const [seat] = open;
    if (seat === undefined) {
      if (seats.length > 0) return this.#answered(waiting, 'their verdict');
      return effectLinks(this.#reading, address, { ids: new Map(), what: 'they are being convened' });
    }
    if (await this.#child('execution', seat.execution_id, 'judge', address)) return;
    const ids = new Map(seat.status === 'asked' ? [[seat.effect_id, 'agent.start']] : []);
    await effectLinks(this.#reading, address, { ids, what: `the start of judge ${seat.agent}` });
  }

  async #approval(awaiting: AwaitingOf<'approval'>, waiting: Address): Promise<void> {
    const address = addressOf('approval', this.#tenant, awaiting.approval_id);
    const snapshot = await this.#reading.read(address);
    const state = snapshot === null ? null : ApprovalState.parse(snapshot.state);
    if (state?.status === 'pending') this.#reading.end(approvalLink(state));
    if (state !== null && state.status !== 'new') return this.#answered(waiting, 'the answer to its approval');
    await turnLinks(this.#reading, address, snapshot);
    await effectLinks(this.#reading, address, { ids: new Map(), what: 'its approval, which is being opened' });
  }
}

interface RunFacts {
  readonly id: string;
  readonly status: string;
  readonly name: string;
  readonly iteration: number | null;
}

function runLink(as: As, of: 'execution' | 'workflow', { id, status, name, iteration }: RunFacts): WhyLink {
  const facts = { id, until: null, status, name, iteration: iteration === 0 ? null : iteration };
  if (as === 'judge') return { kind: 'judge', ...facts, reason: `judge ${name} (run ${short(id)})` };
  const what = `${of === 'execution' ? 'agent' : 'workflow'} ${name}`;
  if (as === 'child') return { kind: 'child', ...facts, of, reason: `child run ${short(id)} of ${what}` };
  return { kind: of, ...facts, reason: `run ${short(id)} of ${what}` };
}

function approvalLink(state: PendingApproval): WhyLink {
  const { approval_id: id, prompt, owner, expires_at, default_response } = state;
  const by = owner === undefined ? 'an operator' : `${owner} or an operator`;
  const ends = expires_at === null ? null : isoTime(expires_at);
  const then =
    default_response === null
      ? 'then its state fails'
      : `then its default answer ${JSON.stringify(default_response)} is given`;
  const until = ends === null ? '' : ` until ${timeText(ends)}; ${then}`;
  const reason = `approval ${short(id)} by ${by}${until}`;
  return { kind: 'approval', id, until: ends, reason, prompt, by, default_response };
}
