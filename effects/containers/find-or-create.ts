import { BlockList, isIP, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { EffectContext } from '../../runtime/effect.ts';
import { SvcError } from '../../runtime/errors.ts';
import {
  type ContainerOwner,
  containerName,
  createOptions,
  type MountedVolume,
  ownerOf,
  REALM_LABEL,
} from './create-options.ts';
import type { ContainerEngine } from './engine.ts';
import { containerFailed, isGone, isStatus, refusalOf } from './engine-error.ts';
import { ensureImage, hasUser } from './image.ts';
import type { ContainerInput } from './input.ts';
import type { ContainerExtras, EngineParts } from './settings.ts';
import { neverStarted } from './start-evidence.ts';
import { type ContainerState, readState } from './state.ts';

const NO_INIT = /container-init|init binary|catatonit|docker-init/i;

/**
 * The container of an effect: that of an earlier attempt when there is one, else a new one. Throws `in_doubt` when an
 * earlier attempt has started one that is gone: it may have done its work, so it is not run again. Only the engine's
 * events can show that it never did.
 */
export async function findOrCreate(
  parts: EngineParts,
  input: ContainerInput,
  owner: ContainerOwner,
  mounts: readonly MountedVolume[],
  context: EffectContext,
): Promise<ContainerState> {
  const { engine, clock, starts, node } = parts;
  const { signal } = context;
  if (context.attempt > 1) {
    const found = await findOwn(parts, owner, signal);
    if (found !== null) return found;
    const start = await starts.find(owner.tenant, owner.effectId);
    if (start !== null) {
      const { containerId: id, createdAt } = start;
      if (!(await neverStarted(engine, clock, { id, createdAt }, signal))) {
        throw new SvcError(
          'in_doubt',
          `an earlier attempt started the container, and the engine of node ${node} does not have it (any more): it was not run again`,
        );
      }
      // An earlier attempt took it away unstarted, and died before it could say so.
      await starts.forget(owner.tenant, owner.effectId);
    }
  }
  await ensureImage(parts, input, owner.tenant, signal);
  const { cpus } = await engine.facts(signal);
  const user = await userOf(parts, input.image, signal);
  await create({ ...parts, limits: { ...parts.limits, user } }, { input, owner, mounts, cpus }, signal);
  const created = await findOwn(parts, owner, signal);
  if (created === null) throw containerFailed('the engine lost the container before it was started');
  return created;
}

/** Undefined leaves it to the image. */
async function userOf({ engine, limits, extras }: EngineParts, image: string, signal: AbortSignal) {
  if (limits.user !== undefined || extras === undefined) return limits.user;
  return (await hasUser(engine, image, signal)) ? undefined : extras.user;
}

async function findOwn(parts: EngineParts, owner: ContainerOwner, signal: AbortSignal): Promise<ContainerState | null> {
  const found = await readState(parts.engine, containerName(owner.effectId), signal);
  if (found === null) return null;
  const other = ownerOf(found.labels);
  const ours =
    other?.effectId === owner.effectId && other.tenant === owner.tenant && found.labels[REALM_LABEL] === parts.realm;
  if (!ours) throw containerFailed(`${containerName(owner.effectId)} exists in the engine and is not of this effect`);
  return found;
}

interface Wanted {
  readonly input: ContainerInput;
  readonly owner: ContainerOwner;
  readonly mounts: readonly MountedVolume[];
  readonly cpus: number;
}

/** The name makes a repeated call harmless: the engine refuses the second with 409. */
async function create(parts: EngineParts, wanted: Wanted, signal: AbortSignal): Promise<void> {
  const { engine, realm, node, limits, extras } = parts;
  const { input, owner, mounts, cpus } = wanted;
  const init = engine.hasInit;
  try {
    await engine.call(signal, (docker) =>
      docker.createContainer(createOptions({ input, owner, realm, node, limits, mounts, cpus, init, extras })),
    );
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === null) throw error;
    if (isTaken(refusal.statusCode, refusal.reason)) return;
    if (init && NO_INIT.test(refusal.reason)) {
      engine.hasInit = false;
      parts.warn('the container engine has no init (catatonit): the command is process 1 of its container', undefined);
      return create(parts, wanted, signal);
    }
    if (isStatus(error, 404) && /image/i.test(refusal.reason)) {
      throw new SvcError('image_unavailable', `image ${input.image} is not on this node`);
    }
    throw containerFailed(withoutDirectories(refusal.reason, mounts, extras?.binds), error);
  }
}

