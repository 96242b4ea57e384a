import { callOf, SURFACE } from '../surface.ts';
import type { IsolatedTenants, Things } from './isolated-tenants.ts';
import type { OwnThings } from './own-things.ts';

/**
 * Everything that the owner sees of the objects, over every route that shows one, to check that no other caller changed
 * them.
 */
export async function snapshot(
  setup: IsolatedTenants,
  owner: string,
  things: Things | OwnThings,
): Promise<Readonly<Record<string, string>>> {
  const shown: Record<string, string> = {};
  const names = new Map(Object.entries(things));
  const more = { execution: ['running'], run: ['endedRun'] };
  for (const [operation, { thing }] of Object.entries(SURFACE)) {
    if (!operation.startsWith('GET ') || operation.endsWith('/stream') || thing === undefined) continue;
    if (operation.includes('/webhooks/') || thing === 'key') continue;
    // Each read of a file is an event.
    if (operation === 'GET /v1/volumes/{id}/events') continue;
    const kinds = [thing, ...(thing === 'execution' || thing === 'run' ? more[thing] : [])];
    for (const kind of kinds) {
      const name = names.get(operation.includes('/lookup/') ? `${kind}Name` : kind);
      if (name === undefined) continue;
      const { method, path, ask } = callOf(operation, name);
      const { status, text, body } = await setup.ask(owner, method, path, ask);
      // A running one continues to change.
      shown[`${operation} ${kind}`] = kind === 'running' ? `${status} ${body.status}` : `${status} ${text}`;
    }
  }
  return shown;
}
