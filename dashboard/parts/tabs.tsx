import { Link } from '@tanstack/react-router';
import type { Search } from '../app/search-params.ts';
import { useFilters } from '../app/use-filters.ts';

/** Parts of a page, each with an address: `?tab=`. The first one has none. */
export function Tabs({
  tabs,
  label,
}: {
  readonly tabs: readonly (readonly [key: string, text: string])[];
  readonly label: string;
}) {
  const [{ tab = '' }] = useFilters();
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map(([key, text], index) => {
        const value = index === 0 ? '' : key;
        return (
          <Link
            key={key}
            to="."
            search={(before: Search) => ({ ...before, tab: value })}
            aria-current={tab === value ? 'page' : undefined}
            className={tab === value ? 'here' : ''}
          >
            {text}
          </Link>
        );
      })}
    </nav>
  );
}
