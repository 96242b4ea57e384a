import { randomInt } from 'node:crypto';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Partition, partitionsOf } from '../../../runtime/address.ts';
import { builtProgram } from '../built-programs.ts';
import { startMongo, type TestMongo } from '../ferretdb.ts';
import { type Direction, type Link, startLink } from '../link.ts';
import { livenessBroken } from '../liveness.ts';
import { type RedisServer, startRedis } from '../redis.ts';
import { serversMissing } from '../servers-missing.ts';
import { waitUntil } from '../wait-until.ts';
import { FleetClient } from './fleet-client.ts';
import { LocalFigures } from './fleet-options.ts';
import { FleetProcess } from './fleet-process.ts';
import { Guard } from './guard.ts';
import { nodeConfig } from './node-config.ts';
import type { PackagedNode } from './packaged-node.ts';
import { storeLeases } from './store-leases.ts';

interface ClusterOptions {
  /** Number of nodes; `started` of them run at first, the others after `start`. */
  readonly nodes: number;
  /** How many nodes run at first. Default: all. */
  readonly started?: number;
  /** Processes that only call. Default 1. */
  readonly adapters?: number;
  /** Overrides of `spec` in every node's configuration. */
  readonly config?: Readonly<Record<string, object>>;
  /** Tags by index of the node. Default: none. */
  readonly tags?: readonly (readonly string[])[];
  readonly appendfsync?: 'always' | 'everysec';
  /** Module with the actors and effects of the nodes. */
  readonly workload: URL;
  /** Share of store calls whose answer is lost on purpose, 0 to 1. Default 0. */
  readonly ambiguity?: number;
  /** Whether nodes can reach each other, so that they see a death at once. Default true. */
  readonly watched?: boolean;
  readonly seed?: number;
  /** Starts the nodes as the npm package does. Its script has the workload. Default: from the sources. */
  readonly packaged?: PackagedNode;
}

/** False when a cluster can be had on this machine, else why not. */
export function clusterMissing(): string | false {
  return serversMissing();
}

/** A node by its index or its name, `node-0` … */
type Who = number | string;

interface Member {
  readonly process: FleetProcess;
  readonly link: Link;
  readonly clockFile: string | null;
}

/** Of pool `default`. */
export const PARTITIONS = 32;

/**
 * A fleet of real processes on a real Redis and a real MongoDB-wire server, with methods for the faults of fleets.
 * Each process has its own data directory and its own link to Redis. All of it ends with the test process.
 */
export class Cluster {
  readonly seed: number;
  readonly client: FleetClient;
  readonly redis: RedisServer;
  readonly directory: string;
  readonly #mongo: TestMongo;
  readonly #guard: Guard;
  readonly #members: readonly Member[];
  readonly #adapters: readonly Member[];

  constructor(parts: {
    seed: number;
    directory: string;
    redis: RedisServer;
    mongo: TestMongo;
    guard: Guard;
    members: readonly Member[];
    adapters: readonly Member[];
  }) {
    this.seed = parts.seed;
    this.directory = parts.directory;
    this.redis = parts.redis;
    this.#mongo = parts.mongo;
    this.#guard = parts.guard;
    this.#members = parts.members;
    this.#adapters = parts.adapters;
    this.client = new FleetClient(parts.adapters.map(({ process }) => process));
  }

  /** Names in order of index. */
  get names(): readonly string[] {
    return this.#members.map(({ process }) => process.name);
  }

  node(who: Who): FleetProcess {
    return this.#member(who).process;
  }

  link(who: Who): Link {
    return this.#member(who).link;
  }

  /** Nodes whose process runs, frozen ones included. */
  get running(): readonly FleetProcess[] {
    return this.#members.map(({ process }) => process).filter((one) => one.isRunning);
  }

  /** Starts a node and waits until it serves. */
  async start(who: Who): Promise<void> {
    const node = this.node(who);
    node.spawn();
    await node.ready;
  }

  /** SIGTERM; resolves when the node is gone. */
  stop(who: Who): Promise<void> {
    return this.node(who).stop();
  }

  /** kill -9. */
  kill(who: Who): Promise<void> {
    return this.node(who).kill();
  }

  /** SIGSTOP: its connections stay open and nothing comes. */
  freeze(who: Who): void {
    this.node(who).freeze();
  }

  thaw(who: Who): void {
    this.node(who).thaw();
  }

  /** Between the node and Redis. */
  cut(who: Who, direction: Direction): void {
    this.link(who).cut(direction);
  }

