import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ActorDefinition } from '../runtime/define-actor.ts';
import type { EffectHandler } from '../runtime/effect.ts';
import { type OpenStores, openStores, type PayloadEncryption } from '../runtime/open-stores.ts';
import { type Runtime, type RuntimeSettings, startRuntime } from '../runtime/runtime.ts';
import type { Tracing } from '../runtime/tracing/spans.ts';

export interface EmbeddedNode {
  readonly directory: string;
  readonly ports: OpenStores;
  readonly runtime: Runtime;
  stop(): Promise<void>;
}

/** A runtime on SQLite files in a directory of its own, inside this process. */
export async function startEmbedded(
  definitions: readonly ActorDefinition[],
  handlers: readonly EffectHandler[] = [],
  settings: Partial<RuntimeSettings> = {},
  { tracing, encryption }: { readonly tracing?: Tracing; readonly encryption?: PayloadEncryption | undefined } = {},
): Promise<EmbeddedNode> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-bench-'));
  const warn = (message: string, error: unknown): void => console.error(message, error);
  const ports = await openStores({ dataDir: directory, encryption, warn });
  const runtime = await startRuntime({ ...ports, definitions, handlers, node: 'bench', settings, warn, tracing });
  return {
    directory,
    ports,
    runtime,
    async stop() {
      await runtime.stop();
      await ports.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
