import { callOf, SURFACE } from '../surface.ts';
import type { Named, RouteRow } from './route-table.ts';

/** Rows of the surface whose path names one of these objects, as requests. */
export const pathRows = (named: Partial<Named>): RouteRow[] =>
  Object.entries(SURFACE).flatMap(([route, { thing, makes, access }]) => {
    if (thing === undefined || thing === 'node' || makes || access === 'public') return [];
    const things = route.includes('/lookup/')
      ? (['agentName'] as const)
      : thing === 'workflow'
        ? (['workflow', 'workflowName'] as const)
        : [thing];
    const question = (name: string) => callOf(route, name);
    return [{ route, field: 'path', things: things.filter((one) => one in named), question }];
  });
