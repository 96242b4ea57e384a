import { PageHead } from '../parts/page-head.tsx';

export function OverviewPage() {
  return <PageHead title="Overview" />;
}
