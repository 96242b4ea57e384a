import { foundOrNull } from '../runtime/kit/found.ts';
import type { OpenStores } from '../runtime/open-stores.ts';
import type { StartedKind } from '../security/api.ts';
import { openApiKeys } from '../security/api-keys/api-keys.ts';
import { createTierLimits } from '../security/rate-bounds.ts';
import { createRateUsage, openRateOverrides } from '../security/rate-overrides.ts';
import { openRunningLimits } from '../security/running-limits.ts';
import type { ExecutionApi } from '../usecases/executions.ts';
import type { WorkflowApi } from '../usecases/workflow-runs.ts';
import type { NodeContext } from './node-context.ts';
import type { OpenSecrets } from './secrets.ts';

interface CallersParts {
  readonly context: NodeContext;
  readonly stores: Pick<OpenStores, 'documents' | 'rateLimits'>;
  readonly secrets: Pick<OpenSecrets, 'secretStore' | 'secretKeys'>;
}

interface Started {
  readonly executions: Pick<ExecutionApi, 'hasEnded'>;
  readonly workflows: Pick<WorkflowApi, 'status'>;
}

export type Callers = Awaited<ReturnType<typeof openCallers>>;

/** Opens the API keys and the limits of callers. `close` waits for writes in progress. */
export async function openCallers({ context, stores, secrets }: CallersParts) {
  const { clock, random, warn, logger } = context;
  const { documents, rateLimits } = stores;
  const settings = context.settings.rate_limits;
  const audit = (event: Readonly<Record<string, string | null>>, message: string): void => logger.info(event, message);
  const keys = await openApiKeys({ documents, clock, random, warn, audit });
  const rateOverrides = await openRateOverrides({ documents, clock, audit });
  return {
    keys,
    rateOverrides,
    tierLimits: createTierLimits({ limits: rateLimits, settings, overrides: rateOverrides }),
    close: () => keys.close(),
    secretStore: secrets.secretStore,
    secretKeys: secrets.secretKeys,

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
  if (kind === 'execution') return foundOrNull(executions.hasEnded(tenant, id, { orIsCancelled: true }));
  const run = await foundOrNull(workflows.status(tenant, id));
  return run && run.ended_at !== null;
}