const isTaken = (statusCode: number, reason: string): boolean => statusCode === 409 || /already in use/i.test(reason);

/** Where volumes lie on the host is nobody's business. */
export function withoutDirectories(
  reason: string,
  mounts: readonly MountedVolume[],
  binds: ContainerExtras['binds'] = [],
): string {
  const named = mounts.reduce((text, { directory, id }) => text.replaceAll(directory, `volume ${id}`), reason);
  return binds.reduce((text, { directory, path }) => text.replaceAll(directory, path), named);
}

interface NetworkOptions {
  /** Whether every listener of this node is bound to loopback: then no network of an engine leads to one. */
  readonly onLoopback: boolean;
  /** Addresses of this machine; replaced in tests. */
  readonly own?: () => readonly string[];
}

/**
 * The networks of containers that this node starts. What comes from there is what agents run, so the node's listeners refuse it,
 * but for the calls that agents may make. Loopback is another machine to a container with a network of its own.
 */
export class ContainerNetworks {
  readonly #known = new BlockList();
  readonly #learned = new Set<string>();
  readonly #onLoopback: boolean;
  readonly #own: () => readonly string[];

  constructor({ onLoopback, own = addressesOfThisMachine }: NetworkOptions) {
    this.#onLoopback = onLoopback;
    this.#own = own;
  }

  /** Whether a peer's address is that of a container. */
  readonly has = (address: string | undefined): boolean => {
    const plain = (address ?? '').replace(/^::ffff:(?=\d+\.)/, '');
    return isIP(plain) !== 0 && this.#known.check(plain, isIPv6(plain) ? 'ipv6' : 'ipv4');
  };

  /**
   * Before a container joins a network: its addresses are known from then on. Throws `unsupported_isolation` where the node
   * listens beyond loopback and could not tell the container from its other clients.
   */
  async learn(engine: ContainerEngine, mode: string, signal: AbortSignal): Promise<void> {
    if (mode === 'none' || this.#learned.has(mode)) return;
    const refuse = (why: string): never => {
      throw new SvcError('unsupported_isolation', `containers with the network ${mode} are not run here: ${why}`);
    };
    if (!this.#onLoopback && (await engine.facts(signal)).rootless)
      refuse(
        'connections from an engine without root look like those of this machine, and the node listens beyond loopback',
      );
    const found = await subnetsOf(engine, mode, signal);
    const own = new BlockList();
    for (const { subnet } of found) addTo(own, subnet);
    const gateways = new Set(found.map(({ gateway }) => gateway));
    const inside = this.#own().filter((address) => !gateways.has(address) && own.check(address, familyOf(address)));
    if (inside.length > 0) refuse(`this node is in that network itself, as ${inside.join(', ')}`);
    if (found.length === 0 && !this.#onLoopback) refuse('the engine names no addresses of that network');
    for (const { subnet } of found) addTo(this.#known, subnet);
    this.#learned.add(mode);
  }
}

interface Subnet {
  readonly subnet: string;
  readonly gateway: string | undefined;
}

/** None where the engine has no such network: then it refuses the container, and says so. */
async function subnetsOf(engine: ContainerEngine, mode: string, signal: AbortSignal): Promise<readonly Subnet[]> {
  try {
    const { IPAM: ipam } = await engine.call(signal, (docker) => docker.getNetwork(mode).inspect());
    const parts: readonly Readonly<Record<string, unknown>>[] = ipam?.Config ?? [];
    return parts.flatMap(({ Subnet: subnet, Gateway: gateway }) =>
      typeof subnet === 'string' ? [{ subnet, gateway: typeof gateway === 'string' ? gateway : undefined }] : [],
    );
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIPv6(address) ? 'ipv6' : 'ipv4');

function addTo(list: BlockList, subnet: string): void {
  const [address = '', bits = ''] = subnet.split('/');
  list.addSubnet(address, Number(bits), familyOf(address));
}

const addressesOfThisMachine = (): readonly string[] =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => address);
