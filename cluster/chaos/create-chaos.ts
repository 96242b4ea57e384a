import { parseAddress } from '../../runtime/address.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Documents } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../../runtime/identity.ts';
import type { Members } from '../../runtime/members.ts';
import type { Random } from '../../runtime/random.ts';
import {
  type ChaosApi,
  FAULT_KINDS,
  type FaultKind,
  type FaultPort,
  type FaultReport,
  type FaultRequest,
} from './api.ts';
import { FaultActor } from './fault-actor.ts';
import { CHAOS_FAULTS, type FaultRecord, faultOf, REQUESTED } from './fault-record.ts';
import { FaultWait } from './fault-wait.ts';
import { type ChaosSettings, checkFence } from './fence.ts';

export type { ChaosSettings } from './fence.ts';

/** Records kept; the oldest go first. */
const MOST_RECORDS = 10_000;

export interface ChaosParts {
  readonly members: Pick<Members, 'members' | 'signal' | 'onSignal'>;
  readonly documents: Documents;
  /** Id of this node. */
  readonly node: string;
  readonly faults: FaultPort;
  readonly settings: ChaosSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly warn: (message: string, error: unknown) => void;
}

/** What is hit, and which node has to act. */
interface Target {
  readonly tenant: string;
  readonly target: string;
  readonly node: string;
  readonly partition: string | null;
}

/** Faults on purpose over the store's words between nodes and one collection of records (design, `svc chaos`). */
export async function createChaos(parts: ChaosParts): Promise<ChaosApi> {
  const { members, documents, node, settings, clock, random } = parts;
  const records = await documents.collection<FaultRecord>(CHAOS_FAULTS);
  const actor = new FaultActor({ ...parts, records });
  const wait = new FaultWait({ records, members, clock });
  const stopListening = members.onSignal(node, (word) => actor.hear(word));

  return {
    enabled: settings.enabled,

    async inject(request, by) {
      checkFence(settings, node, tenantOf(request));
      const target = await targetOf(request, parts);
      const record = recordOf(request, target, { id: random.uuid(), at: clock.now(), by });
      await records.insert(record);
      await dropOldest();
      return faultOf(await wait.until(record));
    },

    async list(limit) {
      const sort = [['at', 'desc'] as const, ['id', 'desc'] as const];
      const found = await records.find({ tenant: SYSTEM_TENANT, sort, limit });
      return { counts: await countsDone(), faults: found.map(faultOf) };
    },

    close: stopListening,
  };

  async function countsDone(): Promise<FaultReport['counts']> {
    const count = (kind: FaultKind): Promise<number> =>
      records.count({ tenant: SYSTEM_TENANT, where: { kind, state: 'done' } });
    const [actors, owners, nodes, freezes] = await Promise.all(FAULT_KINDS.map(count));
    return {
      'kill-actor': actors ?? 0,
      'kill-owner': owners ?? 0,
      'kill-node': nodes ?? 0,
      'freeze-node': freezes ?? 0,
    };
  }

  async function dropOldest(): Promise<void> {
    const [last] = await records.find({ tenant: SYSTEM_TENANT, sort: [['at', 'desc']], skip: MOST_RECORDS, limit: 1 });
    if (last !== undefined) await records.deleteMany({ tenant: SYSTEM_TENANT, where: { at: { lte: last.at } } });
  }
}

/** A node belongs to no tenant, so breaking one is for those who may break everything on it. */
const tenantOf = (request: FaultRequest): string =>
  'address' in request ? parseAddress(request.address).tenant : SYSTEM_TENANT;

async function targetOf(request: FaultRequest, { faults, members }: ChaosParts): Promise<Target> {
  const tenant = tenantOf(request);
  if ('address' in request) {
    const { partition, node } = await faults.ownerOf(request.address);
    if (node === null) throw new SvcError('unavailable', `Nobody serves ${request.address} at the moment.`);
    return { tenant, target: request.address, node, partition };
  }
  const live = await members.members();
  if (live.some((member) => member.node === request.node)) {
    return { tenant, target: request.node, node: request.node, partition: null };
  }
  throw new SvcError('not_found', `There is no live node ${request.node}.`);
}

function recordOf(
  request: FaultRequest,
  { tenant, target, node, partition }: Target,
  { id, at, by }: { id: string; at: number; by: Identity },
): FaultRecord {
  return {
    tenant: SYSTEM_TENANT,
    id,
    version: REQUESTED,
    kind: request.kind,
    target,
    target_tenant: tenant,
    partition,
    by: by.subject,
    at: new Date(at).toISOString(),
    state: 'requested',
    node,
    code: null,
    reason: null,
    ms: request.kind === 'freeze-node' ? request.ms : null,
  };
}
