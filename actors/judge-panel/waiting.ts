import { addressOf } from '../../runtime/address.ts';
import type { ActorClient } from '../../runtime/client.ts';
import type { OwnWait, WaitedJudge } from '../wait-reason.ts';
import { JudgePanelState, type Seat } from './state.ts';

const isAwaited = (seat: Seat): seat is Seat & WaitedJudge => seat.status === 'asked' || seat.status === 'judging';

/** What somebody waits for who convened a panel: the judges that have not answered. */
export async function judgesWait(
  client: Pick<ActorClient, 'read'>,
  { panel_id, judges: all }: { readonly panel_id: string; readonly judges: number },
  tenant: string,
): Promise<OwnWait> {
  const kind = 'judges';
  const snapshot = await client.read(addressOf('judge-panel', tenant, panel_id));
  const panel = snapshot === null ? null : JudgePanelState.parse(snapshot.state);
  if (panel === null || panel.status === 'idle') return { kind, reason: `${all} judges are being convened` };
  const judges = panel.seats
    .filter(isAwaited)
    .map(({ agent, execution_id, status }) => ({ agent, execution_id, status }));
  if (panel.status === 'ended' || judges.length === 0) return { kind, reason: 'its judges have answered' };
  const names = judges.map(({ agent }) => agent).join(', ');
  return { kind, reason: `waiting for ${judges.length} of ${all} judges: ${names}`, judges };
}
