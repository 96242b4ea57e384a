import type { z } from 'zod';
import type { CatalogScope } from '../../catalog/api.ts';
import type { Identity } from '../../runtime/identity.ts';
import type { ScopeBody } from './schemas/catalog.ts';

/** What agents and workflows have both. */
interface Movable<Entry> {
  promote(identity: Identity, named: string, target: 'tenant' | 'global'): Promise<Entry>;
  demote(identity: Identity, named: string, target: 'tenant' | 'user', userId?: string): Promise<Entry>;
}

/** One move of POST …/scope: what stands there now, and how the answer says it. */
export async function changeScope<Entry>(
  catalog: Movable<Entry>,
  caller: Identity,
  named: string,
  body: z.output<typeof ScopeBody>,
): Promise<{ entry: Entry; done: { target_scope: CatalogScope; promoted?: true; demoted?: true } }> {
  const { target_scope } = body;
  if (body.action === 'promote') {
    const entry = await catalog.promote(caller, named, body.target_scope);
    return { entry, done: { promoted: true, target_scope } };
  }
  const entry = await catalog.demote(caller, named, body.target_scope, body.user_id);
  return { entry, done: { demoted: true, target_scope } };
}
