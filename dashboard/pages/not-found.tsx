import { Link } from '@tanstack/react-router';
import { Empty } from '../parts/notice.tsx';

export function NotFound() {
  return (
    <Empty title="There is no such page.">
      <Link to="/runs">See the runs</Link>, or press <kbd>/</kbd> to search.
    </Empty>
  );
}
