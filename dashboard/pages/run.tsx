import { useParams } from '@tanstack/react-router';
import { PageHead } from '../parts/page-head.tsx';

export function RunPage() {
  const { id = '' } = useParams({ strict: false });
  return <PageHead title={id} />;
}
