import { join } from 'node:path';
import type { Logger } from 'pino';
import type { NodeSettings } from '../manifests/node/settings.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Documents } from '../runtime/documents.ts';
import { SvcError } from '../runtime/errors.ts';
import type { Random } from '../runtime/random.ts';
import type { RateLimits } from '../runtime/rate-limits.ts';
import type { StartedKind } from '../security/api.ts';
import { openApiKeys } from '../security/api-keys/api-keys.ts';
import { createTierLimits } from '../security/rate-bounds.ts';
import { createRateUsage, openRateOverrides } from '../security/rate-overrides.ts';
import { openRunningLimits } from '../security/running-limits.ts';
import { createFileSecretStore } from '../security/secret-store/file-secret-store.ts';
import type { ExecutionApi } from '../usecases/executions.ts';
import type { WorkflowApi } from '../usecases/workflow-runs.ts';

export interface CallersParts {
  readonly documents: Documents;
  readonly rateLimits: RateLimits;
  readonly settings: Pick<NodeSettings, 'rate_limits'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly warn: (message: string, error: unknown) => void;
  readonly logger: Logger;
  readonly dataDir: string;
}

interface Started {
  readonly executions: Pick<ExecutionApi, 'hasEnded'>;
  readonly workflows: Pick<WorkflowApi, 'status'>;
}

/** Opens the API keys, the limits of callers and the secrets of tenants. `close` waits for writes in progress. */
export async function openCallers(parts: CallersParts) {
  const { documents, clock, rateLimits, logger } = parts;
  const settings = parts.settings.rate_limits;
  const audit = (event: Readonly<Record<string, string | null>>, message: string): void => logger.info(event, message);
  const keys = await openApiKeys({ ...parts, audit });
  const rateOverrides = await openRateOverrides({ documents, clock, audit });
  const tierLimits = createTierLimits({ limits: rateLimits, settings, overrides: rateOverrides });
  return {
    ...{ keys, rateOverrides, tierLimits, close: () => keys.close() },
    secretStore: createFileSecretStore({ directory: join(parts.dataDir, 'secrets'), clock, audit }),

    /** Connects the parts that need to know which runs exist, once the runtime is started. */
    async running(started: Started) {
      const overrides = rateOverrides;
      const hasEnded = (kind: StartedKind, tenant: string, id: string) => endOf(started, kind, tenant, id);
      const runningLimits = await openRunningLimits({ documents, settings, overrides, clock, hasEnded });
      const rateUsage = createRateUsage({ limits: rateLimits, settings, overrides, running: runningLimits });
      return { runningLimits, rateUsage };
    },
  };
}

/** Whether a run has ended; null when it is unknown. */
async function endOf(
  { executions, workflows }: Started,
  kind: StartedKind,
  tenant: string,
  id: string,
): Promise<boolean | null> {
  try {
    if (kind === 'execution') return await executions.hasEnded(tenant, id);
    return (await workflows.status(tenant, id)).ended_at !== null;
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.code === 'not_found') return null;
    throw thrown;
  }
}
