import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { toolPolicy } from '../../app/product-actors.ts';
import { openTools } from '../../app/tools.ts';
import { createModelEffect } from '../../effects/models/model-effect.ts';
import { createVolumes } from '../../effects/volumes/volumes.ts';
import { resolveSettings } from '../../manifests/node/settings.ts';
import type { ToolPolicy } from '../../manifests/tool/decision.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { EffectHandler } from '../../runtime/effect.ts';
import type { OpenStores } from '../../runtime/open-stores.ts';
import { systemRandom } from '../../runtime/random.ts';
import { createTierLimits } from '../../security/rate-bounds.ts';
import { script } from './agent.ts';

export interface LoopParts {
  readonly policy: ToolPolicy;
  readonly handlers: readonly EffectHandler[];
  close(): Promise<void>;
}

const warn = (message: string, error: unknown): void => console.error(message, error);

/** Effects as a node has them: the scripted model, tools over volumes, limits of users. */
export async function openLoopParts(ports: OpenStores, directory: string): Promise<LoopParts> {
  const path = join(directory, 'answers.yaml');
  await writeFile(path, script());
  const provider = { name: 'script', type: 'scripted', script: path, models: [{ alias: 'default', model: 'script' }] };
  const file = JSON.stringify({
    ...{ apiVersion: 'svc.dev/v1', kind: 'NodeConfig', metadata: { name: 'bench' } },
    spec: { llm_providers: [provider] },
  });
  const resolved = resolveSettings({ flags: {}, env: {}, file });
  if (!resolved.ok) throw new Error(JSON.stringify(resolved.problems));
  const { settings } = resolved;
  const parts = { ...ports, clock: systemClock, random: systemRandom, warn, settings };
  const tierLimits = createTierLimits({ limits: ports.rateLimits, settings: settings.rate_limits });
  const secrets = { resolve: async (_tenant: string, reference: string) => reference };
  const volumes = await createVolumes({
    ...parts,
    root: join(directory, 'volumes'),
    limits: { defaultTtlHours: 24, defaultSizeLimitMb: 1_024, maxSizeLimitMb: 10_240 },
    ended: async () => false,
  });
  const tools = openTools({
    ...{ ...parts, tierLimits, volumes, secrets, dataDir: directory, workspaces: join(directory, 'workspaces') },
    ...{ view: null, engine: null, allow: () => true },
    log: { debug: () => {}, warn: console.warn },
  });
  const model = createModelEffect({
    ...{ providers: settings.llm_providers, selection: settings.llm_selection, secrets },
    ...{ blobs: ports.blobs, limits: tierLimits },
  });
  return {
    policy: toolPolicy(settings),
    handlers: [model, ...tools.handlers],
    async close() {
      await tools.close();
      await volumes.close();
    },
  };
}
