import type { Logger } from 'pino';
import type { NodeSettings } from '../manifests/node/settings.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Documents } from '../runtime/documents.ts';
import type { Random } from '../runtime/random.ts';
import type { RateLimits } from '../runtime/rate-limits.ts';
import { openApiKeys } from '../security/api-keys/api-keys.ts';
import { createTierLimits } from '../security/tier-limits.ts';

export interface CallersParts {
  readonly documents: Documents;
  readonly rateLimits: RateLimits;
  readonly settings: Pick<NodeSettings, 'rate_limits'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly warn: (message: string, error: unknown) => void;
  readonly logger: Logger;
}

/** Who may call with which key, and how much. `close` waits for writes under way. */
export async function openCallers(parts: CallersParts) {
  const { rateLimits, settings, logger } = parts;
  const keys = await openApiKeys({ ...parts, audit: (event, message) => logger.info(event, message) });
  const tierLimits = createTierLimits({ limits: rateLimits, settings: settings.rate_limits });
  return { keys, tierLimits, close: () => keys.close() };
}
