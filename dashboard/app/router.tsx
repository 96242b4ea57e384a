import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type RouteComponent,
} from '@tanstack/react-router';
import { NotFound } from '../pages/not-found.tsx';
import { RunsPage } from '../pages/runs.tsx';
import { Failure, Loading } from '../parts/notice.tsx';
import { parseSearch, type Search, stringifySearch } from './search-params.ts';
import { Shell } from './shell.tsx';

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

/** Every page keeps its filters as texts in the address. */
const page = <Path extends string>(path: Path, component: RouteComponent) =>
  createRoute({
    getParentRoute: () => root,
    path,
    component,
    validateSearch: (search: Record<string, unknown>): Search =>
      Object.fromEntries(Object.entries(search).map(([name, value]) => [name, String(value)])),
  });

const routes = root.addChildren([
  page(
    '/',
    lazyRouteComponent(() => import('../pages/overview.tsx'), 'OverviewPage'),
  ),
  page('/runs', RunsPage),
  page(
    '/runs/$kind/$id',
    lazyRouteComponent(() => import('../pages/run.tsx'), 'RunPage'),
  ),
  page('/traces/$id', NotFound),
  page(
    '/approvals',
    lazyRouteComponent(() => import('../pages/approvals.tsx'), 'ApprovalsPage'),
  ),
  page('/catalog', NotFound),
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
