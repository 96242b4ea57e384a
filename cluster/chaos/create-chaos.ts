import { parseAddress } from '../../runtime/address.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Collection, Documents } from '../../runtime/documents.ts';
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
} from '../../usecases/ports/faults.ts';
import { type ChaosSettings, checkFence, FaultActor } from './fault-actor.ts';
import { CHAOS_FAULTS, ENDED, type FaultRecord, faultOf, REQUESTED, signalOf } from './fault-record.ts';

export type { ChaosSettings } from './fault-actor.ts';

/** Records kept; the oldest go first. */
const MOST_RECORDS = 10_000;

interface ChaosParts {
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

/** Faults on purpose over the store's words between nodes and one collection of records (`svc chaos`). */
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

const PATIENCE_MS = 5_000;

const LOOK_EVERY_MS = 25;

/** A word may be lost. */
const SAY_AGAIN_EVERY_LOOKS = 20;

/** The caller's side: tells the node that has to act, and waits for what it records. */
class FaultWait {
  readonly #records: Collection<FaultRecord>;
  readonly #members: Pick<Members, 'signal'>;
  readonly #clock: Clock;

  constructor(parts: {
    readonly records: Collection<FaultRecord>;
    readonly members: Pick<Members, 'signal'>;
    readonly clock: Clock;
  }) {
    this.#records = parts.records;
    this.#members = parts.members;
    this.#clock = parts.clock;
  }

  /** The record once the fault was done. Throws what the node refused it with, `unavailable` after 5 s without either. */
  async until(asked: FaultRecord): Promise<FaultRecord> {
    const deadline = this.#clock.monotonic() + PATIENCE_MS;
    for (let look = 0; this.#clock.monotonic() < deadline; look += 1) {
      if (look % SAY_AGAIN_EVERY_LOOKS === 0) await this.#members.signal(asked.node, signalOf(asked.id));
      const now = await this.#records.get(SYSTEM_TENANT, asked.id);
      if (now?.version === ENDED) return doneOrThrown(now);
      await this.#pause();
    }
    return this.#giveUp(asked);
  }

  /** Takes the fault back, unless the node has taken it already: then it may still come. */
  async #giveUp(asked: FaultRecord): Promise<never> {
    const reason = `Node ${asked.node} did not answer within ${PATIENCE_MS / 1_000} s.`;
    const back = { ...asked, version: ENDED, state: 'refused' as const, code: 'unavailable' as const, reason };
    const takenBack = await this.#records.replace(back, REQUESTED);
    const says = takenBack ? `${reason} The fault was taken back.` : `${reason} The fault may still come.`;
    throw new SvcError('unavailable', says);
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => this.#clock.after(LOOK_EVERY_MS, resolve));
  }
}

function doneOrThrown(record: FaultRecord): FaultRecord {
  if (record.state === 'done') return record;
  throw new SvcError(record.code ?? 'internal', record.reason ?? undefined);
}
