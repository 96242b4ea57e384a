import type { ConsensusRule, Judge, PanelConcluded } from '../actors/judge-panel/messages.ts';
import { type EndedPanel, JudgePanelState, type Seat } from '../actors/judge-panel/state.ts';
import { RUN_RULES } from '../actors/run-rules.ts';
import { type Address, addressOf } from '../runtime/address.ts';
import type { ActorClient, CallOptions } from '../runtime/client.ts';
import { SvcError, toSvcError } from '../runtime/errors.ts';
import type { Identity } from '../runtime/identity.ts';
import type { Json, JsonObject } from '../runtime/json.ts';
import { counted } from '../runtime/kit/counted.ts';
import type { OwnWait, WaitedJudge } from './waits/wait-reason.ts';

export type { ConsensusRule, Judge, PanelConcluded };

interface ValidateRequest {
  /** UUID. A repeat of the same id finds the same panel. */
  readonly panelId: string;
  readonly judges: readonly Judge[];
  readonly consensus: ConsensusRule;
  readonly identity: Identity;
}

interface ValidateOptions extends CallOptions {
  /** Called when the panel is durably convened. */
  readonly onBegun?: () => void;
}

/** Runs judge panels for callers (gRPC ValidateWithJudges, G9; svc.workflow.create with judges). */
export interface JudgePanelApi {
  /**
   * Convenes a panel and waits for its verdict, on whichever node the panel runs. When the signal aborts first, cancels
   * the panel and its judges and throws `cancelled`. Throws `not_found` naming a judge that is not deployed,
   * `cancelled` when another caller cancelled the panel, and `failed_precondition` when too few judges gave a verdict:
   * the text names them and their reasons.
   */
  validate(request: ValidateRequest, options?: ValidateOptions): Promise<PanelConcluded>;
}

type PanelClient = Pick<ActorClient, 'ask' | 'tell' | 'read' | 'follow'>;

const HEARTBEAT_MS = 60_000;

/** Implements `JudgePanelApi` over messages, events and committed states. */
export function createJudgePanelApi({ client }: { readonly client: PanelClient }): JudgePanelApi {
  return {
    async validate(request, options = {}) {
      const address = addressOf('judge-panel', request.identity.tenant, request.panelId);
      const signal = options.signal ?? new AbortController().signal;
      if (signal.aborted) throw abandoned();
      const ended = await awaitEnd(client, address, { request, options, signal });
      return verdictOf(ended);
    },
  };
}

interface Waiting {
  readonly request: ValidateRequest;
  readonly options: ValidateOptions;
  readonly signal: AbortSignal;
}

async function awaitEnd(client: PanelClient, address: Address, waiting: Waiting): Promise<EndedPanel> {
  const { request, options, signal } = waiting;
  try {
    // The signal does not abort this call: the Cancel must reach the mailbox after the Convene that it is meant for.
    const { signal: _signal, onBegun, ...call } = options;
    await client.ask(address, 'Convene', convening(request), { ...call, identity: request.identity });
    onBegun?.();
    for await (const _event of client.follow(address, 0, { signal, heartbeatMs: HEARTBEAT_MS }));
    if (signal.aborted) throw abandoned();
  } catch (thrown) {
    throw await withdrawn(client, address, toSvcError(thrown), waiting);
  }
  const snapshot = await client.read(address);
  const state = snapshot === null ? null : JudgePanelState.parse(snapshot.state);
  if (state?.status !== 'ended') throw new SvcError('unavailable', 'the end of the judge panel could not be read');
  return state;
}

const abandoned = (): SvcError => new SvcError('cancelled', 'the caller stopped waiting for its judge panel');

/** Cancels a panel whose caller is gone, so that its judges do no useless work. A panel that was refused needs no cancel. */
async function withdrawn(client: PanelClient, address: Address, error: SvcError, waiting: Waiting): Promise<SvcError> {
  if (error.row.kind === 'terminal') return error;
  const { trace } = waiting.options;
  try {
    const { identity } = waiting.request;
    await client.tell(address, 'Cancel', { reason: 'the caller stopped waiting' }, { identity, trace });
    return error;
  } catch (cause) {
    const text = `${error.message}; the judge panel could not be cancelled and ends when its judges time out`;
    return new SvcError(error.code, text, { cause });
  }
}

function verdictOf({ outcome, seats }: EndedPanel): PanelConcluded {
  const unknown = seats.find(({ code }) => code === 'not_found');
  if (unknown !== undefined) {
    throw new SvcError('not_found', `judge ${unknown.agent}: no agent of this name or id is deployed in this tenant`);
  }
  if (outcome.status === 'cancelled') throw new SvcError('cancelled', outcome.error ?? undefined);
  if (outcome.status === 'failed') throw new SvcError('failed_precondition', outcome.error ?? undefined);
  return outcome;
}

function convening({ panelId, judges, consensus, identity }: ValidateRequest): JsonObject {
  const { min_agreement_confidence: least, n, ...rule } = consensus;
  return {
    panel_id: panelId,
    judges: judges.map((judge): Json => ({ ...judge })),
    consensus: {
      ...rule,
      ...(least === undefined ? {} : { min_agreement_confidence: least }),
      ...(n === undefined ? {} : { n }),
    },
    identity: { ...identity, roles: [...identity.roles] },
    in_prose: true,
    rules: RUN_RULES,
  };
}

const isAwaited = (seat: Seat): seat is Seat & WaitedJudge => seat.status === 'asked' || seat.status === 'judging';

/** The judges that have not answered yet, for a caller that waits for a panel. */
export async function judgesWait(
  client: Pick<ActorClient, 'read'>,
  { panel_id, judges: all }: { readonly panel_id: string; readonly judges: number },
  tenant: string,
): Promise<OwnWait> {
  const kind = 'judges';
  const snapshot = await client.read(addressOf('judge-panel', tenant, panel_id));
  const panel = snapshot === null ? null : JudgePanelState.parse(snapshot.state);
  if (panel === null || panel.status === 'idle')
    return { kind, reason: `${counted(all, 'judge is', 'judges are')} being convened` };
  const judges = panel.seats
    .filter(isAwaited)
    .map(({ agent, execution_id, status }) => ({ agent, execution_id, status }));
  if (panel.status === 'ended' || judges.length === 0) return { kind, reason: 'its judges have answered' };
  const names = judges.map(({ agent }) => agent).join(', ');
  return { kind, reason: `waiting for ${judges.length} of ${counted(all, 'judge')}: ${names}`, judges };
}
