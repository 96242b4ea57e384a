import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';
import type { Search } from './search-params.ts';

/** Filters of the page, from its address, and a function that changes some of them. */
export function useFilters(): readonly [
  Search,
  (changes: Readonly<Record<string, string>>, replace?: boolean) => void,
] {
  const search: Search = useSearch({ strict: false });
  const navigate = useNavigate();
  const change = useCallback(
    (changes: Readonly<Record<string, string>>, replace = false) => {
      void navigate({ to: '.', search: (before: Search) => ({ ...before, ...changes }), replace });
    },
    [navigate],
  );
  return [search, change];
}
