import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { createContainerEffect } from '../../effects/containers/container-effect.ts';
import { ContainerEngine } from '../../effects/containers/engine.ts';
import { ContainerInput } from '../../effects/containers/input.ts';
import type { ContainerOwner, ContainerParts } from '../../effects/containers/settings.ts';
import { type ContainerStarts, createContainerStarts } from '../../effects/containers/state.ts';
import { addressOf } from '../../runtime/address.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { EffectContext } from '../../runtime/effect.ts';
import { SvcError } from '../../runtime/errors.ts';
import { SqliteDocuments } from '../../runtime/sqlite/documents.ts';
import type { VolumeDirectories, VolumeHolds } from '../../usecases/ports/volumes.ts';
import { effectContext } from './effect-context.ts';
import { BUSYBOX, TestPodman } from './podman.ts';

const Result = z.strictObject({
  exit_code: z.number().int(),
  stdout: z.string(),
  stderr: z.string(),
  duration_ms: z.number(),
  stdout_truncated: z.boolean(),
  stderr_truncated: z.boolean(),
  stdout_bytes: z.number().int(),
  stderr_bytes: z.number().int(),
  timed_out: z.boolean(),
  oom_killed: z.boolean(),
  failure: z.object({ code: z.string(), message: z.string() }).optional(),
  stopped_by: z.enum(['timeout', 'memory', 'output']).optional(),
});
type Result = z.output<typeof Result>;

export const LIMITS: ContainerParts['limits'] = {
  networkMode: 'none',
  pids: 64,
  cpuMillicores: 2_000,
  memoryBytes: 256 * 1_048_576,
  readOnlyRoot: false,
  tmpBytes: 16 * 1_048_576,
  outputBytes: 1_073_741_824,
  alwaysPull: false,
};

export const TENANT = 'acme';
export const REALM = 'bench';

type Asked = Partial<z.input<typeof ContainerInput>>;
type Given = Partial<Pick<EffectContext, 'effectId' | 'attempt' | 'signal' | 'tenant'>>;

/** A private Podman and `container.run` on it. */
export interface PodmanUnderTest extends AsyncDisposable {
  readonly podman: TestPodman;
  readonly parts: ContainerParts & { readonly engine: ContainerEngine };
  readonly starts: ContainerStarts;
  /** Ids of effects whose result is no longer needed. */
  readonly unwanted: Set<string>;
  /** Warnings so far. */
  readonly warnings: string[];
  /** Sizes a volume may have, by id. */
  readonly quotas: Map<string, number>;
  volume(id: string): string;
  run(asked?: Asked, given?: Given): Promise<Result>;
  /** The same with other parts, as another node has them. */
  runOn(parts: Partial<ContainerParts>, asked?: Asked, given?: Given): Promise<Result>;
}

export async function podmanUnderTest(
  given: { readonly podman?: TestPodman; readonly parts?: Partial<ContainerParts>; readonly patienceMs?: number } = {},
): Promise<PodmanUnderTest> {
  const podman = given.podman ?? (await TestPodman.start());
  const documents = new SqliteDocuments({ directory: join(podman.directory, 'documents') });
  await documents.open();
  const starts = await createContainerStarts(documents);
  const unwanted = new Set<string>();
  const warnings: string[] = [];
  const quotas = new Map<string, number>();
  const { patienceMs = 5_000 } = given;
  const engine = new ContainerEngine({
    location: { socketPath: podman.socketPath },
    clock: systemClock,
    patienceMs,
  });
  const parts = {
    limits: LIMITS,
    volumes: directories(join(podman.directory, 'volumes'), quotas),
    secrets: { resolve: async (_: string, reference: string) => Promise.reject(notSet(reference)) },
    starts,
    isWanted: async ({ effectId }: ContainerOwner) => !unwanted.has(effectId),
    node: 'node-a',
    realm: REALM,
    clock: systemClock,
    warn: (message: string) => void warnings.push(message),
    quotaEveryMs: 50,
    startSettleMs: 300,
    ...given.parts,
    engine,
  };
  const runOn = async (other: Partial<ContainerParts>, asked: Asked = {}, given: Given = {}) =>
    runEffect({ ...parts, ...other }, asked, given);
  return {
    podman,
    parts,
    starts,
    unwanted,
    warnings,
    quotas,
    volume: (id) => join(podman.directory, 'volumes', TENANT, id),
    run: (asked, given) => runOn({}, asked, given),
    runOn,
    async [Symbol.asyncDispose]() {
      await documents.close();
      await podman[Symbol.asyncDispose]();
    },
  };
}

/** Runs the handler as the runner does. */
export async function runEffect(parts: ContainerParts, asked: Asked, given: Given): Promise<Result> {
  const effect = createContainerEffect(parts);
  const defaults = { workflow_execution_id: 'w1', state_name: 'BUILD', image: BUSYBOX, timeout_ms: 20_000 };
  const parsed = ContainerInput.safeParse({ ...defaults, command: ['true'], ...asked });
  if (!parsed.success) throw new SvcError('invalid_argument', parsed.error.issues.map((one) => one.message).join('; '));
  const tenant = given.tenant ?? TENANT;
  const context = effectContext({ tenant, address: addressOf('workflow', tenant, 'w1'), ...given });
  return Result.parse(await effect.run(parsed.data, context));
}

/** The containers of a node in a process of its own, whose only volume is a directory. */
export async function containersOf(socketPath: string, documents: SqliteDocuments, volume: string) {
  return {
    engine: new ContainerEngine({ location: { socketPath }, clock: systemClock }),
    limits: LIMITS,
    volumes: {
      open: async () => ({
        directory: volume,
        sizeLimitBytes: null,
        known: { size_limit_bytes: null, workflow_execution_id: null },
      }),
      checkQuota: async () => {},
      hold: () => () => {},
    },
    secrets: { resolve: async () => '' },
    starts: await createContainerStarts(documents),
    isWanted: async () => true,
    node: 'node-b',
    realm: REALM,
    clock: systemClock,
    warn: () => {},
  };
}

export const sh = (script: string): { readonly command: string[] } => ({ command: ['sh', '-c', script] });

const notSet = (reference: string) => new SvcError('failed_precondition', `${reference} is not set`);

function directories(root: string, quotas: ReadonlyMap<string, number>): VolumeDirectories & VolumeHolds {
  return {
    async open(tenant, volumeId) {
      const directory = join(root, tenant, volumeId);
      await mkdir(directory, { recursive: true });
      const sizeLimitBytes = quotas.get(volumeId) ?? null;
      const known = { size_limit_bytes: sizeLimitBytes, workflow_execution_id: null };
      return { directory, sizeLimitBytes, known };
    },
    hold: () => () => {},
    async checkQuota(tenant, volumeId) {
      const limit = quotas.get(volumeId);
      if (limit === undefined) return;
      if ((await bytesIn(join(root, tenant, volumeId))) > limit) throw new SvcError('quota_exceeded');
    },
  };
}

async function bytesIn(directory: string): Promise<number> {
  const names = await readdir(directory);
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(directory, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