  /** Adds latency between the node and Redis, each way. */
  slow(who: Who, ms: number): void {
    this.link(who).slow(ms);
  }

  heal(who: Who): void {
    this.link(who).heal();
  }

  /** Shifts the clock of a node, running or not; see `skewed-clock.ts`. */
  async skewClock(who: Who, ms: number): Promise<void> {
    const { process, clockFile } = this.#member(who);
    if (clockFile === null) throw new Error(`${process.name} has no clock of its own`);
    await writeFile(clockFile, String(ms));
    // One that is still loading has the preload's handler first of all.
    if (process.isRunning) process.signal('SIGUSR2');
  }

  async killStore(): Promise<void> {
    const { pid } = this.redis;
    await this.redis.kill();
    this.#guard.forget(pid);
  }

  /** kill -9 of Redis and a start on its files. */
  async restartStore(): Promise<void> {
    await this.killStore();
    await this.redis.restart();
    this.#guard.watch(this.redis.pid);
  }

  /** The process of an adapter, so that a test can kill it. */
  adapter(index: number): FleetProcess {
    return at(this.#adapters, index, 'adapter').process;
  }

  async startAdapter(index: number): Promise<void> {
    const adapter = this.adapter(index);
    adapter.spawn();
    await adapter.ready;
  }

  /** What a node owns and has done; null when it does not answer. */
  local(who: Who, limitMs = 2_000): Promise<LocalFigures | null> {
    return this.#get(who, '/local', limitMs).then((value) => (value === null ? null : LocalFigures.parse(value)));
  }

  /** The default partitions of each running node by the store: epochs of its leases, by partition. */
  async holders(): Promise<ReadonlyMap<string, ReadonlyMap<Partition, number>>> {
    const leases = await storeLeases(this.redis.port, partitionsOf({ pool: 'default', partitions: PARTITIONS }));
    const holders = new Map(this.running.map(({ name }) => [name, new Map<Partition, number>()]));
    for (const [partition, { node, epoch }] of leases) holders.get(node)?.set(partition, epoch);
    return holders;
  }

  /** Waits until every running node answers and every partition is held by one of them; answers who holds which. */
  settled(why: string, timeoutMs = 60_000): Promise<ReadonlyMap<string, ReadonlyMap<Partition, number>>> {
    return this.waitUntil(
      `the fleet to be settled ${why}`,
      async () => {
        const locals = await Promise.all(this.running.map(({ name }) => this.local(name)));
        if (locals.includes(null)) return false;
        const holders = await this.holders();
        const held = [...holders.values()].reduce((sum, one) => sum + one.size, 0);
        return held === PARTITIONS && [...holders.values()].every(({ size }) => size > 0) && holders;
      },
      timeoutMs,
    );
  }

  /** How often a node activated each actor; null when it does not answer. */
  async loads(who: Who): Promise<ReadonlyMap<string, number> | null> {
    const value = await this.#get(who, '/loads', 5_000);
    if (typeof value !== 'object' || value === null) return null;
    return new Map(Object.entries(value).map(([address, count]) => [address, Number(count)]));
  }

  /** Waits for a condition; the time-out's error shows the ends of all logs. */
  async waitUntil<T>(
    why: string,
    condition: () => T | null | undefined | false | Promise<T | null | undefined | false>,
    timeoutMs = 30_000,
  ): Promise<T> {
    return this.explained(waitUntil(why, condition, timeoutMs));
  }

  /** Runs the function; adds the seed and the logs to its error. */
  async explained<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      throw new Error(`${text}\nseed ${this.seed}\n${this.logs()}`, { cause: error });
    }
  }

  /** The end of what each process wrote. */
  logs(chars = 1_500): string {
    return [...this.#members, ...this.#adapters]
      .map(({ process }) => `--- ${process.name}\n${process.log.slice(-chars)}`)
      .join('\n');
  }

  /** What is still under way after the faults have stopped, a sentence each; `ended`: ids of runs that have ended. */
  async livenessBroken(ended: readonly string[] = []): Promise<string[]> {
    const url = (await this.running[0]?.ready)?.rest;
    if (url === undefined || url === null) return ['no node runs: nothing was looked at'];
    return livenessBroken({ location: { dataDir: this.directory, redis: [this.redis.url] }, url, ended });
  }

  /** Names of processes that ended although no verb asked for it. */
  get crashed(): readonly string[] {
    return [...this.#members, ...this.#adapters]
      .filter(({ process }) => process.hasCrashed)
      .map(({ process }) => process.name);
  }

  /** Ends everything by pid and removes the data. */
  async destroy(): Promise<void> {
    const all = [...this.#members, ...this.#adapters];
    await Promise.all(all.map(({ process }) => process.kill()));
    await Promise.all([this.redis.stop(), this.#mongo.stop(), ...all.map(({ link }) => link.close())]);
    await this.#guard.end();
  }

  #member(who: Who): Member {
    const index = typeof who === 'number' ? who : this.names.indexOf(who);
    return at(this.#members, index, `node ${who}`);
  }

  async #get(who: Who, path: string, limitMs: number): Promise<unknown> {
    const node = this.node(who);
    if (!node.isRunning) return null;
    try {
      return await node.get(path, limitMs);
    } catch {
      return null;
    }
  }
}

function at<T>(list: readonly T[], index: number, what: string): T {
  const found = list[index];
  if (found === undefined) throw new Error(`the cluster has no ${what}`);
  return found;
}

/** Resolves when every started node answers and the adapters take calls. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const seed = options.seed ?? randomInt(1_000_000);
  const directory = await mkdtemp(join(tmpdir(), 'svc-cluster-'));
  const guard = new Guard(directory);
  const [redis, mongo] = await Promise.all([
    startRedis({ appendfsync: options.appendfsync ?? 'always' }),
    startMongo(),
  ]);
  guard.watch(redis.pid);
  const shared = {
    watched: options.watched ?? true,
    workload: pathToFileURL(builtProgram(options.workload.pathname)).href,
    ambiguity: options.ambiguity ?? 0,
  };
  const makeMember = async (index: number): Promise<Member> => {
    const name = `node-${index}`;
    const dataDir = join(directory, name);
    await mkdir(dataDir);
    const link = await startLink(redis.port);
    const clockFile = join(directory, `${name}.clock`);
    await writeFile(clockFile, '0');
    const config = nodeConfig({
      node: name,
      dataDir,
      redis: `redis://127.0.0.1:${link.port}`,
      mongodb: mongo.uri,
      partitions: PARTITIONS,
      tags: options.tags?.[index] ?? [],
      watched: options.watched ?? true,
      over: options.config ?? {},
    });
    const configFile = join(directory, `${name}.json`);
    await writeFile(configFile, JSON.stringify(config));
    const preload = new URL('skewed-clock.ts', import.meta.url);
    preload.searchParams.set('file', clockFile);
    const process = new FleetProcess({
      name,
      program: new URL(options.packaged === undefined ? 'fleet-node.ts' : 'start-packaged.ts', import.meta.url),
      options: { ...shared, configFile, seed: seed + index, script: options.packaged?.script },
      env: options.packaged?.env,
      nodeArgs: ['--import', preload.href],
      guard,
    });
    return { process, link, clockFile };
  };
  const makeAdapter = async (index: number): Promise<Member> => {
    const name = `adapter-${index}`;
    const dataDir = join(directory, name);
    await mkdir(dataDir);
    const link = await startLink(redis.port);
    const process = new FleetProcess({
      name,
      program: new URL('adapter.ts', import.meta.url),
      options: {
        ...shared,
        dataDir,
        redis: `redis://127.0.0.1:${link.port}`,
        mongodb: mongo.uri,
        partitions: PARTITIONS,
        seed: seed + 1_000 + index,
      },
      guard,
    });
    return { process, link, clockFile: null };
  };
  const count = (length: number): number[] => Array.from({ length }, (_, index) => index);
  const members = await Promise.all(count(options.nodes).map(makeMember));
  const adapters = await Promise.all(count(options.adapters ?? 1).map(makeAdapter));
  const cluster = new Cluster({ seed, directory, redis, mongo, guard, members, adapters });
  try {
    // The first node fixes the number of partitions before the others start.
    const started = options.started ?? options.nodes;
    if (started > 0) await cluster.start(0);
    for (const index of count(started).slice(1)) cluster.node(index).spawn();
    for (const { process } of adapters) process.spawn();
    await Promise.all([...cluster.running, ...adapters.map(({ process }) => process)].map((one) => one.ready));
  } catch (error) {
    const logs = cluster.logs();
    await cluster.destroy();
    throw new Error(`the cluster did not start: ${String(error)}\n${logs}`, { cause: error });
  }
  return cluster;
}
