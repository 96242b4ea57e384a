import { parseAddress } from '../../runtime/address.ts';
import type { Clock } from '../../runtime/clock.ts';
import { pageOf, shownPage } from '../../runtime/documents/pages.ts';
import type { Collection, Documents } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../../runtime/identity.ts';
import { sleep } from '../../runtime/kit/waits.ts';
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

const NEWEST_FIRST = [['at', 'desc'] as const, ['id', 'desc'] as const];

/** Maximum number of records; the oldest are deleted. */
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

/** The target of a fault, and the node that acts. */
interface Target {
  readonly tenant: string;
  readonly target: string;
  readonly node: string;
  readonly partition: string | null;
}

/** Fault injection over signals between nodes and one collection of records (`svc chaos`). */
export async function createChaos(parts: ChaosParts): Promise<ChaosApi> {
  const { members, documents, node, settings, clock, random } = parts;
  const records = await documents.collection<FaultRecord>(CHAOS_FAULTS);
  const actor = new FaultActor({ ...parts, records });
  const wait = new FaultWait({ records, members, clock });
  const stopListening = members.onSignal(node, (text) => actor.onSignal(text));

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

    async list(asked) {
      const of = { tenant: SYSTEM_TENANT, sort: NEWEST_FIRST };
      const page = shownPage(await pageOf(records, 'faults', of, asked), faultOf);
      return { counts: await countsDone(), ...page };
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

/** A node belongs to no tenant: faults of a node need the system tenant. */
const tenantOf = (request: FaultRequest): string =>
  'address' in request ? parseAddress(request.address).tenant : SYSTEM_TENANT;

async function targetOf(request: FaultRequest, { faults, members }: ChaosParts): Promise<Target> {
  const tenant = tenantOf(request);
  if ('address' in request) {
    const { partition, node } = await faults.ownerOf(request.address);
    if (node === null)
      throw new SvcError('unavailable', `No node owns the partition of ${request.address} at the moment.`);
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

const TIMEOUT_MS = 5_000;

const POLL_MS = 25;

/** A signal may be lost: it is repeated. */
const SIGNAL_EVERY_POLLS = 20;

/** The requesting side: signals the acting node and waits for its record. */
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

  /** Returns the record when the fault was done. Throws the node's refusal, or `unavailable` after 5 s. */
  async until(asked: FaultRecord): Promise<FaultRecord> {
    const deadline = this.#clock.monotonic() + TIMEOUT_MS;
    for (let poll = 0; this.#clock.monotonic() < deadline; poll += 1) {
      if (poll % SIGNAL_EVERY_POLLS === 0) await this.#members.signal(asked.node, signalOf(asked.id));
      const now = await this.#records.get(SYSTEM_TENANT, asked.id);
      if (now?.version === ENDED) return doneOrThrown(now);
      await sleep(this.#clock, POLL_MS);
    }
    return this.#giveUp(asked);
  }

  /** Withdraws the fault, unless the node has taken it: then it may still happen. */
  async #giveUp(asked: FaultRecord): Promise<never> {
    const reason = `Node ${asked.node} did not answer within ${TIMEOUT_MS / 1_000} s.`;
    const back = { ...asked, version: ENDED, state: 'refused' as const, code: 'unavailable' as const, reason };
    const withdrawn = await this.#records.replace(back, REQUESTED);
    const message = withdrawn ? `${reason} The fault was withdrawn.` : `${reason} The fault may still happen.`;
    throw new SvcError('unavailable', message);
  }
}

function doneOrThrown(record: FaultRecord): FaultRecord {
  if (record.state === 'done') return record;
  throw new SvcError(record.code ?? 'internal', record.reason ?? undefined);
}
