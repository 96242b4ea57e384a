import { mongoMissing } from './ferretdb.ts';
import { redisMissing } from './redis.ts';

/** The reason to skip a test that needs both servers, Redis and MongoDB; false when both can be started. */
export const serversMissing = (): string | false => redisMissing() ?? mongoMissing();
