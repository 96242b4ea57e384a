import { z } from 'zod';
import { nodeActors } from '../../actors/node-peer/definition.ts';
import { type Address, parseAddress } from '../../runtime/address.ts';
import type { ActorClient } from '../../runtime/client.ts';
import { isArchived, type Registry } from '../../runtime/define-actor.ts';
import { toSvcError } from '../../runtime/errors.ts';
import { type Identity, sees, seesAll, tenantOfViewer } from '../../runtime/identity.ts';
import { foundOrNull } from '../../runtime/kit/found.ts';
import type { Message } from '../../runtime/message.ts';
import { NewerVersion } from '../../runtime/turns/record.ts';
import { allows } from '../../security/api.ts';
import type { ExecutionApi } from '../executions.ts';
import type { WorkflowApi } from '../workflow-runs.ts';

/** The parts that decide who sees an actor. */
export interface SightParts {
  readonly client: Pick<ActorClient, 'read'>;
  readonly registry: Pick<Registry, 'definitionOf'>;
  readonly executions: Pick<ExecutionApi, 'hasEnded'>;
  readonly workflows: Pick<WorkflowApi, 'status'>;
}

/** Members of states that name an owner or lead to one. */
const Owned = z.object({
  owner: z.string().optional(),
  notify: z.object({ to: z.string() }).nullish(),
  told: z.string().nullish(),
  session: z
    .object({
      subject: z.object({ principal: z.object({ subject: z.string(), confidential: z.literal(true).optional() }) }),
    })
    .nullish(),
});

/** Most actors between a part of a run and the run: a judge of a judge of a child workflow and its parents. */
const MOST_PARENTS = 8;

/** Kinds of the fleet. Service accounts may act in its tenant, but need the right to see nodes for these. */
const FLEET_KINDS: ReadonlySet<string> = new Set(nodeActors().map(({ kind }) => kind));

/** Kinds that consumers may read by address. The other kinds are parts of runs or belong to the fleet. */
const CONSUMER_KINDS = new Set(['execution', 'workflow']);

/**
 * The actors and deliveries of its tenant that one reader may see: those of runs that it may see (`executions.get`,
 * `workflow_executions.get`), and their parts. Results are kept for the time of one call.
 */
export class Sight {
  readonly viewer: Identity;
  readonly tenant: string;
  readonly #parts: SightParts;
  readonly #seen = new Map<Address, Promise<boolean>>();

  constructor(parts: SightParts, viewer: Identity) {
    this.#parts = parts;
    this.viewer = viewer;
    this.tenant = tenantOfViewer(viewer);
  }

  /** Whether a request that names the address may be answered. */
  async mayOpen(address: Address): Promise<boolean> {
    if (this.viewer.kind === 'consumer' && !CONSUMER_KINDS.has(parseAddress(address).kind)) return false;
    return this.sees(address);
  }

  /** Whether a request may be answered that names an actor which need not exist yet: an operator may look for any of the tenant. */
  async mayLookFor(address: Address): Promise<boolean> {
    if (await this.mayOpen(address)) return true;
    return seesAll(this.viewer) && !FLEET_KINDS.has(parseAddress(address).kind);
  }

  sees(address: Address): Promise<boolean> {
    let known = this.#seen.get(address);
    if (known === undefined) {
      known = this.#sees(address).catch((thrown: unknown) => this.#seesUnreadable(thrown));
      this.#seen.set(address, known);
    }
    return known;
  }

  /** Whether the message may be shown: the reader must see both its actors, and the user whose own run caused it. */
  async seesMessage({ to, from, identity }: Pick<Message, 'to' | 'from' | 'identity'>): Promise<boolean> {
    if (seesAll(this.viewer)) return this.sees(to);
    if (identity?.confidential === true && !sees(this.viewer, identity.subject)) return false;
    return (await this.sees(to)) && (from === null || from === to || (await this.sees(from)));
  }

  async #sees(address: Address): Promise<boolean> {
    const { kind, tenant, id } = parseAddress(address);
    if (tenant !== this.tenant) return false;
    if (FLEET_KINDS.has(kind) && !allows(this.viewer, 'inspect')) return false;
    const { executions, workflows } = this.#parts;
    if (kind === 'execution') return (await foundOrNull(executions.hasEnded(this.viewer, id))) !== null;
    if (kind === 'workflow') return (await foundOrNull(workflows.status(this.viewer, id))) !== null;
    if (seesAll(this.viewer)) return true;
    return this.#seesPart(address, MOST_PARENTS);
  }

  /**
   * An actor whose state cannot be read (a newer version wrote it, for example) names no owner, so only operators see its
   * deliveries; other deliveries stay visible. When the store is unavailable, the caller gets the error and may try again.
   */
  #seesUnreadable(thrown: unknown): boolean {
    if (!(thrown instanceof NewerVersion) && toSvcError(thrown).code === 'unavailable') throw thrown;
    return seesAll(this.viewer);
  }

  /** An actor that belongs to a run is seen with the run. One that was removed is seen by operators alone. */
  async #seesPart(address: Address, depth: number): Promise<boolean> {
    const { client, registry } = this.#parts;
    const definition = registry.definitionOf(address);
    if (definition === undefined || depth === 0) return false;
    const snapshot = await client.read(address);
    // An actor that was removed was in the archive. Kinds without one have no owner, or refused their first message.
    if (snapshot === null) return !isArchived(definition);
    const { owner, notify, told, session } = Owned.parse(snapshot.state);
    if (!sees(this.viewer, owner)) return false;
    const principal = session?.subject.principal;
    if (principal?.confidential === true && !sees(this.viewer, principal.subject)) return false;
    const { tenant } = this;
    const parent = definition.belongsTo?.(snapshot.state, { tenant }) ?? notify?.to ?? told ?? null;
    if (parent === null || parent === address) return true;
    const { kind, ...rest } = parseAddress(parent);
    const run = kind === 'execution' || kind === 'workflow';
    const next: Address = `${kind}/${rest.tenant}/${rest.id}`;
    return run ? this.sees(next) : this.#seesPart(next, depth - 1);
  }
}
