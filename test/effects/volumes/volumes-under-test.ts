import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createVolumes, type Volumes, type VolumesOptions } from '../../../effects/volumes/volumes.ts';
import type { Identity } from '../../../runtime/identity.ts';
import { systemRandom } from '../../../runtime/random.ts';
import { SqliteDocuments } from '../../../runtime/sqlite/documents.ts';
import type { StorageEvent } from '../../../usecases/ports/volumes.ts';

export const MiB = 1024 * 1024;
export const ACME: Identity = { kind: 'local', subject: 'ada', tenant: 'acme', roles: [], tier: 'free' };
export const OTHER: Identity = { ...ACME, tenant: 'other' };
export const RUN = '11111111-1111-4111-8111-111111111111';

/** Volumes in a private directory over real documents, with a clock that the test may advance. */
export interface VolumesUnderTest extends AsyncDisposable {
  readonly directory: string;
  readonly root: string;
  readonly volumes: Volumes;
  readonly events: StorageEvent[];
  readonly warnings: string[];
  /** Workflow executions that are running. */
  readonly running: Set<string>;
  readonly clock: { skewMs: number } & VolumesOptions['clock'];
  /** Names of events of one volume since the last call. */
  named(): string[];
  /** The same directory and documents, as after a restart. */
  again(): Promise<Volumes>;
  volume(sizeBytes?: number): Promise<string>;
}

export async function volumesUnderTest(
  options: Partial<VolumesOptions> & { readonly directory?: string } = {},
): Promise<VolumesUnderTest> {
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), 'svc-volumes-')));
  const root = join(directory, 'volumes');
  const documents = new SqliteDocuments({ directory: join(directory, 'documents') });
  await documents.open();
  const events: StorageEvent[] = [];
  const warnings: string[] = [];
  const running = new Set<string>();
  const clock = {
    skewMs: 0,
    now: () => Date.now() + clock.skewMs,
    monotonic: () => performance.now(),
    after(delayMs: number, call: () => void) {
      const timer = setTimeout(call, delayMs);
      timer.unref();
      return () => clearTimeout(timer);
    },
  };
  const make = () =>
    createVolumes({
      ...{ root, documents, clock, random: systemRandom },
      limits: { defaultTtlHours: 24, defaultSizeLimitMb: 8, maxSizeLimitMb: 100 },
      ended: async (_tenant, id) => !running.has(id),
      warn: (message) => void warnings.push(message),
      onEvent: (event) => void events.push(event),
      ...options,
    });
  const volumes = await make();
  let read = 0;
  return {
    ...{ directory, root, volumes, events, warnings, running, clock },
    again: make,
    named() {
      const names = events.slice(read).map(({ event }) => event);
      read = events.length;
      return names;
    },
    async volume(sizeBytes) {
      const name = `v-${systemRandom.uuid()}`;
      const size = sizeBytes === undefined ? {} : { size_limit_bytes: sizeBytes };
      return (await volumes.create(ACME, { name, storage_class: 'persistent', ...size })).id;
    },
    async [Symbol.asyncDispose]() {
      await volumes.close();
      await documents.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
