import type { AgentCatalog, CatalogReader } from '../../catalog/api.ts';
import { SvcError } from '../../runtime/errors.ts';
import { UUID } from '../../runtime/random.ts';
import { AGENT_ID_TEXT } from './schemas/fields.ts';

/**
 * The UUID of the agent that a caller names by its UUID or its name, the caller's own scope first. A UUID is never read
 * as a name. Throws `invalid_argument` with the fixed text for what is neither a UUID nor a name that the caller sees.
 */
export async function agentNamed(
  agents: Pick<AgentCatalog, 'lookup'>,
  reader: CatalogReader,
  given: string,
): Promise<string> {
  if (UUID.test(given)) return given.toLowerCase();
  try {
    return (await agents.lookup(reader, given)).agent_id;
  } catch (thrown) {
    if (!(thrown instanceof SvcError) || thrown.code !== 'not_found') throw thrown;
    throw new SvcError('invalid_argument', AGENT_ID_TEXT, { cause: thrown });
  }
}
