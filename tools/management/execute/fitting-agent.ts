import { createHash } from 'node:crypto';
import type { AgentCatalog, CatalogReader, CatalogSearch } from '../../../catalog/api.ts';
import { unless } from '../failure.ts';
import type { IntentRequest } from './request.ts';

/** Label of agents that write programs of the language it names for one kind of goal: these alone are taken again. */
export const WRITES_LABEL = 'svc.dev/writes';

const SLUG_CHARS = 45;
const HASH_CHARS = 8;

/** Name of the agent that is made for a goal: the same goal finds it again, however the search words it. */
export function writerName({ intent, language }: Pick<IntentRequest, 'intent' | 'language'>): string {
  const words = intent.trim().toLowerCase();
  const slug = words
    .normalize('NFKD')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, SLUG_CHARS)
    .replace(/^-+|-+$/g, '');
  const hash = createHash('sha256')
    .update(JSON.stringify([language, words]))
    .digest('hex');
  return `${slug === '' ? 'program' : slug}-${hash.slice(0, HASH_CHARS)}`;
}

export interface FittingAgent {
  readonly id: string;
  /** How like the goal it is, 0 to 1. Absent: it was made for this very goal. */
  readonly score?: number;
}

/**
 * An agent whose programs reach such a goal: the one that was made for it, else the one that the search finds like
 * enough. Null when there is none, and where memory is switched off and none has the name.
 */
export async function fittingAgent(
  ports: { readonly agents: Pick<AgentCatalog, 'lookup'>; readonly search: CatalogSearch; readonly minScore: number },
  reader: CatalogReader,
  request: Pick<IntentRequest, 'intent' | 'language'>,
): Promise<FittingAgent | null> {
  const { agents, search, minScore } = ports;
  const { intent, language } = request;
  const made = await unless('not_found', agents.lookup(reader, writerName(request)));
  if (made?.labels[WRITES_LABEL] === language && made.status === 'deployed') return { id: made.agent_id };
  const asked = { query: intent, limit: 1, minScore, labels: { [WRITES_LABEL]: language }, status: 'deployed' };
  const [best] = (await unless('cortex_not_configured', search.agents(reader, asked))) ?? [];
  return best === undefined ? null : { id: best.id, score: best.score };
}
