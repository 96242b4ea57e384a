import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type RouteComponent,
  retainSearchParams,
} from '@tanstack/react-router';
import { NotFound } from '../pages/not-found.tsx';
import { RunsPage } from '../pages/runs.tsx';
import { Failure, Loading } from '../parts/notice.tsx';
import { parseSearch, type Search, stringifySearch } from './search-params.ts';
import { Shell } from './shell.tsx';

/** Every page keeps its filters in the address, as texts. */
const textsOf = (search: Record<string, unknown>): Search =>
  Object.fromEntries(Object.entries(search).map(([name, value]) => [name, String(value)]));

const root = createRootRoute({
  component: Shell,
  notFoundComponent: NotFound,
  validateSearch: textsOf,
  // A service account stays in the tenant in which it acts, from page to page.
  search: { middlewares: [retainSearchParams<Search>(['tenant'])] },
});

const page = <Path extends string>(path: Path, component: RouteComponent) =>
  createRoute({
    getParentRoute: () => root,
    path,
    component,
    validateSearch: textsOf,
  });

const actors = () => import('../pages/actor.tsx');
const lists = () => import('../pages/lists.tsx');

const routes = root.addChildren([
  page(
    '/',
    lazyRouteComponent(() => import('../pages/overview.tsx'), 'OverviewPage'),
  ),
  page('/runs', RunsPage),
  page(
    '/runs/$kind/$id',
    lazyRouteComponent(() => import('../pages/run/page.tsx'), 'RunPage'),
  ),
  page(
    '/approvals',
    lazyRouteComponent(() => import('../pages/approvals.tsx'), 'ApprovalsPage'),
  ),
  page(
    '/traces',
    lazyRouteComponent(() => import('../pages/trace/list.tsx'), 'TracesPage'),
  ),
  page(
    '/traces/$id',
    lazyRouteComponent(() => import('../pages/trace/page.tsx'), 'TracePage'),
  ),
  page('/actors', lazyRouteComponent(actors, 'ActorsPage')),
  page('/actors/$kind/$id', lazyRouteComponent(actors, 'ActorPage')),
  page(
    '/dead-letters',
    lazyRouteComponent(() => import('../pages/dead-letters.tsx'), 'DeadLettersPage'),
  ),
  page(
    '/fleet',
    lazyRouteComponent(() => import('../pages/fleet/page.tsx'), 'FleetPage'),
  ),
  page(
    '/catalog',
    lazyRouteComponent(() => import('../pages/catalog/page.tsx'), 'CatalogPage'),
  ),
  page(
    '/catalog/edit',
    lazyRouteComponent(() => import('../pages/catalog/edit.tsx'), 'EditPage'),
  ),
  page(
    '/catalog/$kind/$id',
    lazyRouteComponent(() => import('../pages/catalog/entry.tsx'), 'EntryPage'),
  ),
  page('/stimuli', lazyRouteComponent(lists, 'StimuliPage')),
  page('/patterns', lazyRouteComponent(lists, 'PatternsPage')),
  page('/volumes', lazyRouteComponent(lists, 'VolumesPage')),
  page(
    '/volumes/$id',
    lazyRouteComponent(() => import('../pages/volume.tsx'), 'VolumePage'),
  ),
  page('/secrets', lazyRouteComponent(lists, 'SecretsPage')),
  page('/keys', lazyRouteComponent(lists, 'KeysPage')),
  page('/limits', lazyRouteComponent(lists, 'LimitsPage')),
  page(
    '/faults',
    lazyRouteComponent(() => import('../pages/faults.tsx'), 'FaultsPage'),
  ),
  page(
    '/audit',
    lazyRouteComponent(() => import('../pages/audit.tsx'), 'AuditPage'),
  ),
]);

export const router = createRouter({
  routeTree: routes,
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
  defaultErrorComponent: ({ error, reset }) => <Failure error={error} retry={reset} />,
  defaultPendingComponent: () => <Loading what="the page" />,
  scrollRestoration: false,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
